//! Differences of dates and timestamps: `dateDiff` counts the boundaries crossed, `age` whole units, `timeDiff` seconds.

use super::relative::{Hours, month_number, quarter_number, week_number};
use super::timestamps::{Takes, check_timestamp, ticks_per_second, zone_argument};
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY, day_of_week, split_day};
use chalet_types::{DataType, IntervalUnit, TimeZone};

/// Names of units, as users abbreviate them.
const UNITS: &[(IntervalUnit, &[&str])] = &[
    (IntervalUnit::Year, &["year", "years", "yy", "yyyy"]),
    (IntervalUnit::Quarter, &["quarter", "quarters", "qq", "q"]),
    (IntervalUnit::Month, &["month", "months", "mm", "m"]),
    (IntervalUnit::Week, &["week", "weeks", "wk", "ww"]),
    (IntervalUnit::Day, &["day", "days", "dd", "d"]),
    (IntervalUnit::Hour, &["hour", "hours", "hh", "h"]),
    (IntervalUnit::Minute, &["minute", "minutes", "mi", "n"]),
    (IntervalUnit::Second, &["second", "seconds", "ss", "s"]),
    (IntervalUnit::Millisecond, &["millisecond", "milliseconds", "ms"]),
    (IntervalUnit::Microsecond, &["microsecond", "microseconds", "us", "u"]),
    (IntervalUnit::Nanosecond, &["nanosecond", "nanoseconds", "ns"]),
];

struct State {
    unit: IntervalUnit,
    /// Whole units only.
    whole: bool,
    /// Of the two timestamps.
    zones: [TimeZone; 2],
}

fn bind_unit(name: &'static str, args: &[Argument], ctx: &Context, whole: bool) -> Result<Bound> {
    check_arity(name, args.len(), 3..=4)?;
    if !args[0].ty.is_string() {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "First argument for function {name} (unit) must be String");
    }
    check_timestamp(name, &args[1].ty, Takes::Dates)?;
    check_timestamp(name, &args[2].ty, Takes::Dates)?;
    let named = zone_argument(name, args, 3)?;
    let Some(text) = args[0].constant.as_ref().and_then(|value| value.as_str()) else {
        bail!(ILLEGAL_COLUMN, "Argument at index 0 for function {name} must be constant");
    };
    let lower = text.to_ascii_lowercase();
    let Some(&(unit, _)) = UNITS.iter().find(|(_, names)| names.contains(&&*lower)) else {
        bail!(BAD_ARGUMENTS, "Function {name} does not support '{text}' unit");
    };
    let zone = |arg: &Argument| {
        named.clone().or_else(|| arg.ty.time_zone().cloned()).unwrap_or_else(|| ctx.time_zone.clone())
    };
    let zones = [zone(&args[1]), zone(&args[2])];
    Ok(Bound::with_state(DataType::Int64, State { unit, whole, zones }))
}

fn bind_seconds(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    check_timestamp(name, &args[0].ty, Takes::Dates)?;
    check_timestamp(name, &args[1].ty, Takes::Dates)?;
    let zone = |arg: &Argument| arg.ty.time_zone().unwrap_or(&ctx.time_zone).clone();
    let zones = [zone(&args[0]), zone(&args[1])];
    Ok(Bound::with_state(DataType::Int64, State { unit: IntervalUnit::Second, whole: false, zones }))
}

/// A date or timestamp as its local date, its timestamp and what is left of the second.
struct Side<'a> {
    operand: Operand<'a>,
    clock: LocalTime,
    hours: Hours,
    ticks: i64,
}

/// A timestamp in seconds, and the nanoseconds behind them.
type Timestamp = (i64, i64);

impl<'a> Side<'a> {
    fn new(operand: Operand<'a>, zone: &TimeZone) -> Side<'a> {
        Side {
            operand,
            clock: LocalTime::new(zone),
            hours: Hours::new(zone),
            ticks: ticks_per_second(operand.ty),
        }
    }

    /// The timestamps of all rows; one when constant.
    fn timestamps(&self) -> Result<Vec<Timestamp>> {
        let vector = self.operand.vector;
        let midnight = |day: i32| (self.clock.first_timestamp(i64::from(day) * SECONDS_PER_DAY), 0);
        Ok(match self.operand.ty {
            DataType::Date => vector.values::<u16>()?.iter().map(|&x| midnight(x.into())).collect(),
            DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| midnight(x)).collect(),
            DataType::DateTime(_) => vector.values::<u32>()?.iter().map(|&x| (x.into(), 0)).collect(),
            _ => {
                let nanos = 1_000_000_000 / self.ticks;
                let split = |x: &i64| (x.div_euclid(self.ticks), x.rem_euclid(self.ticks) * nanos);
                vector.values::<i64>()?.iter().map(split).collect()
            }
        })
    }

