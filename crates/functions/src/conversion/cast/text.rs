//! To and from String and FixedString.

use super::or_null;
use super::rules::{Mode, Rules};
use chalet_base::{Result, bail, err};
use chalet_columns::{Builder, Data, Fixed, Native, StringBuilder, Strings, Vector};
use chalet_text::read::address::is_padded;
use chalet_text::read::number;
use chalet_text::write::time;
use chalet_text::{Cursor, Reader, Style, Syntax, Writer};
use chalet_types::{DataType, Physical};
use std::borrow::Cow;
use std::convert::Infallible;

/// Values as `toString` writes them.
pub fn format(vector: &Vector, from: &DataType, rules: &Rules) -> Result<Vector> {
    let mut out = StringBuilder::with_capacity(vector.len());
    fn integers<T: Native + Into<i128>>(values: &[T], out: &mut StringBuilder) {
        values.iter().for_each(|&x| push_integer(x.into(), out));
    }
    let plain = from.is_integer() && *from != DataType::Bool;
    match &vector.data {
        Data::U8(v) if plain => integers(v, &mut out),
        Data::U16(v) if plain => integers(v, &mut out),
        Data::U32(v) if plain => integers(v, &mut out),
        Data::U64(v) if plain => integers(v, &mut out),
        Data::I8(v) if plain => integers(v, &mut out),
        Data::I16(v) if plain => integers(v, &mut out),
        Data::I32(v) if plain => integers(v, &mut out),
        Data::I64(v) if plain => integers(v, &mut out),
        Data::U16(days) if *from == DataType::Date => dates(days.iter().map(|&day| day.into()), &mut out),
        Data::I32(days) if *from == DataType::Date32 => dates(days.iter().copied(), &mut out),
        Data::Fixed(fixed) if from.is_string() => fixed.iter().for_each(|value| out.push(trimmed(value))),
        _ => {
            let writer = Writer::new(from, Style::Plain, &rules.text);
            let write = |row: usize, bytes: &mut Vec<u8>| {
                writer.write(bytes, vector, row);
                Ok::<(), Infallible>(())
            };
            let Ok(()) = out.push_rows(vector.len(), write);
        }
    }
    Ok(out.finish().into())
}

/// Up to eight digits become the bytes of a number, which a view takes as they are: bytes that are written one by one would be waited
/// for. (Measured with sixteen digits too: no faster than one by one.)
#[inline(always)]
fn push_integer(x: i128, out: &mut StringBuilder) {
    let is_negative = x < 0;
    // Of at most 64 bits, as all integers that come here.
    let magnitude = x.unsigned_abs() as u64;
    if magnitude >= EIGHT_DIGITS {
        let mut buffer = itoa::Buffer::new();
        let text = if is_negative { buffer.format(x as i64) } else { buffer.format(magnitude) };
        return out.push(text.as_bytes());
    }
    let digits = eight_digits(magnitude);
    // At least the last digit is there.
    let n_zeros = digits.trailing_zeros().min(56) / 8;
    let text = u128::from((digits | u64::from_ne_bytes([b'0'; 8])) >> (8 * n_zeros));
    let n = 8 - n_zeros as usize;
    match is_negative {
        true => out.push_number(text << 8 | u128::from(b'-'), n + 1),
        false => out.push_number(text, n),
    }
}

const EIGHT_DIGITS: u64 = 100_000_000;

