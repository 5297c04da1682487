//! Weeks by mode: `toWeek`, `toYearWeek`, `toDayOfWeek`, `toStartOfWeek`, `toLastDayOfWeek`.

use super::starts_of_date::monday;
use super::timestamps::{Takes, check_timestamp, each_day, is_extended, zone_of};
use crate::plain::Plain;
use crate::text::read_best_effort;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column, Native, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::calendar::{Civil, day_of_week, is_leap_year};
use chalet_types::{DataType, TimeZone};

struct State {
    mode: u8,
    zone: TimeZone,
}

/// `f(date [, mode [, zone]])`; text is a timestamp too where `text` says so.
fn bind(
    name: &'static str,
    args: &[Argument],
    ctx: &Context,
    text: bool,
    result: impl Fn(&DataType) -> DataType,
) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    let ty = &args[0].ty;
    if !(text && ty.is_string()) {
        check_timestamp(name, ty, Takes::Dates)?;
    }
    let mode = match args.get(1) {
        None => 0,
        Some(arg) => {
            ensure!(
                arg.ty == DataType::UInt8,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument 2 of function {name}, must be a constant UInt8 with the mode of weeks",
                arg.ty
            );
            match &arg.constant {
                Some(mode) => mode.as_u64().unwrap_or(0) as u8,
                None => bail!(ILLEGAL_COLUMN, "Argument 2 of function {name} must be constant"),
            }
        }
    };
    Ok(Bound::with_state(result(ty), State { mode, zone: zone_of(name, args, 2, ctx)? }))
}

/// The first argument through a function of its local date.
fn days<R: Native>(call: &Call, f: impl Fn(i32) -> R) -> Result<Vec<R>> {
    let zone = &call.state::<State>()?.zone;
    let arg = &call.args[0];
    if !arg.ty.is_string() {
        return each_day(&arg.vector, arg.ty, zone, f);
    }
    let ty = DataType::DateTime64(0, Some(zone.clone()));
    let mut timestamps = Builder::new(&ty);
    for row in 0..call.n_rows {
        let text = match &arg.vector.data {
            chalet_columns::Data::Fixed(fixed) => fixed.get(row),
            _ => arg.vector.strings()?.get(row),
        };
        timestamps.push_from(&read_best_effort(text, &ty, call.ctx)?, 0);
    }
    each_day(&timestamps.finish(), &ty, zone, f)
}

/// Weeks begin on Monday, else on Sunday.
const MONDAY_FIRST: u8 = 1;
/// Weeks count from 1 and may belong to a neighbouring year, else from 0 and never do.
const WHOLE_WEEKS: u8 = 2;
/// The first week is the first that lies whole in the year, else the first with four days in it. As users give the
/// mode, only where weeks begin on Monday; the reverse where they begin on Sunday.
const FIRST_WHOLE: u8 = 4;
/// The first week is that with January 1st.
const NEW_YEAR: u8 = 8;

fn days_in_year(year: i32) -> i32 {
    365 + i32::from(is_leap_year(year))
}

/// Days from the first day of the week to `day`.
fn weekday(day: i32, monday_first: bool) -> i32 {
    let number = i32::from(day_of_week(day));
    if monday_first { number - 1 } else { number % 7 }
}

/// The year that a week belongs to and its number.
fn year_and_week(day: i32, mode: u8) -> (i32, i32) {
    let monday_first = mode & MONDAY_FIRST != 0;
    if mode & NEW_YEAR != 0 {
        let first_of_week = day - weekday(day, monday_first);
        let year = Civil::of_days(first_of_week + 6).year;
        let new_year = Civil::new(year, 1, 1).days();
        return (year, (first_of_week - (new_year - weekday(new_year, monday_first))) / 7 + 1);
    }
    let first_whole = (mode & FIRST_WHOLE != 0) == monday_first;
    // Does the first week of the year begin after January 1st, which is `weekday` days into its week?
    let begins_later = |weekday: i32| if first_whole { weekday != 0 } else { weekday >= 4 };
    let mut whole_weeks = mode & WHOLE_WEEKS != 0;

    let date = Civil::of_days(day);
    let mut year = date.year;
    let mut new_year = Civil::new(year, 1, 1).days();
    let mut first = weekday(new_year, monday_first);
    if date.month == 1 && i32::from(date.day) <= 7 - first {
        if !whole_weeks && begins_later(first) {
            return (year, 0);
        }
        if begins_later(first) {
            whole_weeks = true;
            year -= 1;
            new_year -= days_in_year(year);
            first = weekday(new_year, monday_first);
        }
    }
    let first_week = if begins_later(first) { new_year + 7 - first } else { new_year - first };
    let passed = day - first_week;
    if whole_weeks && passed >= 52 * 7 && !begins_later((first + days_in_year(year)) % 7) {
        return (year + 1, 1);
    }
    (year, passed / 7 + 1)
}