    fn day(&self, timestamp: Timestamp) -> i32 {
        split_day(self.clock.of_timestamp(timestamp.0)).0
    }

    /// Which unit, counted from some point, holds the timestamp.
    fn number(&self, unit: IntervalUnit, timestamp: Timestamp) -> i64 {
        use IntervalUnit::*;
        match unit {
            Year => Civil::of_days(self.day(timestamp)).year.into(),
            Quarter => quarter_number(self.day(timestamp)).into(),
            Month => month_number(self.day(timestamp)).into(),
            Week => week_number(self.day(timestamp)).into(),
            Day => self.day(timestamp).into(),
            Hour => self.hours.stable(timestamp.0),
            Minute => timestamp.0.div_euclid(60),
            Second => timestamp.0,
            Millisecond => timestamp.0.wrapping_mul(1000).wrapping_add(timestamp.1 / 1_000_000),
            Microsecond => timestamp.0.wrapping_mul(1_000_000).wrapping_add(timestamp.1 / 1000),
            Nanosecond => timestamp.0.wrapping_mul(1_000_000_000).wrapping_add(timestamp.1),
        }
    }

    /// How far into its unit the timestamp is: comparable with that of another timestamp.
    fn rest(&self, unit: IntervalUnit, timestamp: Timestamp) -> (i64, u32, i64) {
        use IntervalUnit::*;
        let (day, time) = split_day(self.clock.of_timestamp(timestamp.0));
        let date = Civil::of_days(day);
        let (month, number) = (i64::from(date.month) - 1, i64::from(date.day));
        match unit {
            Year => (month * 32 + number, time, timestamp.1),
            Quarter => (month % 3 * 32 + number, time, timestamp.1),
            Month => (number, time, timestamp.1),
            Week => (day_of_week(day).into(), time, timestamp.1),
            Day => (0, time, timestamp.1),
            Hour => (0, time % 3600, timestamp.1),
            Minute => (0, time % 60, timestamp.1),
            Second => (0, 0, timestamp.1),
            Millisecond => (0, 0, timestamp.1 % 1_000_000),
            Microsecond => (0, 0, timestamp.1 % 1000),
            Nanosecond => (0, 0, 0),
        }
    }
}

fn execute(call: &Call) -> Result<Column> {
    let State { unit, whole, zones } = call.state::<State>()?;
    let first = usize::from(call.args[0].ty.is_string());
    let x = Side::new(Operand::of(call, first), &zones[0]);
    let y = Side::new(Operand::of(call, first + 1), &zones[1]);
    let (from, to) = (x.timestamps()?, y.timestamps()?);
    let difference = |row: usize| {
        let (a, b) = (from[x.operand.row(row)], to[y.operand.row(row)]);
        let crossed = y.number(*unit, b).wrapping_sub(x.number(*unit, a));
        if !whole || crossed == 0 {
            return crossed;
        }
        let (a, mut b) = (x.rest(*unit, a), y.rest(*unit, b));
        if crossed < 0 && *unit == IntervalUnit::Week && a.0 != b.0 {
            // Backwards, the kernel compares days of the week the other way around.
            b.0 = 2 * a.0 - b.0;
        }
        crossed - i64::from(crossed > 0 && a > b) + i64::from(crossed < 0 && a < b)
    };
    Ok(Vector::from((0..call.n_rows).map(difference).collect::<Vec<i64>>()).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "dateDiff",
            aliases: &["date_diff", "DATE_DIFF", "timestampDiff", "timestamp_diff", "TIMESTAMP_DIFF"],
            case_insensitive: true,
            summary: "How many boundaries of a unit lie between two dates or moments.",
            syntax: "dateDiff(unit, from, to[, zone])",
            examples: &[Example {
                sql: "SELECT dateDiff('month', toDate('2024-01-31'), toDate('2024-02-01'))",
                result: "1",
            }],
            constants: Constants::Seen,
            total: true,
            constant_arguments: &[0],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_unit(name, args, ctx, false),
        execute,
    },
    Plain {
        record: Record {
            name: "age",
            case_insensitive: true,
            summary: "How many whole units lie between two dates or moments.",
            syntax: "age(unit, from, to[, zone])",
            examples: &[Example {
                sql: "SELECT age('month', toDate('2024-01-31'), toDate('2024-02-01'))",
                result: "0",
            }],
            constants: Constants::Seen,
            total: true,
            constant_arguments: &[0],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_unit(name, args, ctx, true),
        execute,
    },
    Plain {
        record: Record {
            name: "timeDiff",
            case_insensitive: true,
            summary: "Seconds between two dates or moments.",
            syntax: "timeDiff(from, to)",
            examples: &[Example {
                sql: "SELECT timeDiff(toDateTime('2024-01-01 00:00:00'), toDateTime('2024-01-01 01:00:00'))",
                result: "3600",
            }],
            constants: Constants::Seen,
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_seconds,
        execute,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
