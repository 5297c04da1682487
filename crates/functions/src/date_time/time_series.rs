//! `timeSeriesRange` and `timeSeriesFromGrid`: times at equal steps, and values that stand at them.

use crate::lanes::{Operand, unary};
use crate::lists::{list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static RANGE: Plain = Plain {
    record: Record {
        name: "timeSeriesRange",
        summary: "The times from the start to the end, both included, at steps of so many seconds.",
        syntax: "timeSeriesRange(start_timestamp, end_timestamp, step)",
        examples: &[Example {
            sql: "SELECT timeSeriesRange(1::UInt32, 10::UInt32, 3)",
            result: "[1,4,7,10]",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], ctx: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 3..=3)?;
        let ty = time_type(name, args)?;
        Ok(Bound::with_state(ty.clone().array(), Most(ctx.settings.function_range_max_elements_in_block)))
    },
    execute: |call: &Call| -> Result<Column> {
        let Some(ty) = call.result.element() else {
            bail!(LOGICAL_ERROR, "A range of times is not an array")
        };
        let grid = Grid::of(call, &ty)?;
        let (mut times, mut offsets) = (Vec::new(), vec![0i64]);
        let &Most(most) = call.state()?;
        for row in 0..call.n_rows {
            let n = grid.len(row)?;
            ensure!(
                n.saturating_add(times.len() as u64) <= most,
                TOO_LARGE_ARRAY_SIZE,
                "A call to function timeSeriesRange would produce more than {most} array elements"
            );
            times.extend((0..n).map(|i| grid.time(row, i)));
            offsets.push(times.len() as i64);
        }
        Ok(list(offsets, as_times(times, &ty)?).into())
    },
};

pub static FROM_GRID: Plain = Plain {
    record: Record {
        name: "timeSeriesFromGrid",
        summary: "Values with the times from the start to the end at which they stand, without those that are NULL.",
        syntax: "timeSeriesFromGrid(start_timestamp, end_timestamp, step, values)",
        examples: &[Example {
            sql: "SELECT timeSeriesFromGrid(0::UInt32, 60::UInt32, 30, [10, NULL, 30])",
            result: "[(0,10),(60,30)]",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 4..=4)?;
        let ty = time_type(name, args)?;
        let value = match &args[3].ty {
            DataType::Array(value) => value.without_nullable().clone(),
            other => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument #4 (values) of function {name} has wrong type {other}, it must be an array"
            ),
        };
        Ok(DataType::tuple(vec![ty, value]).array().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let Some(DataType::Tuple(fields)) = call.result.element() else {
            bail!(LOGICAL_ERROR, "A time series is not an array of tuples");
        };
        let ty = &fields[0].ty;
        let grid = Grid::of(call, ty)?;
        let values = list_of(&call.args[3], call.n_rows)?;
        let (mut times, mut rows, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
        for (row, range) in values.ranges().enumerate() {
            let n = grid.len(row)?;
            ensure!(
                n == range.len() as u64,
                BAD_ARGUMENTS,
                "Number of values ({}) doesn't match number of steps ({n})",
                range.len()
            );
            for (i, element) in range.enumerate().filter(|(_, element)| !values.values.is_null(*element)) {
                times.push(grid.time(row, i as u64));
                rows.push(element as u32);
            }
            offsets.push(rows.len() as i64);
        }
        let len = rows.len();
        let fields = vec![as_times(times, ty)?, values.values.gather(&rows).without_nulls()];
        Ok(list(offsets, Vector::from(Data::Struct(Struct { fields, len }))).into())
    },
};

/// The most elements of the arrays of a block.
struct Most(u64);

/// UInt32, DateTime or DateTime64: the finer of the start and the end.
fn time_type(name: &str, args: &[Argument]) -> Result<DataType> {
    for (i, (arg, what)) in args.iter().zip(["start_timestamp", "end_timestamp"]).enumerate() {
        ensure!(
            matches!(arg.ty, DataType::UInt32 | DataType::DateTime(_) | DataType::DateTime64(..)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument #{} ({what}) of function {name} has wrong type {}, it must be DateTime64 or DateTime or UInt32",
            i + 1,
            arg.ty
        );
    }
    let step = &args[2].ty;
    ensure!(
        step.is_integer() && step.physical().width().is_some_and(|width| width <= 8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Argument #3 (step) of function {name} has wrong type {step}, it must be a number"
    );
    Ok(match (&args[0].ty, &args[1].ty) {
        (DataType::DateTime64(a, zone), DataType::DateTime64(b, other)) => {
            DataType::DateTime64(*a.max(b), zone.clone().or_else(|| other.clone()))
        }
        (DataType::DateTime64(scale, zone), other) | (other, DataType::DateTime64(scale, zone)) => {
            DataType::DateTime64(*scale, other.time_zone().cloned().or_else(|| zone.clone()))
        }
        (ty @ DataType::DateTime(_), _) | (_, ty @ DataType::DateTime(_)) => ty.clone(),
        _ => DataType::UInt32,
    })
}

/// Starts, ends and steps of all rows, in ticks of the result.
struct Grid {
    starts: Vec<i64>,
    ends: Vec<i64>,
    steps: Vec<i64>,
}

impl Grid {
    fn of(call: &Call, ty: &DataType) -> Result<Grid> {
        let scale = |ty: &DataType| match ty {
            DataType::DateTime64(scale, _) => u32::from(*scale),
            _ => 0,
        };
        let ticks = |index: usize| -> Result<Vec<i64>> {
            let factor = 10i64.pow(scale(ty).saturating_sub(scale(call.args[index].ty)));
            let values = unary::<i128, i64>(Operand::of(call, index), call.n_rows, |x| {
                i64::try_from(x).unwrap_or(i64::MAX)
            })?;
            let scaled = values.into_iter().map(|x| x.checked_mul(factor));
            let all: Option<Vec<i64>> = scaled.collect();
            all.ok_or_else(|| err!(DECIMAL_OVERFLOW, "A time or a step is out of the range of {ty}"))
        };
        Ok(Grid { starts: ticks(0)?, ends: ticks(1)?, steps: ticks(2)? })
    }

    fn len(&self, row: usize) -> Result<u64> {
        let (start, end, step) = (self.starts[row], self.ends[row], self.steps[row]);
        ensure!(end >= start, BAD_ARGUMENTS, "End timestamp is less than start timestamp");
        if end == start {
            return Ok(1);
        }
        ensure!(step > 0, BAD_ARGUMENTS, "Step should be greater than zero");
        Ok(end.abs_diff(start) / step as u64 + 1)
    }

    /// None of these is behind the end.
    fn time(&self, row: usize, i: u64) -> i64 {
        self.starts[row].wrapping_add(self.steps[row].wrapping_mul(i as i64))
    }
}

fn as_times(ticks: Vec<i64>, ty: &DataType) -> Result<Vector> {
    let n = ticks.len();
    crate::arithmetic::convert_numbers(ticks.into(), ty.physical(), n)
}