/// The digits of a number below 10^8, a byte each, the first one lowest: halves are split three times, all of them at once (SWAR).
#[inline(always)]
fn eight_digits(x: u64) -> u64 {
    let x = (x / 10_000) | (x % 10_000) << 32;
    let hundreds = ((x * 10_486) >> 20) & 0x7f_0000_007f;
    let x = hundreds | (x - 100 * hundreds) << 16;
    let tens = ((x * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (x - 10 * tens) << 8
}

fn dates(days: impl Iterator<Item = i32>, out: &mut StringBuilder) {
    for day in days {
        match time::date_number(day) {
            Some(text) => out.push_number(text, time::DATE),
            None => out.push_with(|bytes| time::date(bytes, day)),
        }
    }
}

/// Without the zeros that fill a FixedString up.
pub fn trimmed(value: &[u8]) -> &[u8] {
    &value[..value.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)]
}

/// The strings of a String or FixedString vector, the latter without the zeros that fill it up.
pub fn text_of(vector: &Vector) -> Result<Cow<'_, Strings>> {
    match &vector.data {
        Data::Str(strings) => Ok(Cow::Borrowed(strings)),
        Data::Fixed(fixed) => Ok(Cow::Owned(fixed.iter().map(trimmed).collect())),
        other => Err(err!(LOGICAL_ERROR, "Column is {:?} where strings were expected", other.physical())),
    }
}

/// Values read from strings.
pub fn parse(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    match (to, &vector.data) {
        (DataType::FixedString(n), _) => return to_fixed(vector, *n as usize, rules),
        (DataType::String, Data::Fixed(_)) => return format(vector, from, rules),
        _ => {}
    }
    // An Enum's name may end in zeros.
    let zero_for_none =
        to.is_integer() && *to != DataType::Bool || to.is_decimal() && rules.mode != Mode::OrNull;
    let strings = match &vector.data {
        Data::Fixed(fixed) if to.is_enum() => Cow::Owned(fixed.iter().collect()),
        // Zero bytes alone are the number zero.
        Data::Fixed(fixed) if zero_for_none => {
            let texts = fixed.iter().map(trimmed);
            Cow::Owned(texts.map(|text| if text.is_empty() { &b"0"[..] } else { text }).collect())
        }
        _ => text_of(vector)?,
    };
    // What does not begin with a digit is no address, padded or not.
    let padded = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit) && is_padded(text);
    let strings = match *to == DataType::IPv4 && !rules.padded_addresses && strings.iter().any(padded) {
        // What is no address is no better and no worse than none at all.
        true => Cow::Owned(strings.iter().map(|text| if padded(text) { &b""[..] } else { text }).collect()),
        false => strings,
    };
    if rules.mode == Mode::Cast
        && let Some(fast) = parse_numbers(&strings, to)
    {
        return Ok(fast);
    }
    let or_null = rules.mode == Mode::OrNull;
    let nullable = if or_null && to.can_be_nullable() { to.clone().nullable() } else { to.clone() };
    let reader = Reader::new(&with_all_digits(to), Syntax::Plain, &rules.text);
    if or_null && let Some(integers) = or_null::integers(&strings, to, &reader, &nullable)? {
        return Ok(integers);
    }
    let mut out = Builder::new(&nullable);
    let zero_instead = rules.zero_addresses && matches!(to, DataType::IPv4 | DataType::IPv6);
    if or_null || zero_instead {
        reader.whole_or_default(strings.iter(), &mut out);
        return Ok(out.finish());
    }
    let strict = rules.mode == Mode::Accurate && is_narrow_number(to);
    for text in strings.iter() {
        if strict {
            if !reader.try_whole(text, &mut out) {
                bail!(CANNOT_PARSE_TEXT, "Cannot parse string to type {to}");
            }
        } else {
            reader.read_whole(text, &mut out)?;
        }
    }
    Ok(out.finish())
}

/// A cast takes as many digits as values of the width hold, whatever the precision is.
fn with_all_digits(ty: &DataType) -> DataType {
    match ty {
        DataType::Decimal { scale, .. } => {
            let precision = match ty.physical().width() {
                Some(4) => 9,
                Some(8) => 18,
                Some(16) => 38,
                _ => 76,
            };
            DataType::Decimal { precision, scale: *scale }
        }
        other => other.clone(),
    }
}

fn is_narrow_number(ty: &DataType) -> bool {
    ty.is_integer() && *ty != DataType::Bool && ty.physical().width().is_some_and(|w| w <= 8)
}

