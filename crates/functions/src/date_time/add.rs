//! Adding to dates and timestamps: `addDays`, `subtractMonths` and their kin, `addDate`, `subDate`.

use super::timestamps::zone_argument;
use crate::interval;
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry};
use chalet_types::{DataType, IntervalUnit, TimeZone};

/// The zone of the third argument, in which the result is shown and days and months are counted.
struct Zone(Option<TimeZone>);

fn bind(name: &'static str, args: &[Argument], _: &Context, unit: IntervalUnit) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    ensure!(
        args[1].ty.is_integer() || args[1].ty.is_float(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Invalid type {} of 2nd argument of function {name}. Should be number",
        args[1].ty
    );
    interval::check_amount(&args[1].ty, name)?;
    let mut from = args[0].ty.clone();
    let mut zone = None;
    if args.len() == 3 {
        ensure!(
            matches!(from, DataType::DateTime(_) | DataType::DateTime64(..)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {from} of first argument of function {name}. Must be a DateTime/DateTime64"
        );
        ensure!(
            args[2].ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of third argument of function {name}. The 3rd argument must be a constant string with a timezone \
             name",
            args[2].ty
        );
        zone = zone_argument(name, args, 2)?;
        from = in_zone(&from, zone.as_ref());
    }
    Ok(Bound::with_state(interval::result(&from, unit)?, Zone(zone)))
}

/// A moment's type with the zone in place of its own.
fn in_zone(ty: &DataType, zone: Option<&TimeZone>) -> DataType {
    match (ty, zone) {
        (DataType::DateTime(_), Some(zone)) => DataType::DateTime(Some(zone.clone())),
        (DataType::DateTime64(scale, _), Some(zone)) => DataType::DateTime64(*scale, Some(zone.clone())),
        _ => ty.clone(),
    }
}

/// `timestamp + sign * amount` of the unit; text is read as a timestamp.
fn add(call: &Call, unit: IntervalUnit, sign: i64) -> Result<Column> {
    let (mut timestamp, amount) = (Operand::of(call, 0), Operand::of(call, 1));
    let zone = call.state.and_then(|state| state.downcast_ref::<Zone>()).and_then(|zone| zone.0.as_ref());
    let ty = in_zone(timestamp.ty, zone);
    timestamp = Operand { ty: &ty, ..timestamp };
    let read;
    if timestamp.ty.is_string() {
        read = interval::read_text(timestamp, &[unit], call.ctx)?;
        timestamp = Operand { ty: &read.0, vector: &read.1, ..timestamp };
    }
    Ok(interval::add(timestamp, amount, unit, sign, call.result, call.n_rows, call.ctx)?.into())
}

/// `addDate(timestamp, interval)`.
fn bind_interval(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let DataType::Interval(unit) = args[1].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument 2 of function {name}, expected an interval",
            args[1].ty
        );
    };
    let _ = ctx;
    Ok(Bound::with_state(interval::result(&args[0].ty, unit)?, unit))
}

