//! Conversions between types: CAST, the `toType` family, parsing and formatting of timestamps and addresses.

mod addresses;
mod best_effort;
pub mod cast;
mod cast_function;
mod or_default;
mod reinterpret;
mod string_conversions;
mod to_interval;
mod to_type;
mod types;
mod unix_timestamp;
mod uuid_bytes;

use crate::plain::follows_clock;
use cast_function::{CastFunction, OrDefault};
use chalet_function_api::{Grows, Registry};
use chalet_types::{DataType, TimeZone};
use std::ops::RangeInclusive;
use unix_timestamp::unix64;

pub use cast::cast_column;
pub use reinterpret::bytes_of;

/// The range to which a conversion clamps numbers, which it else leaves as they are; none for other conversions.
fn monotonic_range(from: &DataType, to: &DataType) -> Option<RangeInclusive<i128>> {
    let numbers = from.integer_range()?;
    match to {
        DataType::Date if *from == DataType::UInt8 || *from == DataType::UInt16 => Some(0..=u16::MAX.into()),
        DataType::DateTime(_) => Some(0..=u32::MAX.into()),
        DataType::Bool => None,
        _ => to.integer_range().filter(|all| all.contains(numbers.start()) && all.contains(numbers.end())),
    }
}

/// Does a conversion of a date or moment never fall where that grows? `zone` is that of a moment without its own.
fn never_falls(from: &DataType, to: &DataType, zone: &TimeZone) -> bool {
    match (from, to) {
        (DataType::DateTime(own), DataType::Date | DataType::Date32) => {
            follows_clock(Grows::WithDays, from, own.as_ref().unwrap_or(zone))
        }
        (DataType::DateTime(_), DataType::DateTime(_) | DataType::DateTime64(..)) => true,
        (DataType::DateTime(_), DataType::UInt32 | DataType::UInt64 | DataType::Int64) => true,
        (DataType::Date, DataType::Date32) => true,
        _ => false,
    }
}

pub fn register(registry: &mut Registry) {
    registry.add_scalar(CastFunction::CAST);
    registry.add_scalar(CastFunction::INTERNAL);
    registry.add_scalar(CastFunction::ACCURATE);
    registry.add_scalar(CastFunction::OR_NULL);
    registry.add_scalar(OrDefault);
    types::register(registry);
    best_effort::register(registry);
    addresses::register(registry);
    reinterpret::register(registry);
    string_conversions::register(registry);
    uuid_bytes::register(registry);
    registry.add_scalar(&to_interval::FUNCTION);
    registry.add_scalar(unix_timestamp::ToUnixTimestamp);
    unix_timestamp::Packed::all().into_iter().for_each(|function| registry.add_scalar(function));
    registry.add_scalar(
        unix64!("toUnixTimestamp64Second", 0, false, "Whole seconds since 1970 of a DateTime64.",
        "SELECT toUnixTimestamp64Second(toDateTime64('1970-01-01 00:00:05.5', 1, 'UTC'))" => "5"),
    );
    registry
        .add_scalar(unix64!("toUnixTimestamp64Milli", 3, false, "Milliseconds since 1970 of a DateTime64.",
        "SELECT toUnixTimestamp64Milli(toDateTime64('1970-01-01 00:00:05.5', 1, 'UTC'))" => "5500"));
    registry
        .add_scalar(unix64!("toUnixTimestamp64Micro", 6, false, "Microseconds since 1970 of a DateTime64.",
        "SELECT toUnixTimestamp64Micro(toDateTime64('1970-01-01 00:00:05.5', 1, 'UTC'))" => "5500000"));
    registry
        .add_scalar(unix64!("toUnixTimestamp64Nano", 9, false, "Nanoseconds since 1970 of a DateTime64.",
        "SELECT toUnixTimestamp64Nano(toDateTime64('1970-01-01 00:00:05.5', 1, 'UTC'))" => "5500000000"));
    registry
        .add_scalar(unix64!("fromUnixTimestamp64Second", 0, true, "The moment so many seconds after 1970.",
        "SELECT fromUnixTimestamp64Second(5, 'UTC')" => "1970-01-01 00:00:05"));
    registry.add_scalar(
        unix64!("fromUnixTimestamp64Milli", 3, true, "The moment so many milliseconds after 1970.",
        "SELECT fromUnixTimestamp64Milli(5500, 'UTC')" => "1970-01-01 00:00:05.500"),
    );
    registry.add_scalar(
        unix64!("fromUnixTimestamp64Micro", 6, true, "The moment so many microseconds after 1970.",
        "SELECT fromUnixTimestamp64Micro(5, 'UTC')" => "1970-01-01 00:00:00.000005"),
    );
    registry.add_scalar(
        unix64!("fromUnixTimestamp64Nano", 9, true, "The moment so many nanoseconds after 1970.",
        "SELECT fromUnixTimestamp64Nano(5, 'UTC')" => "1970-01-01 00:00:00.000000005"),
    );
}
