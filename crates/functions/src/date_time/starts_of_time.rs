//! The first timestamp of a span of time: `toStartOfDay` to `toStartOfNanosecond`, `timeSlot`, `toTimeWithFixedDate`.

use super::timestamps::{
    Takes, bind_part, check_timestamp, date_time, each_start_of_span, each_timestamp, is_extended,
    ticks_per_second, zone, zone_argument,
};
use crate::plain::Plain;
use chalet_base::{Result, bail, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Grows, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY};

fn bind(name: &'static str, args: &[Argument], ctx: &Context, takes: Takes) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let ty = &args[0].ty;
    check_timestamp(name, ty, takes)?;
    let shown = zone_argument(name, args, 1)?.or_else(|| ty.time_zone().cloned());
    let result = match ty {
        DataType::DateTime64(scale, _) if is_extended(ty, ctx) => DataType::DateTime64(*scale, shown),
        DataType::Date32 if is_extended(ty, ctx) => DataType::DateTime64(3, shown),
        _ => DataType::DateTime(shown),
    };
    bind_part(name, args, ctx, takes, result)
}

fn bind_timestamp(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    bind(name, args, ctx, Takes::Timestamps)
}

/// Timestamps through a function of seconds, as the DateTime or DateTime64 that was bound.
pub fn each_start(call: &Call, f: impl Fn(i64, &LocalTime) -> i64) -> Result<Column> {
    let (vector, ty, zone) = (call.vector(0), call.args[0].ty, zone(call)?);
    Ok(match call.result {
        DataType::DateTime64(..) => {
            let ticks = ticks_per_second(call.result);
            Vector::from(each_timestamp(vector, ty, zone, |x, clock| f(x, clock).saturating_mul(ticks))?)
        }
        _ => Vector::from(each_timestamp(vector, ty, zone, |x, clock| date_time(f(x, clock)))?),
    }
    .into())
}

#[inline]
fn start_of_day(timestamp: i64, clock: &LocalTime) -> i64 {
    clock.first_timestamp(clock.of_timestamp(timestamp).div_euclid(SECONDS_PER_DAY) * SECONDS_PER_DAY)
}

/// The first moment of a local day as a DateTime. Days before 1970 count as its first day, and where that begins before all
/// timestamps the next one is meant.
#[inline]
pub fn first_date_time(day: i64, clock: &LocalTime) -> i64 {
    let first = |day: i64| clock.first_timestamp(day * SECONDS_PER_DAY);
    let day = day.max(0);
    let start = first(day);
    if start < 0 { first(day + 1) } else { start }
}

fn start_of_date_time(timestamp: i64, clock: &LocalTime) -> i64 {
    first_date_time(clock.of_timestamp(timestamp).div_euclid(SECONDS_PER_DAY), clock)
}

/// The start of a span that divides the hour of the local clock.
#[inline(always)]
pub fn start_of_span(timestamp: i64, seconds: i64, clock: &LocalTime) -> i64 {
    timestamp - clock.of_timestamp(timestamp).rem_euclid(seconds)
}

/// The same of spans of so many seconds, which divide the day of the local clock.
fn each_span<const SECONDS: u32>(call: &Call, f: impl Fn(i64, &LocalTime) -> i64) -> Result<Column> {
    match (call.args[0].ty, call.result) {
        (DataType::DateTime(_), DataType::DateTime(_)) => {
            let values = call.vector(0).values::<u32>()?;
            Ok(Vector::from(each_start_of_span::<SECONDS>(values, zone(call)?, f)).into())
        }
        _ => each_start(call, f),
    }
}

/// Parts of a second: the result has at least the digits that the unit needs.
fn bind_fraction(name: &'static str, args: &[Argument], ctx: &Context, digits: u8) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let named = zone_argument(name, args, 1)?;
    let DataType::DateTime64(scale, own) = &args[0].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}. Should be DateTime64",
            args[0].ty
        );
    };
    let shown = named.or_else(|| own.clone());
    bind_part(name, args, ctx, Takes::Timestamps, DataType::DateTime64((*scale).max(digits), shown))
}

