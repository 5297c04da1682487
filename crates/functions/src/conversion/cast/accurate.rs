//! Numbers that must fit: what a type cannot hold exactly is an error, or NULL.

use super::numbers::wide_of_f64;
use super::or_null::zero_unless;
use super::rules::{Mode, Rules};
use crate::number::Number;
use chalet_base::{Result, err};
use chalet_columns::{Data, NullBuffer, Vector};
use chalet_types::{AsI256, AsU256, DataType, I256, Physical, U256, Value};

/// Fails or gives NULL where a value does not fit exactly.
pub fn convert(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let narrow = matches!(vector.data, Data::F32(_) | Data::BF16(_));
    // Addresses and UUIDs have as many bits, and are no integers.
    let wide = || if from.is_integer() { fits_wide(&vector.data, to) } else { None };
    let fits: Vec<bool> = match fits_narrow(&vector.data, to).or_else(wide) {
        Some(fits) => fits,
        None => (0..vector.len()).map(|row| exact(&vector.value(row), to, narrow)).collect(),
    };
    let cast = rules.with_mode(Mode::Cast);
    if fits.iter().all(|fit| *fit) {
        return super::bare(vector, from, to, &cast);
    }
    if rules.mode == Mode::Accurate {
        return Err(err!(
            CANNOT_CONVERT_TYPE,
            "Value in column {from} cannot be safely converted into type {to}"
        ));
    }
    // The others are replaced by a value that cannot fail.
    let converted = super::bare(&zero_unless(vector, &fits), from, to, &cast)?;
    Ok(converted.with_nulls(Some(&NullBuffer::from(fits))))
}

/// [`exact`] of all values, where these and what the target holds have at most 64 bits.
fn fits_narrow(data: &Data, to: &DataType) -> Option<Vec<bool>> {
    fn integers<T: Copy + Into<i128>>(values: &[T], fits: impl Fn(i128) -> bool) -> Option<Vec<bool>> {
        Some(values.iter().map(|&x| fits(x.into())).collect())
    }
    fn floats<T: Copy + Into<f64>>(values: &[T], fits: impl Fn(f64) -> bool) -> Option<Vec<bool>> {
        Some(values.iter().map(|&x| fits(x.into())).collect())
    }
    fn each(data: &Data, integer: impl Fn(i128) -> bool, float: impl Fn(f64) -> bool) -> Option<Vec<bool>> {
        match data {
            Data::U8(v) => integers(v, integer),
            Data::U16(v) => integers(v, integer),
            Data::U32(v) => integers(v, integer),
            Data::U64(v) => integers(v, integer),
            Data::I8(v) => integers(v, integer),
            Data::I16(v) => integers(v, integer),
            Data::I32(v) => integers(v, integer),
            Data::I64(v) => integers(v, integer),
            Data::F32(v) => floats(v, float),
            Data::F64(v) => floats(v, float),
            _ => None,
        }
    }
    let most = if matches!(data, Data::F32(_)) { MOST_OF_NARROW } else { MOST_OF_WIDE };
    match to.physical() {
        _ if *to == DataType::Bool => each(data, |_| true, |_| true),
        Physical::F64 => each(data, |x| x as f64 as i128 == x, |_| true),
        Physical::F32 => each(data, |x| x as f32 as i128 == x, |x| x.is_nan() || f64::from(x as f32) == x),
        // All of up to 64 bits, but for negative ones where there is no sign.
        physical if to.is_integer() && physical.width().is_some_and(|width| width > 8) => {
            let low = if to.is_unsigned() { 0 } else { i128::MIN };
            let floats = matches!(data, Data::F32(_) | Data::F64(_));
            if floats { None } else { each(data, |x| x >= low, |_| false) }
        }
        physical => {
            let (low, high) = bounds(to).map(|(low, high)| (low.into(), high.into())).or_else(|| {
                let bits = 8 * physical.width().filter(|width| *width <= 8 && to.is_integer())? as u32;
                Some(match to.is_unsigned() {
                    true => (0, (1i128 << bits) - 1),
                    false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                })
            })?;
            each(
                data,
                |x| (low..=high).contains(&x),
                |x| x.trunc() == x && x.abs() < most && (low..=high).contains(&(x as i128)),
            )
        }
    }
}

