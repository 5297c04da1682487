//! Values that are neither strings nor containers: their text, and the quotes around it in each syntax.

use super::cursor::{Cursor, plain, shown};
use super::{Kind, Reader, Syntax, address, best_effort, decimal, number, string, time};
use crate::DateTimeInput;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_types::{DataType, EnumValues, I256, Physical};

/// Appends to the variant of a builder that is known to be there.
macro_rules! push {
    ($out:expr, $variant:ident, $value:expr) => {
        if let Values::$variant(values) = &mut $out.values {
            values.push($value);
        }
    };
}

impl Reader {
    /// The value with the quotes that its syntax may put around it.
    pub(super) fn scalar(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        if matches!(self.kind, Kind::Bool) {
            let value = self.boolean(cur)?;
            push!(out, U8, value.into());
            return Ok(());
        }
        let quote = match (self.syntax, cur.peek()) {
            (Syntax::Json, Some(b'"')) => b'"',
            (Syntax::Quoted, Some(b'\'')) if self.is_quoted_in_literals() => b'\'',
            // The settings of quotes are about strings.
            (Syntax::Csv, Some(quote @ (b'"' | b'\''))) => quote,
            _ => return self.unquoted(cur, out),
        };
        cur.advance(1);
        let mut inside = cur.limited(|b| b == quote);
        self.bare(&mut inside, out)?;
        cur.advance(inside.position());
        cur.expect(quote)
    }

    fn is_quoted_in_literals(&self) -> bool {
        !matches!(self.kind, Kind::Integer(_) | Kind::Float(_) | Kind::Decimal { .. } | Kind::Nothing)
    }

    /// A value where no quote was found.
    fn unquoted(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        let delimiter = self.options.csv_delimiter;
        // Numbers end by themselves: the end of the field need not be looked for.
        let number = matches!(self.kind, Kind::Integer(_) | Kind::Float(_) | Kind::Decimal { .. });
        if number
            && matches!(self.syntax, Syntax::Csv | Syntax::Escaped | Syntax::Raw)
            && cur.peek() != Some(b'-')
        {
            return self.bare(cur, out);
        }
        match self.syntax {
            Syntax::Plain => self.bare(cur, out),
            Syntax::Escaped | Syntax::Raw => {
                let mut field = cur.limited(|b| matches!(b, b'\t' | b'\n' | b'\r'));
                // The kernel leaves a sign before an unsigned number to be found as a surplus.
                let unsigned = matches!(self.kind, Kind::Integer(_)) && self.ty.bare().is_unsigned();
                if unsigned && field.peek() == Some(b'-') {
                    return Err(cur.expected(b"\n"));
                }
                self.bare(&mut field, out)?;
                cur.advance(field.position());
                Ok(())
            }
            Syntax::Csv => {
                let mut field = cur.limited(|b| b == delimiter || b == b'\n' || b == b'\r');
                self.bare(&mut field, out)?;
                cur.advance(field.position());
                Ok(())
            }
            Syntax::Quoted | Syntax::Json => {
                let json = self.syntax == Syntax::Json;
                let quote = if json { b"\"" } else { b"'" };
                match &self.kind {
                    Kind::Integer(_) | Kind::Float(_) | Kind::Decimal { .. } | Kind::Nothing => {
                        // A number of one byte takes them in any case.
                        let byte = matches!(self.kind, Kind::Integer(Physical::U8 | Physical::I8));
                        if json && (byte || self.options.json_bools_as_numbers) {
                            if cur.accept_bytes(b"true") {
                                return self.bare(&mut Cursor::new(b"1"), out);
                            }
                            if cur.accept_bytes(b"false") {
                                return self.bare(&mut Cursor::new(b"0"), out);
                            }
                        }
                        self.bare(cur, out)
                    }
                    Kind::DateTime { .. } | Kind::DateTime64 { .. } => self.timestamp(cur, out),
                    Kind::Date if json => {
                        push!(out, U16, number::wrapping_u64(cur, true)? as u16);
                        Ok(())
                    }
                    Kind::Date32 if json => {
                        let days = number::wrapping_u64(cur, true)? as i64;
                        let (first, last) = (time::MIN_SECONDS / 86_400, time::MAX_SECONDS / 86_400);
                        push!(out, I32, days.clamp(first, last) as i32);
                        Ok(())
                    }
                    Kind::Time => {
                        push!(out, I32, number::wrapping_u64(cur, true)? as i32);
                        Ok(())
                    }
                    Kind::Time64(scale) => {
                        let seconds = number::wrapping_u64(cur, true)? as i64;
                        push!(out, I64, seconds.wrapping_mul(10i64.pow((*scale).into())));
                        Ok(())
                    }
                    Kind::Uuid if !json => bail!(
                        CANNOT_PARSE_QUOTED_STRING,
                        "Cannot parse quoted string: expected opening quote ''', got '{}'",
                        plain(&cur.rest()[..cur.rest().len().min(1)])
                    ),
                    _ => Err(cur.expected(quote)),
                }
            }
        }
    }