fn start_of_fraction(call: &Call, digits: u8) -> Result<Column> {
    let own = ticks_per_second(call.args[0].ty);
    let ticks = ticks_per_second(call.result);
    let step = ticks / 10i64.pow(digits.into());
    let values = call.vector(0).values::<i64>()?.iter().map(|&x| {
        let value =
            x.checked_mul(ticks / own).ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))?;
        Ok(value - value.rem_euclid(step))
    });
    Ok(Vector::from(values.collect::<Result<Vec<i64>>>()?).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toStartOfDay",
            summary: "The first moment of the day of a date or moment.",
            syntax: "toStartOfDay(date[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfDay(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 00:00:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, Takes::Dates),
        execute: |call| match call.args[0].ty {
            DataType::DateTime(_) => each_span::<86_400>(call, start_of_date_time),
            DataType::Date => {
                let clock = LocalTime::new(zone(call)?);
                let days = call.vector(0).values::<u16>()?.iter();
                let starts = days.map(|&day| date_time(first_date_time(day.into(), &clock)));
                Ok(Vector::from(starts.collect::<Vec<u32>>()).into())
            }
            _ => each_start(call, start_of_day),
        },
    },
    Plain {
        record: Record {
            name: "toStartOfHour",
            summary: "The first moment of the hour of a moment.",
            syntax: "toStartOfHour(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfHour(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:00:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        execute: |call| each_span::<3600>(call, |timestamp, clock| start_of_span(timestamp, 3600, clock)),
    },
    Plain {
        record: Record {
            name: "toStartOfMinute",
            summary: "The first moment of the minute of a moment.",
            syntax: "toStartOfMinute(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfMinute(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:47:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        execute: |call| each_span::<60>(call, |timestamp, clock| start_of_span(timestamp, 60, clock)),
    },
    Plain {
        record: Record {
            name: "toStartOfFiveMinutes",
            aliases: &["toStartOfFiveMinute"],
            summary: "The first moment of the five minutes of the hour in which a moment lies.",
            syntax: "toStartOfFiveMinutes(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfFiveMinutes(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:45:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        execute: |call| each_span::<300>(call, |timestamp, clock| start_of_span(timestamp, 300, clock)),
    },
    Plain {
        record: Record {
            name: "toStartOfTenMinutes",
            summary: "The first moment of the ten minutes of the hour in which a moment lies.",
            syntax: "toStartOfTenMinutes(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfTenMinutes(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:40:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        execute: |call| each_span::<600>(call, |timestamp, clock| start_of_span(timestamp, 600, clock)),
    },
    Plain {
        record: Record {
            name: "toStartOfFifteenMinutes",
            summary: "The first moment of the quarter of an hour in which a moment lies.",
            syntax: "toStartOfFifteenMinutes(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfFifteenMinutes(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:45:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        execute: |call| each_span::<900>(call, |timestamp, clock| start_of_span(timestamp, 900, clock)),
    },
    Plain {
        record: Record {
            name: "timeSlot",
            summary: "The first moment of the half hour in which a moment lies.",
            syntax: "timeSlot(moment[, zone])",
            examples: &[Example {
                sql: "SELECT timeSlot(toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:30:00",
            }],
            total: true,
            constant_arguments: &[1],
            grows: Grows::WithMoments,
            ..Record::DEFAULT
        },
        bind: bind_timestamp,
        // Half hours of UTC, whatever the zone.
        execute: |call| each_start(call, |timestamp, _| timestamp - timestamp.rem_euclid(1800)),
    },
    Plain {
        record: Record {
            name: "toTimeWithFixedDate",
            summary: "The time of day of a moment, on 1970-01-02.",
            syntax: "toTimeWithFixedDate(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toTimeWithFixedDate(toDateTime('2024-02-29 13:47:58'))",
                result: "1970-01-02 13:47:58",
            }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| {
            check_arity(name, args.len(), 1..=2)?;
            check_timestamp(name, &args[0].ty, Takes::Timestamps)?;
            let shown = zone_argument(name, args, 1)?.or_else(|| args[0].ty.time_zone().cloned());
            bind_part(name, args, ctx, Takes::Timestamps, DataType::DateTime(shown))
        },
        execute: |call| {
            let clock = LocalTime::new(zone(call)?);
            let fixed = |timestamp: i64| {
                let time = clock.of_timestamp(timestamp).rem_euclid(SECONDS_PER_DAY);
                date_time(clock.to_timestamp(SECONDS_PER_DAY + time))
            };
            Ok(match call.args[0].ty {
                DataType::DateTime64(..) => {
                    // Timestamps before 1970 are rounded up to a second, as the kernel does.
                    let ticks = ticks_per_second(call.args[0].ty);
                    let values = call.vector(0).values::<i64>()?.iter();
                    Vector::from(values.map(|x| fixed(x / ticks)).collect::<Vec<u32>>())
                }
                _ => {
                    let values = call.vector(0).values::<u32>()?.iter();
                    Vector::from(values.map(|&x| fixed(x.into())).collect::<Vec<u32>>())
                }
            }
            .into())
        },
    },
    Plain {
        record: Record {
            name: "toStartOfSecond",
            summary: "The first moment of the second of a moment.",
            syntax: "toStartOfSecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfSecond(toDateTime64('2024-02-29 13:47:58.345', 3))",
                result: "2024-02-29 13:47:58.000",
            }],
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_fraction(name, args, ctx, 0),
        execute: |call| start_of_fraction(call, 0),
    },
    Plain {
        record: Record {
            name: "toStartOfMillisecond",
            summary: "The first moment of the millisecond of a moment.",
            syntax: "toStartOfMillisecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfMillisecond(toDateTime64('2024-02-29 13:47:58.345678', 6))",
                result: "2024-02-29 13:47:58.345000",
            }],
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_fraction(name, args, ctx, 3),
        execute: |call| start_of_fraction(call, 3),
    },
    Plain {
        record: Record {
            name: "toStartOfMicrosecond",
            summary: "The first moment of the microsecond of a moment.",
            syntax: "toStartOfMicrosecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfMicrosecond(toDateTime64('2024-02-29 13:47:58.345678901', 9))",
                result: "2024-02-29 13:47:58.345678000",
            }],
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_fraction(name, args, ctx, 6),
        execute: |call| start_of_fraction(call, 6),
    },
    Plain {
        record: Record {
            name: "toStartOfNanosecond",
            summary: "The first moment of the nanosecond of a moment.",
            syntax: "toStartOfNanosecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfNanosecond(toDateTime64('2024-02-29 13:47:58.345', 3))",
                result: "2024-02-29 13:47:58.345000000",
            }],
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_fraction(name, args, ctx, 9),
        execute: |call| start_of_fraction(call, 9),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
