//! Dates and timestamps from their parts: `makeDate`, `makeDate32`, `makeDateTime`, `makeDateTime64`.

use super::timestamps::{date, date_time, zone_argument};
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::check_type;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY};
use chalet_types::{DataType, TimeZone, Value};

fn check_numbers(name: &str, args: &[Argument]) -> Result<()> {
    for (index, arg) in args.iter().enumerate() {
        check_type(arg.ty.is_number(), name, index, "Number", &arg.ty)?;
    }
    Ok(())
}

/// Numbers of an argument as floats, decimals by their value.
fn floats(call: &Call, index: usize) -> Result<Vec<f64>> {
    let scale = match call.args[index].ty {
        DataType::Decimal { scale, .. } => 10f64.powi((*scale).into()),
        _ => 1.0,
    };
    unary(Operand::of(call, index), call.n_rows, |x: f64| x / scale)
}

/// The day of a year, month and day; a day that the month lacks runs on into the next.
fn day_of(year: f64, month: f64, day: f64, years: (f64, f64)) -> Option<i32> {
    let fits = year >= years.0
        && year <= years.1
        && (1.0..13.0).contains(&month.trunc())
        && month <= 12.0
        && (1.0..=31.0).contains(&day);
    fits.then(|| Civil::new(year as i32, month as u8, day as u8).days())
}

/// The day of a date's arguments: year, month and day, or year and day of the year.
fn days(call: &Call, years: (f64, f64)) -> Result<Vec<Option<i32>>> {
    let (year, second) = (floats(call, 0)?, floats(call, 1)?);
    if call.args.len() == 3 {
        let day = floats(call, 2)?;
        return Ok((0..call.n_rows).map(|row| day_of(year[row], second[row], day[row], years)).collect());
    }
    let of_year = |row: usize| {
        let fits = year[row] >= years.0 && year[row] <= years.1 && (1.0..=365.0).contains(&second[row]);
        fits.then(|| Civil::new(year[row] as i32, 1, 1).days() + second[row] as i32 - 1)
    };
    Ok((0..call.n_rows).map(of_year).collect())
}

fn bind_date(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    check_numbers(name, args)?;
    Ok(result.into())
}

/// Digits of the fraction, and the zone.
struct State {
    digits: u8,
    zone: TimeZone,
}

fn bind_time(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 6..=7)?;
    check_numbers(name, &args[..6])?;
    let named = zone_argument(name, args, 6)?;
    let zone = named.clone().unwrap_or_else(|| ctx.time_zone.clone());
    Ok(Bound::with_state(DataType::DateTime(named), State { digits: 0, zone }))
}

fn bind_time64(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 6..=9)?;
    check_numbers(name, &args[..args.len().min(8)])?;
    let digits = match args.get(7) {
        None => 3,
        Some(arg) => match arg.constant.as_ref() {
            // What is behind the point is cut.
            Some(Value::Float(digits)) => *digits as i64,
            Some(value) if value.as_i64().is_some() => value.as_i64().unwrap_or_default(),
            _ => bail!(ILLEGAL_COLUMN, "Argument 'precision' for function {name} must be constant"),
        },
    };
    ensure!(
        (0..=9).contains(&digits),
        ARGUMENT_OUT_OF_BOUND,
        "Argument 'precision' for function {name} must be in range [0, 9]"
    );
    let named = zone_argument(name, args, 8)?;
    let zone = named.clone().unwrap_or_else(|| ctx.time_zone.clone());
    let digits = digits as u8;
    Ok(Bound::with_state(DataType::DateTime64(digits, named), State { digits, zone }))
}

