//! To, from and between decimals.

use super::numbers::filled;
use chalet_base::{Error, Result, bail, err};
use chalet_columns::{Data, Vector};
use chalet_types::decimal::{pow10, pow10_i128};
use chalet_types::{DataType, I256, Physical, U256};

#[cold]
fn overflow() -> Error {
    err!(DECIMAL_OVERFLOW, "Decimal convert overflow")
}

/// Values of up to 128 bits, or of 256.
enum Digits {
    Narrow(Vec<i128>),
    Wide(Vec<I256>),
}

fn digits(vector: &Vector) -> Result<Digits> {
    Ok(match &vector.data {
        Data::I256(values) => Digits::Wide(values.to_vec()),
        Data::U256(values) => Digits::Wide(values.iter().map(|x| x.as_i256()).collect()),
        _ => Digits::Narrow(filled::<i128>(vector)?),
    })
}

/// Narrows digits to the width of a decimal, or fails.
fn narrowed(digits: Digits, physical: Physical) -> Result<Vector> {
    fn each<A: Copy, T: TryFrom<A>>(values: &[A]) -> Result<Vec<T>> {
        values.iter().map(|x| T::try_from(*x).map_err(|_| overflow())).collect()
    }
    Ok(match (digits, physical) {
        (Digits::Narrow(v), Physical::I32) => each::<_, i32>(&v)?.into(),
        (Digits::Narrow(v), Physical::I64) => each::<_, i64>(&v)?.into(),
        (Digits::Narrow(v), Physical::I128) => v.into(),
        (Digits::Narrow(v), _) => v.iter().map(|x| I256::from(*x)).collect::<Vec<_>>().into(),
        (Digits::Wide(v), Physical::I32) => each::<_, i32>(&v)?.into(),
        (Digits::Wide(v), Physical::I64) => each::<_, i64>(&v)?.into(),
        (Digits::Wide(v), Physical::I128) => each::<_, i128>(&v)?.into(),
        (Digits::Wide(v), _) => v.into(),
    })
}

/// Digits moved by powers of ten: up with a check, down by cutting.
fn shifted(digits: Digits, by: i32) -> Result<Digits> {
    if by == 0 {
        return Ok(digits);
    }
    let amount = by.unsigned_abs();
    Ok(match digits {
        Digits::Narrow(v) if by < 0 && amount <= 38 => {
            let divisor = pow10_i128(amount);
            // 64-bit division is several times faster than 128-bit.
            match i64::try_from(divisor) {
                Ok(small) => Digits::Narrow(
                    v.iter()
                        .map(|x| match i64::try_from(*x) {
                            Ok(x) => i128::from(x / small),
                            Err(_) => x / divisor,
                        })
                        .collect(),
                ),
                Err(_) => Digits::Narrow(v.iter().map(|x| x / divisor).collect()),
            }
        }
        Digits::Narrow(v) if by > 0 && amount <= 38 => {
            let factor = pow10_i128(amount);
            let fits: Option<Vec<i128>> = v.iter().map(|x| x.checked_mul(factor)).collect();
            match fits {
                Some(v) => Digits::Narrow(v),
                None => shifted(Digits::Wide(v.iter().map(|x| I256::from(*x)).collect()), by)?,
            }
        }
        Digits::Narrow(v) => shifted(Digits::Wide(v.iter().map(|x| I256::from(*x)).collect()), by)?,
        Digits::Wide(v) => {
            let factor = pow10(amount);
            let moved = v
                .iter()
                .map(|x| if by < 0 { Ok(*x / factor) } else { x.checked_mul(factor).ok_or_else(overflow) });
            Digits::Wide(moved.collect::<Result<_>>()?)
        }
    })
}

fn scale_of(ty: &DataType) -> i32 {
    match ty {
        DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _) | DataType::Time64(scale) => {
            i32::from(*scale)
        }
        _ => 0,
    }
}

/// Between decimals, or to ticks.
pub fn rescale(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    let moved = shifted(digits(vector)?, scale_of(to) - scale_of(from))?;
    narrowed(moved, to.physical())
}

