//! Conditions over the smallest and the largest value of granules.

use super::tree::Tree;
use super::{MayMatch, position, stand_in};
use crate::expression::Layout;
use crate::ranges;
use chalet_columns::{Block, BooleanBuffer};
use chalet_plan::{Expr, SetSource};
use chalet_storage::ColumnRange;
use chalet_storage::merge_tree::skip_index::{Granules, MinMaxGranule};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::sync::Arc;

enum Test {
    /// Of the expression that is its column.
    Within(ColumnRange),
    /// The expression is none of these.
    NoneOf(usize, Vec<Value>),
    Null(usize),
    NotNull(usize),
}

pub(super) fn condition(filter: &Expr, types: &[DataType]) -> Option<MayMatch> {
    let layout: Layout = (0..types.len()).map(|at| (stand_in(at), at)).collect();
    let tree = Tree::of(filter, false, &|expr, negated| test(expr, negated, types.len(), &layout))?;
    Some(Arc::new(move |granules: &Granules| {
        let Granules::MinMax(bounds) = granules else { return Ok(BooleanBuffer::new_unset(0)) };
        tree.mask(&|test| {
            Ok(BooleanBuffer::collect_bool(bounds.n_granules(), |granule| {
                test.may_hold(&bounds.granule(test.expr(), granule))
            }))
        })
    }))
}

fn test(expr: &Expr, negated: bool, n_exprs: usize, layout: &Layout) -> Option<Test> {
    match expr {
        Expr::In(e) => {
            let [needle] = &e.needles[..] else { return None };
            let at = position(needle, n_exprs)?;
            let SetSource::Block(block) = &e.set.source else { return None };
            let mut values = match block.n_rows() {
                0 => return None,
                _ => values(block, e.set.types.first()?, needle.ty())?,
            };
            values.sort_by(Value::compare);
            Some(match e.negated != negated {
                true => Test::NoneOf(at, values),
                false => Test::Within(ColumnRange { among: values, ..ColumnRange::of(at) }),
            })
        }
        Expr::Call { function, args } => match (function.function.record().name, &args[..], negated) {
            ("isNull", [arg], false) | ("isNotNull", [arg], true) => {
                Some(Test::Null(position(arg, n_exprs)?))
            }
            ("isNotNull", [arg], false) | ("isNull", [arg], true) => {
                Some(Test::NotNull(position(arg, n_exprs)?))
            }
            ("notEquals", args, false) | ("equals", args, true) => {
                let point = equal(args, layout)?;
                let (low, high) = (point.low?, point.high?);
                // Of a fraction that no integer equals, nothing follows.
                (low.1 && high.1 && low.0 == high.0).then(|| Test::NoneOf(point.column, vec![low.0]))
            }
            ("notEquals", args, true) | ("equals", args, false) => equal(args, layout).map(Test::Within),
            (name, args, negated) => {
                // NaN is neither less nor not less than a number.
                let is_float = args.iter().any(|arg| arg.ty().bare().is_float());
                if negated && is_float {
                    return None;
                }
                ranges::comparison(name, args, negated, layout).map(Test::Within)
            }
        },
        _ => None,
    }
}

/// Values of one type that are equal only if their representations are, however they order.
fn has_points(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Decimal { .. } | Uuid | IPv4 | IPv6 | Enum8(_) | Enum16(_) | Bool | FixedString(_))
}

fn is_point(value: &Value, ty: &DataType, column: &DataType) -> bool {
    !value.is_null() && ty.bare() == column.bare() && has_points(column.bare())
}

fn equal(args: &[Expr], layout: &Layout) -> Option<ColumnRange> {
    if let Some(range) = ranges::comparison("equals", args, false, layout) {
        return Some(range);
    }
    let (column, literal) = match args {
        [column, Expr::Literal(literal)] | [Expr::Literal(literal), column] => (column, literal),
        _ => return None,
    };
    let value = literal.value();
    let at = *layout.get(&column.as_column()?)?;
    let bound = Some((value.clone(), true));
    is_point(&value, &literal.ty, column.ty()).then(|| ColumnRange {
        low: bound.clone(),
        high: bound,
        ..ColumnRange::of(at)
    })
}

/// The constants of a set, if all of them can be found between extremes.
fn values(block: &Block, ty: &DataType, column: &DataType) -> Option<Vec<Value>> {
    if let Some(values) = ranges::values(block, ty, column) {
        return Some(values);
    }
    let constants = block.columns().first()?.flat();
    let mut values = (0..block.n_rows()).map(|row| constants.value(row));
    values.by_ref().map(|value| is_point(&value, ty, column).then_some(value)).collect()
}

impl Test {
    fn expr(&self) -> usize {
        match self {
            Test::Within(range) => range.column,
            Test::NoneOf(at, _) | Test::Null(at) | Test::NotNull(at) => *at,
        }
    }

    /// May it hold for a row of a granule?
    fn may_hold(&self, granule: &MinMaxGranule) -> bool {
        let extremes = granule.extremes.as_ref();
        match self {
            Test::Null(_) => granule.has_null,
            Test::NotNull(_) => granule.has_nan || extremes.is_some(),
            Test::NoneOf(_, values) => {
                // NULL is in no set, unless a setting says otherwise.
                granule.has_nan
                    || granule.has_null
                    || extremes.is_some_and(|(min, max)| {
                        order(min, max) != Some(Ordering::Equal)
                            || !values.iter().any(|v| order(v, min) == Some(Ordering::Equal))
                    })
            }
            // NaN is in no range, and equal to nothing.
            Test::Within(range) => extremes.is_some_and(|(min, max)| meets(range, min, max)),
        }
    }
}

/// Zeros are equal; what does not order has no answer.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        _ => Some(a.compare(b)),
    }
}

/// May a value between the extremes be in the range?
fn meets(range: &ColumnRange, min: &Value, max: &Value) -> bool {
    let above = |low: &(Value, bool)| match order(max, &low.0) {
        Some(Ordering::Less) => false,
        Some(Ordering::Equal) => low.1,
        _ => true,
    };
    let below = |high: &(Value, bool)| match order(min, &high.0) {
        Some(Ordering::Greater) => false,
        Some(Ordering::Equal) => high.1,
        _ => true,
    };
    let within = |value: &Value| {
        order(min, value) != Some(Ordering::Greater) && order(max, value) != Some(Ordering::Less)
    };
    range.low.as_ref().is_none_or(above)
        && range.high.as_ref().is_none_or(below)
        && (range.among.is_empty() || range.among.iter().any(within))
}
