//! Values as the hashes that Bloom filters hold. They are on disk: they may never change.
//!
//! Values of different types that the dialect holds to be equal have one hash: integers whatever their width, floats as Float64,
//! fixed strings without the zeros at their end.

use chalet_base::Result;
use chalet_columns::{Data, Vector};
use chalet_types::Value;
use xxhash_rust::xxh3::xxh3_64;

fn of_integer(x: i128) -> u64 {
    xxh3_64(&x.to_le_bytes())
}

fn of_float(x: f64) -> u64 {
    // The zeros are equal, and no NaN is equal to anything.
    xxh3_64(&(x + 0.0).to_bits().to_le_bytes())
}

pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..len]
}

/// The hash of a constant; `is_fixed` where it is compared with strings of one length. None for what is no single value.
pub fn hash_value(value: &Value, is_fixed: bool) -> Option<u64> {
    Some(match value {
        Value::UInt(x) => of_integer(i128::from(*x)),
        Value::Int(x) => of_integer(i128::from(*x)),
        Value::UInt128(x) => of_integer(*x as i128),
        Value::Int128(x) => of_integer(*x),
        Value::Float(x) => of_float(*x),
        Value::Bytes(bytes) if is_fixed => of_bytes(trimmed(bytes)),
        Value::Bytes(bytes) => of_bytes(bytes),
        _ => return None,
    })
}

/// Calls `f` with the hash of each value that is not NULL.
pub(super) fn each_hash(vector: &Vector, f: &mut dyn FnMut(u64)) -> Result<()> {
    let valid = |row: usize| vector.validity.is_none() || !vector.is_null(row);
    match &vector.data {
        Data::Str(strings) => strings.iter().enumerate().for_each(|(row, bytes)| {
            if valid(row) {
                f(of_bytes(bytes));
            }
        }),
        Data::Fixed(fixed) => (0..fixed.len()).filter(|&row| valid(row)).for_each(|row| {
            f(of_bytes(trimmed(fixed.get(row))));
        }),
        Data::F32(values) => (0..values.len()).filter(|&row| valid(row)).for_each(|row| {
            f(of_float(f64::from(values[row])));
        }),
        Data::F64(values) => {
            (0..values.len()).filter(|&row| valid(row)).for_each(|row| f(of_float(values[row])));
        }
        // Of 256 bits and others: rare.
        _ => (0..vector.len()).filter(|&row| valid(row)).for_each(|row| {
            let value = vector.value(row);
            f(hash_value(&value, false).unwrap_or_else(|| of_bytes(format!("{value:?}").as_bytes())));
        }),
    }
    Ok(())
}
