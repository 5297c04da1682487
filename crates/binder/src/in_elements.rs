//! The elements of a constant list behind IN, as values of the type of what is looked for.

use crate::call::{cast, constant_plan, make_call};
use crate::in_operator::{depth, is_plain};
use crate::select::SelectBinder;
use chalet_base::{Error, Result, bail, codes, ensure, err};
use chalet_functions::text::{is_day_with_time, read_beside_decimal, read_one};
use chalet_plan::{Expr, Literal};
use chalet_types::{DataType, Value};

impl SelectBinder<'_> {
    /// The values of one element in the set's types; `None` when a type cannot hold its value.
    pub(crate) fn row_of(&mut self, element: &Literal, types: &[DataType]) -> Result<Option<Vec<Value>>> {
        let parts: Vec<Literal> = match (element.value(), element.ty.bare()) {
            (Value::Tuple(items), DataType::Tuple(fields)) if types.len() > 1 || items.len() == 1 => {
                ensure!(
                    items.len() == types.len(),
                    INCORRECT_ELEMENT_OF_SET,
                    "Invalid tuple size in IN expression: {} instead of {}",
                    items.len(),
                    types.len()
                );
                let exprs = items.iter().zip(fields.iter()).map(|(v, f)| Expr::literal(v, f.ty.clone()));
                exprs
                    .map(|e| Ok(e?.as_literal().cloned()))
                    .collect::<Result<Option<_>>>()?
                    .unwrap_or_default()
            }
            _ => {
                ensure!(
                    types.len() == 1,
                    INCORRECT_ELEMENT_OF_SET,
                    "Invalid element in IN expression: expected a tuple of {} elements",
                    types.len()
                );
                vec![element.clone()]
            }
        };
        let mut row = Vec::with_capacity(parts.len());
        for (part, ty) in parts.iter().zip(types) {
            match self.exact(part, ty)? {
                Some(value) => row.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(row))
    }

    /// The same value in another type, when that type has it.
    fn exact(&mut self, literal: &Literal, ty: &DataType) -> Result<Option<Value>> {
        let value = literal.value();
        if value.is_null() {
            return Ok(ty.is_nullable().then_some(Value::Null));
        }
        if literal.ty.bare() == ty.bare() {
            return Ok(Some(value));
        }
        // What can only be NULL equals no value.
        if ty.is_only_null() {
            return Ok(None);
        }
        let env = self.query.env;
        if let Some(converted) = self.exact_parts(&value, literal.ty.bare(), ty.bare())? {
            return Ok(converted);
        }
        let mut expr = Expr::Literal(literal.clone());
        if ty.bare().is_string() {
            if literal.ty.bare().is_string() && *ty.bare() == DataType::String {
                return Ok(Some(value));
            }
            expr = match self.text_of_field(&value, literal)? {
                Some(text) => Expr::literal(&Value::string(text), DataType::String)?,
                None => expr,
            };
        }
        if literal.ty.bare().is_string()
            && let Some(read) = self.read_from_text(&value, ty.bare())?
        {
            return Ok(Some(read));
        }
        if literal.ty.bare().is_string() && ty.bare().is_number() {
            return match cast(env, expr, ty.bare())? {
                Expr::Literal(converted) => Ok(Some(converted.value())),
                // The cast says what a Bool may be.
                call if *ty.bare() == DataType::Bool => {
                    env.run(constant_plan(self.query.ids, call))?;
                    Ok(None)
                }
                _ => bail!(
                    TYPE_MISMATCH,
                    "Cannot convert string '{}' to type {}",
                    value.as_str().unwrap_or_default(),
                    ty.bare()
                ),
            };
        }
        // An element of an Enum is its number.
        if literal.ty.bare().is_enum() && (ty.bare().is_number() || *ty.bare() == DataType::Date) {
            return match cast(env, expr, &DataType::Int16)? {
                Expr::Literal(number) => self.exact(&number, ty),
                _ => Ok(None),
            };
        }
        if let (Some(shape), true) = (shape(literal.ty.bare()), is_plain(ty)) {
            bail!(
                TYPE_MISMATCH,
                "Type mismatch in IN or VALUES section. Expected: {}. Got: {shape}",
                ty.bare()
            );
        }
        if literal.ty.bare().is_number()
            && let Some(value) = number_as_counted(&value, literal.ty.bare(), ty.bare())?
        {
            return Ok(value);
        }
        if literal.ty.bare().is_number() && ty.bare().is_number() {
            if let DataType::Decimal { precision, scale } = *ty.bare() {
                self.check_fits(&expr, literal.ty.bare(), precision - scale, ty.bare())?;
            }
            let target = Expr::literal(&Value::string(ty.bare().to_string()), DataType::String)?;
            let converted = make_call(env, "accurateCastOrNull", vec![expr.clone(), target])?;
            // A Decimal of a smaller scale must have all digits of the value.
            if ty.bare().is_decimal() {
                let back = cast(env, converted.clone(), &literal.ty.bare().clone().nullable())?;
                if back.as_literal().map(Literal::value) != Some(value) {
                    return Ok(None);
                }
            }
            return Ok(converted.as_literal().map(Literal::value).filter(|v| !v.is_null()));
        }
        // A name or a number that an Enum does not have is in no row.
        let names_element = literal.ty.bare().is_string() || literal.ty.bare().is_integer();
        if names_element && ty.bare().is_enum() {
            return Ok(cast(env, expr, ty.bare())?.as_literal().map(Literal::value));
        }
        let target = ty.without_low_cardinality().clone();
        match cast(env, expr, &target)? {
            Expr::Literal(converted) => Ok(Some(converted.value())),
            // Folding failed: the cast says why.
            call => {
                env.run(constant_plan(self.query.ids, call)).map_err(|error| match error.code().name {
                    "CANNOT_PARSE_TEXT" if depth(&literal.ty) > 0 => {
                        err!(TYPE_MISMATCH, "Cannot convert string to type {target}: {}", error.message())
                    }
                    _ => error,
                })?;
                Ok(None)
            }
        }
    }

    /// A text as a value of a type that is read from it here, and not by a cast.
    fn read_from_text(&self, value: &Value, ty: &DataType) -> Result<Option<Value>> {
        let Some(text) = value.as_bytes() else { return Ok(None) };
        let context = self.query.env.context();
        if let DataType::Map(..) = ty {
            let read = read_one(text, ty, context);
            return Ok(Some(read.map_err(|e| while_converting(e, text, ty))?.value(0)));
        }
        if is_day_with_time(text, ty, context) {
            let shown = String::from_utf8_lossy(text);
            bail!(TYPE_MISMATCH, "Cannot convert string '{shown}' to type {ty}");
        }
        if ty.is_decimal() {
            let read = read_beside_decimal(text, ty, context);
            return Ok(Some(read.map_err(|e| not_decimal(e, text, ty))?.value(0)));
        }
        Ok(None)
    }

    /// The parts of an array, a tuple or a map, each as the value that it is in another type; `None` where the types do not have such parts.
    fn exact_parts(
        &mut self,
        value: &Value,
        from: &DataType,
        to: &DataType,
    ) -> Result<Option<Option<Value>>> {
        let mut part = |value: &Value, from: &DataType, to: &DataType| -> Result<Option<Value>> {
            match Expr::literal(value, from.clone())?.as_literal() {
                Some(literal) => self.exact(literal, to),
                None => Ok(None),
            }
        };
        Ok(Some(match (value, from, to) {
            (Value::Array(items), DataType::Array(from), DataType::Array(to)) => {
                let parts = items.iter().map(|item| part(item, from, to));
                parts.collect::<Result<Option<_>>>()?.map(Value::Array)
            }
            (Value::Tuple(items), DataType::Tuple(from), DataType::Tuple(to)) if from.len() == to.len() => {
                let types = from.iter().zip(to.iter());
                let parts = items.iter().zip(types).map(|(item, (from, to))| part(item, &from.ty, &to.ty));
                parts.collect::<Result<Option<_>>>()?.map(Value::Tuple)
            }
            (Value::Map(pairs), DataType::Map(from_key, from), DataType::Map(to_key, to)) => {
                let mut converted = Vec::with_capacity(pairs.len());
                for (key, item) in pairs {
                    match (part(key, from_key, to_key)?, part(item, from, to)?) {
                        (Some(key), Some(item)) => converted.push((key, item)),
                        _ => return Ok(Some(None)),
                    }
                }
                Some(Value::Map(converted))
            }
            _ => return Ok(None),
        }))
    }

    /// What is looked for among texts and is none: numbers of up to 64 bits, and what is counted by them, as they are written in
    /// statements, everything else in quotes. `None` for what a cast writes: names of Enums, true and false.
    fn text_of_field(&mut self, value: &Value, literal: &Literal) -> Result<Option<String>> {
        let ty = literal.ty.bare();
        Ok(match (value, ty) {
            (_, DataType::Bool | DataType::Enum8(_) | DataType::Enum16(_)) => None,
            (
                _,
                DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _) | DataType::Time64(scale),
            ) => {
                let scaled = DataType::Decimal { precision: 76, scale: *scale };
                let number = cast(self.query.env, Expr::Literal(literal.clone()), &scaled)?;
                let text = cast(self.query.env, number, &DataType::String)?;
                text.as_literal().and_then(|text| text.value().as_str().map(|text| format!("'{text}'")))
            }
            (Value::UInt(number), _) if *ty != DataType::IPv4 => Some(number.to_string()),
            (Value::Int(number), _) => Some(number.to_string()),
            (Value::Float(number), _) => Some(chalet_syntax::print::float_text(*number)),
            _ if depth(ty) == 0 && !ty.is_string() => {
                let text = cast(self.query.env, Expr::Literal(literal.clone()), &DataType::String)?;
                text.as_literal().and_then(|text| text.value().as_str().map(|text| format!("'{text}'")))
            }
            _ => None,
        })
    }

    /// A number that is too large for a Decimal is an error and not a number that is in no row.
    fn check_fits(&mut self, number: &Expr, from: &DataType, n_digits: u8, to: &DataType) -> Result<()> {
        let env = self.query.env;
        let about = number.as_literal().and_then(|literal| match literal.value() {
            Value::UInt(number) => Some(number as f64),
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        });
        // Lists are long, and nearly all numbers are far from the limit.
        if from.is_decimal() || about.is_some_and(|number| number.abs() < 10f64.powi(n_digits.into()) / 2.0) {
            return Ok(());
        }
        let whole = DataType::Decimal { precision: 76, scale: 0 };
        let limit = Value::string(format!("1{}", "0".repeat(usize::from(n_digits))));
        let limit = cast(env, Expr::literal(&limit, DataType::String)?, &whole)?;
        let zero = Expr::literal(&Value::UInt(0), DataType::UInt8)?;
        let (limit, number) = match from.is_float() {
            true => (cast(env, limit, &DataType::Float64)?, number.clone()),
            false => (
                limit,
                make_call(env, "toDecimal256", vec![cast(env, number.clone(), &DataType::String)?, zero])?,
            ),
        };
        let magnitude = make_call(env, "abs", vec![number])?;
        let most = make_call(env, "minus", vec![limit, Expr::literal(&Value::UInt(1), DataType::UInt8)?])?;
        let fits = make_call(env, "lessOrEquals", vec![magnitude, most])?;
        let fits = fits.as_literal().is_some_and(|fits| fits.value().as_u64() == Some(1));
        ensure!(fits, ARGUMENT_OUT_OF_BOUND, "Number is too big to place in {to}");
        Ok(())
    }
}

