//! Casts are unwrapped in a filter's comparisons with constants: a string literal that stands for a value of another type is
//! parsed once, and a monotonic cast of the column is left out. Then ranges and statistics apply to the bare column, too.
//!
//! ```text
//! Filter toDate(n) >= '2013-07-01'   =>   Filter n >= 15887
//! ```

use crate::conditions::of_filters;
use crate::rewriter::Rewriter;
use chalet_base::Result;
use chalet_function_api::{Argument, call::BoundFunction};
use chalet_plan::{Expr, Plan};
use chalet_types::{DataType, Value};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if with.overflow_throws() {
        return Ok(plan);
    }
    of_filters(plan, with, &mut |expr| comparison(expr, with))
}

/// What a comparison is without casts, where there are any.
fn comparison(expr: &Expr, with: &Rewriter) -> Result<Option<Expr>> {
    let Expr::Call { function, args } = expr else { return Ok(None) };
    let is_comparison = COMPARISONS.contains(&function.function.record().name);
    let [left, right] = &args[..] else { return Ok(None) };
    if !is_comparison {
        return Ok(None);
    }
    let mut changed = false;
    let (mut left, mut right) = (left.clone(), right.clone());
    if let Some((place, value)) = function.parsed_literal() {
        let (text, other) = if place == 0 { (&mut left, &right) } else { (&mut right, &left) };
        let ty = other.ty().bare();
        if text.is_literal() && stands_for_one_value(ty) {
            *text = Expr::literal(&value, ty.clone())?;
            changed = true;
        }
    }
    while let Some(pair) = unwrapped(&left, &right)? {
        (left, right) = pair;
        changed = true;
    }
    while let Some(pair) = unwrapped(&right, &left)? {
        (right, left) = pair;
        changed = true;
    }
    if !changed {
        return Ok(None);
    }
    let arguments = [&left, &right].map(|side| Argument {
        constant: side.as_literal().map(|literal| literal.value()),
        ..Argument::of_type(side.ty().clone())
    });
    let again = BoundFunction::bind(function.function.clone(), &arguments, with.context)?;
    Ok(Some(Expr::call(again, vec![left, right])))
}

/// Is a string literal read as one value of this type, which compares with others as the string does?
fn stands_for_one_value(ty: &DataType) -> bool {
    let is_address = matches!(ty, DataType::Uuid | DataType::IPv4 | DataType::IPv6);
    ty.is_date_or_time() || ty.is_enum() || is_address || ty.is_integer() && *ty != DataType::Bool
}

pub(crate) const COMPARISONS: [&str; 6] =
    ["equals", "notEquals", "less", "lessOrEquals", "greater", "greaterOrEquals"];

/// What is converted, and the constant that it compares with as the result does with this one.
fn unwrapped(converted: &Expr, constant: &Expr) -> Result<Option<(Expr, Expr)>> {
    let (Expr::Call { function, args }, Expr::Literal(literal)) = (converted, constant) else {
        return Ok(None);
    };
    let (Some(range), Some(inner)) = (function.monotonic_range(), args.first()) else { return Ok(None) };
    let number = match literal.value() {
        Value::UInt(x) => i128::from(x),
        Value::Int(x) => i128::from(x),
        _ => return Ok(None),
    };
    // Numbers may have been brought to the ends of the range.
    let inside = *range.start() < number && number < *range.end();
    let (own, other) = (literal.ty.bare(), converted.ty().bare());
    let alike = own == other || own.is_integer() && other.is_integer();
    let inner_type = inner.ty().bare();
    let fits = inner_type.integer_range().is_some_and(|all| all.contains(&number));
    if inner.is_literal() || !(inside && alike && fits) {
        return Ok(None);
    }
    let value = u64::try_from(number).map_or(Value::Int(number as i64), Value::UInt);
    Ok(Some((inner.clone(), Expr::literal(&value, inner_type.clone())?)))
}
