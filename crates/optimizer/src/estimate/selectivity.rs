//! Which part of the rows meets a condition.

use super::{Estimate, estimate, number};
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Comparison, Lazy};
use chalet_plan::{ColumnId, Expr, InExpr, SetSource};
use chalet_types::DataType;
use std::ops::Range;

/// Of conditions that nothing is known of.
const UNKNOWN: f64 = 0.25;
/// Of comparisons with something else than a constant.
const INEQUALITY: f64 = 1.0 / 3.0;
/// Of patterns.
const PATTERN: f64 = 0.1;
/// Fewer rows than this part are not believed to pass.
const LEAST: f64 = 1e-9;
/// Of a range whose ends are equal or cross.
const NARROW: f64 = 1e-4;

/// Of a condition over columns whose estimates these are.
pub(super) fn of(condition: &Expr, input: &Estimate) -> f64 {
    let part = match condition {
        Expr::Literal(literal) => f64::from(literal.value().as_f64().unwrap_or(0.0) != 0.0),
        Expr::In(e) => {
            let found = among(e, input);
            if e.negated { 1.0 - found } else { found }
        }
        Expr::Call { function, args } => match function.function.record().lazy {
            Lazy::And => all_of(condition, input),
            Lazy::Or => 1.0 - args.iter().map(|arg| 1.0 - of(arg, input)).product::<f64>(),
            _ => call(function, args, input),
        },
        Expr::Column(..) | Expr::Lambda { .. } | Expr::Subquery(_) => UNKNOWN,
    };
    part.clamp(LEAST, 1.0)
}

fn call(function: &BoundFunction, args: &[Expr], input: &Estimate) -> f64 {
    let record = function.function.record();
    match (record.comparison, args) {
        (Comparison::Equal, [a, b]) => return equality(a, b, input),
        (Comparison::NotEqual, [a, b]) => return 1.0 - equality(a, b, input),
        (Comparison::No, _) => {}
        (comparison, [a, b]) => {
            let range = range(comparison, a, b, input);
            return range.map_or(INEQUALITY, |range| range.end - range.start);
        }
        _ => {}
    }
    match (record.name, args) {
        ("not", [arg]) => 1.0 - of(arg, input),
        ("isNull", [arg]) => input.of(arg).null_fraction,
        ("isNotNull", [arg]) => 1.0 - input.of(arg).null_fraction,
        ("like", _) => PATTERN,
        ("ilike", _) => PATTERN,
        ("notLike", _) => 1.0 - PATTERN,
        ("notILike", _) => 1.0 - PATTERN,
        _ => UNKNOWN,
    }
}

fn equality(a: &Expr, b: &Expr, input: &Estimate) -> f64 {
    let (x, y) = (input.of(a), input.of(b));
    match (a.as_literal(), b.as_literal()) {
        (None, None) => 1.0 / x.distinct.number().max(y.distinct.number()),
        (None, Some(literal)) | (Some(literal), None) => {
            let column = if a.is_literal() { y } else { x };
            let value = number(&literal.value(), &literal.ty);
            let outside = value.zip(column.bounds).is_some_and(|(value, (min, max))| {
                comparable(a.ty(), b.ty()) && !(min..=max).contains(&value)
            });
            match outside {
                true => LEAST,
                // Of text that is not counted many rows are equal more often than few.
                false => (1.0 - column.null_fraction) / column.distinct.number(),
            }
        }
        (Some(_), Some(_)) => UNKNOWN,
    }
}

/// Do numbers stand for values of both types alike?
fn comparable(a: &DataType, b: &DataType) -> bool {
    let (a, b) = (a.bare(), b.bare());
    let both = |test: fn(&DataType) -> bool| test(a) && test(b);
    a == b
        || both(|ty| ty.is_integer() || ty.is_float() || matches!(ty, DataType::Decimal { .. }))
        || both(|ty| matches!(ty, DataType::Date | DataType::Date32))
        || both(|ty| matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)))
}

fn among(e: &InExpr, input: &Estimate) -> f64 {
    let values = match &e.set.source {
        SetSource::Block(block) => block.n_rows() as f64,
        SetSource::Plan(plan) => estimate(plan).rows,
    };
    let distinct: f64 = e.needles.iter().map(|needle| input.of(needle).distinct.number()).product();
    (values / distinct.min(input.base_rows.max(1.0))).min(1.0)
}

/// The part of the rows that a comparison with a constant leaves, by where in its column's bounds they lie: from 0, the
/// least value, to 1, the greatest.
fn range(comparison: Comparison, a: &Expr, b: &Expr, input: &Estimate) -> Option<Range<f64>> {
    let (column, literal, comparison) = match (a.as_literal(), b.as_literal()) {
        (None, Some(literal)) => (a, literal, comparison),
        (Some(literal), None) => (b, literal, comparison.mirrored()),
        _ => return None,
    };
    if !comparable(a.ty(), b.ty()) {
        return None;
    }
    let (min, max) = input.of(column).bounds?;
    let value = number(&literal.value(), &literal.ty)?;
    let at = if max > min { ((value - min) / (max - min)).clamp(0.0, 1.0) } else { f64::from(value >= min) };
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => Some(0.0..at),
        Comparison::Greater | Comparison::GreaterOrEqual => Some(at..1.0),
        _ => None,
    }
}

/// Of all conditions together: those that bound one column from both sides are one range.
fn all_of(condition: &Expr, input: &Estimate) -> f64 {
    let mut conjuncts = Vec::new();
    condition.clone().conjuncts(&mut conjuncts);
    let mut ranges: Vec<(ColumnId, Range<f64>)> = Vec::new();
    let mut part = 1.0;
    for conjunct in &conjuncts {
        match column_range(conjunct, input) {
            Some((column, range)) => match ranges.iter_mut().find(|known| known.0 == column) {
                Some((_, known)) => *known = known.start.max(range.start)..known.end.min(range.end),
                None => ranges.push((column, range)),
            },
            None => part *= of(conjunct, input),
        }
    }
    ranges.iter().fold(part, |part, (_, range)| part * (range.end - range.start).max(NARROW))
}

/// The column that a comparison bounds, and the part of its rows that that leaves.
pub(super) fn column_range(condition: &Expr, input: &Estimate) -> Option<(ColumnId, Range<f64>)> {
    let Expr::Call { function, args } = condition else { return None };
    let [a, b] = &args[..] else { return None };
    let range = range(function.function.record().comparison, a, b, input)?;
    Some((a.as_column().or_else(|| b.as_column())?, range))
}
