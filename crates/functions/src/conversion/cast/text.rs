//! To and from String and FixedString.

use super::or_null;
use super::rules::{Mode, Rules};
use chalet_base::{Result, bail, err};
use chalet_columns::{Builder, Data, Fixed, Native, StringBuilder, Strings, Vector};
use chalet_text::read::address::is_padded;
use chalet_text::read::number;
use chalet_text::{Cursor, Reader, Style, Syntax, Writer};
use chalet_types::{DataType, Physical};
use std::borrow::Cow;

/// Values as `toString` writes them.
pub fn format(vector: &Vector, from: &DataType, rules: &Rules) -> Result<Vector> {
    let mut out = StringBuilder::with_capacity(vector.len());
    fn integers<T: itoa::Integer>(values: &[T], out: &mut StringBuilder) {
        let mut buffer = itoa::Buffer::new();
        for x in values {
            out.push(buffer.format(*x).as_bytes());
        }
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
        Data::Fixed(fixed) if from.is_string() => fixed.iter().for_each(|value| out.push(trimmed(value))),
        _ => {
            let writer = Writer::new(from, Style::Plain, &rules.text);
            for row in 0..vector.len() {
                out.push_with(|bytes| writer.write(bytes, vector, row));
            }
        }
    }
    Ok(out.finish().into())
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
