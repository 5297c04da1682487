//! Time zones of values: `toTimezone`, `timezoneOffset`, `toUTCTimestamp`, `fromUTCTimestamp`.

use super::timestamps::{Takes, bind_part, check_timestamp, ticks_per_second, timestamps, zone_argument};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, Volatility};
use chalet_types::calendar::LocalTime;
use chalet_types::{DataType, TimeZone, Value};

fn no_arguments(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 0..=0)?;
    Ok(DataType::String.into())
}

fn text(text: &str, n_rows: usize) -> Result<Column> {
    Column::of_value(&Value::string(text), &DataType::String, n_rows)
}

/// A timestamp without a zone of its own, and the zone whose clock is meant.
fn bind_shift(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    check_timestamp(name, &args[0].ty, Takes::Timestamps)?;
    ensure!(
        args[0].ty.time_zone().is_none(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} does not take a moment with a time zone of its own, got {}",
        args[0].ty
    );
    let zone = zone_argument(name, args, 1)?.unwrap_or_else(TimeZone::utc);
    Ok(Bound::with_state(args[0].ty.clone(), zone))
}

fn shift(call: &Call, f: impl Fn(&LocalTime, i64) -> i64) -> Result<Column> {
    let clock = LocalTime::new(call.state::<TimeZone>()?);
    let vector = call.vector(0);
    Ok(match call.result {
        DataType::DateTime64(..) => {
            let ticks = ticks_per_second(call.result);
            let shifted = |x: i64| {
                let whole = f(&clock, x.div_euclid(ticks));
                whole.saturating_mul(ticks).saturating_add(x.rem_euclid(ticks))
            };
            Vector::from(vector.values::<i64>()?.iter().map(|&x| shifted(x)).collect::<Vec<i64>>())
        }
        _ => {
            let values = vector.values::<u32>()?.iter();
            let shifted = |&x: &u32| f(&clock, x.into()).clamp(0, u32::MAX.into()) as u32;
            Vector::from(values.map(shifted).collect::<Vec<u32>>())
        }
    }
    .into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toTimezone",
            aliases: &["toTimeZone"],
            summary: "The same moment, shown in another time zone.",
            syntax: "toTimezone(moment, zone)",
            examples: &[Example {
                sql: "SELECT toTimeZone(toDateTime('2024-07-01 12:00:00', 'UTC'), 'Europe/Berlin')",
                result: "2024-07-01 14:00:00",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 2..=2)?;
            ensure!(
                matches!(args[0].ty, DataType::DateTime(_) | DataType::DateTime64(..)),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {name}. Should be DateTime or DateTime64",
                args[0].ty
            );
            if !args[1].ty.is_string() {
                bail!(
                    ILLEGAL_COLUMN,
                    "Illegal column of time zone argument of function {name}, must be a constant string"
                );
            }
            let zone = zone_argument(name, args, 1)?;
            Ok(match &args[0].ty {
                DataType::DateTime(_) => DataType::DateTime(zone).into(),
                DataType::DateTime64(scale, _) => DataType::DateTime64(*scale, zone).into(),
                ty => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {ty} of argument of function {name}. Should be DateTime or DateTime64"
                ),
            })
        },
        execute: |call| Ok(call.vector(0).clone().into()),
    },
    Plain {
        record: Record {
            name: "timezoneOffset",
            aliases: &["timeZoneOffset"],
            summary: "Seconds by which the local clock is ahead of UTC at a moment.",
            syntax: "timezoneOffset(moment[, zone])",
            examples: &[Example {
                sql: "SELECT timezoneOffset(toDateTime('2024-07-01 12:00:00', 'Europe/Berlin'))",
                result: "7200",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_part(name, args, ctx, Takes::Timestamps, DataType::Int32),
        execute: |call| timestamps(call, |timestamp, clock| clock.offset_at(timestamp) as i32),
    },
    Plain {
        record: Record {
            name: "timezone",
            any_case_aliases: &["timeZone"],
            case_insensitive: true,
            summary: "The name of the time zone of the session.",
            syntax: "timezone()",
            examples: &[Example {
                sql: "SELECT timezone() SETTINGS session_timezone = 'Asia/Tokyo'",
                result: "Asia/Tokyo",
            }],
            volatility: Volatility::PerQuery,
            ..Record::DEFAULT
        },
        bind: no_arguments,
        execute: |call| text(call.ctx.time_zone.name(), call.n_rows),
    },
    Plain {
        record: Record {
            name: "serverTimezone",
            aliases: &["serverTimeZone"],
            summary: "The name of the time zone of the process.",
            syntax: "serverTimezone()",
            examples: &[Example { sql: "SELECT serverTimezone() = timezone()", result: "1" }],
            volatility: Volatility::PerQuery,
            ..Record::DEFAULT
        },
        bind: no_arguments,
        execute: |call| text(call.ctx.time_zone.name(), call.n_rows),
    },
    Plain {
        record: Record {
            name: "toUTCTimestamp",
            any_case_aliases: &["to_utc_timestamp"],
            summary: "Reads the digits of a moment as local time of a zone, and shows that moment in UTC.",
            syntax: "toUTCTimestamp(moment, zone)",
            examples: &[Example {
                sql: "SELECT toUTCTimestamp(toDateTime('2024-02-29 10:11:12'), 'Asia/Tokyo') SETTINGS session_timezone = 'UTC'",
                result: "2024-02-29 01:11:12",
            }],
            ..Record::DEFAULT
        },
        bind: bind_shift,
        execute: |call| shift(call, |clock, timestamp| clock.to_timestamp(timestamp)),
    },
    Plain {
        record: Record {
            name: "fromUTCTimestamp",
            any_case_aliases: &["from_utc_timestamp"],
            summary: "Reads the digits of a moment as UTC, and shows that moment as the local time of a zone.",
            syntax: "fromUTCTimestamp(moment, zone)",
            examples: &[Example {
                sql: "SELECT fromUTCTimestamp(toDateTime('2024-02-29 10:11:12'), 'Asia/Tokyo') SETTINGS session_timezone = 'UTC'",
                result: "2024-02-29 19:11:12",
            }],
            ..Record::DEFAULT
        },
        bind: bind_shift,
        execute: |call| shift(call, |clock, timestamp| clock.of_timestamp(timestamp)),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
