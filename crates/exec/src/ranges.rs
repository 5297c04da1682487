//! Bounds of columns that follow from a filter, so that tables can leave out what statistics exclude.
//!
//! Only conjuncts of a column and constants of a type that orders like it, and alternatives of such; everything else bounds
//! nothing.

use crate::expression::Layout;
use chalet_columns::Block;
use chalet_function_api::Lazy;
use chalet_plan::{Expr, InExpr, SetSource};
use chalet_storage::ColumnRange;
use chalet_storage::scan::Interval;
use chalet_types::{DataType, Value};
use std::cmp::Ordering;

/// Sets with more constants than this are not looked up in statistics.
const MAX_AMONG: usize = 100;

/// What a filter says of single columns of a scan. All of it holds for every row that passes, or was hinted at.
pub fn ranges(filter: &Expr, scan: &Layout) -> Vec<ColumnRange> {
    let mut conjuncts = Vec::new();
    filter.clone().conjuncts(&mut conjuncts);
    let of = |conjunct: &Expr| match conjunct {
        Expr::Call { function, args } if function.function.record().hints_index => {
            args.iter().flat_map(|hint| ranges(hint, scan)).collect()
        }
        other => Vec::from_iter(range(other, scan)),
    };
    conjuncts.iter().flat_map(of).collect()
}

/// Does a filter bound columns by hints, which do not hold for the rows?
pub fn has_hints(filter: &Expr) -> bool {
    let is_hint = |expr: &Expr| match expr {
        Expr::Call { function, .. } => function.function.record().hints_index,
        _ => false,
    };
    filter.any(&is_hint)
}

/// Is it made of hints alone?
pub fn is_hint(filter: &Expr) -> bool {
    let mut conjuncts = Vec::new();
    filter.clone().conjuncts(&mut conjuncts);
    let is_hint = |conjunct: &Expr| match conjunct {
        Expr::Call { function, .. } => function.function.record().hints_index,
        _ => false,
    };
    conjuncts.iter().all(is_hint)
}

/// What a conjunct says of one column, where that is all that it says.
pub fn exact_range(conjunct: &Expr, scan: &Layout) -> Option<ColumnRange> {
    match conjunct {
        Expr::Call { function, args } if function.function.record().lazy == Lazy::Or => {
            let ranges = args.iter().map(|arg| exact_range(arg, scan)).collect::<Option<Vec<_>>>()?;
            let is_plain = |range: &ColumnRange| range.any_of.is_empty();
            if ranges.iter().all(is_plain) { any_of(&ranges) } else { None }
        }
        // `range` leaves out nothing of what it understands.
        other => range(other, scan),
    }
}

fn range(conjunct: &Expr, scan: &Layout) -> Option<ColumnRange> {
    match conjunct {
        Expr::In(e) => among(e, scan),
        Expr::Call { function, args } if function.function.record().lazy == Lazy::Or => {
            let ranges = args.iter().map(|arg| conjunction(arg, scan)).collect::<Option<Vec<_>>>()?;
            any_of(&ranges)
        }
        Expr::Call { function, args } => match (function.function.record().name, &args[..]) {
            ("not", [Expr::Call { function, args }]) => {
                // NaN is neither less nor not less than a number.
                let is_float = args.iter().any(|arg| arg.ty().bare().is_float());
                if is_float { None } else { comparison(function.function.record().name, args, true, scan) }
            }
            (name, args) => comparison(name, args, false, scan),
        },
        _ => None,
    }
}

/// What conjuncts say of the one column that all of them bound: nothing, if one of them bounds another or none.
fn conjunction(expr: &Expr, scan: &Layout) -> Option<ColumnRange> {
    let mut found = ranges(expr, scan).into_iter();
    let first = found.next()?;
    found.try_fold(first, |all, next| {
        let plain = |range: &ColumnRange| range.among.is_empty() && range.any_of.is_empty();
        if all.column != next.column || !plain(&all) || !plain(&next) {
            return None;
        }
        // Both hold: one of two bounds of the same end is enough to be right.
        Some(ColumnRange {
            low: all.low.or(next.low),
            high: all.high.or(next.high),
            ..ColumnRange::of(all.column)
        })
    })
}

/// Of alternatives that all bound the same column: the intervals together.
fn any_of(ranges: &[ColumnRange]) -> Option<ColumnRange> {
    let column = ranges.first()?.column;
    let mut any_of = Vec::new();
    for range in ranges {
        if range.column != column {
            return None;
        }
        match (&range.among[..], &range.any_of[..]) {
            ([], []) => any_of.push(Interval { low: range.low.clone(), high: range.high.clone() }),
            (among, []) => any_of.extend(among.iter().map(Interval::point)),
            (_, inner) => any_of.extend_from_slice(inner),
        }
    }
    if any_of.len() > MAX_AMONG {
        return None;
    }
    let wider = |outermost: Ordering| {
        move |a: (Value, bool), b: (Value, bool)| match a.0.compare(&b.0) {
            Ordering::Equal => (a.0, a.1 || b.1),
            order if order == outermost => a,
            _ => b,
        }
    };
    let low: Option<Vec<_>> = any_of.iter().map(|interval| interval.low.clone()).collect();
    let high: Option<Vec<_>> = any_of.iter().map(|interval| interval.high.clone()).collect();
    Some(ColumnRange {
        low: low.and_then(|bounds| bounds.into_iter().reduce(wider(Ordering::Less))),
        high: high.and_then(|bounds| bounds.into_iter().reduce(wider(Ordering::Greater))),
        any_of,
        ..ColumnRange::of(column)
    })
}

