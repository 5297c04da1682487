//! Numbers of a calendar date: `toYear`, `toMonth`, `toDayOfYear`, `toYYYYMM` and their kin.

use super::timestamps::{Takes, bind_part, days, locals};
use crate::plain::Plain;
use chalet_function_api::{Argument, Bound, Context, Example, Grows, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::{Civil, Clock, days_in_month, iso_week, split_day};

fn bind_u8(name: &'static str, args: &[Argument], ctx: &Context) -> chalet_base::Result<Bound> {
    bind_part(name, args, ctx, Takes::Dates, DataType::UInt8)
}

fn bind_u16(name: &'static str, args: &[Argument], ctx: &Context) -> chalet_base::Result<Bound> {
    bind_part(name, args, ctx, Takes::Dates, DataType::UInt16)
}

fn bind_u32(name: &'static str, args: &[Argument], ctx: &Context) -> chalet_base::Result<Bound> {
    bind_part(name, args, ctx, Takes::Dates, DataType::UInt32)
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toYear",
            aliases: &["__toYearCalendarOnly"],
            any_case_aliases: &["YEAR"],
            summary: "The year of a date or moment.",
            syntax: "toYear(date[, zone])",
            examples: &[Example { sql: "SELECT toYear(toDate('2024-02-29'))", result: "2024" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind: bind_u16,
        execute: |call| days(call, |day| Civil::of_days(day).year as u16),
    },
    Plain {
        record: Record {
            name: "toQuarter",
            any_case_aliases: &["QUARTER"],
            summary: "The quarter of a date or moment, 1 to 4.",
            syntax: "toQuarter(date[, zone])",
            examples: &[Example { sql: "SELECT toQuarter(toDate('2024-02-29'))", result: "1" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| days(call, |day| (Civil::of_days(day).month - 1) / 3 + 1),
    },
    Plain {
        record: Record {
            name: "toMonth",
            any_case_aliases: &["MONTH"],
            summary: "The month of a date or moment, 1 to 12.",
            syntax: "toMonth(date[, zone])",
            examples: &[Example { sql: "SELECT toMonth(toDate('2024-02-29'))", result: "2" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| days(call, |day| Civil::of_days(day).month),
    },
    Plain {
        record: Record {
            name: "toDayOfYear",
            any_case_aliases: &["DAYOFYEAR"],
            summary: "The number of a date or moment's day in its year, 1 to 366.",
            syntax: "toDayOfYear(date[, zone])",
            examples: &[Example { sql: "SELECT toDayOfYear(toDate('2024-02-29'))", result: "60" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u16,
        execute: |call| days(call, |day| Civil::of_days(day).day_of_year()),
    },
    Plain {
        record: Record {
            name: "toDayOfMonth",
            any_case_aliases: &["DAY", "DAYOFMONTH"],
            summary: "The number of a date or moment's day in its month, 1 to 31.",
            syntax: "toDayOfMonth(date[, zone])",
            examples: &[Example { sql: "SELECT toDayOfMonth(toDate('2024-02-29'))", result: "29" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| days(call, |day| Civil::of_days(day).day),
    },
    Plain {
        record: Record {
            name: "toDaysInMonth",
            summary: "How many days the month of a date or moment has, 28 to 31.",
            syntax: "toDaysInMonth(date[, zone])",
            examples: &[Example { sql: "SELECT toDaysInMonth(toDate('2024-02-01'))", result: "29" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| {
            days(call, |day| {
                let date = Civil::of_days(day);
                days_in_month(date.year, date.month)
            })
        },
    },
    Plain {
        record: Record {
            name: "toISOYear",
            summary: "The year of ISO 8601 that the week of a date or moment belongs to.",
            syntax: "toISOYear(date[, zone])",
            examples: &[Example { sql: "SELECT toISOYear(toDate('2024-12-30'))", result: "2025" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind: bind_u16,
        execute: |call| days(call, |day| iso_week(day).0 as u16),
    },
    Plain {
        record: Record {
            name: "toISOWeek",
            summary: "The number of a date or moment's week as ISO 8601 counts, 1 to 53.",
            syntax: "toISOWeek(date[, zone])",
            examples: &[Example { sql: "SELECT toISOWeek(toDate('2024-02-29'))", result: "9" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| days(call, |day| iso_week(day).1),
    },
    Plain {
        record: Record {
            name: "toYYYYMM",
            summary: "Year and month as one number: year * 100 + month.",
            syntax: "toYYYYMM(date[, zone])",
            examples: &[Example { sql: "SELECT toYYYYMM(toDate('2024-02-29'))", result: "202402" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| {
            days(call, |day| {
                let date = Civil::of_days(day);
                date.year as u32 * 100 + u32::from(date.month)
            })
        },
    },
    Plain {
        record: Record {
            name: "toYYYYMMDD",
            summary: "Year, month and day as one number: year * 10000 + month * 100 + day.",
            syntax: "toYYYYMMDD(date[, zone])",
            examples: &[Example { sql: "SELECT toYYYYMMDD(toDate('2024-02-29'))", result: "20240229" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, year_month_day),
    },
    Plain {
        record: Record {
            name: "toYYYYMMDDhhmmss",
            summary: "Date and time of day as one number of 14 digits.",
            syntax: "toYYYYMMDDhhmmss(date[, zone])",
            examples: &[Example {
                sql: "SELECT toYYYYMMDDhhmmss(toDateTime('2024-02-29 10:11:12'))",
                result: "20240229101112",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_part(name, args, ctx, Takes::Dates, DataType::UInt64),
        execute: |call| {
            locals(call, |local| {
                let (day, time) = split_day(local);
                let Clock { hour, minute, second } = Clock::of_seconds(time);
                let time = u64::from(hour) * 10_000 + u64::from(minute) * 100 + u64::from(second);
                u64::from(year_month_day(day)) * 1_000_000 + time
            })
        },
    },
    Plain {
        record: Record {
            name: "toDaysSinceYearZero",
            any_case_aliases: &["TO_DAYS"],
            summary: "Days since 0000-01-01 of the proleptic Gregorian calendar.",
            syntax: "toDaysSinceYearZero(date[, zone])",
            examples: &[Example {
                sql: "SELECT toDaysSinceYearZero(toDate('2024-02-29'))",
                result: "739310",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| {
            // A DateTime is made a Date of the session's zone first, whatever its own.
            let Bound { result, state } = bind_u32(name, args, ctx)?;
            Ok(match args[0].ty {
                DataType::DateTime(_) => Bound::with_state(result, ctx.time_zone.clone()),
                _ => Bound { result, state },
            })
        },
        execute: |call| days(call, |day| (day + DAYS_BEFORE_1970) as u32),
    },
];

/// Days from 0000-01-01 to 1970-01-01.
pub const DAYS_BEFORE_1970: i32 = 719_528;

fn year_month_day(day: i32) -> u32 {
    let date = Civil::of_days(day);
    date.year as u32 * 10_000 + u32::from(date.month) * 100 + u32::from(date.day)
}

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
