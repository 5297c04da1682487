//! Integers of a binary format into columns whose values are integers, cut to their width as the kernel cuts them.

use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_types::DataType;

/// Does an integer say a value of the type?
pub fn fits(ty: &DataType) -> bool {
    matches!(
        ty.bare(),
        DataType::Bool
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date
            | DataType::Date32
            | DataType::DateTime(_)
            | DataType::DateTime64(..)
            | DataType::Enum8(_)
            | DataType::Enum16(_)
            | DataType::IPv4
    ) || matches!(ty.bare(), DataType::Decimal { precision, .. } if *precision <= 18)
}

/// Appends an integer to a column of a type that [`fits`]; false when the representation is another one.
pub fn push(to: &mut Builder, value: i64) -> bool {
    match &mut to.values {
        Values::U8(v) => v.push(value as u8),
        Values::U16(v) => v.push(value as u16),
        Values::U32(v) => v.push(value as u32),
        Values::U64(v) => v.push(value as u64),
        Values::I8(v) => v.push(value as i8),
        Values::I16(v) => v.push(value as i16),
        Values::I32(v) => v.push(value as i32),
        Values::I64(v) => v.push(value),
        _ => return false,
    }
    to.mark_valid();
    true
}

/// Appends raw bytes to a column of numbers too wide for integers of 64 bits, of addresses, or of strings of one
/// length; false when that is not what it is or their number is another one.
pub fn push_raw(to: &mut Builder, ty: &DataType, bytes: &[u8]) -> bool {
    match (&mut to.values, ty.bare()) {
        (Values::I128(v), _) => match bytes.try_into() {
            Ok(bytes) => v.push(i128::from_le_bytes(bytes)),
            Err(_) => return false,
        },
        (Values::U128(v), _) => match bytes.try_into() {
            Ok(bytes) => v.push(u128::from_le_bytes(bytes)),
            Err(_) => return false,
        },
        (Values::I256(v), _) => match bytes.try_into() {
            Ok(bytes) => v.push(chalet_types::I256::from_le_bytes(bytes)),
            Err(_) => return false,
        },
        (Values::U256(v), _) => match bytes.try_into() {
            Ok(bytes) => v.push(chalet_types::U256::from_le_bytes(bytes)),
            Err(_) => return false,
        },
        (Values::Fixed { width, bytes: out }, DataType::FixedString(_)) if bytes.len() <= *width => {
            let end = out.len() + *width;
            out.extend_from_slice(bytes);
            out.resize(end, 0);
        }
        (Values::Fixed { bytes: out, .. }, DataType::IPv6) if bytes.len() == 16 => {
            out.extend_from_slice(bytes);
        }
        _ => return false,
    }
    to.mark_valid();
    true
}