/// [`exact`] of all values of integers of 128 and 256 bits, where the target counts as an integer.
fn fits_wide(data: &Data, to: &DataType) -> Option<Vec<bool>> {
    let physical = to.physical();
    let (low, high): (I256, U256) = match bounds(to) {
        Some((low, high)) => (low.into(), high.as_u256()),
        None => {
            let bits = 8 * physical.width().filter(|_| to.is_integer() && *to != DataType::Bool)? as u32;
            match to.is_unsigned() {
                true => (I256::ZERO, U256::MAX >> (256 - bits)),
                false => (I256::MIN >> (256 - bits), U256::MAX >> (257 - bits)),
            }
        }
    };
    // The part of these bounds that the integers can reach.
    let high_signed = high.min(I256::MAX.as_u256()).as_i256();
    Some(match data {
        Data::I128(values) => {
            let low = low.max(i128::MIN.into()).as_i128();
            let high = high_signed.min(i128::MAX.into()).as_i128();
            values.iter().map(|x| (low <= *x) & (*x <= high)).collect()
        }
        Data::U128(values) => {
            let low = low.max(I256::ZERO).as_u128();
            let high = high.min(u128::MAX.into()).as_u128();
            values.iter().map(|x| (low <= *x) & (*x <= high)).collect()
        }
        Data::I256(values) => values.iter().map(|x| !x.less(low) & !high_signed.less(*x)).collect(),
        Data::U256(values) => {
            let low = low.max(I256::ZERO).as_u256();
            values.iter().map(|x| !x.less(low) & !high.less(*x)).collect()
        }
        _ => return None,
    })
}

/// Dates and times of day count by what they can show.
fn bounds(to: &DataType) -> Option<(i64, i64)> {
    match to {
        DataType::Date | DataType::DateTime(_) => Some((0, i64::from(u32::MAX))),
        DataType::Date32 => Some((-719_528, 253_402_300_799)),
        DataType::Time => Some((-3_599_999, 3_599_999)),
        _ => None,
    }
}

/// Floats of more are no integers, in 32 bits and in 64.
const MOST_OF_NARROW: f64 = 9.2e18;
const MOST_OF_WIDE: f64 = 1e30;

/// Truncation of a finite float to 256 bits.
fn cut(x: f64) -> I256 {
    x.as_i256()
}

/// Is the value one of the target's representation?
fn exact(value: &Value, to: &DataType, narrow: bool) -> bool {
    let physical = to.physical();
    if *to == DataType::Bool {
        return true;
    }
    let in_bounds = |x: I256| match bounds(to) {
        Some((first, last)) => x >= I256::from(first) && x <= I256::from(last),
        None => in_range(x, physical),
    };
    match (value, physical) {
        (Value::Float(_), Physical::F64) => true,
        (Value::Float(x), Physical::F32) => x.is_nan() || f64::from(*x as f32) == *x,
        (Value::Float(x), Physical::BF16) => {
            let upper = f32::from_bits((*x as f32).to_bits() & 0xffff_0000);
            x.is_nan() || f64::from(upper) == *x
        }
        (Value::Float(x), _) => {
            let most = if narrow { MOST_OF_NARROW } else { MOST_OF_WIDE };
            let fits = x.is_finite() && x.trunc() == *x && in_bounds(cut(*x));
            let wide = physical.width().is_some_and(|width| width > 8);
            // What the conversion changes in the lowest digits is not exact.
            fits && if narrow || !wide { x.abs() < most } else { wide_of_f64(*x) == cut(*x) }
        }
        (Value::UInt256(_), Physical::U256) => true,
        (Value::UInt256(x), _) if *x > I256::MAX.as_u256() => false,
        (_, Physical::F64) => value.as_i256().is_some_and(|x| cut(x.as_f64()) == x),
        (_, Physical::F32 | Physical::BF16) => value.as_i256().is_some_and(|x| {
            let float = x.as_f32();
            let float = if physical == Physical::BF16 {
                f32::from_bits(float.to_bits() & 0xffff_0000)
            } else {
                float
            };
            cut(float.into()) == x
        }),
        _ => value.as_i256().is_some_and(in_bounds),
    }
}

fn in_range(x: I256, physical: Physical) -> bool {
    let bits = 8 * physical.width().unwrap_or(32) as u32;
    let unsigned =
        matches!(physical, Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64 | Physical::U128);
    match physical {
        Physical::I256 => true,
        Physical::U256 => x >= 0,
        _ if unsigned => x >= 0 && x < (I256::ONE << bits),
        _ => x >= -(I256::ONE << (bits - 1)) && x < (I256::ONE << (bits - 1)),
    }
}