fn sunday(day: i32) -> i32 {
    day - i32::from(day_of_week(day)) % 7
}

fn start_of_week(day: i32, mode: u8) -> i32 {
    if mode & MONDAY_FIRST != 0 { monday(day) } else { sunday(day) }
}

/// Days as the Date or Date32 that was bound.
fn dates(call: &Call, f: impl Fn(i32) -> i32) -> Result<Column> {
    Ok(match call.result {
        DataType::Date32 => Vector::from(days(call, f)?).into(),
        _ => Vector::from(days(call, |day| super::timestamps::date(f(day)))?).into(),
    })
}

fn bind_date(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    ensure!(
        args.len() != 3
            || !matches!(args[0].ty, DataType::Date | DataType::Date32)
            || args[1].ty != DataType::UInt8
            || !args[2].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The timezone argument of function {name} is allowed only when the 1st argument is DateTime or DateTime64"
    );
    bind(name, args, ctx, false, |ty| if is_extended(ty, ctx) { DataType::Date32 } else { DataType::Date })
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toDayOfWeek",
            any_case_aliases: &["DAYOFWEEK"],
            summary: "The number of a date or moment's day in its week. Mode 0 counts from Monday as 1, mode 1 from Monday as 0, mode 2 from Sunday as 0, mode 3 from Sunday as 1.",
            syntax: "toDayOfWeek(date[, mode[, zone]])",
            examples: &[Example { sql: "SELECT toDayOfWeek(toDate('2024-02-29'))", result: "4" }],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, true, |_| DataType::UInt8),
        execute: |call| {
            let mode = call.state::<State>()?.mode;
            let number = |day| match (mode & 3, day_of_week(day)) {
                (0, number) => number,
                (1, number) => number - 1,
                (2, number) => number % 7,
                (_, number) => number % 7 + 1,
            };
            Ok(Vector::from(days(call, number)?).into())
        },
    },
    Plain {
        record: Record {
            name: "toWeek",
            any_case_aliases: &["week"],
            summary: "The number of a date or moment's week in its year. The mode, as in MySQL, says on which day weeks begin and which is the first.",
            syntax: "toWeek(date[, mode[, zone]])",
            examples: &[Example {
                sql: "SELECT toWeek(toDate('2024-02-29')), toWeek(toDate('2024-02-29'), 3)",
                result: "8\t9",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, true, |_| DataType::UInt8),
        execute: |call| {
            let mode = call.state::<State>()?.mode;
            Ok(Vector::from(days(call, |day| year_and_week(day, mode).1 as u8)?).into())
        },
    },
    Plain {
        record: Record {
            name: "toYearWeek",
            any_case_aliases: &["yearweek"],
            summary: "The year that a date or moment's week belongs to and the number of the week: year * 100 + week. For the mode see toWeek.",
            syntax: "toYearWeek(date[, mode[, zone]])",
            examples: &[Example { sql: "SELECT toYearWeek(toDate('2024-02-29'))", result: "202408" }],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, true, |_| DataType::UInt32),
        execute: |call| {
            let mode = call.state::<State>()?.mode | WHOLE_WEEKS;
            let number = |day| {
                let (year, week) = year_and_week(day, mode);
                (year * 100 + week) as u32
            };
            Ok(Vector::from(days(call, number)?).into())
        },
    },
    Plain {
        record: Record {
            name: "toStartOfWeek",
            summary: "The first day of the week of a date or moment: a Monday when the mode is odd, else a Sunday.",
            syntax: "toStartOfWeek(date[, mode[, zone]])",
            examples: &[Example {
                sql: "SELECT toStartOfWeek(toDate('2024-02-29')), toStartOfWeek(toDate('2024-02-29'), 1)",
                result: "2024-02-25\t2024-02-26",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_date,
        execute: |call| {
            let mode = call.state::<State>()?.mode;
            dates(call, |day| start_of_week(day, mode))
        },
    },
    Plain {
        record: Record {
            name: "toLastDayOfWeek",
            summary: "The last day of the week of a date or moment: a Sunday when the mode is odd, else a Saturday.",
            syntax: "toLastDayOfWeek(date[, mode[, zone]])",
            examples: &[Example {
                sql: "SELECT toLastDayOfWeek(toDate('2024-02-29')), toLastDayOfWeek(toDate('2024-02-29'), 1)",
                result: "2024-03-02\t2024-03-03",
            }],
            total: true,
            constant_arguments: &[1],
            constants_before_types: true,
            ..Record::DEFAULT
        },
        bind: bind_date,
        execute: |call| {
            let mode = call.state::<State>()?.mode;
            dates(call, |day| start_of_week(day, mode) + 6)
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
