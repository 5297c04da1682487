//! Days counted from fixed points: `fromDaysSinceYearZero`, `toModifiedJulianDay` and their kin.

use super::parts_of_date::DAYS_BEFORE_1970;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, discard_messages, ensure, err};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::Civil;

/// The modified Julian day of 1970-01-01.
const JULIAN_OF_1970: i32 = 40_587;

fn bind_days(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        args[0].ty.is_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'days' to function '{name}'. Expected: Integer, got: {}",
        args[0].ty
    );
    Ok(result.into())
}

/// Days since 1970-01-01 of days since year zero, modulo 2^32 as in the kernel.
fn days(call: &Call) -> Result<Vec<i32>> {
    let numbers = unary(Operand::of(call, 0), call.n_rows, |x: i64| x)?;
    let is_unsigned = call.args[0].ty.is_unsigned();
    let day = |number: &i64| {
        ensure!(
            *number >= 0 || is_unsigned,
            ARGUMENT_OUT_OF_BOUND,
            "Expected a non-negative integer, got: {number}"
        );
        Ok((*number as i32).wrapping_sub(DAYS_BEFORE_1970))
    };
    numbers.iter().map(day).collect()
}

/// A date of exactly ten characters, `2024-02-29`.
fn read_date(text: &[u8]) -> Result<i32> {
    let malformed = || {
        err!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot parse date here: {}", String::from_utf8_lossy(text))
    };
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text else { return Err(malformed()) };
    let number = |digits: &[u8]| -> Result<i32> {
        digits.iter().try_fold(0, |value, b| match b {
            b'0'..=b'9' => Ok(value * 10 + i32::from(b - b'0')),
            _ => Err(malformed()),
        })
    };
    let date = Civil::new(number(&[y1, y2, y3, y4])?, number(&[m1, m2])? as u8, number(&[d1, d2])? as u8);
    ensure!(
        date.is_valid(),
        CANNOT_PARSE_DATE,
        "Invalid date, out of range (year: {}, month: {}, day_of_month: {})",
        date.year,
        date.month,
        date.day
    );
    Ok(date.days())
}

fn bind_julian(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    if !args[0].ty.is_string() {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "The argument of function {name} must be String or FixedString");
    }
    let or_null = name == OR_NULL;
    Ok(if or_null { DataType::Int32.nullable() } else { DataType::Int32 }.into())
}

const OR_NULL: &str = "toModifiedJulianDayOrNull";

fn to_julian(call: &Call) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let mut days = (0..call.n_rows).map(|row| read_date(texts.get(row)).map(|day| day + JULIAN_OF_1970));
    if !call.result.is_nullable() {
        return Ok(Vector::from(days.collect::<Result<Vec<i32>>>()?).into());
    }
    let days: Vec<Option<i32>> = discard_messages(|| days.by_ref().map(Result::ok).collect());
    let valid: Vec<bool> = days.iter().map(Option::is_some).collect();
    let values: Vec<i32> = days.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Vector::from(values).with_nulls(Some(&valid.into())).into())
}

fn bind_from_julian(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        args[0].ty.is_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The argument of function {name} must be integral"
    );
    Ok(result.into())
}

fn from_julian(call: &Call) -> Result<Column> {
    let numbers = unary(Operand::of(call, 0), call.n_rows, |x: i64| x)?;
    let (first, last) = (Civil::new(0, 1, 1).days(), Civil::new(9999, 12, 31).days());
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let mut valid = Vec::with_capacity(call.n_rows);
    for number in numbers {
        let day = number.checked_sub(JULIAN_OF_1970.into()).and_then(|day| i32::try_from(day).ok());
        let day = day.filter(|day| (first..=last).contains(day));
        match day {
            Some(day) => out.push_with(|bytes| chalet_text::write::time::date(bytes, day)),
            None if call.result.is_nullable() => out.push(b""),
            None => {
                bail!(CANNOT_FORMAT_DATETIME, "Value cannot be represented as date because it's out of range")
            }
        }
        valid.push(day.is_some());
    }
    let texts = Vector::from(out.finish());
    Ok(if call.result.is_nullable() { texts.with_nulls(Some(&valid.into())) } else { texts }.into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "fromDaysSinceYearZero",
            any_case_aliases: &["FROM_DAYS"],
            summary: "The Date so many days after 0000-01-01.",
            syntax: "fromDaysSinceYearZero(days)",
            examples: &[Example { sql: "SELECT fromDaysSinceYearZero(739310)", result: "2024-02-29" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_days(name, args, DataType::Date),
        execute: |call| {
            Ok(Vector::from(days(call)?.iter().map(|&day| day as u16).collect::<Vec<u16>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "fromDaysSinceYearZero32",
            summary: "The Date32 so many days after 0000-01-01.",
            syntax: "fromDaysSinceYearZero32(days)",
            examples: &[Example { sql: "SELECT fromDaysSinceYearZero32(739310)", result: "2024-02-29" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_days(name, args, DataType::Date32),
        execute: |call| {
            let (first, last) = (Civil::new(0, 1, 1).days(), Civil::new(9999, 12, 31).days());
            let days: Vec<i32> = days(call)?.into_iter().map(|day| day.clamp(first, last)).collect();
            Ok(Vector::from(days).into())
        },
    },
    Plain {
        record: Record {
            name: "toModifiedJulianDay",
            summary: "The number of days from 1858-11-17 to a date in text.",
            syntax: "toModifiedJulianDay(text)",
            examples: &[Example { sql: "SELECT toModifiedJulianDay('2024-02-29')", result: "60369" }],
            ..Record::DEFAULT
        },
        bind: bind_julian,
        execute: to_julian,
    },
    Plain {
        record: Record {
            name: OR_NULL,
            summary: "The number of days from 1858-11-17 to a date in text; NULL where the text is no date.",
            syntax: "toModifiedJulianDayOrNull(text)",
            examples: &[Example { sql: "SELECT toModifiedJulianDayOrNull('x')", result: "\\N" }],
            ..Record::DEFAULT
        },
        bind: bind_julian,
        execute: to_julian,
    },
    Plain {
        record: Record {
            name: "fromModifiedJulianDay",
            summary: "The date so many days after 1858-11-17, as text.",
            syntax: "fromModifiedJulianDay(days)",
            examples: &[Example { sql: "SELECT fromModifiedJulianDay(60369)", result: "2024-02-29" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_from_julian(name, args, DataType::String),
        execute: from_julian,
    },
    Plain {
        record: Record {
            name: "fromModifiedJulianDayOrNull",
            summary: "The date so many days after 1858-11-17, as text; NULL outside of the years 0 to 9999.",
            syntax: "fromModifiedJulianDayOrNull(days)",
            examples: &[Example { sql: "SELECT fromModifiedJulianDayOrNull(60369)", result: "2024-02-29" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_from_julian(name, args, DataType::String.nullable()),
        execute: from_julian,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
