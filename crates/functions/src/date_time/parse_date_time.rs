//! Text as timestamps, by a pattern: `parseDateTime`, `parseDateTime64`, in MySQL's and in Joda's syntax, and what they
//! do where the text does not fit.

use super::format_date_time::pattern_text;
use super::format_pattern::{Field, Pattern, Piece, joda, mysql};
use super::parsed_timestamp::Text;
use super::timestamps::zone_argument;
use chalet_base::{Result, bail, discard_messages, ensure, err};
use chalet_columns::{Column, NullBuffer, Vector, bits};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::calendar::LocalTime;
use chalet_types::{DataType, TimeZone};

#[derive(Clone, Copy, PartialEq)]
enum OnError {
    Fail,
    Null,
    Zero,
}

struct Parse {
    record: Record,
    on_error: OnError,
    is_joda: bool,
    /// The result is DateTime64.
    fine: bool,
}

struct State {
    pattern: Pattern,
    zone: TimeZone,
    /// See [`Text::with_padded_days`].
    padded_days: bool,
}

/// Digits of a second that a pattern of Joda has.
fn digits_of(pattern: &Pattern) -> u8 {
    let digits = pattern.iter().map(|piece| match piece {
        Piece::Field(Field::Fraction, width) => *width as u8,
        _ => 0,
    });
    digits.max().unwrap_or(0).min(6)
}

impl ScalarFunction for &'static Parse {
    fn record(&self) -> &'static Record {
        let function: &'static Parse = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=3)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'time' to function '{name}'. Expected: String, got: {}",
            args[0].ty
        );
        let text = match args.len() {
            1 if self.is_joda => &b"yyyy-MM-dd HH:mm:ss"[..],
            1 if self.fine => b"%Y-%m-%d %H:%i:%s.%f",
            1 => b"%Y-%m-%d %H:%i:%s",
            _ => pattern_text(name, args, 1)?,
        };
        let pattern = if self.is_joda {
            joda(text)?
        } else {
            mysql(name, text, ctx.settings.formatdatetime_parsedatetime_m_is_month_name, true)?
        };
        let zone = zone_argument(name, args, 2)?.unwrap_or_else(|| ctx.time_zone.clone());
        let digits = if self.is_joda { digits_of(&pattern) } else { 6 };
        let result = match self.fine {
            true => DataType::DateTime64(digits, Some(zone.clone())),
            false => DataType::DateTime(Some(zone.clone())),
        };
        let result = if self.on_error == OnError::Null { result.nullable() } else { result };
        let padded = ctx.settings.all.0("parsedatetime_e_requires_space_padding");
        let padded_days = padded.is_some_and(|(value, _)| value.as_u64() == Some(1));
        Ok(Bound::with_state(result, State { pattern, zone, padded_days }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let State { pattern, zone, padded_days } = call.state::<State>()?;
        let clock = LocalTime::new(zone);
        let years = if self.fine { (0, 9999) } else { (1970, 2106) };
        let vector = call.vector(0);
        let text = |row: usize| match &vector.data {
            chalet_columns::Data::Fixed(fixed) => Ok(fixed.get(row)),
            _ => vector.strings().map(|strings| strings.get(row)),
        };
        let read = |row: usize| -> Result<(i64, i64)> {
            let text = Text::new(text(row)?, self.is_joda, years).with_padded_days(*padded_days);
            let parsed = text.read(pattern)?;
            Ok((parsed.timestamp(&clock)?, parsed.micros))
        };
        let found: Vec<Option<(i64, i64)>> = match self.on_error {
            OnError::Fail => (0..call.n_rows).map(|row| read(row).map(Some)).collect::<Result<_>>()?,
            OnError::Null | OnError::Zero => {
                // What does not begin as the pattern does need not be read.
                let first = match pattern.first() {
                    Some(Piece::Literal(literal)) => &literal[..],
                    _ => b"",
                };
                // Looking for nothing is no comparison: that of no bytes at no address is slow.
                let begins = |text: &[u8]| first.is_empty() || text.starts_with(first);
                let found = |row| if begins(text(row)?) { read(row).map(Some) } else { Ok(None) };
                discard_messages(|| (0..call.n_rows).map(|row| found(row).unwrap_or_default()).collect())
            }
        };
        let (values, valid) = match call.result.without_nullable() {
            DataType::DateTime64(digits, _) => ticks(&found, (*digits).into())?,
            _ => seconds(&found, self.on_error)?,
        };
        Ok(match self.on_error {
            OnError::Null => values.with_nulls(Some(&NullBuffer::new(bits::of_bytes(valid.into_iter())))),
            _ => values,
        }
        .into())
    }
}

/// What was read, with its microseconds, as values of a DateTime64 of so many digits, and which there are.
fn ticks(found: &[Option<(i64, i64)>], digits: u32) -> Result<(Vector, Vec<u8>)> {
    let (ticks, unit) = (10i64.pow(digits), 10i64.pow(6 - digits));
    let value = |found: &Option<(i64, i64)>| {
        let Some((timestamp, micros)) = found else { return Ok(0) };
        let value = timestamp.checked_mul(ticks).and_then(|x| x.checked_add(micros / unit));
        value.ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))
    };
    let values = found.iter().map(value).collect::<Result<Vec<i64>>>()?;
    Ok((values.into(), found.iter().map(|found| u8::from(found.is_some())).collect()))
}