/// `negated`: the comparison must not hold.
pub(crate) fn comparison(function: &str, args: &[Expr], negated: bool, scan: &Layout) -> Option<ColumnRange> {
    let (column, literal, turned) = match args {
        [Expr::Column(id, ty), Expr::Literal(literal)] => ((id, ty), literal, false),
        [Expr::Literal(literal), Expr::Column(id, ty)] => ((id, ty), literal, true),
        _ => return None,
    };
    // Which ends the value bounds, and whether it is included.
    let (low, high) = match (function, turned) {
        ("equals", _) => (Some(true), Some(true)),
        ("less", false) | ("greater", true) => (None, Some(false)),
        ("lessOrEquals", false) | ("greaterOrEquals", true) => (None, Some(true)),
        ("greater", false) | ("less", true) => (Some(false), None),
        ("greaterOrEquals", false) | ("lessOrEquals", true) => (Some(true), None),
        _ => return None,
    };
    let (low, high) = match (low, high) {
        ends if !negated => ends,
        (Some(included), None) => (None, Some(!included)),
        (None, Some(included)) => (Some(!included), None),
        _ => return None,
    };
    let range = ColumnRange::of(*scan.get(column.0)?);
    if let Some((below, above)) = between_integers(&literal.value(), &literal.ty, column.1) {
        // A fraction lies between two integers: neither is equal to it.
        let whole = below == above;
        return Some(ColumnRange {
            low: low.map(|included| (above, included || !whole)),
            high: high.map(|included| (below, included || !whole)),
            ..range
        });
    }
    let value = bound(literal.value(), &literal.ty, column.1)?;
    Some(ColumnRange {
        low: low.map(|included| (value.clone(), included)),
        high: high.map(|included| (value, included)),
        ..range
    })
}

/// A float that is compared with integers: the integers next to it, or itself twice.
fn between_integers(value: &Value, ty: &DataType, column: &DataType) -> Option<(Value, Value)> {
    /// Floats are exact integers up to here.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Float(x) if ty.bare().is_float() && column.bare().is_integer() && x.abs() < EXACT => {
            Some((Value::Int(x.floor() as i64), Value::Int(x.ceil() as i64)))
        }
        _ => None,
    }
}

fn among(e: &InExpr, scan: &Layout) -> Option<ColumnRange> {
    let ([Expr::Column(id, ty)], [set_type], false) = (&e.needles[..], &e.set.types[..], e.negated) else {
        return None;
    };
    let SetSource::Block(block) = &e.set.source else { return None };
    if block.n_rows() == 0 || block.n_rows() > MAX_AMONG {
        return None;
    }
    let mut among = values(block, set_type, ty)?;
    among.sort_by(Value::compare);
    Some(ColumnRange { among, ..ColumnRange::of(*scan.get(id)?) })
}

/// The constants of a set; none if one of them is NULL, which may be found, or does not order like the column.
pub fn values(block: &Block, set_type: &DataType, ty: &DataType) -> Option<Vec<Value>> {
    let column = block.columns().first()?.flat();
    (0..block.n_rows()).map(|row| bound(column.value(row), set_type, ty)).collect()
}

/// The value, if it compares with the values of the column as the dialect compares them.
fn bound(value: Value, ty: &DataType, column: &DataType) -> Option<Value> {
    let (ty, column) = (ty.bare(), column.bare());
    let whole = ty.is_integer() && column.is_integer();
    // Enums and addresses are the numbers that they are stored as.
    let is_number = ty.is_float() || ty.is_enum() || *ty == DataType::IPv4;
    let same = ty == column && (is_number || orders_plainly(ty));
    let plain = match &value {
        Value::UInt(_) | Value::Int(_) | Value::Bytes(_) => true,
        Value::Float(x) => !x.is_nan(),
        _ => false,
    };
    ((whole || same) && plain).then_some(value)
}

/// Do values of the type order in the dialect as they do in statistics?
pub(crate) fn orders_plainly(ty: &DataType) -> bool {
    ty.is_integer() || ty.is_date_or_time() || *ty == DataType::String
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_like_types_bound() {
        let int = |x| Value::Int(x);
        assert_eq!(bound(int(-1), &DataType::Int8, &DataType::UInt64), Some(int(-1)));
        assert_eq!(bound(int(1), &DataType::Int8, &DataType::Int64.nullable()), Some(int(1)));
        assert_eq!(bound(int(1), &DataType::Int8, &DataType::Float64), None);
        assert_eq!(bound(Value::Float(f64::NAN), &DataType::Float64, &DataType::Float64), None);
        assert_eq!(bound(Value::Null, &DataType::Int8.nullable(), &DataType::Int8), None);
        assert_eq!(bound(Value::string("a"), &DataType::String, &DataType::Date), None);
    }
}
