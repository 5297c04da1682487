//! The first or last day of a span of days: `toMonday`, `toStartOfMonth`, `toLastDayOfMonth` and their kin.

use super::timestamps::{Takes, bind_part, check_timestamp, date, days, is_extended, zone_argument};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Grows, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::{Civil, day_of_week, days_in_month, iso_week};

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    check_timestamp(name, &args[0].ty, Takes::Dates)?;
    if args.len() == 2 {
        zone_argument(name, args, 1)?;
        ensure!(
            !matches!(args[0].ty, DataType::Date | DataType::Date32),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The timezone argument of function {name} is allowed only when the 1st argument has the type DateTime or DateTime64"
        );
    }
    let result = if is_extended(&args[0].ty, ctx) { DataType::Date32 } else { DataType::Date };
    bind_part(name, args, ctx, Takes::Dates, result)
}

/// Days through a function of days, as the Date or Date32 that was bound.
pub fn each_date(call: &Call, f: impl Fn(i32) -> i32) -> Result<Column> {
    match call.result {
        DataType::Date32 => days(call, f),
        _ => days(call, |day| date(f(day))),
    }
}

pub fn start_of_year(day: i32) -> i32 {
    Civil::new(Civil::of_days(day).year, 1, 1).days()
}

pub fn start_of_quarter(day: i32) -> i32 {
    let date = Civil::of_days(day);
    Civil::new(date.year, (date.month - 1) / 3 * 3 + 1, 1).days()
}

#[inline]
pub fn start_of_month(day: i32) -> i32 {
    day - i32::from(Civil::of_days(day).day) + 1
}

#[inline]
pub fn monday(day: i32) -> i32 {
    day - i32::from(day_of_week(day)) + 1
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toMonday",
            summary: "The Monday of the week of a date or moment.",
            syntax: "toMonday(date[, zone])",
            examples: &[Example { sql: "SELECT toMonday(toDate('2024-02-29'))", result: "2024-02-26" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| each_date(call, monday),
    },
    Plain {
        record: Record {
            name: "toStartOfMonth",
            summary: "The first day of the month of a date or moment.",
            syntax: "toStartOfMonth(date[, zone])",
            examples: &[Example { sql: "SELECT toStartOfMonth(toDate('2024-02-29'))", result: "2024-02-01" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| each_date(call, start_of_month),
    },
    Plain {
        record: Record {
            name: "toLastDayOfMonth",
            any_case_aliases: &["LAST_DAY"],
            summary: "The last day of the month of a date or moment.",
            syntax: "toLastDayOfMonth(date[, zone])",
            examples: &[Example {
                sql: "SELECT toLastDayOfMonth(toDate('2024-02-10'))",
                result: "2024-02-29",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| {
            // A DateTime whose local day is before 1970 counts as the first of 1970, as in the kernel.
            let first = if matches!(call.args[0].ty, DataType::DateTime(_)) { 0 } else { i32::MIN };
            each_date(call, |day| {
                let day = day.max(first);
                let date = Civil::of_days(day);
                day - i32::from(date.day) + i32::from(days_in_month(date.year, date.month))
            })
        },
    },
    Plain {
        record: Record {
            name: "toStartOfQuarter",
            summary: "The first day of the quarter of a date or moment.",
            syntax: "toStartOfQuarter(date[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfQuarter(toDate('2024-02-29'))",
                result: "2024-01-01",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| each_date(call, start_of_quarter),
    },
    Plain {
        record: Record {
            name: "toStartOfYear",
            summary: "The first day of the year of a date or moment.",
            syntax: "toStartOfYear(date[, zone])",
            examples: &[Example { sql: "SELECT toStartOfYear(toDate('2024-02-29'))", result: "2024-01-01" }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| each_date(call, start_of_year),
    },
    Plain {
        record: Record {
            name: "toStartOfISOYear",
            summary: "The first day, a Monday, of the ISO 8601 year of a date or moment.",
            syntax: "toStartOfISOYear(date[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfISOYear(toDate('2024-12-31'))",
                result: "2024-12-30",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithDays,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| {
            // January 4th is always in the first week.
            let start = |day| monday(Civil::new(iso_week(day).0, 1, 4).days());
            match call.result {
                DataType::Date32 => days(call, start),
                // A day out of range saturates before its year is looked at, as in the kernel.
                _ => days(call, |day| date(start(date(day).into()))),
            }
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
