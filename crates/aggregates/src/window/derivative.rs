//! `nonNegativeDerivative`: how fast a value grows from row to row.

use crate::floats::{Floats, divisor};
use chalet_base::{Result, bail, ensure};
use chalet_columns::Vector;
use chalet_function_api::{AggregateRecord, Argument, Context, Example, Partitions, Reach, WindowFunction};
use chalet_types::{DataType, IntervalUnit, Value};

const RECORD: AggregateRecord = AggregateRecord {
    name: "nonNegativeDerivative",
    summary: "The growth of a value since the row before per interval (a second if not given); 0 in the first row and \
              where the value falls.",
    syntax: "nonNegativeDerivative(x, time[, interval]) OVER (ORDER BY time)",
    examples: &[Example {
        sql: "SELECT groupArray(d) FROM (SELECT nonNegativeDerivative(number * number, toDateTime(number * 2)) \
              OVER (ORDER BY number) AS d FROM numbers(4))",
        result: "[0,0.5,1.5,2.5]",
    }],
    window_only: true,
    ..AggregateRecord::DEFAULT
};

pub struct NonNegativeDerivative;

/// Seconds of an interval of one; none for intervals of no fixed length.
fn seconds(unit: IntervalUnit) -> Option<f64> {
    use IntervalUnit::*;
    Some(match unit {
        Nanosecond => 1e-9,
        Microsecond => 1e-6,
        Millisecond => 1e-3,
        Second => 1.0,
        Minute => 60.0,
        Hour => 3600.0,
        Day => 86400.0,
        Week => 604_800.0,
        Month | Quarter | Year => return None,
    })
}

impl WindowFunction for NonNegativeDerivative {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn result_type(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<DataType> {
        let name = RECORD.name;
        ensure!(parameters.is_empty(), BAD_ARGUMENTS, "Function {name} cannot be parameterized");
        ensure!(
            matches!(args.len(), 2 | 3),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function {name} takes 2 or 3 arguments"
        );
        if !args[0].ty.is_number() {
            bail!(BAD_ARGUMENTS, "Argument 0 must be a number, '{}' given", args[0].ty);
        }
        if !matches!(args[1].ty, DataType::DateTime(_) | DataType::DateTime64(..)) {
            bail!(BAD_ARGUMENTS, "Argument 1 must be DateTime or DateTime64, '{}' given", args[1].ty);
        }
        if let Some(arg) = args.get(2)
            && !matches!(arg.ty, DataType::Interval(unit) if seconds(unit).is_some())
        {
            bail!(BAD_ARGUMENTS, "Argument 2 must be an INTERVAL of a fixed length, '{}' given", arg.ty);
        }
        Ok(DataType::Float64)
    }

    fn uses_frames(&self) -> bool {
        false
    }

    fn reach(&self, _: &[Option<Value>]) -> Reach {
        Reach::Rows { before: 1, after: 0 }
    }

    fn execute(&self, partitions: &Partitions, args: &[DataType], _: &DataType) -> Result<Vector> {
        let values = Floats::of(&partitions.args[0], divisor(&args[0]))?;
        let ticks = match args[1] {
            DataType::DateTime64(scale, _) => 10f64.powi(scale.into()),
            _ => 1.0,
        };
        let times = Floats::of(&partitions.args[1], 1.0)?;
        let unit = match args.get(2) {
            Some(DataType::Interval(unit)) => seconds(*unit).unwrap_or(1.0),
            _ => 1.0,
        };
        let lengths = partitions.args.get(2).map(|arg| Floats::of(arg, 1.0)).transpose()?;
        let growth = |row: usize| {
            let rise = values.get(row) - values.get(row - 1);
            // In ticks: seconds since 1970 would have no room for their fractions.
            let elapsed = times.get(row) - times.get(row - 1);
            if rise < 0.0 || elapsed <= 0.0 {
                return 0.0;
            }
            rise * ticks / elapsed * (unit * lengths.map_or(1.0, |lengths| lengths.get(row)))
        };
        let mut results = Vec::with_capacity(partitions.n_rows);
        for rows in partitions.ranges {
            results.push(0.0);
            results.extend((rows.start + 1..rows.end).map(growth));
        }
        Ok(results.into())
    }
}
