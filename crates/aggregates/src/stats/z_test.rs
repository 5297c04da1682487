//! `meanZTest`: do two samples of known variances have the same mean?

use crate::check::two_arguments;
use crate::floats::{Floats, divisor};
use crate::stats::real::{put_all, take_all};
use crate::stats::results::{named_floats, push_floats};
use crate::stats::special::{normal_above, normal_bound};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "meanZTest",
    summary: "The z-test of two samples whose populations have known variances: the statistic, the p-value and the bounds \
              of the difference of the means. The second argument is 0 or 1 for the two samples.",
    syntax: "meanZTest(variance_x, variance_y, confidence_level)(x, sample_index)",
    examples: &[Example {
        sql: "SELECT round(meanZTest(0.7, 0.45, 0.95)(x, y).1, 6) FROM values('x Float64, y UInt8', (20.3, 0), (21.9, 0), \
              (22.1, 0), (18.9, 1), (19, 1), (20.3, 1))",
        result: "3.28413",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct MeanZTest;

impl AggregateFunction for MeanZTest {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        two_arguments(name, args)?;
        ensure!(
            parameters.len() == 3,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires three parameter"
        );
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(BAD_ARGUMENTS, "Aggregate function {name} only supports numerical types");
        }
        let mut given = [0.0; 3];
        for (to, value) in given.iter_mut().zip(parameters) {
            let Value::Float(x) = value else {
                bail!(BAD_GET, "Bad get: has {value:?}, requested Float64");
            };
            *to = *x;
        }
        let [variance_x, variance_y, confidence] = given;
        ensure!(
            given.iter().all(|x| x.is_finite()),
            BAD_ARGUMENTS,
            "Aggregate function {name} requires finite parameter values"
        );
        ensure!(
            variance_x >= 0.0 && variance_y >= 0.0,
            BAD_ARGUMENTS,
            "Population variance parameters must be larger than or equal to zero in aggregate function {name}"
        );
        ensure!(
            confidence > 0.0 && confidence < 1.0,
            BAD_ARGUMENTS,
            "Confidence level parameter must be between 0 and 1 in aggregate function {name}"
        );
        Ok(EachState::of(Samples { variance_x, variance_y, confidence, divisor: divisor(&args[0].ty) }))
    }
}

struct Samples {
    variance_x: f64,
    variance_y: f64,
    confidence: f64,
    divisor: f64,
}

impl RowAggregate for Samples {
    /// The counts of both samples, then their sums.
    type State = [f64; 4];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        named_floats(&["z_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"])
    }

    fn empty(&self) -> [f64; 4] {
        [0.0; 4]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], self.divisor)?, Floats::of(&args[1], 1.0)?])
    }

    fn add(&self, state: &mut [f64; 4], [values, samples]: &[Floats; 2], row: usize) -> Result<()> {
        let sample = usize::from(samples.get(row) != 0.0);
        state[sample] += 1.0;
        state[sample + 2] += values.get(row);
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 4], other: [f64; 4]) -> Result<()> {
        state.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    }

    fn serialise(&self, state: &[f64; 4], out: &mut Vec<u8>) {
        put_all(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 4]> {
        take_all(bytes)
    }

    fn finish(&self, state: &mut [f64; 4], out: &mut Builder) -> Result<()> {
        let [n, m, sum_x, sum_y] = *state;
        let difference = sum_x / n - sum_y / m;
        let error = (self.variance_x / n + self.variance_y / m).sqrt();
        let z = difference / error;
        // The kernel's p-value of a statistic that does not exist is 0.
        let (z, p) =
            if z.is_finite() { (z, (2.0 * normal_above(z.abs())).clamp(0.0, 1.0)) } else { (f64::NAN, 0.0) };
        let width = normal_bound((1.0 - self.confidence) / 2.0) * error;
        push_floats(&[z, p, difference - width, difference + width], out)
    }
}
