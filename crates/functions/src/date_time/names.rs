//! Names of parts of dates: `monthName`, `dateName`.

use super::timestamps::{Takes, bind_part, check_timestamp, each_local, ticks_per_second, zone_of};
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Bound, Call, Example, Record, Registry};
use chalet_types::calendar::{Civil, LocalTime, day_of_week, iso_week, split_day};
use chalet_types::{DataType, TimeZone};

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Monday on.
pub const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Clone, Copy)]
enum Part {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    Weekday,
    Hour,
    Minute,
    Second,
}

const PARTS: &[(&str, Part)] = &[
    ("year", Part::Year),
    ("quarter", Part::Quarter),
    ("month", Part::Month),
    ("dayofyear", Part::DayOfYear),
    ("day", Part::Day),
    ("week", Part::Week),
    ("weekday", Part::Weekday),
    ("hour", Part::Hour),
    ("minute", Part::Minute),
    ("second", Part::Second),
];

/// The name of a part, or its number as text, of local seconds since 1970-01-01.
fn write(part: Part, local: i64, out: &mut Vec<u8>) {
    let (day, time) = split_day(local);
    let number: u32 = match part {
        Part::Month => return out.extend_from_slice(month_name(day).as_bytes()),
        Part::Weekday => {
            return out.extend_from_slice(WEEKDAYS[usize::from(day_of_week(day)) - 1].as_bytes());
        }
        Part::Year => Civil::of_days(day).year as u32,
        Part::Quarter => u32::from((Civil::of_days(day).month - 1) / 3 + 1),
        Part::DayOfYear => Civil::of_days(day).day_of_year().into(),
        Part::Day => Civil::of_days(day).day.into(),
        Part::Week => iso_week(day).1.into(),
        Part::Hour => time / 3600,
        Part::Minute => time / 60 % 60,
        Part::Second => time % 60,
    };
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

pub fn month_name(day: i32) -> &'static str {
    MONTHS[usize::from(Civil::of_days(day).month) - 1]
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "monthName",
            case_insensitive: true,
            summary: "The English name of the month of a date or moment.",
            syntax: "monthName(date)",
            examples: &[Example { sql: "SELECT monthName(toDate('2024-02-29'))", result: "February" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| {
            check_arity(name, args.len(), 1..=1)?;
            if args[0].ty == DataType::Date32 {
                bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "A value of illegal type was provided as 1st argument 'datetime' to function '{name}'. Expected: Date or DateTime, got: Date32"
                );
            }
            bind_part(name, args, ctx, Takes::Dates, DataType::String)
        },
        execute: |call| {
            let zone = call.state::<TimeZone>()?;
            named(call, 0, Part::Month, zone)
        },
    },
    Plain {
        record: Record {
            name: "dateName",
            case_insensitive: true,
            summary: "The name of a part of a date or moment: year, quarter, month, dayofyear, day, week, weekday, hour, minute or second.",
            syntax: "dateName(part, date[, zone])",
            examples: &[Example {
                sql: "SELECT dateName('weekday', toDate('2024-02-29'))",
                result: "Thursday",
            }],
            total: true,
            constant_arguments: &[0],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| {
            check_arity(name, args.len(), 2..=3)?;
            if !args[0].ty.is_string() {
                bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of 1st argument of function {name}",
                    args[0].ty
                );
            }
            check_timestamp(name, &args[1].ty, Takes::Dates)?;
            let Some(text) = args[0].constant.as_ref().and_then(|value| value.as_str()) else {
                bail!(ILLEGAL_COLUMN, "Argument at index 0 for function {name} must be constant");
            };
            let Some(&(_, part)) = PARTS.iter().find(|(known, _)| *known == text) else {
                bail!(BAD_ARGUMENTS, "{text} is not a part of a date");
            };
            let time = matches!(part, Part::Hour | Part::Minute | Part::Second);
            if time {
                check_timestamp(name, &args[1].ty, Takes::Timestamps)?;
            }
            let zone = zone_of(name, &args[1..], 1, ctx)?;
            Ok(Bound::with_state(DataType::String, (part, zone)))
        },
        execute: |call| {
            let (part, zone) = call.state::<(Part, TimeZone)>()?;
            named(call, 1, *part, zone)
        },
    },
];

fn named(call: &Call, index: usize, part: Part, zone: &TimeZone) -> Result<Column> {
    let (vector, ty) = (call.vector(index), call.args[index].ty);
    let locals: Vec<i64> = match ty {
        DataType::DateTime64(..) => {
            // Timestamps before 1970 are rounded up to a second, as the kernel does.
            let (clock, ticks) = (LocalTime::new(zone), ticks_per_second(ty));
            vector.values::<i64>()?.iter().map(|x| clock.of_timestamp(x / ticks)).collect()
        }
        _ => each_local(vector, ty, zone, |local| local)?,
    };
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for local in locals {
        out.push_with(|out| write(part, local, out));
    }
    Ok(Vector::from(out.finish()).into())
}

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
