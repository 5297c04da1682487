//! Expressions as SQL that means the same to servers of all versions: functions that are portable (`chalet_functions::portable`) of
//! columns and constants of types that every server has. What cannot be said so is computed here.

use super::RemoteTable;
use super::sql::{decimal, exactly, literal};
use chalet_exec::expression::layout;
use chalet_exec::ranges::{exact_range, values};
use chalet_function_api::Lazy;
use chalet_functions::portable::{Portable, portable};
use chalet_plan::{Expr, InExpr, Literal, Plan, ScanNode, SetSource};
use chalet_types::{DataType, Value};

/// The columns of a scan of a table of servers.
pub(super) struct Sayable<'a> {
    pub table: &'a RemoteTable,
    pub scan: &'a ScanNode,
}

impl Sayable<'_> {
    /// A column of the table as SQL, and its type.
    pub fn column(&self, expr: &Expr) -> Option<(String, DataType)> {
        let id = expr.as_column()?;
        let (at, field) = self.scan.columns.iter().find(|(_, field)| field.id == id)?;
        Some((self.table.quoted(*at), field.ty.clone()))
    }

    /// A condition of rows, of which those pass for which it is true, neither false nor NULL.
    pub fn condition(&self, conjunct: &Expr) -> Option<String> {
        self.range(conjunct).or_else(|| self.passing(&with_parsed_literals(conjunct)))
    }

    /// What a conjunct says of one column, where that is all that it says.
    fn range(&self, conjunct: &Expr) -> Option<String> {
        let layout = layout(&Plan::Scan(self.scan.clone()).fields());
        let range = exact_range(&with_parsed_literals(conjunct), &layout)?;
        let (at, field) = &self.scan.columns[range.column];
        exactly(&range, &self.table.quoted(*at), &field.ty)
    }

    /// An expression that is true where the condition is; elsewhere it is false or NULL.
    fn passing(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Call { function, args } if function.function.record().lazy == Lazy::And => {
                let args: Option<Vec<String>> = args.iter().map(|arg| self.passing(arg)).collect();
                Some(format!("({})", args?.join(" AND ")))
            }
            // What OR makes of NULL is not the same everywhere.
            Expr::Call { function, args } if function.function.record().lazy == Lazy::Or => {
                let args: Option<Vec<String>> = args.iter().map(|arg| self.or_false(arg)).collect();
                Some(format!("({})", args?.join(" OR ")))
            }
            Expr::In(e) => self.found(e, true),
            // Old servers take no other numbers for truth values.
            Expr::Call { .. } if is_truth(expr.ty()) && !calculates_decimals(expr) => self.said(expr),
            _ => None,
        }
    }

    /// A value of a portable type; constants alone are none, since their place in GROUP BY and ORDER BY is a number.
    pub fn value(&self, expr: &Expr) -> Option<String> {
        self.said(&with_parsed_literals(expr))
    }

    /// A condition as 0 or 1: also where it is NULL it is false.
    pub fn truth(&self, expr: &Expr) -> Option<String> {
        self.or_false(&with_parsed_literals(expr))
    }

    fn or_false(&self, expr: &Expr) -> Option<String> {
        let passing = self.passing(expr)?;
        Some(if expr.ty().is_nullable() { format!("ifNull({passing}, 0)") } else { passing })
    }

    fn said(&self, expr: &Expr) -> Option<String> {
        if !is_portable(expr.ty()) {
            return None;
        }
        match expr {
            Expr::Column(..) => self.column(expr).map(|(name, _)| name),
            // Decimals of more digits are of other types in old servers when they are computed.
            Expr::Call { .. } if expr.ty().bare().is_decimal() && !is_short_decimal(expr.ty().bare()) => None,
            Expr::Call { function, args } => {
                let name = function.function.record().name;
                if !fits(portable(name)?, args) {
                    return None;
                }
                let args: Option<Vec<String>> = args.iter().map(|arg| self.argument(arg)).collect();
                Some(format!("{name}({})", args?.join(", ")))
            }
            Expr::In(e) => self.found(e, false),
            _ => None,
        }
    }

    fn argument(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Literal(constant) => typed(constant),
            other => self.said(other),
        }
    }

    /// `needle IN (constants)`. What NULL gives is not the same everywhere: as a condition that must hold it passes nowhere.
    fn found(&self, e: &InExpr, must_hold: bool) -> Option<String> {
        let ([needle], [set_type], SetSource::Block(block)) =
            (&e.needles[..], &e.set.types[..], &e.set.source)
        else {
            return None;
        };
        let may_be_null = needle.ty().is_nullable();
        // What is calculated of decimals may fail, and their constants are no list for old servers.
        if block.n_rows() == 0
            || e.null_in
            || may_be_null && (e.negated || !must_hold)
            || needle.ty().bare().is_decimal()
            || calculates_decimals(needle)
        {
            return None;
        }
        let values = values(block, set_type, needle.ty())?;
        let values: Option<Vec<String>> = values.iter().map(|value| literal(value, needle.ty())).collect();
        let not = if e.negated { "NOT " } else { "" };
        Some(format!("({} {not}IN ({}))", self.said(needle)?, values?.join(", ")))
    }
}

/// Does every server have the type, and order and compare its values as we do?
pub(super) fn is_portable(ty: &DataType) -> bool {
    match ty {
        DataType::LowCardinality(_) => false,
        DataType::Nullable(inner) => is_portable(inner),
        DataType::String | DataType::Date | DataType::DateTime(_) | DataType::Float32 | DataType::Float64 => {
            true
        }
        DataType::Decimal { precision, .. } => *precision <= 38,
        ty => ty.integer_range().is_some(),
    }
}