/// The same as values of a DateTime: what lies outside of them is not there either.
fn seconds(found: &[Option<(i64, i64)>], on_error: OnError) -> Result<(Vector, Vec<u8>)> {
    let (mut values, mut valid) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
    for found in found {
        let value = found.map(|(timestamp, _)| (timestamp, u32::try_from(timestamp).ok()));
        if let (Some((timestamp, None)), OnError::Fail) = (value, on_error) {
            bail!(CANNOT_PARSE_DATETIME, "Seconds since epoch is out of range: {timestamp}");
        }
        let value = value.and_then(|(_, value)| value);
        values.push(value.unwrap_or(0));
        valid.push(u8::from(value.is_some()));
    }
    Ok((values.into(), valid))
}

macro_rules! parses {
    ($($name:literal $aliases:expr, $on_error:ident, $joda:literal, $fine:literal, $summary:literal, $sql:literal, $result:literal;)*) => {
        &[$(Parse {
            record: Record {
                name: $name,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: concat!($name, "(text[, pattern[, zone]])"),
                examples: &[Example { sql: $sql, result: $result }],
                constant_arguments: &[1, 2],
                ..Record::DEFAULT
            },
            on_error: OnError::$on_error,
            is_joda: $joda,
            fine: $fine,
        }),*]
    };
}

static FUNCTIONS: &[Parse] = parses! {
    "parseDateTime" &["TO_UNIXTIME"], Fail, false, false, "Reads a DateTime by a pattern of MySQL's % letters.",
        "SELECT parseDateTime('05/02/2024 03:04', '%d/%m/%Y %H:%i', 'UTC')", "2024-02-05 03:04:00";
    "parseDateTimeOrNull" &["str_to_date"], Null, false, false, "Reads a DateTime by a pattern of MySQL's % letters; NULL where the text does not fit.",
        "SELECT parseDateTimeOrNull('x', '%Y')", "\\N";
    "parseDateTimeOrZero" &[], Zero, false, false, "Reads a DateTime by a pattern of MySQL's % letters; 1970-01-01 00:00:00 UTC where the text does not fit.",
        "SELECT parseDateTimeOrZero('x', '%Y', 'UTC')", "1970-01-01 00:00:00";
    "parseDateTime64" &[], Fail, false, true, "Reads a DateTime64(6) by a pattern of MySQL's % letters.",
        "SELECT parseDateTime64('2024-02-05 03:04:05.25', '%Y-%m-%d %H:%i:%s.%f', 'UTC')", "2024-02-05 03:04:05.250000";
    "parseDateTime64OrNull" &[], Null, false, true, "Reads a DateTime64(6) by a pattern of MySQL's % letters; NULL where the text does not fit.",
        "SELECT parseDateTime64OrNull('x', '%Y')", "\\N";
    "parseDateTime64OrZero" &[], Zero, false, true, "Reads a DateTime64(6) by a pattern of MySQL's % letters; 1970-01-01 00:00:00 UTC where the text does not fit.",
        "SELECT parseDateTime64OrZero('x', '%Y', 'UTC')", "1970-01-01 00:00:00.000000";
    "parseDateTimeInJodaSyntax" &[], Fail, true, false, "Reads a DateTime by a pattern of repeated letters, as Joda-Time has them.",
        "SELECT parseDateTimeInJodaSyntax('2024-02-05 03:04', 'yyyy-MM-dd HH:mm', 'UTC')", "2024-02-05 03:04:00";
    "parseDateTimeInJodaSyntaxOrNull" &[], Null, true, false, "Reads a DateTime by a pattern of repeated letters; NULL where the text does not fit.",
        "SELECT parseDateTimeInJodaSyntaxOrNull('x', 'yyyy')", "\\N";
    "parseDateTimeInJodaSyntaxOrZero" &[], Zero, true, false, "Reads a DateTime by a pattern of repeated letters; 1970-01-01 00:00:00 UTC where the text does not fit.",
        "SELECT parseDateTimeInJodaSyntaxOrZero('x', 'yyyy', 'UTC')", "1970-01-01 00:00:00";
    "parseDateTime64InJodaSyntax" &[], Fail, true, true, "Reads a DateTime64 by a pattern of repeated letters; it has as many digits as the pattern has letters S.",
        "SELECT parseDateTime64InJodaSyntax('2024-02-05 03:04:05.123', 'yyyy-MM-dd HH:mm:ss.SSS', 'UTC')", "2024-02-05 03:04:05.123";
    "parseDateTime64InJodaSyntaxOrNull" &[], Null, true, true, "Reads a DateTime64 by a pattern of repeated letters; NULL where the text does not fit.",
        "SELECT parseDateTime64InJodaSyntaxOrNull('x', 'yyyy')", "\\N";
    "parseDateTime64InJodaSyntaxOrZero" &[], Zero, true, true, "Reads a DateTime64 by a pattern of repeated letters; 1970-01-01 00:00:00 UTC where the text does not fit.",
        "SELECT parseDateTime64InJodaSyntaxOrZero('x', 'yyyy', 'UTC')", "1970-01-01 00:00:00";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
