//! Between integers and floats, and what is held as one of them.

use crate::number::Number;
use chalet_base::{Result, bail};
use chalet_columns::{Data, Native, Vector, each_native};
use chalet_types::{DataType, I256, Physical, U256, bf16};

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

/// A Float64 becomes a wide integer by way of 80 bits.
pub fn wide_of_f64(x: f64) -> I256 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if x.abs() < LIMIT { I256::from(x as i64) } else { super::large_floats::of_large(x) }
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
        Data::F64(_) => wide_of_f64(x),
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