/// Does it compute decimals? That fails where they get too large, and a condition is tested of rows that another one leaves out.
fn calculates_decimals(expr: &Expr) -> bool {
    expr.any(&|expr| matches!(expr, Expr::Call { .. }) && expr.ty().bare().is_decimal())
}

/// A decimal of at most 64 bits, which is computed as before.
fn is_short_decimal(ty: &DataType) -> bool {
    matches!(ty, DataType::Decimal { precision, .. } if *precision <= 18)
}

fn is_truth(ty: &DataType) -> bool {
    matches!(ty.bare(), DataType::UInt8 | DataType::Bool)
}

/// Are these arguments of the kind?
fn fits(kind: Portable, args: &[Expr]) -> bool {
    let bare = |arg: &Expr| arg.ty().bare().clone();
    let all = |is: &dyn Fn(&DataType) -> bool| args.iter().all(|arg| is(arg.ty().bare()));
    let is_integer = |ty: &DataType| ty.integer_range().is_some();
    let is_number = |ty: &DataType| is_integer(ty) || ty.is_float();
    let is_exact = |ty: &DataType| is_integer(ty) || is_short_decimal(ty);
    // Of one scale nothing is computed before they are compared.
    let scale = |arg: &Expr| match arg.ty().bare() {
        DataType::Decimal { precision: ..=18, scale } => Some(*scale),
        _ => None,
    };
    let of_one_scale =
        || args.first().and_then(scale).is_some_and(|one| args.iter().all(|arg| scale(arg) == Some(one)));
    let alike = |args: &[&Expr]| {
        args.windows(2).all(|pair| bare(pair[0]) == bare(pair[1]))
            || args.iter().all(|arg| is_integer(arg.ty().bare()))
    };
    let is_condition = |arg: &Expr| is_truth(arg.ty()) && !arg.ty().is_nullable() && !arg.is_literal();
    let references: Vec<&Expr> = args.iter().collect();
    match kind {
        Portable::Comparable => all(&is_number) || alike(&references) || of_one_scale(),
        Portable::Conditions => args.iter().all(is_condition),
        Portable::Numbers => all(&is_number) || all(&is_exact),
        Portable::Quotient => all(&is_number),
        Portable::IntegersByConstant => {
            let by = args.last().and_then(Expr::as_literal).and_then(|literal| literal.value().as_i64());
            all(&is_integer) && by.is_some_and(|by| by > 0)
        }
        Portable::Dates => all(&|ty| *ty == DataType::Date),
        Portable::Strings => all(&|ty| *ty == DataType::String),
        Portable::StringsByConstant => {
            let by = args.last().and_then(Expr::as_literal).map(Literal::value);
            let is_plain =
                |by: &Value| by.as_bytes().is_some_and(|by| !by.is_empty() && !by.contains(&b'\\'));
            all(&|ty| *ty == DataType::String) && args.len() == 2 && by.as_ref().is_some_and(is_plain)
        }
        Portable::Any => args.len() == 1,
        Portable::Alike => alike(&references),
        Portable::Choice => {
            let (conditions, values): (Vec<_>, Vec<_>) =
                references.iter().enumerate().partition(|(at, _)| at % 2 == 0 && at + 1 < args.len());
            let values: Vec<&Expr> = values.into_iter().map(|(_, arg)| *arg).collect();
            conditions.iter().all(|(_, arg)| is_condition(arg)) && alike(&values)
        }
    }
}

/// A constant that has its type at the server too.
fn typed(constant: &Literal) -> Option<String> {
    let (value, ty) = (constant.value(), &constant.ty);
    let text = literal(&value, ty).or_else(|| decimal(&value, ty))?;
    match ty {
        DataType::Nullable(_) | DataType::LowCardinality(_) => None,
        DataType::Float32 | DataType::Float64 => Some(format!("to{ty}({text})")),
        DataType::Bool => Some(text),
        // A server takes the narrowest type that holds the number.
        ty if ty.integer_range().is_some() && *ty != narrowest(&value)? => Some(format!("to{ty}({text})")),
        _ => Some(text),
    }
}

fn narrowest(value: &Value) -> Option<DataType> {
    let unsigned = [DataType::UInt8, DataType::UInt16, DataType::UInt32, DataType::UInt64];
    let signed = [DataType::Int8, DataType::Int16, DataType::Int32, DataType::Int64];
    let number = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from))?;
    let types = if number >= 0 { unsigned } else { signed };
    types.into_iter().find(|ty| ty.integer_range().is_some_and(|range| range.contains(&number)))
}

/// A condition in which strings that are compared with other values are those values: `date < '2019-02-01'`.
fn with_parsed_literals(condition: &Expr) -> Expr {
    let parsed = |expr: &Expr| -> Option<Expr> {
        let Expr::Call { function, args } = expr else { return None };
        let (at, value) = function.parsed_literal()?;
        let other = args.get(1 - at)?.ty().bare().clone();
        let mut args = args.clone();
        args[at] = Expr::literal(&value, other).ok()?;
        Some(Expr::Call { function: function.clone(), args })
    };
    condition.replace(&mut |expr| Ok(parsed(expr))).unwrap_or_else(|_| condition.clone())
}
