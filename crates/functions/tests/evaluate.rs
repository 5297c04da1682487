//! The smallest evaluator that golden tests need: literals, arrays, tuples, `::` of literals, and calls.

use chalet_base::{Result, bail, err};
use chalet_columns::{Builder, Column, Vector};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Context, Registry};
use chalet_syntax::ast::{Call, CallStyle, Expr, ExprKind, Literal};
use chalet_text::{Reader, Style, Syntax, TextSettings, write_value};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, IntervalUnit, Value};
use std::sync::LazyLock;

#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    Constants,
    /// One argument of each call is a column of three rows: the first that is no string, else the first.
    Columns,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    chalet_functions::register(&mut registry);
    registry
});

struct Typed {
    ty: DataType,
    column: Column,
}

/// `type<TAB>value`, as the kernel prints them in TabSeparated.
pub fn evaluate(text: &str, mode: Mode) -> Result<String> {
    let expression = chalet_syntax::parse_expression(text)?;
    let evaluator = Evaluator { text, mode, ctx: Context::default() };
    let typed = evaluator.value(&expression)?;
    let mut out = Vec::new();
    let ty = Vector::of_value(&Value::string(typed.ty.to_string()), &DataType::String)?;
    let settings = TextSettings::default();
    write_value(&mut out, &ty, 0, &DataType::String, Style::Escaped, &settings);
    out.push(b'\t');
    let last = typed.column.len().saturating_sub(1);
    let (vector, row) = typed.column.locate(last);
    write_value(&mut out, vector, row, &typed.ty, Style::Escaped, &settings);
    Ok(String::from_utf8_lossy(&out).into_owned())
}

struct Evaluator<'a> {
    text: &'a str,
    mode: Mode,
    ctx: Context,
}

