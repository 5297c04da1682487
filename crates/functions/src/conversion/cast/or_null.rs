//! What cannot be converted becomes NULL: integers from text, and numbers to decimals, without a look at each row's error.

use super::rules::{Mode, Rules};
use chalet_base::Result;
use chalet_columns::{Buf, Builder, Data, Native, NullBuffer, Strings, Vector, each_native};
use chalet_text::Reader;
use chalet_types::decimal::pow10_i128;
use chalet_types::{DataType, I256, Physical, U256};

/// What a quick look at a text finds.
enum Look {
    Value(i64),
    /// A word.
    Null,
    /// The reader has to say.
    Unknown,
}

/// Sign and up to 18 digits, which fit 64 bits.
#[inline(always)]
fn look(text: &[u8]) -> Look {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return if begins_with_a_word(text) { Look::Null } else { Look::Unknown };
    }
    let mut value = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return if begins_with_a_word(text) { Look::Null } else { Look::Unknown };
        }
        value = value * 10 + i64::from(digit);
    }
    Look::Value(if negative { -value } else { value })
}

/// No integer begins with a letter; those that could mean something are left to the reader.
#[inline(always)]
fn begins_with_a_word(text: &[u8]) -> bool {
    text.first().is_some_and(|b| b.is_ascii_alphabetic() && !matches!(b, b'i' | b'I' | b'n' | b'N'))
}

/// Integers from text, NULL where there is none; nothing for other types.
pub fn integers(
    strings: &Strings,
    to: &DataType,
    reader: &Reader,
    nullable: &DataType,
) -> Result<Option<Vector>> {
    fn each<T: Native + TryFrom<i64>>(
        strings: &Strings,
        signed: bool,
        reader: &Reader,
        nullable: &DataType,
    ) -> Result<Vector> {
        let mut values: Vec<T> = Vec::with_capacity(strings.len());
        let mut valid: Vec<bool> = Vec::with_capacity(strings.len());
        let mut unknown = Builder::new(nullable);
        let mut rows = Vec::new();
        for text in strings.iter() {
            let value = match look(text) {
                Look::Value(value) if signed || text[0] != b'-' => T::try_from(value).ok(),
                Look::Null => None,
                _ => {
                    rows.push(values.len());
                    reader.whole_or_default(std::iter::once(text), &mut unknown);
                    None
                }
            };
            valid.push(value.is_some());
            values.push(value.unwrap_or_default());
        }
        let unknown = unknown.finish();
        for (at, (row, value)) in rows.into_iter().zip(unknown.values::<T>()?).enumerate() {
            values[row] = *value;
            valid[row] = !unknown.is_null(at);
        }
        Ok(Vector::new(T::wrap(values.into()), Some(NullBuffer::from(valid))))
    }
    if !to.is_integer() || *to == DataType::Bool {
        return Ok(None);
    }
    Ok(Some(match to.physical() {
        Physical::U8 => each::<u8>(strings, false, reader, nullable)?,
        Physical::U16 => each::<u16>(strings, false, reader, nullable)?,
        Physical::U32 => each::<u32>(strings, false, reader, nullable)?,
        Physical::U64 => each::<u64>(strings, false, reader, nullable)?,
        Physical::I8 => each::<i8>(strings, true, reader, nullable)?,
        Physical::I16 => each::<i16>(strings, true, reader, nullable)?,
        Physical::I32 => each::<i32>(strings, true, reader, nullable)?,
        Physical::I64 => each::<i64>(strings, true, reader, nullable)?,
        Physical::U128 => each::<u128>(strings, false, reader, nullable)?,
        Physical::U256 => each::<U256>(strings, false, reader, nullable)?,
        Physical::I128 => each::<i128>(strings, true, reader, nullable)?,
        Physical::I256 => each::<I256>(strings, true, reader, nullable)?,
        _ => return Ok(None),
    }))
}

/// The values, and zeros where they do not fit.
pub fn zero_unless(vector: &Vector, fits: &[bool]) -> Vector {
    fn kept<T: Native>(values: &Buf<T>, fits: &[bool]) -> Data {
        T::wrap(values.iter().zip(fits).map(|(&x, &fit)| if fit { x } else { T::default() }).collect())
    }
    Vector::from(each_native!(&vector.data, values => kept(values, fits), other => other.clone()))
}

/// Numbers of up to 64 bits, and decimals, as decimals of up to 128 bits, NULL where they do not fit; nothing for other types.
pub fn decimals(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Option<Vector>> {
    let Some(fits) = fits_decimal(&vector.data, from, to) else { return Ok(None) };
    let cast = rules.with_mode(Mode::Cast);
    let converted = super::bare(&zero_unless(vector, &fits), from, to, &cast)?;
    Ok(Some(converted.with_nulls(Some(&NullBuffer::from(fits)))))
}

/// Which values does a decimal of up to 128 bits hold? Its width counts, not its precision.
fn fits_decimal(data: &Data, from: &DataType, to: &DataType) -> Option<Vec<bool>> {
    let DataType::Decimal { scale, .. } = to else { return None };
    let bits = 8 * to.physical().width().filter(|width| *width <= 16)? as u32;
    let by = match from {
        DataType::Decimal { scale: own, .. } | DataType::DateTime64(own, _) | DataType::Time64(own) => {
            i32::from(*scale) - i32::from(*own)
        }
        ty if ty.is_integer() || ty.is_float() => i32::from(*scale),
        _ => return None,
    };
    // Powers of 128 bits.
    if by.abs() > 38 {
        return None;
    }
    let (low, high) = (i128::MIN >> (128 - bits), i128::MAX >> (128 - bits));
    // What is cut off may bring a value into the range: the bounds are those of the digits before.
    let (low, high) = if by >= 0 {
        let factor = pow10_i128(by.unsigned_abs());
        (low / factor, high / factor)
    } else {
        let factor = pow10_i128(by.unsigned_abs());
        let outer = |bound: i128| bound.saturating_mul(factor);
        (outer(low).saturating_sub(factor - 1), outer(high).saturating_add(factor - 1))
    };
    fn integers<T: Copy + Into<i128>>(values: &[T], low: i128, high: i128) -> Option<Vec<bool>> {
        Some(values.iter().map(|&x| (low..=high).contains(&x.into())).collect())
    }
    match data {
        Data::U8(v) => integers(v, low, high),
        Data::U16(v) => integers(v, low, high),
        Data::U32(v) => integers(v, low, high),
        Data::U64(v) => integers(v, low, high),
        Data::I8(v) => integers(v, low, high),
        Data::I16(v) => integers(v, low, high),
        Data::I32(v) => integers(v, low, high),
        Data::I64(v) => integers(v, low, high),
        Data::I128(v) => integers(v, low, high),
        Data::F64(v) => {
            let (limit, factor) = (2f64.powi(bits as i32 - 1), 10f64.powi(by));
            Some(v.iter().map(|x| (x * factor).abs() < limit).collect())
        }
        _ => None,
    }
}
