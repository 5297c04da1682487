//! `tumble`, `hop` and their starts and ends: the span of time in which a timestamp lies, on a fixed grid or a sliding one.

use super::interval_start::{start_of_days, start_of_seconds};
use super::starts_of_time::first_date_time;
use super::timestamps::{date, date_time, zone_argument};
use crate::interval;
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::calendar::{LocalTime, split_day};
use chalet_types::{DataType, IntervalUnit, TimeZone, Value};

/// Windows of `length` units, one beginning every `step` units.
struct Windows {
    unit: IntervalUnit,
    step: i64,
    length: i64,
    zone: TimeZone,
    /// Of both ends.
    ty: DataType,
}

/// The argument is a window that another function made.
struct Made;

/// How long an interval argument is; it must be constant.
fn length(name: &str, args: &[Argument], index: usize) -> Result<(IntervalUnit, i64)> {
    let what =
        if index == 1 && args.len() > 2 && name.starts_with("hop") { "hop_interval" } else { "interval" };
    let DataType::Interval(unit) = args[index].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as {} argument '{what}' to function '{name}'. Expected: Interval, got: {}",
            if index == 1 { "2nd" } else { "3rd" },
            args[index].ty
        );
    };
    ensure!(unit >= IntervalUnit::Second, SYNTAX_ERROR, "Fraction seconds are unsupported by windows yet");
    let Some(n) = args[index].constant.as_ref().and_then(Value::as_i64) else {
        bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {name} must be constant");
    };
    ensure!(
        n > 0,
        ARGUMENT_OUT_OF_BOUND,
        "Value for column {} of function {name} must be positive",
        args[index].name
    );
    Ok((unit, n))
}

/// `n_intervals`: 1 for windows side by side, 2 when a window begins more often than one ends.
fn bind(name: &'static str, args: &[Argument], ctx: &Context, n_intervals: usize) -> Result<Windows> {
    check_arity(name, args.len(), 1 + n_intervals..=2 + n_intervals)?;
    let ty = &args[0].ty;
    ensure!(
        matches!(ty, DataType::DateTime(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'time_column' to function '{name}'. Expected: DateTime, got: {ty}"
    );
    let (unit, step) = length(name, args, 1)?;
    let length = if n_intervals == 2 {
        let (of_window, n) = length(name, args, 2)?;
        ensure!(
            of_window == unit,
            ILLEGAL_COLUMN,
            "Illegal type of window and hop column of function {name}, must be same"
        );
        ensure!(
            step <= n,
            ARGUMENT_OUT_OF_BOUND,
            "Value for hop interval of function {name} must not larger than window interval"
        );
        n
    } else {
        step
    };
    let shown = zone_argument(name, args, 1 + n_intervals)?.or_else(|| ty.time_zone().cloned());
    let zone = shown.clone().unwrap_or_else(|| ctx.time_zone.clone());
    let ends = if unit >= IntervalUnit::Week { DataType::Date } else { DataType::DateTime(shown) };
    Ok(Windows { unit, step, length, zone, ty: ends })
}

fn bind_windows(name: &'static str, args: &[Argument], ctx: &Context, n_intervals: usize) -> Result<Bound> {
    let windows = bind(name, args, ctx, n_intervals)?;
    let both = DataType::tuple([windows.ty.clone(), windows.ty.clone()]);
    Ok(Bound::with_state(both, windows))
}

/// One end: of the window of a timestamp, or of a window that is given.
fn bind_end(name: &'static str, args: &[Argument], ctx: &Context, n_intervals: usize) -> Result<Bound> {
    if let [window] = args {
        if let DataType::Tuple(fields) = &window.ty
            && let [start, end] = &fields[..]
            && [start, end].iter().all(|f| matches!(f.ty, DataType::Date | DataType::DateTime(_)))
        {
            return Ok(Bound::with_state(start.ty.clone(), Made));
        }
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'window_tuple' to function '{name}'. Expected: \
             Tuple(Date/DateTime, Date/DateTime), got: {}",
            window.ty
        );
    }
    let windows = bind(name, args, ctx, n_intervals)?;
    Ok(Bound::with_state(windows.ty.clone(), windows))
}

/// Starts and ends of the windows of the timestamps.
fn windows_of(call: &Call) -> Result<(Vector, Vector)> {
    let windows: &Windows = call.state()?;
    let Windows { unit, step, length, .. } = *windows;
    let timestamps = call.vector(0).values::<u32>()?;
    let n = timestamps.len();
    let clock = LocalTime::new(&windows.zone);
    let day_of = |timestamp: u32| split_day(clock.of_timestamp(timestamp.into())).0;
    // The grid of the steps: the last of the windows that hold a timestamp begins at its point.
    let grid: Vector = match unit {
        IntervalUnit::Day => {
            let start = |x| first_date_time(start_of_days(day_of(x).max(0), unit, step).into(), &clock);
            let starts = timestamps.iter().map(|&x| date_time(start(x)));
            starts.collect::<Vec<u32>>().into()
        }
        _ if windows.ty == DataType::Date => {
            let starts = timestamps.iter().map(|&x| date(start_of_days(day_of(x), unit, step)));
            starts.collect::<Vec<u16>>().into()
        }
        _ => {
            let starts =
                timestamps.iter().map(|&x| date_time(start_of_seconds(x.into(), unit, step, &clock)));
            starts.collect::<Vec<u32>>().into()
        }
    };
    let zoned = match &windows.ty {
        DataType::DateTime(_) => DataType::DateTime(Some(windows.zone.clone())),
        other => other.clone(),
    };
    let shift = |from: &Vector, by: i64| {
        let amount: Vector = vec![by].into();
        let timestamp = Operand { ty: &zoned, vector: from, constant: false };
        let amount = Operand { ty: &DataType::Int64, vector: &amount, constant: true };
        interval::add(timestamp, amount, unit, 1, &zoned, n, call.ctx)
    };
    if step == length {
        let ends = shift(&grid, step)?;
        return Ok((grid, ends));
    }
    // The first window that holds the timestamp ends at the next point of the grid.
    let ends = shift(&grid, step)?;
    let starts = shift(&ends, -length)?;
    Ok((starts, ends))
}

fn execute_windows(call: &Call) -> Result<Column> {
    let (starts, ends) = windows_of(call)?;
    Ok(Vector::from(Data::Struct(Struct { fields: vec![starts, ends], len: call.n_rows })).into())
}

fn execute_end(call: &Call, index: usize) -> Result<Column> {
    if call.state::<Made>().is_ok() {
        return Ok(call.vector(0).structure()?.fields[index].clone().into());
    }
    let (starts, ends) = windows_of(call)?;
    Ok(if index == 0 { starts } else { ends }.into())
}

macro_rules! window_functions {
    ($($name:literal $syntax:literal $summary:literal, $bind:expr, $execute:expr, $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind: $bind,
            execute: $execute,
        }),*]
    };
}

