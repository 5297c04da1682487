//! Several intervals in a tuple: `addInterval`, `subtractInterval`, `addTupleOfIntervals`, `subtractTupleOfIntervals`.

use super::timestamps::{Takes, check_timestamp};
use crate::interval;
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, IntervalUnit};

/// The types of an interval, or of the intervals of a tuple.
fn intervals(ty: &DataType) -> Vec<DataType> {
    match ty {
        DataType::Tuple(fields) => fields.iter().map(|field| field.ty.clone()).collect(),
        other => vec![other.clone()],
    }
}

fn bind_interval(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    ensure!(
        matches!(args[0].ty, DataType::Interval(_) | DataType::Tuple(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of first argument of function {name}, must be Interval or Tuple of Intervals",
        args[0].ty
    );
    ensure!(
        matches!(args[1].ty, DataType::Interval(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of second argument of function {name}, must be Interval",
        args[1].ty
    );
    let mut types = intervals(&args[0].ty);
    if let Some(wrong) = types.iter().find(|ty| !matches!(ty, DataType::Interval(_))) {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {wrong} of Tuple element of first argument of function {name}, must be Interval"
        );
    }
    // An interval of the last unit is added to it, one of another unit comes behind. The empty tuple stays empty.
    if types.last().is_some_and(|last| *last != args[1].ty) {
        types.push(args[1].ty.clone());
    }
    Ok(DataType::tuple(types).into())
}

fn add_interval(call: &Call, sign: i64) -> Result<Column> {
    let mut fields = match call.args[0].ty {
        DataType::Tuple(_) => call.vector(0).structure()?.fields.clone(),
        _ => vec![call.vector(0).clone()],
    };
    let added = call.vector(1).values::<i64>()?;
    let n_fields = match call.result {
        DataType::Tuple(types) => types.len(),
        _ => 0,
    };
    if fields.len() < n_fields {
        fields.push(added.iter().map(|x| x.wrapping_mul(sign)).collect::<Vec<i64>>().into());
    } else if let Some(last) = fields.last_mut() {
        let sums = last.values::<i64>()?.iter().zip(added);
        *last = sums.map(|(x, y)| x.wrapping_add(y.wrapping_mul(sign))).collect::<Vec<i64>>().into();
    }
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}

/// Which unit each element of a tuple counts: numbers count days of dates and seconds of timestamps.
fn units(ty: &DataType, timestamp: &DataType) -> Option<Vec<IntervalUnit>> {
    let mut timestamp = timestamp.clone();
    let mut units = Vec::new();
    for ty in intervals(ty) {
        let unit = match ty {
            DataType::Interval(unit) => unit,
            ty if ty.is_integer() && matches!(timestamp, DataType::Date | DataType::Date32) => {
                IntervalUnit::Day
            }
            ty if ty.is_integer() => IntervalUnit::Second,
            _ => return None,
        };
        timestamp = interval::result(&timestamp, unit).ok()?;
        units.push(unit);
    }
    Some(units)
}

fn bind_tuple(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    check_timestamp(name, &args[0].ty, Takes::Dates)?;
    let DataType::Tuple(_) = args[1].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 2nd argument 'intervals' to function '{name}'. Expected: Tuple, got: {}",
            args[1].ty
        );
    };
    let units = units(&args[1].ty, &args[0].ty).ok_or_else(|| {
        err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {name}", args[1].ty)
    })?;
    let mut result = args[0].ty.clone();
    for unit in &units {
        result = interval::result(&result, *unit)?;
    }
    Ok(Bound::with_state(result, units))
}

fn add_tuple(call: &Call, sign: i64) -> Result<Column> {
    let units = call.state::<Vec<IntervalUnit>>()?;
    let (mut ty, mut timestamps) = (call.args[0].ty.clone(), call.vector(0).clone());
    let types = intervals(call.args[1].ty);
    for ((unit, amount), amount_ty) in units.iter().zip(&call.vector(1).structure()?.fields).zip(&types) {
        let next = interval::result(&ty, *unit)?;
        let timestamp = Operand { ty: &ty, vector: &timestamps, constant: false };
        let amount = Operand { ty: amount_ty, vector: amount, constant: false };
        timestamps = interval::add(timestamp, amount, *unit, sign, &next, call.n_rows, call.ctx)?;
        ty = next;
    }
    Ok(timestamps.into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "addInterval",
            summary: "Adds an interval to an interval or to a tuple of them; the result is a tuple.",
            syntax: "addInterval(intervals, interval)",
            examples: &[Example {
                sql: "SELECT addInterval(INTERVAL 1 DAY, INTERVAL 2 MONTH)",
                result: "(1,2)",
            }],
            ..Record::DEFAULT
        },
        bind: bind_interval,
        execute: |call| add_interval(call, 1),
    },
    Plain {
        record: Record {
            name: "subtractInterval",
            summary: "Takes an interval from an interval or from a tuple of them; the result is a tuple.",
            syntax: "subtractInterval(intervals, interval)",
            examples: &[Example {
                sql: "SELECT subtractInterval(INTERVAL 1 DAY, INTERVAL 2 MONTH)",
                result: "(1,-2)",
            }],
            ..Record::DEFAULT
        },
        bind: bind_interval,
        execute: |call| add_interval(call, -1),
    },
    Plain {
        record: Record {
            name: "addTupleOfIntervals",
            summary: "Adds the intervals of a tuple, one after the other, to a date or moment.",
            syntax: "addTupleOfIntervals(date, intervals)",
            examples: &[Example {
                sql: "SELECT addTupleOfIntervals(toDate('2024-01-01'), (INTERVAL 1 DAY, INTERVAL 1 MONTH))",
                result: "2024-02-02",
            }],
            ..Record::DEFAULT
        },
        bind: bind_tuple,
        execute: |call| add_tuple(call, 1),
    },
    Plain {
        record: Record {
            name: "subtractTupleOfIntervals",
            summary: "Takes the intervals of a tuple, one after the other, from a date or moment.",
            syntax: "subtractTupleOfIntervals(date, intervals)",
            examples: &[Example {
                sql: "SELECT subtractTupleOfIntervals(toDate('2024-01-01'), (INTERVAL 1 DAY, INTERVAL 1 MONTH))",
                result: "2023-11-30",
            }],
            ..Record::DEFAULT
        },
        bind: bind_tuple,
        execute: |call| add_tuple(call, -1),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
