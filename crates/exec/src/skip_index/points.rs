//! Constants as the hashes that Bloom filters hold of values that are equal to them.

use chalet_plan::{Expr, InExpr, SetSource};
use chalet_storage::merge_tree::skip_index::hash_value;
use chalet_types::{DataType, Value};

/// The hash of all values of a type that equal a constant of another; none where equal values may have several.
pub fn hash(value: &Value, ty: &DataType, column: &DataType) -> Option<u64> {
    /// Floats are exact integers up to here.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let (ty, column) = (ty.bare(), column.bare());
    let is_integer = |ty: &DataType| ty.is_integer() || *ty == DataType::Bool;
    let is_text = |ty: &DataType| matches!(ty, DataType::String | DataType::FixedString(_));
    // Whatever is bytes of one length is hashed without the zeros at its end.
    let is_fixed = matches!(column, DataType::FixedString(_) | DataType::Uuid | DataType::IPv6);
    match value {
        Value::Null => None,
        _ if is_text(ty) && is_text(column) => {
            // A string is equal to a fixed one but for zeros at the end, which strings keep in their hash.
            let is_fixed_constant = matches!(ty, DataType::FixedString(_));
            if is_fixed_constant && !is_fixed { None } else { hash_value(value, is_fixed) }
        }
        _ if is_integer(ty) && is_integer(column) => match value {
            Value::UInt256(_) | Value::Int256(_) => None,
            _ if matches!(column, DataType::UInt256 | DataType::Int256) => None,
            _ => hash_value(value, false),
        },
        Value::Float(x) if ty.is_float() && column.is_float() => {
            if x.is_nan() {
                None
            } else {
                hash_value(value, false)
            }
        }
        Value::Float(x) if ty.is_float() && column.is_integer() && x.abs() < EXACT && x.fract() == 0.0 => {
            hash_value(&Value::Int(*x as i64), false)
        }
        Value::UInt(_) | Value::Int(_) if is_integer(ty) && column.is_float() => {
            let x = value.as_f64()?;
            if x.abs() < EXACT { hash_value(&Value::Float(x), false) } else { None }
        }
        _ if ty == column && !ty.is_float() => match value {
            Value::UInt256(_) | Value::Int256(_) => None,
            Value::Array(_) | Value::Tuple(_) | Value::Map(_) | Value::Decimal(_) => None,
            _ => hash_value(value, is_fixed),
        },
        _ => None,
    }
}

/// The constants of IN, with their type; none for those of a sub-query.
pub fn constants(e: &InExpr) -> Option<(Vec<Value>, &DataType)> {
    let SetSource::Block(block) = &e.set.source else { return None };
    let column = block.columns().first()?.flat();
    Some(((0..block.n_rows()).map(|row| column.value(row)).collect(), e.set.types.first()?))
}

/// The elements of a constant array, with their type.
pub fn elements(expr: &Expr) -> Option<(Vec<Value>, DataType)> {
    let literal = expr.as_literal()?;
    match literal.value() {
        Value::Array(values) => Some((values, literal.ty.bare().element()?.clone())),
        _ => None,
    }
}
