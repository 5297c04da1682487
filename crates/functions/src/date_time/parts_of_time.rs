//! Numbers of the time of day: `toHour`, `toMinute`, `toSecond` and parts of a second.

use super::timestamps::{Takes, bind_part, locals, ticks_per_second};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::split_day;

fn bind_u8(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    bind_part(name, args, ctx, Takes::Timestamps, DataType::UInt8)
}

fn bind_u32(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    bind_part(name, args, ctx, Takes::Timestamps, DataType::UInt32)
}

/// The fraction of the second in units of which `units` make a second.
fn fraction(call: &Call, units: i64) -> Result<Vec<u32>> {
    let ty = call.args[0].ty;
    if !matches!(ty, DataType::DateTime64(..)) {
        return Ok(vec![0; call.n_rows]);
    }
    let ticks = ticks_per_second(ty);
    let values = call.vector(0).values::<i64>()?.iter();
    Ok(if units >= ticks {
        values.map(|x| (x.rem_euclid(ticks) * (units / ticks)) as u32).collect()
    } else {
        values.map(|x| (x.rem_euclid(ticks) / (ticks / units)) as u32).collect()
    })
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toHour",
            any_case_aliases: &["HOUR"],
            summary: "The hour of a moment, 0 to 23.",
            syntax: "toHour(moment[, zone])",
            examples: &[Example { sql: "SELECT toHour(toDateTime('2024-02-29 10:11:12'))", result: "10" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| locals(call, |local| (split_day(local).1 / 3600) as u8),
    },
    Plain {
        record: Record {
            name: "toMinute",
            any_case_aliases: &["MINUTE"],
            summary: "The minute of a moment's hour, 0 to 59.",
            syntax: "toMinute(moment[, zone])",
            examples: &[Example { sql: "SELECT toMinute(toDateTime('2024-02-29 10:11:12'))", result: "11" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| locals(call, |local| (split_day(local).1 / 60 % 60) as u8),
    },
    Plain {
        record: Record {
            name: "toSecond",
            any_case_aliases: &["SECOND"],
            summary: "The second of a moment's minute, 0 to 59.",
            syntax: "toSecond(moment[, zone])",
            examples: &[Example { sql: "SELECT toSecond(toDateTime('2024-02-29 10:11:12'))", result: "12" }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u8,
        execute: |call| locals(call, |local| (split_day(local).1 % 60) as u8),
    },
    Plain {
        record: Record {
            name: "toMillisecond",
            any_case_aliases: &["MILLISECOND"],
            summary: "The millisecond of a moment's second, 0 to 999.",
            syntax: "toMillisecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toMillisecond(toDateTime64('2024-02-29 10:11:12.345', 3))",
                result: "345",
            }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_part(name, args, ctx, Takes::Timestamps, DataType::UInt16),
        execute: |call| {
            let values: Vec<u16> = fraction(call, 1000)?.into_iter().map(|x| x as u16).collect();
            Ok(Vector::from(values).into())
        },
    },
    Plain {
        record: Record {
            name: "toMicrosecond",
            any_case_aliases: &["MICROSECOND"],
            summary: "The microsecond of a moment's second, 0 to 999999.",
            syntax: "toMicrosecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toMicrosecond(toDateTime64('2024-02-29 10:11:12.345', 3))",
                result: "345000",
            }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| -> Result<Column> { Ok(Vector::from(fraction(call, 1_000_000)?).into()) },
    },
    Plain {
        record: Record {
            name: "toNanosecond",
            any_case_aliases: &["NANOSECOND"],
            summary: "The nanosecond of a moment's second, 0 to 999999999.",
            syntax: "toNanosecond(moment[, zone])",
            examples: &[Example {
                sql: "SELECT toNanosecond(toDateTime64('2024-02-29 10:11:12.345', 3))",
                result: "345000000",
            }],
            total: true,
            constant_arguments: &[1],
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| -> Result<Column> { Ok(Vector::from(fraction(call, 1_000_000_000)?).into()) },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
