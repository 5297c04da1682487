//! Identifiers that begin with a time in milliseconds: Snowflake IDs and UUIDs of version 7, made of times and read as times.

use super::timestamps::zone_argument;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::random::generator::Source;
use crate::string_args::{StringArg, check_type};
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Data, Fixed, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry, Volatility};
use chalet_types::DataType;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bits of a Snowflake ID below the time: 10 of the machine and 12 that count within a millisecond.
const TIME_SHIFT: u32 = 22;
const COUNTER_BITS: u32 = 12;

/// Bytes of a UUID.
const UUID_WIDTH: usize = 16;

/// Constant `epoch`, in milliseconds since 1970.
struct Epoch(u64);

fn epoch(name: &str, args: &[Argument]) -> Result<u64> {
    let Some(arg) = args.get(1) else { return Ok(0) };
    check_type(arg.ty.is_unsigned(), name, 1, "const UInt*", &arg.ty)?;
    let value = arg.constant.as_ref().and_then(|value| value.as_u64());
    value.ok_or_else(|| err!(ILLEGAL_COLUMN, "Argument 2 of function {name}, the epoch, must be constant"))
}

fn bind_to_time(name: &'static str, args: &[Argument], ticks: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    check_type(args[0].ty == DataType::UInt64, name, 0, "UInt64", &args[0].ty)?;
    let epoch = epoch(name, args)?;
    let zone = zone_argument(name, args, 2)?;
    let result = if ticks { DataType::DateTime64(3, zone) } else { DataType::DateTime(zone) };
    Ok(Bound::with_state(result, Epoch(epoch)))
}

fn bind_from_time(name: &'static str, args: &[Argument], ticks: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let ty = &args[0].ty;
    let (fits, expected) = match ticks {
        true => (matches!(ty, DataType::DateTime64(..)), "DateTime64"),
        false => (matches!(ty, DataType::DateTime(_)), "DateTime"),
    };
    check_type(fits, name, 0, expected, ty)?;
    Ok(Bound::with_state(DataType::UInt64, Epoch(epoch(name, args)?)))
}

/// Ticks of 10^-scale seconds as milliseconds.
fn to_milliseconds(ticks: i64, scale: u8) -> i64 {
    match scale {
        0..3 => ticks.wrapping_mul(10i64.pow(u32::from(3 - scale))),
        _ => ticks.div_euclid(10i64.pow(u32::from(scale - 3))),
    }
}

/// The highest counter that was given out, above it the time.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The first of `n` numbers that nobody else in the process gets: milliseconds, and a count within them.
fn reserve(n: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let mut first = 0;
    let _ = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
        first = (now << COUNTER_BITS).max(last + 1);
        Some(first + n)
    });
    first
}

struct Machine(u64);

fn generate(call: &Call) -> Result<Column> {
    let Machine(machine) = call.state()?;
    let first = reserve(call.n_rows as u64);
    let id = |row: usize| {
        let number = first + row as u64;
        let counter = number & ((1 << COUNTER_BITS) - 1);
        (number >> COUNTER_BITS) << TIME_SHIFT | machine << COUNTER_BITS | counter
    };
    Ok(Vector::from((0..call.n_rows).map(id).collect::<Vec<u64>>()).into())
}

