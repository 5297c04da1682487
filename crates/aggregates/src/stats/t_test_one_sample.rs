//! `studentTTestOneSample`: does a sample come from a population of a known mean?

use crate::floats::{Floats, divisor};
use crate::stats::real::{put_all, take_all};
use crate::stats::results::{named_floats, push_floats};
use crate::stats::special::{student_bound, student_outside};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "studentTTestOneSample",
    summary: "Student's t-test of one sample against a known mean: the statistic, the p-value and, with a confidence level, \
              the bounds of the mean.",
    syntax: "studentTTestOneSample([confidence_level])(x, population_mean)",
    examples: &[Example {
        sql: "SELECT round(studentTTestOneSample(x, 20).1, 6) FROM values('x Float64', 20.3, 21.1, 21.9, 21.7, 19.9, 21.8)",
        result: "3.237811",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct TTestOneSample;

impl AggregateFunction for TTestOneSample {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            matches!(args.len(), 1 | 2),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires one or two arguments"
        );
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(BAD_ARGUMENTS, "Aggregate function {name} only supports numerical types");
        }
        ensure!(
            parameters.len() <= 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} allows at most one parameter (confidence level)"
        );
        ensure!(
            args.len() == 2,
            BAD_ARGUMENTS,
            "Aggregate function {name} requires two arguments: sample_data and population_mean"
        );
        let confidence = match parameters.first() {
            None => None,
            Some(Value::Float(level)) => {
                ensure!(
                    *level >= f64::EPSILON && (1.0 - *level) >= f64::EPSILON,
                    BAD_ARGUMENTS,
                    "Confidence level parameter must be between 0 and 1 in aggregate function {name}"
                );
                Some(*level)
            }
            Some(value) => bail!(BAD_GET, "Bad get: has {value:?}, requested Float64"),
        };
        Ok(EachState::of(Sample { confidence, divisors: [divisor(&args[0].ty), divisor(&args[1].ty)] }))
    }
}

struct Sample {
    confidence: Option<f64>,
    divisors: [f64; 2],
}

impl RowAggregate for Sample {
    /// The count, the sum, the sum of squares, and the mean of the population, which the first row gives.
    type State = [f64; 4];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        let names = ["t_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"];
        named_floats(&names[..if self.confidence.is_some() { 4 } else { 2 }])
    }

    fn empty(&self) -> [f64; 4] {
        [0.0; 4]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], self.divisors[0])?, Floats::of(&args[1], self.divisors[1])?])
    }

    fn add(&self, state: &mut [f64; 4], [values, means]: &[Floats; 2], row: usize) -> Result<()> {
        let x = values.get(row);
        if state[0] == 0.0 {
            state[3] = means.get(row);
        }
        state[0] += 1.0;
        state[1] += x;
        state[2] += x * x;
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 4], other: [f64; 4]) -> Result<()> {
        if state[0] == 0.0 {
            *state = other;
            return Ok(());
        }
        state[..3].iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    }

    fn serialise(&self, state: &[f64; 4], out: &mut Vec<u8>) {
        put_all(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 4]> {
        take_all(bytes)
    }

    fn finish(&self, state: &mut [f64; 4], out: &mut Builder) -> Result<()> {
        let [n, sum, squares, population] = *state;
        let mean = sum / n;
        let variance = (squares + n * mean * mean - 2.0 * mean * sum) / (n - 1.0);
        let error = (variance / n).sqrt();
        let t = (mean - population) / error;
        // Values that differ by no more than rounding have no deviation to speak of.
        let constant = error < 10.0 * f64::EPSILON * mean.abs();
        if n < 2.0 || constant {
            return push_floats(&[f64::NAN; 4], out);
        }
        if !t.is_finite() {
            return push_floats(&[f64::NAN, 0.0, f64::NAN, f64::NAN], out);
        }
        let freedom = n - 1.0;
        let p = student_outside(t, freedom).clamp(0.0, 1.0);
        let width = self.confidence.map_or(f64::NAN, |level| student_bound(1.0 - level, freedom) * error);
        push_floats(&[t, p, mean - width, mean + width], out)
    }
}