    /// Unix seconds, where literals and JSON have no quotes.
    fn timestamp(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        let negative = cur.peek() == Some(b'-');
        if !cur.rest().get(usize::from(negative)).is_some_and(|b| b.is_ascii_digit()) {
            let ty = if matches!(self.kind, Kind::DateTime { .. }) { "DateTime" } else { "DateTime64" };
            bail!(CANNOT_PARSE_DATETIME, "Cannot parse a number for {ty} timestamp");
        }
        if let (true, Kind::DateTime64 { .. }) = (self.options.date_time_numbers_are_ticks, &self.kind) {
            push!(out, I64, number::wrapping_u64(cur, true)? as i64);
            return Ok(());
        }
        let seconds = number::wrapping_u64(cur, true)? as i64;
        match &self.kind {
            Kind::DateTime64 { scale, .. } => {
                let fraction = if cur.accept(b'.') { time::fraction(cur, *scale) } else { 0 };
                let ticks = time::ticks(seconds, if negative { -fraction } else { fraction }, *scale)?;
                push!(out, I64, ticks);
            }
            _ => push!(out, U32, time::clamp_date_time(seconds)),
        }
        Ok(())
    }

    /// Fails where a value outside of the range of its type is not to be the nearest in it.
    #[inline]
    fn check_range(&self, value: i64, in_range: i64, ty: &str) -> Result<()> {
        ensure!(
            value == in_range || !self.options.date_time_overflow_throws,
            VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
            "Value {value} is out of bounds of type {ty}"
        );
        Ok(())
    }