fn to_fixed(vector: &Vector, n: usize, rules: &Rules) -> Result<Vector> {
    let mut bytes = Vec::with_capacity(vector.len() * n);
    let mut failed = Vec::new();
    let mut push = |value: &[u8]| -> Result<()> {
        let end = bytes.len() + n;
        if value.len() > n {
            if rules.mode != Mode::OrNull {
                bail!(TOO_LARGE_STRING_SIZE, "String too long for type FixedString({n})");
            }
            failed.push(bytes.len() / n);
        } else {
            bytes.extend_from_slice(value);
        }
        bytes.resize(end, 0);
        Ok(())
    };
    match &vector.data {
        Data::Str(strings) => strings.iter().try_for_each(&mut push)?,
        Data::Fixed(fixed) if fixed.width > n => fixed.iter().map(trimmed).try_for_each(&mut push)?,
        Data::Fixed(fixed) => fixed.iter().try_for_each(&mut push)?,
        other => bail!(LOGICAL_ERROR, "Column is {:?} where strings were expected", other.physical()),
    }
    let out = Vector::from(Data::Fixed(Fixed { width: n, bytes: bytes.into() }));
    if failed.is_empty() {
        return Ok(out);
    }
    let mut valid = vec![true; vector.len()];
    failed.into_iter().for_each(|row| valid[row] = false);
    Ok(out.with_nulls(Some(&valid.into())))
}

/// The common numbers without a builder; nothing when some text is not one, for the reader to say why.
fn parse_numbers(strings: &Strings, to: &DataType) -> Option<Vector> {
    fn each<T: Native>(strings: &Strings, read: impl Fn(&mut Cursor) -> Result<T>) -> Option<Vector> {
        let mut out: Vec<T> = Vec::with_capacity(strings.len());
        for text in strings.iter() {
            let mut cursor = Cursor::new(text);
            let value = read(&mut cursor).ok()?;
            if text.is_empty() || !cursor.is_at_end() {
                return None;
            }
            out.push(value);
        }
        Some(out.into())
    }
    if !(to.is_integer() || to.is_float()) || *to == DataType::Bool {
        return None;
    }
    let unsigned = |cursor: &mut Cursor| number::wrapping_u64(cursor, false);
    let signed = |cursor: &mut Cursor| number::wrapping_u64(cursor, true);
    match to.physical() {
        Physical::U8 => each(strings, |c| Ok(unsigned(c)? as u8)),
        Physical::U16 => each(strings, |c| Ok(unsigned(c)? as u16)),
        Physical::U32 => each(strings, |c| Ok(unsigned(c)? as u32)),
        Physical::U64 => each(strings, unsigned),
        Physical::I8 => each(strings, |c| Ok(signed(c)? as i8)),
        Physical::I16 => each(strings, |c| Ok(signed(c)? as i16)),
        Physical::I32 => each(strings, |c| Ok(signed(c)? as i32)),
        Physical::I64 => each(strings, |c| Ok(signed(c)? as i64)),
        Physical::F64 => each(strings, number::f64),
        Physical::F32 => each(strings, number::f32),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_integers() {
        let powers = (0..19).map(|n| 10i128.pow(n));
        let near = powers.flat_map(|power| [power - 1, power, power + 1, 9 * power, power * 12 / 10]);
        let some = near.chain((0..20_000).map(|n| n * n * n * 7919)).chain([
            0,
            255,
            u64::MAX.into(),
            i64::MIN.into(),
        ]);
        let numbers: Vec<i128> = some
            .filter(|&x| x <= i128::from(u64::MAX))
            .flat_map(|x| [x, if x < 1 << 63 { -x } else { 0 }])
            .collect();
        let mut out = StringBuilder::default();
        numbers.iter().for_each(|&x| push_integer(x, &mut out));
        for (text, x) in out.finish().iter().zip(&numbers) {
            assert_eq!(text, x.to_string().as_bytes());
        }
    }
}