fn bind_uuid_to_time(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    ensure!(
        args[0].ty == DataType::Uuid,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of first argument of function {name}, expected UUID",
        args[0].ty
    );
    Ok(DataType::DateTime64(3, zone_argument(name, args, 1)?).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "snowflakeIDToDateTime",
            summary: "The time of a Snowflake ID as DateTime; the epoch is in milliseconds since 1970.",
            syntax: "snowflakeIDToDateTime(id[, epoch[, zone]])",
            examples: &[Example {
                sql: "SELECT snowflakeIDToDateTime(7204436857747984384, 0, 'UTC')",
                result: "2024-06-06 10:59:58",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_to_time(name, args, false),
        execute: |call| {
            let (Epoch(epoch), ids) = (call.state()?, call.natives::<u64>(0)?);
            let second = |row: usize| ((ids.get(row) >> TIME_SHIFT).wrapping_add(*epoch) / 1000) as u32;
            Ok(Vector::from((0..call.n_rows).map(second).collect::<Vec<u32>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "snowflakeIDToDateTime64",
            summary: "The time of a Snowflake ID as DateTime64(3); the epoch is in milliseconds since 1970.",
            syntax: "snowflakeIDToDateTime64(id[, epoch[, zone]])",
            examples: &[Example {
                sql: "SELECT snowflakeIDToDateTime64(7204436857747984384, 0, 'UTC')",
                result: "2024-06-06 10:59:58.851",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_to_time(name, args, true),
        execute: |call| {
            let (Epoch(epoch), ids) = (call.state()?, call.natives::<u64>(0)?);
            let tick = |row: usize| (ids.get(row) >> TIME_SHIFT).wrapping_add(*epoch) as i64;
            Ok(Vector::from((0..call.n_rows).map(tick).collect::<Vec<i64>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "dateTimeToSnowflakeID",
            summary: "The first Snowflake ID of a DateTime; the epoch is in milliseconds since 1970.",
            syntax: "dateTimeToSnowflakeID(time[, epoch])",
            examples: &[Example {
                sql: "SELECT dateTimeToSnowflakeID(toDateTime('2021-08-15 18:57:56', 'UTC'))",
                result: "6832747188322304000",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_from_time(name, args, false),
        execute: |call| {
            let (Epoch(epoch), times) = (call.state()?, call.natives::<u32>(0)?);
            let id = |row: usize| (u64::from(times.get(row)) * 1000).wrapping_sub(*epoch) << TIME_SHIFT;
            Ok(Vector::from((0..call.n_rows).map(id).collect::<Vec<u64>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "dateTime64ToSnowflakeID",
            summary: "The first Snowflake ID of a DateTime64; the epoch is in milliseconds since 1970.",
            syntax: "dateTime64ToSnowflakeID(time[, epoch])",
            examples: &[Example {
                sql: "SELECT dateTime64ToSnowflakeID(toDateTime64('2021-08-15 18:57:56.493', 3, 'UTC'))",
                result: "6832747190390095872",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind_from_time(name, args, true),
        execute: |call| {
            let (Epoch(epoch), times) = (call.state()?, call.natives::<i64>(0)?);
            let scale = match call.args[0].ty {
                DataType::DateTime64(scale, _) => *scale,
                _ => 3,
            };
            let id = |row: usize| {
                (to_milliseconds(times.get(row), scale) as u64).wrapping_sub(*epoch) << TIME_SHIFT
            };
            Ok(Vector::from((0..call.n_rows).map(id).collect::<Vec<u64>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "generateSnowflakeID",
            summary: "A Snowflake ID of the current time, which the process gives out once. The first argument only keeps calls apart, the \
                      second is the number of the machine.",
            syntax: "generateSnowflakeID([x[, machine_id]])",
            examples: &[Example { sql: "SELECT bitShiftRight(generateSnowflakeID(), 63)", result: "0" }],
            volatility: Volatility::PerRow,
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 0..=2)?;
            let machine = match args.get(1) {
                Some(arg) => {
                    let value = arg.constant.as_ref().and_then(|value| value.as_i64());
                    check_type(value.is_some(), name, 1, "const UInt", &arg.ty)?;
                    value.unwrap_or(0) as u64
                }
                None => u64::from(std::process::id()),
            };
            Ok(Bound::with_state(DataType::UInt64, Machine(machine & 1023)))
        },
        execute: generate,
    },
    Plain {
        record: Record {
            name: "UUIDv7ToDateTime",
            summary: "The time of a UUID of version 7; the beginning of 1970 for other versions.",
            syntax: "UUIDv7ToDateTime(uuid[, zone])",
            examples: &[Example {
                sql: "SELECT UUIDv7ToDateTime(toUUID('018f05c9-4ab8-7b86-b64e-c9f03fbd45d1'), 'UTC')",
                result: "2024-04-22 12:30:29.048",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: bind_uuid_to_time,
        execute: |call| {
            let uuids = StringArg::of(call, 0)?;
            let tick = |row: usize| {
                let uuid = u128::from_be_bytes(uuids.get(row).try_into().unwrap_or_default());
                if uuid >> 76 & 15 == 7 { (uuid >> 80) as i64 } else { 0 }
            };
            Ok(Vector::from((0..call.n_rows).map(tick).collect::<Vec<i64>>()).into())
        },
    },
    Plain {
        record: Record {
            name: "dateTimeToUUIDv7",
            summary: "A UUID of version 7 with the given time; the rest is random.",
            syntax: "dateTimeToUUIDv7(time)",
            examples: &[Example {
                sql: "SELECT substring(toString(dateTimeToUUIDv7(toDateTime('2021-08-15 18:57:56', 'UTC'))), 1, 15)",
                result: "017b4b2d-7720-7",
            }],
            volatility: Volatility::PerRow,
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            check_arity(name, args.len(), 1..=1)?;
            check_type(matches!(args[0].ty, DataType::DateTime(_)), name, 0, "DateTime", &args[0].ty)?;
            Ok(Bound::with_state(DataType::Uuid, Source::new()))
        },
        execute: |call| {
            let source: &Source = call.state()?;
            let mut generator = source.generator();
            let seconds = unary::<i64, i64>(Operand::of(call, 0), call.n_rows, |second| second)?;
            let mut bytes = Vec::with_capacity(seconds.len() * UUID_WIDTH);
            for second in seconds {
                let random = u128::from(generator.next()) << 64 | u128::from(generator.next());
                let rest = random & ((1 << 76) - 1) & !(3 << 62) | 2 << 62;
                let uuid = (second as u128 * 1000) << 80 | 7 << 76 | rest;
                bytes.extend_from_slice(&uuid.to_be_bytes());
            }
            Ok(Vector::from(Data::Fixed(Fixed { width: UUID_WIDTH, bytes: bytes.into() })).into())
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
