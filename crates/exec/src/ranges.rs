//! Bounds of columns that follow from a filter, so that tables can leave out what statistics exclude.
//!
//! Only conjuncts of a column and constants of a type that orders like it; everything else bounds nothing.

use crate::expression::Layout;
use chalet_columns::Block;
use chalet_plan::{Expr, InExpr, SetSource};
use chalet_storage::ColumnRange;
use chalet_types::{DataType, Value};

/// Sets with more constants than this are not looked up in statistics.
const MAX_AMONG: usize = 100;

/// What a filter says of single columns of a scan. All of it holds for every row that passes.
pub fn ranges(filter: &Expr, scan: &Layout) -> Vec<ColumnRange> {
    let mut conjuncts = Vec::new();
    filter.clone().conjuncts(&mut conjuncts);
    conjuncts.iter().filter_map(|conjunct| range(conjunct, scan)).collect()
}

fn range(conjunct: &Expr, scan: &Layout) -> Option<ColumnRange> {
    let (function, args) = match conjunct {
        Expr::Call { function, args } => (function.function.record().name, args),
        Expr::In(e) => return among(e, scan),
        _ => return None,
    };
    let (column, literal, turned) = match &args[..] {
        [Expr::Column(id, ty), Expr::Literal(literal)] => ((id, ty), literal, false),
        [Expr::Literal(literal), Expr::Column(id, ty)] => ((id, ty), literal, true),
        _ => return None,
    };
    let value = bound(literal.value(), &literal.ty, column.1)?;
    let mut range = ColumnRange { column: *scan.get(column.0)?, low: None, high: None, among: Vec::new() };
    let (low, high) = match (function, turned) {
        ("equals", _) => (Some(true), Some(true)),
        ("less", false) | ("greater", true) => (None, Some(false)),
        ("lessOrEquals", false) | ("greaterOrEquals", true) => (None, Some(true)),
        ("greater", false) | ("less", true) => (Some(false), None),
        ("greaterOrEquals", false) | ("lessOrEquals", true) => (Some(true), None),
        _ => return None,
    };
    range.low = low.map(|included| (value.clone(), included));
    range.high = high.map(|included| (value, included));
    Some(range)
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
    Some(ColumnRange { column: *scan.get(id)?, low: None, high: None, among })
}

/// The constants of a set; none if one of them is NULL, which may be found, or does not order like the column.
fn values(block: &Block, set_type: &DataType, ty: &DataType) -> Option<Vec<Value>> {
    let column = block.columns().first()?.flat();
    (0..block.n_rows()).map(|row| bound(column.value(row), set_type, ty)).collect()
}

/// The value, if it compares with the values of the column as the dialect compares them.
fn bound(value: Value, ty: &DataType, column: &DataType) -> Option<Value> {
    let (ty, column) = (ty.bare(), column.bare());
    let whole = ty.is_integer() && column.is_integer();
    let same = ty == column && (ty.is_float() || orders_plainly(ty));
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