/// Local seconds since 1970-01-01 of the first six arguments; before or behind all years outside of them.
fn locals(call: &Call, years: (f64, f64)) -> Result<Vec<i64>> {
    let parts: Vec<Vec<f64>> = (0..6).map(|index| floats(call, index)).collect::<Result<_>>()?;
    let local = |row: usize| {
        let at = |index: usize| parts[index][row];
        if at(0) > years.1 {
            return i64::MAX;
        }
        let times = [at(3), at(4), at(5)];
        // Hours, minutes and seconds have two digits and run on.
        if !times.iter().all(|time| (0.0..=99.0).contains(time)) {
            return i64::MIN;
        }
        match day_of(at(0), at(1), at(2), years) {
            None => i64::MIN,
            Some(day) => {
                let [hour, minute, second] = times.map(|time| time as i64);
                i64::from(day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second
            }
        }
    };
    Ok((0..call.n_rows).map(local).collect())
}

fn execute_time(call: &Call) -> Result<Column> {
    let clock = LocalTime::new(&call.state::<State>()?.zone);
    let timestamps = locals(call, (1970.0, 2106.0))?.into_iter().map(|local| match local {
        i64::MIN => 0,
        i64::MAX => u32::MAX,
        local => date_time(clock.to_timestamp(local)),
    });
    Ok(Vector::from(timestamps.collect::<Vec<u32>>()).into())
}

fn execute_time64(call: &Call) -> Result<Column> {
    let State { digits, zone } = call.state::<State>()?;
    let clock = LocalTime::new(zone);
    let ticks = 10i64.pow((*digits).into());
    let fractions = match call.args.len() {
        6 => vec![0.0; call.n_rows],
        _ => floats(call, 6)?,
    };
    let first = i64::from(Civil::new(1900, 1, 1).days()) * SECONDS_PER_DAY;
    let last = i64::from(Civil::new(2300, 1, 1).days()) * SECONDS_PER_DAY - 1;
    let locals = locals(call, (1900.0, 2299.0))?;
    let values = locals.into_iter().zip(fractions).map(|(local, fraction)| {
        let (local, fraction) = match local {
            i64::MIN => (first, 0),
            i64::MAX => (last, ticks - 1),
            local => (local, (fraction as i64).clamp(0, ticks - 1)),
        };
        let timestamp = clock.to_timestamp(local);
        let value = timestamp.checked_mul(ticks).and_then(|x| x.checked_add(fraction));
        value.ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))
    });
    Ok(Vector::from(values.collect::<Result<Vec<i64>>>()?).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "makeDate",
            case_insensitive: true,
            summary: "The Date of a year, month and day, or of a year and the number of a day in it.",
            syntax: "makeDate(year, month, day)",
            examples: &[Example {
                sql: "SELECT makeDate(2024, 2, 29), makeDate(2024, 60)",
                result: "2024-02-29\t2024-02-29",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_date(name, args, DataType::Date),
        execute: |call| {
            let days = days(call, (1970.0, 2149.0))?.into_iter();
            let dates = days.map(|day| day.filter(|day| *day <= i32::from(u16::MAX)).map_or(0, date));
            Ok(Vector::from(dates.collect::<Vec<u16>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "makeDate32",
            case_insensitive: true,
            summary: "The Date32 of a year, month and day, or of a year and the number of a day in it.",
            syntax: "makeDate32(year, month, day)",
            examples: &[Example { sql: "SELECT makeDate32(1950, 1, 2)", result: "1950-01-02" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_date(name, args, DataType::Date32),
        execute: |call| {
            let days = days(call, (0.0, 9999.0))?.into_iter();
            Ok(Vector::from(days.map(|day| day.unwrap_or(0)).collect::<Vec<i32>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "makeDateTime",
            case_insensitive: true,
            summary: "The DateTime of a date and a time of day.",
            syntax: "makeDateTime(year, month, day, hour, minute, second[, zone])",
            examples: &[Example {
                sql: "SELECT makeDateTime(2024, 2, 29, 10, 11, 12)",
                result: "2024-02-29 10:11:12",
            }],
            null_before_arity: true,
            ..Record::DEFAULT
        },
        bind: bind_time,
        execute: execute_time,
    },
    Plain {
        record: Record {
            name: "makeDateTime64",
            case_insensitive: true,
            summary: "The DateTime64 of a date, a time of day and a fraction of so many digits.",
            syntax: "makeDateTime64(year, month, day, hour, minute, second[, fraction[, digits[, zone]]])",
            examples: &[Example {
                sql: "SELECT makeDateTime64(2024, 2, 29, 10, 11, 12, 345)",
                result: "2024-02-29 10:11:12.345",
            }],
            null_before_arity: true,
            ..Record::DEFAULT
        },
        bind: bind_time64,
        execute: execute_time64,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
