//! The time of the query: `now`, `now64`, `today`, `yesterday` and their kin.

use super::timestamps::zone_argument;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Registry, Volatility};
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY, split_day};
use chalet_types::{DataType, TimeZone};

fn nothing(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 0..=0)?;
    Ok(result.into())
}

fn bind_now(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 0..=1)?;
    Ok(DataType::DateTime(zone_argument(name, args, 0)?).into())
}

fn bind_now64(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 0..=2)?;
    let scale = match args.first() {
        None => 3,
        Some(arg) if arg.ty.is_only_null() => return Ok(DataType::Nothing.nullable().into()),
        Some(arg) => match arg.constant.as_ref().and_then(|value| value.as_i64()) {
            Some(scale) if arg.ty.is_integer() => scale,
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of 0 argument of function {name}. Expected const integer",
                arg.ty
            ),
        },
    };
    ensure!(
        (0..=9).contains(&scale),
        ARGUMENT_OUT_OF_BOUND,
        "Scale {scale} is too large for DateTime64. Maximum is up to nanoseconds (9)"
    );
    Ok(DataType::DateTime64(scale as u8, zone_argument(name, args, 1)?).into())
}

/// A timestamp in nanoseconds since 1970-01-01 UTC, as the type of the result.
fn constant(call: &Call, nanoseconds: i64) -> Result<Column> {
    let vector: Vector = match call.result {
        DataType::DateTime64(scale, _) => {
            vec![nanoseconds.div_euclid(10i64.pow(u32::from(9 - scale)))].into()
        }
        DataType::Nullable(_) => Vector::defaults(call.result, 1),
        _ => vec![nanoseconds.div_euclid(1_000_000_000) as u32].into(),
    };
    Ok(Column::constant(vector, call.n_rows))
}

/// The date of the query's start in the session's zone, and seconds since midnight.
fn local(call: &Call) -> (i32, u32) {
    let clock = LocalTime::new(&call.ctx.time_zone);
    split_day(clock.of_timestamp(call.ctx.start_ns.div_euclid(1_000_000_000)))
}

/// The clock of the machine, which moves on while a query runs.
fn clock_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |passed| passed.as_nanos() as i64)
}

const PER_QUERY: Record = Record { volatility: Volatility::PerQuery, nulls: Nulls::Seen, ..Record::DEFAULT };

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "now",
            any_case_aliases: &["current_timestamp", "localtimestamp"],
            case_insensitive: true,
            summary: "The moment at which the query began.",
            syntax: "now([zone])",
            examples: &[Example { sql: "SELECT toDate(now()) = today()", result: "1" }],
            without_parentheses: true,
            ..PER_QUERY
        },
        bind: bind_now,
        execute: |call| constant(call, call.ctx.start_ns),
    },
    Plain {
        record: Record {
            name: "now64",
            case_insensitive: true,
            summary: "The moment at which the query began, with a fraction of 3 or another number of digits.",
            syntax: "now64([scale[, zone]])",
            examples: &[Example { sql: "SELECT now() = toDateTime(now64())", result: "1" }],
            ..PER_QUERY
        },
        bind: bind_now64,
        execute: |call| constant(call, call.ctx.start_ns),
    },
    Plain {
        record: Record {
            name: "nowInBlock",
            summary: "The moment at which a block of rows was processed.",
            syntax: "nowInBlock([zone])",
            examples: &[Example { sql: "SELECT nowInBlock() >= now()", result: "1" }],
            volatility: Volatility::PerRow,
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: bind_now,
        execute: |call| constant(call, clock_now()),
    },
    Plain {
        record: Record {
            name: "nowInBlock64",
            summary: "The moment at which a block of rows was processed, with a fraction of 3 or another number of digits.",
            syntax: "nowInBlock64([scale[, zone]])",
            examples: &[Example { sql: "SELECT nowInBlock64() >= now64()", result: "1" }],
            volatility: Volatility::PerRow,
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: bind_now64,
        execute: |call| constant(call, clock_now()),
    },
    Plain {
        record: Record {
            name: "UTCTimestamp",
            any_case_aliases: &["UTC_timestamp"],
            case_insensitive: true,
            summary: "The moment at which the query began, shown in UTC.",
            syntax: "UTCTimestamp()",
            examples: &[Example { sql: "SELECT UTCTimestamp() = now()", result: "1" }],
            ..PER_QUERY
        },
        bind: |name, args, _| nothing(name, args, DataType::DateTime(Some(TimeZone::utc()))),
        execute: |call| constant(call, call.ctx.start_ns),
    },
    Plain {
        record: Record {
            name: "localtime",
            case_insensitive: true,
            summary: "The time of day at which the query began, in the session's time zone.",
            syntax: "localtime()",
            examples: &[Example { sql: "SELECT toTypeName(localtime())", result: "Time" }],
            without_parentheses: true,
            ..PER_QUERY
        },
        bind: |name, args, _| nothing(name, args, DataType::Time),
        execute: |call| Ok(Column::constant(vec![local(call).1 as i32].into(), call.n_rows)),
    },
    Plain {
        record: Record {
            name: "today",
            any_case_aliases: &["curdate", "current_date"],
            case_insensitive: true,
            summary: "The date on which the query began, in the session's time zone.",
            syntax: "today()",
            examples: &[Example { sql: "SELECT today() = toDate(now())", result: "1" }],
            without_parentheses: true,
            ..PER_QUERY
        },
        bind: |name, args, _| nothing(name, args, DataType::Date),
        execute: |call| Ok(Column::constant(vec![local(call).0 as u16].into(), call.n_rows)),
    },
    Plain {
        record: Record {
            name: "yesterday",
            summary: "The day before the date on which the query began.",
            syntax: "yesterday()",
            examples: &[Example { sql: "SELECT today() - yesterday()", result: "1" }],
            ..PER_QUERY
        },
        bind: |name, args, _| nothing(name, args, DataType::Date),
        execute: |call| {
            let clock = LocalTime::new(&call.ctx.time_zone);
            let today = clock.of_timestamp(call.ctx.start_ns.div_euclid(1_000_000_000));
            Ok(Column::constant(vec![split_day(today - SECONDS_PER_DAY).0 as u16].into(), call.n_rows))
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