/// From integers and floats.
pub fn of_number(vector: &Vector, to: &DataType) -> Result<Vector> {
    let scale = scale_of(to);
    let physical = to.physical();
    if let Data::U256(values) = &vector.data
        && values.iter().any(|x| *x > I256::MAX.as_u256())
    {
        return Err(overflow());
    }
    if !matches!(vector.data, Data::F64(_) | Data::F32(_) | Data::BF16(_)) {
        return narrowed(shifted(digits(vector)?, scale)?, physical);
    }
    let narrow = matches!(vector.data, Data::F32(_));
    let bits = 8 * physical.width().unwrap_or(32) as i32;
    let limit = 2f64.powi(bits - 1);
    let factor = 10f64.powi(scale);
    let cut = filled::<f64>(vector)?.into_iter().map(|x| {
        if !x.is_finite() {
            bail!(DECIMAL_OVERFLOW, "Decimal convert overflow. Cannot convert infinity or NaN to decimal");
        }
        // A Float32 is scaled in its own width.
        let scaled = if narrow { f64::from(x as f32 * factor as f32) } else { x * factor };
        if scaled <= -limit || scaled >= limit {
            bail!(DECIMAL_OVERFLOW, "Decimal convert overflow. Float is out of Decimal range");
        }
        Ok(scaled)
    });
    let cut = cut.collect::<Result<Vec<f64>>>()?;
    Ok(match physical {
        Physical::I32 => cut.iter().map(|x| *x as i32).collect::<Vec<_>>().into(),
        Physical::I64 => cut.iter().map(|x| *x as i64).collect::<Vec<_>>().into(),
        Physical::I128 if narrow => {
            cut.iter().map(|x| super::numbers::wide_of_f32(*x).as_i128()).collect::<Vec<_>>().into()
        }
        Physical::I256 if narrow => {
            cut.iter().map(|x| super::numbers::wide_of_f32(*x)).collect::<Vec<_>>().into()
        }
        Physical::I128 => cut.iter().map(|x| *x as i128).collect::<Vec<_>>().into(),
        _ => {
            use chalet_types::AsI256;
            cut.iter().map(|x| x.as_i256()).collect::<Vec<_>>().into()
        }
    })
}

/// To integers, which must hold the whole part, and floats.
pub fn to_number(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    let scale = scale_of(from);
    if to.is_float() {
        let divisor = 10f64.powi(scale);
        let floats: Vec<f64> = filled::<f64>(vector)?.into_iter().map(|x| x / divisor).collect();
        return super::numbers::convert(&floats.into(), to);
    }
    let whole = shifted(digits(vector)?, -scale)?;
    fn each<A: Copy, T: TryFrom<A>>(values: &[A]) -> Result<Vec<T>> {
        values
            .iter()
            .map(|x| T::try_from(*x).map_err(|_| err!(DECIMAL_OVERFLOW, "Convert overflow")))
            .collect()
    }
    macro_rules! narrow_to {
        ($($variant:ident => $ty:ty),*) => {
            match (whole, to.physical()) {
                $((Digits::Narrow(v), Physical::$variant) => each::<_, $ty>(&v)?.into(),
                (Digits::Wide(v), Physical::$variant) => each::<_, $ty>(&v)?.into(),)*
                (Digits::Narrow(v), Physical::I128) => v.into(),
                (Digits::Narrow(v), Physical::U256) => each::<_, U256>(&v)?.into(),
                (Digits::Wide(v), Physical::U256) => each::<_, U256>(&v)?.into(),
                (Digits::Wide(v), Physical::I128) => each::<_, i128>(&v)?.into(),
                (Digits::Narrow(v), _) => v.iter().map(|x| I256::from(*x)).collect::<Vec<_>>().into(),
                (Digits::Wide(v), _) => v.into(),
            }
        };
    }
    Ok(
        narrow_to!(U8 => u8, U16 => u16, U32 => u32, U64 => u64, U128 => u128, I8 => i8, I16 => i16, I32 => i32, I64 => i64),
    )
}

/// The decimal with the same digits as the ticks of a type.
pub fn as_decimal(ty: &DataType) -> DataType {
    match ty {
        DataType::DateTime64(scale, _) | DataType::Time64(scale) => {
            DataType::Decimal { precision: 18, scale: *scale }
        }
        other => other.clone(),
    }
}