    /// The value alone, at the front of the text.
    #[inline]
    pub(super) fn bare(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match &self.kind {
            Kind::Integer(physical) => return integer(cur, *physical, out),
            Kind::Float(physical) => match physical {
                Physical::F64 => push!(out, F64, number::f64(cur)?),
                Physical::F32 => push!(out, F32, number::f32(cur)?),
                _ => push!(out, BF16, number::bfloat16(cur)?),
            },
            Kind::Decimal { precision, scale } => {
                push_decimal(out, decimal::decimal(cur, *precision, *scale)?);
            }
            Kind::Date => {
                let days = time::date(cur)?;
                let in_range = days.clamp(0, u16::MAX.into());
                self.check_range(days.into(), in_range.into(), "Date")?;
                push!(out, U16, in_range as u16);
            }
            Kind::Date32 => push!(out, I32, time::date32(cur)?),
            Kind::DateTime { time, mode } => {
                let seconds = match mode {
                    DateTimeInput::Basic => time::timestamp_basic(cur, time)?,
                    _ => best_effort::timestamp(cur, time, options(*mode, None))?.unix_seconds,
                };
                let in_range = time::clamp_date_time(seconds);
                if seconds != i64::MIN {
                    self.check_range(seconds, in_range.into(), "DateTime")?;
                }
                push!(out, U32, in_range);
            }
            Kind::DateTime64 { scale, time, mode } => {
                let ticks = match mode {
                    DateTimeInput::Basic => time::ticks_basic(cur, *scale, time)?,
                    _ => {
                        let timestamp = best_effort::timestamp(cur, time, options(*mode, Some(*scale)))?;
                        time::ticks(timestamp.unix_seconds, timestamp.fraction, *scale)?
                    }
                };
                push!(out, I64, ticks);
            }
            Kind::Time => push!(out, I32, time::time(cur)?),
            Kind::Time64(scale) => push!(out, I64, time::time64(cur, *scale)?),
            Kind::Uuid => push_fixed(out, &address::uuid(cur)?),
            Kind::IPv4 => push!(out, U32, address::ipv4(cur)?),
            Kind::IPv6 => push_fixed(out, &address::ipv6(cur)?),
            Kind::Nothing => bail!(CANNOT_PARSE_TEXT, "Cannot parse a value of type Nothing"),
            Kind::Bool => push!(out, U8, self.boolean(cur)?.into()),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn boolean(&self, cur: &mut Cursor) -> Result<bool> {
        let o = &*self.options;
        let delimiter = o.csv_delimiter;
        match self.syntax {
            Syntax::Json => match cur.peek() {
                _ if cur.accept_bytes(b"true") || cur.accept_bytes(b"1") => Ok(true),
                _ if cur.accept_bytes(b"false") || cur.accept_bytes(b"0") => Ok(false),
                first => bail!(
                    CANNOT_PARSE_BOOL,
                    "Invalid boolean value, should be true/false, 1/0, but it starts with the '{}' character",
                    plain(first.as_slice())
                ),
            },
            Syntax::Quoted => {
                if cur.accept(b'\'') {
                    let word = cur.take_until(|b| b == b'\'');
                    let value = self.boolean_word(word)?;
                    cur.expect(b'\'')?;
                    return Ok(value);
                }
                let rest = *cur;
                let word = cur.take_until(|b| !b.is_ascii_alphanumeric());
                match word {
                    b"1" => Ok(true),
                    b"0" => Ok(false),
                    _ if word.eq_ignore_ascii_case(b"true") => Ok(true),
                    _ if word.eq_ignore_ascii_case(b"false") => Ok(false),
                    _ => bail!(
                        CANNOT_PARSE_BOOL,
                        "Cannot parse boolean value here: {}, should be true/false, 1/0 or on of True/False/T/F/Y/N/Yes/No/\
                         On/Off/Enable/Disable/Enabled/Disabled/1/0 in quotes",
                        shown(&rest.rest()[..rest.rest().len().min(10)])
                    ),
                }
            }
            Syntax::Escaped | Syntax::Raw => {
                self.boolean_word(cur.take_until(|b| matches!(b, b'\t' | b'\n' | b'\r')))
            }
            Syntax::Csv => {
                let field = cur.take_until(|b| b == delimiter || b == b'\n' || b == b'\r');
                self.boolean_word(field.trim_ascii_end())
            }
            Syntax::Plain => {
                let text = cur.rest();
                cur.advance(text.len());
                if text.is_empty() {
                    bail!(CANNOT_PARSE_BOOL, "Expected boolean value but get EOF");
                }
                self.boolean_word(text)
            }
        }
    }

    fn boolean_word(&self, word: &[u8]) -> Result<bool> {
        const YES: [&str; 8] = ["true", "t", "yes", "y", "on", "enable", "enabled", "1"];
        const NO: [&str; 8] = ["false", "f", "no", "n", "off", "disable", "disabled", "0"];
        let is_one_of = |words: [&str; 8]| words.iter().any(|w| word.eq_ignore_ascii_case(w.as_bytes()));
        if word == &*self.options.yes || is_one_of(YES) {
            Ok(true)
        } else if word == &*self.options.no || is_one_of(NO) {
            Ok(false)
        } else {
            bail!(
                CANNOT_PARSE_BOOL,
                "Cannot parse boolean value here: {}, should be '{}' or '{}' controlled by setting \
                 bool_true_representation and bool_false_representation or one of True/False/T/F/Y/N/Yes/No/On/Off/\
                 Enable/Disable/Enabled/Disabled/1/0",
                shown(&word[..word.len().min(100)]),
                plain(&self.options.yes),
                plain(&self.options.no)
            )
        }
    }
}

pub(super) fn options(mode: DateTimeInput, scale: Option<u8>) -> best_effort::Options {
    best_effort::Options { month_first: mode == DateTimeInput::BestEffortUs, scale, strict: false }
}

#[inline]
fn integer(cur: &mut Cursor, physical: Physical, out: &mut Builder) -> Result<()> {
    match physical {
        Physical::U8 => push!(out, U8, number::wrapping_u64(cur, false)? as u8),
        Physical::U16 => push!(out, U16, number::wrapping_u64(cur, false)? as u16),
        Physical::U32 => push!(out, U32, number::wrapping_u64(cur, false)? as u32),
        Physical::U64 => push!(out, U64, number::wrapping_u64(cur, false)?),
        Physical::I8 => push!(out, I8, number::wrapping_u64(cur, true)? as i8),
        Physical::I16 => push!(out, I16, number::wrapping_u64(cur, true)? as i16),
        Physical::I32 => push!(out, I32, number::wrapping_u64(cur, true)? as i32),
        Physical::I64 => push!(out, I64, number::wrapping_u64(cur, true)? as i64),
        Physical::U128 => push!(out, U128, number::wrapping_u256(cur, false)?.as_u128()),
        Physical::I128 => push!(out, I128, number::wrapping_u256(cur, true)?.as_u128() as i128),
        Physical::U256 => push!(out, U256, number::wrapping_u256(cur, false)?),
        _ => push!(out, I256, number::wrapping_u256(cur, true)?.as_i256()),
    }
    Ok(())
}

fn push_decimal(out: &mut Builder, x: I256) {
    match &mut out.values {
        Values::I32(v) => v.push(x.as_i32()),
        Values::I64(v) => v.push(x.as_i64()),
        Values::I128(v) => v.push(x.as_i128()),
        Values::I256(v) => v.push(x),
        _ => {}
    }
}

fn push_fixed(out: &mut Builder, value: &[u8]) {
    if let Values::Fixed { bytes, .. } = &mut out.values {
        bytes.extend_from_slice(value);
    }
}

pub(super) fn push_enum(out: &mut Builder, number: i16) -> Result<()> {
    match &mut out.values {
        Values::I8(v) => v.push(number as i8),
        Values::I16(v) => v.push(number),
        _ => {}
    }
    Ok(())
}

/// The entry of a name, or of a number written as text.
pub fn enum_of_text(names: &EnumValues, text: &[u8]) -> Result<i16> {
    if let Some(number) = names.number_of(text) {
        return Ok(number);
    }
    let as_number = std::str::from_utf8(text).ok().and_then(|t| t.parse::<i16>().ok());
    match as_number.filter(|n| names.name_of(*n).is_some()) {
        Some(number) => Ok(number),
        None => Err(unknown_element(names, text)),
    }
}

#[cold]
fn unknown_element(names: &EnumValues, text: &[u8]) -> Error {
    let wanted = plain(text);
    let known: Vec<&str> = names.entries().iter().map(|e| &*e.0).collect();
    let hints = chalet_base::suggest::nearest(&wanted, known.iter().copied(), 1);
    let hint = if hints.is_empty() {
        String::new()
    } else {
        let quoted: Vec<String> = hints.iter().map(|h| format!("'{h}'")).collect();
        format!(", maybe you meant: [{}]", quoted.join(", "))
    };
    err!(UNKNOWN_ELEMENT_OF_ENUM, "Unknown element '{wanted}' for enum{hint}")
}

pub fn enum_of_number(names: &EnumValues, number: i64) -> Result<i16> {
    match i16::try_from(number).ok().filter(|n| names.name_of(*n).is_some()) {
        Some(number) => Ok(number),
        None => bail!(UNKNOWN_ELEMENT_OF_ENUM, "Unexpected value {number} in enum"),
    }
}

/// The text of a JSON value that is not a string, for a column of strings.
pub(super) fn json_text<'a>(cur: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let start = *cur;
    let text = string::json_value(cur)?;
    let sound = match text.first() {
        Some(b'{' | b'[') => true,
        Some(b'-' | b'0'..=b'9') => text.iter().all(|b| b"+-.eE0123456789".contains(b)),
        _ => matches!(text, b"true" | b"false" | b"null"),
    };
    if sound {
        return Ok(text);
    }
    let rest = start.rest();
    if let Some(word) =
        [&b"true"[..], b"false", b"null"].into_iter().find(|word| rest.first() == word.first())
    {
        bail!(
            CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            "Cannot parse input: expected '{}' before: '{}'",
            plain(word),
            plain(&rest[..rest.len().min(10)])
        );
    }
    bail!(
        INCORRECT_DATA,
        "Cannot read JSON field here: '{}'. Unexpected symbol '{}'",
        plain(&rest[..rest.len().min(10)]),
        plain(&rest[..rest.len().min(1)])
    )
}

/// Are values of a type read from text by [`Reader::bare`] with a fixed form that `OrZero` functions know?
pub fn has_or_null_functions(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64 | Float32 | Float64)
}