impl Evaluator<'_> {
    fn n_rows(&self) -> usize {
        if self.mode == Mode::Constants { 1 } else { 3 }
    }

    fn constant(&self, value: &Value, ty: DataType) -> Result<Typed> {
        Ok(Typed { column: Column::of_value(value, &ty, self.n_rows())?, ty })
    }

    fn value(&self, expression: &Expr) -> Result<Typed> {
        match &expression.kind {
            ExprKind::Literal(literal) => {
                let (value, ty) = literal_value(literal);
                self.constant(&value, ty)
            }
            ExprKind::Call(call) => self.call(call),
            other => bail!(NOT_IMPLEMENTED, "The test evaluator has no {other:?}"),
        }
    }

    fn call(&self, call: &Call) -> Result<Typed> {
        match call.style {
            CallStyle::Cast => return self.cast(call),
            _ if matches!(call.name.as_str(), "array" | "tuple") => {
                if let Some((value, ty)) = self.folded(call) {
                    return self.constant(&value, ty);
                }
            }
            _ => {}
        }
        let mut args = call.args.iter().map(|arg| self.value(arg)).collect::<Result<Vec<_>>>()?;
        if call.name == "materialize" {
            let only = args.remove(0);
            return Ok(Typed { ty: only.ty, column: Column::Flat(only.column.into_flat()) });
        }
        if let Some(unit) = interval_unit(&call.name) {
            let amount = args[0].column.value(0).as_i64().ok_or_else(|| err!(BAD_ARGUMENTS, "interval"))?;
            return self.constant(&Value::Int(amount), DataType::Interval(unit));
        }
        if self.mode == Mode::Columns
            && let Some(index) = args.iter().position(|arg| !arg.ty.is_string()).or(Some(0))
            && let Some(first) = args.get_mut(index)
        {
            first.column = Column::Flat(first.column.flat().into_owned());
        }
        self.apply(&call.name, args)
    }

    fn apply(&self, name: &str, args: Vec<Typed>) -> Result<Typed> {
        let function = REGISTRY
            .scalars
            .get(name)
            .ok_or_else(|| err!(UNKNOWN_FUNCTION, "Function with name `{name}` does not exist"))?;
        let arguments: Vec<Argument> = args
            .iter()
            .map(|arg| Argument {
                constant: arg.column.is_const().then(|| arg.column.value(0)),
                ..Argument::of_type(arg.ty.clone())
            })
            .collect();
        let bound = BoundFunction::bind(function.clone(), &arguments, &self.ctx)?;
        let inputs = args.into_iter().map(|arg| Input::Column(arg.column)).collect();
        let column = bound.execute(inputs, self.n_rows(), &self.ctx)?;
        Ok(Typed { ty: bound.result, column })
    }

    /// `text::Type`; anything but a literal goes through the function CAST.
    fn cast(&self, call: &Call) -> Result<Typed> {
        let ExprKind::Literal(Literal::String(name)) = &call.args[1].kind else {
            bail!(NOT_IMPLEMENTED, "The test evaluator needs a literal type");
        };
        let ty: DataType = String::from_utf8_lossy(name).parse()?;
        match &call.args[0].kind {
            ExprKind::Literal(Literal::String(text)) => self.read(text, ty),
            ExprKind::Literal(Literal::Null) => self.constant(&Value::Null, ty),
            ExprKind::Literal(_) => {
                let span = call.args[0].span;
                let text = &self.text[span.start as usize..span.end as usize];
                self.read(text.as_bytes(), ty)
            }
            ExprKind::Call(inner) if matches!(inner.name.as_str(), "array" | "tuple" | "map") => {
                let span = call.args[0].span;
                let text = &self.text[span.start as usize..span.end as usize];
                self.read(text.as_bytes(), ty)
            }
            _ => {
                let args = vec![self.value(&call.args[0])?, self.value(&call.args[1])?];
                self.apply("CAST", args)
            }
        }
    }

    fn read(&self, text: &[u8], ty: DataType) -> Result<Typed> {
        let mut out = Builder::new(&ty);
        Reader::new(&ty, Syntax::Plain, &TextSettings::default()).read_whole(text, &mut out)?;
        let vector = out.finish();
        Ok(Typed { ty, column: Column::constant(vector, self.n_rows()) })
    }

    /// An array or tuple of literals as one constant.
    fn folded(&self, call: &Call) -> Option<(Value, DataType)> {
        let mut values = Vec::new();
        let mut types = Vec::new();
        for arg in &call.args {
            let (value, ty) = match &arg.kind {
                ExprKind::Literal(literal) => literal_value(literal),
                ExprKind::Call(inner) if matches!(inner.name.as_str(), "array" | "tuple") => {
                    self.folded(inner)?
                }
                ExprKind::Call(inner) => {
                    let typed = self.call(inner).ok()?;
                    (typed.column.value(0), typed.ty)
                }
                _ => return None,
            };
            values.push(value);
            types.push(ty);
        }
        if call.name == "tuple" {
            return Some((Value::Tuple(values), DataType::tuple(types)));
        }
        Some((Value::Array(values), common_supertype(&types).ok()?.array()))
    }
}

fn literal_value(literal: &Literal) -> (Value, DataType) {
    match literal {
        Literal::Null => (Value::Null, DataType::Nothing.nullable()),
        Literal::Bool(x) => (Value::from(*x), DataType::Bool),
        Literal::UInt(x) => {
            let ty = match x {
                0..=0xff => DataType::UInt8,
                0..=0xffff => DataType::UInt16,
                0..=0xffff_ffff => DataType::UInt32,
                _ => DataType::UInt64,
            };
            (Value::UInt(*x), ty)
        }
        Literal::Int(x) => {
            let ty = match x {
                -0x80.. => DataType::Int8,
                -0x8000.. => DataType::Int16,
                -0x8000_0000.. => DataType::Int32,
                _ => DataType::Int64,
            };
            (Value::Int(*x), ty)
        }
        Literal::Float(x) => (Value::Float(*x), DataType::Float64),
        Literal::String(text) => (Value::string(text), DataType::String),
    }
}

fn interval_unit(function: &str) -> Option<IntervalUnit> {
    let name = function.strip_prefix("toInterval")?;
    IntervalUnit::ALL.into_iter().find(|unit| unit.name() == name)
}