static FUNCTIONS: &[Plain] = window_functions![
    "tumble" "tumble(moment, length[, zone])"
    "Start and end of the window in which a moment lies, of windows of a length side by side.",
    |name, args, ctx| bind_windows(name, args, ctx, 1), execute_windows,
    "SELECT tumble(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR)"
        => "('2024-01-01 10:00:00','2024-01-01 11:00:00')";
    "tumbleStart" "tumbleStart(moment, length[, zone])" "The start of the window that tumble gives.",
    |name, args, ctx| bind_end(name, args, ctx, 1), |call| execute_end(call, 0),
    "SELECT tumbleStart(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR)" => "2024-01-01 10:00:00";
    "tumbleEnd" "tumbleEnd(moment, length[, zone])" "The end of the window that tumble gives.",
    |name, args, ctx| bind_end(name, args, ctx, 1), |call| execute_end(call, 1),
    "SELECT tumbleEnd(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR)" => "2024-01-01 11:00:00";
    "hop" "hop(moment, step, length[, zone])"
    "Start and end of the first window in which a moment lies, of windows of a length that begin every step.",
    |name, args, ctx| bind_windows(name, args, ctx, 2), execute_windows,
    "SELECT hop(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR, INTERVAL 3 HOUR)"
        => "('2024-01-01 08:00:00','2024-01-01 11:00:00')";
    "hopStart" "hopStart(moment, step, length[, zone])" "The start of the window that hop gives.",
    |name, args, ctx| bind_end(name, args, ctx, 2), |call| execute_end(call, 0),
    "SELECT hopStart(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR, INTERVAL 3 HOUR)"
        => "2024-01-01 08:00:00";
    "hopEnd" "hopEnd(moment, step, length[, zone])" "The end of the window that hop gives.",
    |name, args, ctx| bind_end(name, args, ctx, 2), |call| execute_end(call, 1),
    "SELECT hopEnd(toDateTime('2024-01-01 10:20:00', 'UTC'), INTERVAL 1 HOUR, INTERVAL 3 HOUR)"
        => "2024-01-01 11:00:00";
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
