//! `exponentialTimeDecayedSum` and its kin: rows of the frame weigh the less the longer they lie before its last one.

use crate::floats::{Floats, divisor};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::Vector;
use chalet_function_api::{AggregateRecord, Argument, Context, Example, Partitions, WindowFunction};
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Sum,
    Max,
    Count,
    Avg,
}

#[derive(Clone, Copy)]
pub struct TimeDecayed {
    record: &'static AggregateRecord,
    measure: Measure,
    /// After this time a row weighs 1/e of what it did.
    length: f64,
}

macro_rules! decays {
    ($($id:ident, $measure:ident: $name:literal, $args:literal, $summary:literal, $sql:literal => $result:literal;)*) => {
        $(const $id: AggregateRecord = AggregateRecord {
            name: $name,
            summary: $summary,
            syntax: concat!($name, "(decay_length)(", $args, ") OVER (ORDER BY time)"),
            examples: &[Example { sql: $sql, result: $result }],
            window_only: true,
            ..AggregateRecord::DEFAULT
        };)*

        impl TimeDecayed {
            pub const ALL: &[TimeDecayed] =
                &[$(TimeDecayed { record: &$id, measure: Measure::$measure, length: 1.0 }),*];
        }
    };
}

decays! {
    SUM, Sum: "exponentialTimeDecayedSum", "value, time",
        "The sum of the values of the frame, which fall by 1/e per `decay_length` of time before its last row.",
        "SELECT groupArray(round(x, 4)) FROM (SELECT exponentialTimeDecayedSum(10)(1, number) OVER (ORDER BY number) AS x FROM numbers(3))"
            => "[1,1.9048,2.7236]";
    MAX, Max: "exponentialTimeDecayedMax", "value, time",
        "The greatest of the values of the frame, which fall by 1/e per `decay_length` of time before its last row.",
        "SELECT groupArray(round(x, 4)) FROM (SELECT exponentialTimeDecayedMax(10)(9 - number, number) OVER (ORDER BY number) AS x FROM numbers(3))"
            => "[9,8.1435,7.3686]";
    COUNT, Count: "exponentialTimeDecayedCount", "time",
        "The number of rows of the frame, which weigh 1/e less per `decay_length` of time before its last row.",
        "SELECT groupArray(round(x, 4)) FROM (SELECT exponentialTimeDecayedCount(10)(number) OVER (ORDER BY number) AS x FROM numbers(3))"
            => "[1,1.9048,2.7236]";
    AVG, Avg: "exponentialTimeDecayedAvg", "value, time",
        "The mean of the values of the frame, whose weights fall by 1/e per `decay_length` of time before its last row.",
        "SELECT groupArray(round(x, 4)) FROM (SELECT exponentialTimeDecayedAvg(10)(number, number) OVER (ORDER BY number) AS x FROM numbers(3))"
            => "[0,0.525,1.0666]";
}

impl WindowFunction for TimeDecayed {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn result_type(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<DataType> {
        let name = self.record.name;
        ensure!(
            parameters.len() == 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function {name} takes exactly one parameter"
        );
        let n_args = if self.measure == Measure::Count { 1 } else { 2 };
        ensure!(
            args.len() == n_args,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function {name} takes exactly {n_args} arguments"
        );
        let (time, values) = (n_args - 1, &args[..n_args - 1]);
        if let Some(value) = values.iter().find(|value| !value.ty.is_number()) {
            bail!(BAD_ARGUMENTS, "Argument 0 must be a number, '{}' given", value.ty);
        }
        let ty = &args[time].ty;
        ensure!(
            ty.is_number() || matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)),
            BAD_ARGUMENTS,
            "Argument {time} must be DateTime, DateTime64 or a number, '{ty}' given"
        );
        Ok(DataType::Float64)
    }

    fn with_parameters(&self, parameters: &[Value]) -> Result<Option<Arc<dyn WindowFunction>>> {
        let Some(length) = parameters.first() else { return Ok(None) };
        let length =
            length.as_f64().ok_or_else(|| err!(CANNOT_CONVERT_TYPE, "Cannot convert String to Float64"))?;
        Ok(Some(Arc::new(TimeDecayed { length, ..*self })))
    }

    fn execute(&self, partitions: &Partitions, args: &[DataType], _: &DataType) -> Result<Vector> {
        let ticks = |ty: &DataType| match ty {
            DataType::DateTime64(scale, _) => 10f64.powi(i32::from(*scale)),
            ty => divisor(ty),
        };
        let time = args.len() - 1;
        let times = Floats::of(&partitions.args[time], ticks(&args[time]))?;
        let values = if time == 0 { None } else { Some(Floats::of(&partitions.args[0], divisor(&args[0]))?) };
        let mut frame = Frame { rows: 0..0, time: 0.0, sum: 0.0, weight: 0.0, max: f64::NAN };
        let results = partitions.frames.iter().map(|rows| {
            frame.move_to(
                rows,
                |row| (values.map_or(1.0, |values| values.get(row)), times.get(row)),
                self.length,
            );
            match self.measure {
                Measure::Sum => frame.sum,
                Measure::Count => frame.weight,
                Measure::Max => frame.max,
                Measure::Avg => frame.sum / frame.weight,
            }
        });
        Ok(results.collect::<Vec<f64>>().into())
    }
}

/// What the rows of a frame amount to, seen from the time of its last row.
struct Frame {
    rows: Range<usize>,
    time: f64,
    sum: f64,
    weight: f64,
    max: f64,
}

impl Frame {
    /// A frame that only grew takes the new rows; any other one is computed anew.
    fn move_to(&mut self, rows: &Range<usize>, value_and_time: impl Fn(usize) -> (f64, f64), length: f64) {
        let grew = rows.start == self.rows.start && rows.end >= self.rows.end && !self.rows.is_empty();
        if !grew {
            *self = Frame { rows: rows.start..rows.start, time: 0.0, sum: 0.0, weight: 0.0, max: f64::NAN };
        }
        for row in self.rows.end..rows.end {
            let (value, time) = value_and_time(row);
            let decay = ((self.time - time) / length).exp();
            self.time = time;
            if row == rows.start {
                // NaN when the length is 0.
                let own = (0.0 / length).exp();
                (self.sum, self.weight, self.max) = (value * own, own, value * own);
            } else {
                self.sum = self.sum * decay + value;
                self.weight = self.weight * decay + 1.0;
                self.max = (self.max * decay).max(value);
            }
        }
        self.rows = rows.clone();
    }
}
