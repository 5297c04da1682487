//! Between integers and floats, and what is held as one of them.

use super::{Mode, Rules};
use crate::number::Number;
use chalet_base::{Result, bail, err};
use chalet_columns::{Data, Native, NullBuffer, Vector, each_native};
use chalet_types::{AsI256, DataType, I256, Physical, U256, Value, bf16};

/// All values as `T`, converted as in C.
pub fn filled<T: Number>(vector: &Vector) -> Result<Vec<T>> {
    let mut out = vec![T::default(); vector.len()];
    if !T::fill(&vector.data, 0, &mut out) {
        bail!(LOGICAL_ERROR, "Column is {:?} where numbers were expected", vector.data.physical());
    }
    Ok(out)
}

/// To the representation of a type; integers wrap, floats are cut.
pub fn convert(vector: &Vector, to: &DataType) -> Result<Vector> {
    let physical = to.physical();
    if vector.data.physical() == physical {
        return Ok(vector.clone());
    }
    if matches!(vector.data, Data::F64(_) | Data::F32(_) | Data::BF16(_))
        && !matches!(physical, Physical::F64 | Physical::F32 | Physical::BF16)
    {
        return float_to_integer(vector, physical);
    }
    Ok(match physical {
        Physical::U8 => filled::<u8>(vector)?.into(),
        Physical::U16 => filled::<u16>(vector)?.into(),
        Physical::U32 => filled::<u32>(vector)?.into(),
        Physical::U64 => filled::<u64>(vector)?.into(),
        Physical::U128 => filled::<u128>(vector)?.into(),
        Physical::U256 => filled::<U256>(vector)?.into(),
        Physical::I8 => filled::<i8>(vector)?.into(),
        Physical::I16 => filled::<i16>(vector)?.into(),
        Physical::I32 => filled::<i32>(vector)?.into(),
        Physical::I64 => filled::<i64>(vector)?.into(),
        Physical::I128 => filled::<i128>(vector)?.into(),
        Physical::I256 => filled::<I256>(vector)?.into(),
        Physical::F32 => filled::<f32>(vector)?.into(),
        Physical::F64 => filled::<f64>(vector)?.into(),
        Physical::BF16 => {
            let floats = filled::<f32>(vector)?;
            // The upper half, without rounding.
            let upper: Vec<bf16> =
                floats.iter().map(|x| bf16::from_bits((x.to_bits() >> 16) as u16)).collect();
            upper.into()
        }
        other => bail!(LOGICAL_ERROR, "Numbers cannot be converted to {other:?}"),
    })
}

/// Everything but zero is true.
pub fn to_bool(vector: &Vector) -> Result<Vector> {
    fn not_zero<T: Native>(values: &[T]) -> Vec<u8> {
        let zero = T::default();
        values.iter().map(|x| u8::from(*x != zero)).collect()
    }
    let bits: Vec<u8> = each_native!(&vector.data, values => not_zero(values),
    Data::Fixed(fixed) => fixed.iter().map(|value| u8::from(value.iter().any(|b| *b != 0))).collect(),
    other => bail!(LOGICAL_ERROR, "{:?} cannot be converted to Bool", other.physical()));
    Ok(bits.into())
}

/// What the processor's conversion to 32 bits gives: the least integer when the value does not fit.
#[inline(always)]
fn to_i32(x: f64) -> i32 {
    if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

/// The same for 64 bits.
#[inline(always)]
fn to_i64(x: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&x) { x as i64 } else { i64::MIN }
}

/// The same for 64 bits without sign, which takes two conversions.
#[inline(always)]
fn to_u64(x: f64) -> u64 {
    let low = to_i64(x);
    let high = to_i64(x - 9_223_372_036_854_775_808.0);
    (low | (high & (low >> 63))) as u64
}

/// A Float32 becomes a wide integer by way of 64 bits.
pub fn wide_of_f32(x: f64) -> I256 {
    if x >= 0.0 { I256::from(to_i64(x) as u64) } else { I256::from(to_i64(x)) }
}

/// Floats outside of the range of the integer give what the kernel's machine gives; those that are no number fail.
fn float_to_integer(vector: &Vector, physical: Physical) -> Result<Vector> {
    let floats = filled::<f64>(vector)?;
    if floats.iter().any(|x| !x.is_finite()) {
        bail!(CANNOT_CONVERT_TYPE, "Unexpected inf or nan to integer conversion");
    }
    fn each<T>(floats: &[f64], f: impl Fn(f64) -> T) -> Vec<T> {
        floats.iter().map(|x| f(*x)).collect()
    }
    let wide = |x: f64| match &vector.data {
        Data::F64(_) => cut(x),
        Data::F32(_) => wide_of_f32(x),
        _ => I256::from(to_u64(x)),
    };
    Ok(match physical {
        Physical::U8 => each(&floats, |x| to_i32(x) as u8).into(),
        Physical::U16 => each(&floats, |x| to_i32(x) as u16).into(),
        Physical::U32 => each(&floats, |x| to_i64(x) as u32).into(),
        Physical::U64 => each(&floats, to_u64).into(),
        Physical::I8 => each(&floats, |x| to_i32(x) as i8).into(),
        Physical::I16 => each(&floats, |x| to_i32(x) as i16).into(),
        Physical::I32 => each(&floats, to_i32).into(),
        Physical::I64 => each(&floats, to_i64).into(),
        Physical::I128 => each(&floats, |x| wide(x).as_i128()).into(),
        Physical::U128 => each(&floats, |x| wide(x).as_u128()).into(),
        Physical::I256 => each(&floats, wide).into(),
        _ => each(&floats, |x| wide(x).as_u256()).into(),
    })
}

/// Truncation of a finite float to 256 bits.
fn cut(x: f64) -> I256 {
    x.as_i256()
}

/// Fails or gives NULL where a value does not fit exactly.
pub fn accurate(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let narrow = matches!(vector.data, Data::F32(_) | Data::BF16(_));
    let fits: Vec<bool> = (0..vector.len()).map(|row| exact(&vector.value(row), to, narrow)).collect();
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
    let rows: Vec<u32> = (0..vector.len() as u32).filter(|row| fits[*row as usize]).collect();
    let some = super::bare(&vector.gather(&rows), from, to, &cast)?;
    let validity = NullBuffer::from(fits);
    Ok(chalet_function_api::call::scatter(&some, validity.inner(), to).with_nulls(Some(&validity)))
}

/// Is the value one of the target's representation?
fn exact(value: &Value, to: &DataType, narrow: bool) -> bool {
    let physical = to.physical();
    // Dates and times of day count by what they can show.
    let bounds = match to {
        DataType::Bool => return true,
        DataType::Date | DataType::DateTime(_) => Some((0, i64::from(u32::MAX))),
        DataType::Date32 => Some((-719_528, 253_402_300_799)),
        DataType::Time => Some((-3_599_999, 3_599_999)),
        _ => None,
    };
    let in_bounds = |x: I256| match bounds {
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
            let most = if narrow { 9.2e18 } else { 1e30 };
            x.is_finite() && x.trunc() == *x && x.abs() < most && in_bounds(cut(*x))
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