fn while_converting(error: Error, text: &[u8], ty: &DataType) -> Error {
    error.context(format_args!("while converting '{}' to {ty}", String::from_utf8_lossy(text)))
}

/// A text that is no number is named as a whole; one that is too large says why.
fn not_decimal(error: Error, text: &[u8], ty: &DataType) -> Error {
    match error.code() {
        codes::DECIMAL_OVERFLOW | codes::ARGUMENT_OUT_OF_BOUND => while_converting(error, text, ty),
        _ => err!(TYPE_MISMATCH, "Cannot convert string '{}' to type {ty}", String::from_utf8_lossy(text)),
    }
}

/// What a value of several parts is called.
fn shape(ty: &DataType) -> Option<&'static str> {
    match ty {
        DataType::Array(_) => Some("Array"),
        DataType::Tuple(_) => Some("Tuple"),
        DataType::Map(..) => Some("Map"),
        _ => None,
    }
}

/// A number as what is counted by numbers of its own: a Bool is 0 or 1, a Date a number of days, a DateTime of seconds. None where the type
/// is none of them, and `Some(None)` where it does not have that number.
fn number_as_counted(value: &Value, from: &DataType, to: &DataType) -> Result<Option<Option<Value>>> {
    let number = match value {
        Value::UInt(number) => i128::from(*number),
        Value::Int(number) => i128::from(*number),
        _ => -1,
    };
    let is_short =
        from.is_integer() && matches!(value, Value::UInt(_) | Value::Int(_)) && *from != DataType::Bool;
    let takes = match to {
        DataType::Bool if !from.is_decimal() => {
            let is_other = is_short && !matches!(number, 0 | 1);
            let is_fraction = matches!(value, Value::Float(float) if *float != 0.0 && *float != 1.0);
            return Ok((is_other || is_fraction).then_some(None));
        }
        DataType::Date => is_short,
        DataType::DateTime(_) => is_short && !from.is_signed(),
        DataType::Bool => false,
        _ => return Ok(None),
    };
    ensure!(takes, TYPE_MISMATCH, "Type mismatch in IN or VALUES section. Expected: {to}. Got: {from}");
    let days = i128::from(u16::MAX);
    Ok((*to == DataType::Date && !(0..=days).contains(&number)).then_some(None))
}