macro_rules! shifts {
    ($($name:literal, $unit:ident, $sign:literal, $summary:literal, $sql:literal, $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(date, n[, timezone])"),
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, IntervalUnit::$unit),
            execute: |call| add(call, IntervalUnit::$unit, $sign),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = shifts! {
    "addYears", Year, 1, "Adds years to a date or moment. February 29th becomes the 28th where there is none.",
        "SELECT addYears(toDate('2024-02-29'), 1)", "2025-02-28";
    "addQuarters", Quarter, 1, "Adds quarters of three months to a date or moment.",
        "SELECT addQuarters(toDate('2024-01-31'), 1)", "2024-04-30";
    "addMonths", Month, 1, "Adds months to a date or moment. A day past the end of the month becomes its last.",
        "SELECT addMonths(toDate('2024-01-31'), 1)", "2024-02-29";
    "addWeeks", Week, 1, "Adds weeks to a date or moment.",
        "SELECT addWeeks(toDate('2024-01-01'), 1)", "2024-01-08";
    "addDays", Day, 1, "Adds days to a date or moment.",
        "SELECT addDays(toDate('2024-02-28'), 2)", "2024-03-01";
    "addHours", Hour, 1, "Adds hours to a date or moment.",
        "SELECT addHours(toDateTime('2024-01-01 23:00:00'), 2)", "2024-01-02 01:00:00";
    "addMinutes", Minute, 1, "Adds minutes to a date or moment.",
        "SELECT addMinutes(toDateTime('2024-01-01 00:00:00'), -1)", "2023-12-31 23:59:00";
    "addSeconds", Second, 1, "Adds seconds to a date or moment.",
        "SELECT addSeconds(toDateTime('2024-01-01 00:00:00'), 61)", "2024-01-01 00:01:01";
    "addMilliseconds", Millisecond, 1, "Adds milliseconds to a moment.",
        "SELECT addMilliseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2024-01-01 00:00:00.005";
    "addMicroseconds", Microsecond, 1, "Adds microseconds to a moment.",
        "SELECT addMicroseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2024-01-01 00:00:00.000005";
    "addNanoseconds", Nanosecond, 1, "Adds nanoseconds to a moment.",
        "SELECT addNanoseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2024-01-01 00:00:00.000000005";
    "subtractYears", Year, -1, "Takes years from a date or moment.",
        "SELECT subtractYears(toDate('2024-02-29'), 4)", "2020-02-29";
    "subtractQuarters", Quarter, -1, "Takes quarters of three months from a date or moment.",
        "SELECT subtractQuarters(toDate('2024-05-31'), 1)", "2024-02-29";
    "subtractMonths", Month, -1, "Takes months from a date or moment.",
        "SELECT subtractMonths(toDate('2024-03-31'), 1)", "2024-02-29";
    "subtractWeeks", Week, -1, "Takes weeks from a date or moment.",
        "SELECT subtractWeeks(toDate('2024-01-08'), 1)", "2024-01-01";
    "subtractDays", Day, -1, "Takes days from a date or moment.",
        "SELECT subtractDays(toDate('2024-01-01'), 1)", "2023-12-31";
    "subtractHours", Hour, -1, "Takes hours from a date or moment.",
        "SELECT subtractHours(toDateTime('2024-01-01 00:00:00'), 1)", "2023-12-31 23:00:00";
    "subtractMinutes", Minute, -1, "Takes minutes from a date or moment.",
        "SELECT subtractMinutes(toDateTime('2024-01-01 00:00:00'), 1)", "2023-12-31 23:59:00";
    "subtractSeconds", Second, -1, "Takes seconds from a date or moment.",
        "SELECT subtractSeconds(toDateTime('2024-01-01 00:00:00'), 1)", "2023-12-31 23:59:59";
    "subtractMilliseconds", Millisecond, -1, "Takes milliseconds from a moment.",
        "SELECT subtractMilliseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2023-12-31 23:59:59.995";
    "subtractMicroseconds", Microsecond, -1, "Takes microseconds from a moment.",
        "SELECT subtractMicroseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2023-12-31 23:59:59.999995";
    "subtractNanoseconds", Nanosecond, -1, "Takes nanoseconds from a moment.",
        "SELECT subtractNanoseconds(toDateTime('2024-01-01 00:00:00'), 5)", "2023-12-31 23:59:59.999999995";
};

static WITH_INTERVAL: &[Plain] = &[
    Plain {
        record: Record {
            name: "addDate",
            case_insensitive: true,
            summary: "Adds an interval to a date or moment.",
            syntax: "addDate(date, interval)",
            examples: &[Example {
                sql: "SELECT addDate(toDate('2024-01-01'), INTERVAL 1 MONTH)",
                result: "2024-02-01",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: bind_interval,
        execute: |call| add(call, *call.state::<IntervalUnit>()?, 1),
    },
    Plain {
        record: Record {
            name: "subDate",
            case_insensitive: true,
            summary: "Takes an interval from a date or moment.",
            syntax: "subDate(date, interval)",
            examples: &[Example {
                sql: "SELECT subDate(toDate('2024-01-01'), INTERVAL 1 MONTH)",
                result: "2023-12-01",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: bind_interval,
        execute: |call| add(call, *call.state::<IntervalUnit>()?, -1),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS.iter().chain(WITH_INTERVAL) {
        registry.add_scalar(function);
    }
}
