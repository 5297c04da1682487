//! `studentTTest` and `welchTTest`: do two samples have the same mean?

use crate::check::two_arguments;
use crate::floats::{Floats, divisor};
use crate::stats::real::{put_all, take_all};
use crate::stats::special::{student_bound, student_outside};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

const STUDENT: AggregateRecord = AggregateRecord {
    name: "studentTTest",
    summary: "Student's t-test of two samples of equal variance: the statistic, the p-value and, with a confidence \
              level, the bounds of the difference of the means. The second argument is 0 or 1 for the two samples.",
    syntax: "studentTTest([confidence_level])(x, sample_index)",
    examples: &[Example {
        sql: "SELECT round(studentTTest(x, y).1, 6) FROM values('x Float64, y UInt8', (20.3, 0), (21.1, 0), (21.9, 1), \
              (21.7, 0), (19.9, 1), (21.8, 1))",
        result: "-0.217391",
    }],
    ..AggregateRecord::DEFAULT
};

const WELCH: AggregateRecord = AggregateRecord {
    name: "welchTTest",
    summary: "Welch's t-test of two samples of any variances: the statistic, the p-value and, with a confidence level, \
              the bounds of the difference of the means. The second argument is 0 or 1 for the two samples.",
    syntax: "welchTTest([confidence_level])(x, sample_index)",
    examples: &[Example {
        sql: "SELECT round(welchTTest(x, y).1, 6) FROM values('x Float64, y UInt8', (20.3, 0), (21.1, 0), (21.9, 1), \
              (21.7, 0), (19.9, 1), (21.8, 1))",
        result: "-0.217391",
    }],
    ..STUDENT
};

pub struct TTest {
    record: &'static AggregateRecord,
    equal: bool,
}

impl TTest {
    pub const ALL: [TTest; 2] =
        [TTest { record: &STUDENT, equal: true }, TTest { record: &WELCH, equal: false }];
}

impl AggregateFunction for TTest {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        two_arguments(name, args)?;
        ensure!(
            parameters.len() <= 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires zero or one parameter"
        );
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(BAD_ARGUMENTS, "Aggregate function {name} only supports numerical types");
        }
        let confidence = match parameters.first() {
            None => None,
            Some(level) => {
                let level = level.as_f64().filter(|level| *level > 0.0 && *level < 1.0);
                Some(level.ok_or_else(|| {
                    err!(
                        BAD_ARGUMENTS,
                        "Confidence level of aggregate function {name} must be between 0 and 1"
                    )
                })?)
            }
        };
        Ok(EachState::of(Samples { equal: self.equal, confidence, divisor: divisor(&args[0].ty) }))
    }
}

struct Samples {
    equal: bool,
    confidence: Option<f64>,
    divisor: f64,
}

impl RowAggregate for Samples {
    /// Count, sum and sum of squares of either sample.
    type State = [f64; 6];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        let names = ["t_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"];
        let n = if self.confidence.is_some() { 4 } else { 2 };
        let field = |name: &&str| TupleField { name: Some((*name).into()), ty: DataType::Float64 };
        DataType::Tuple(names[..n].iter().map(field).collect())
    }

    fn empty(&self) -> [f64; 6] {
        [0.0; 6]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], self.divisor)?, Floats::of(&args[1], 1.0)?])
    }

    fn add(&self, state: &mut [f64; 6], [values, samples]: &[Floats; 2], row: usize) -> Result<()> {
        let x = values.get(row);
        let at = if samples.get(row) == 0.0 { 0 } else { 3 };
        state[at] += 1.0;
        state[at + 1] += x;
        state[at + 2] += x * x;
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 6], other: [f64; 6]) -> Result<()> {
        state.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    }

    fn serialise(&self, state: &[f64; 6], out: &mut Vec<u8>) {
        put_all(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 6]> {
        take_all(bytes)
    }

    fn finish(&self, state: &mut [f64; 6], out: &mut Builder) -> Result<()> {
        let [n, sum, squares, m, sum2, squares2] = *state;
        let (mean, mean2) = (sum / n, sum2 / m);
        // Sums of squared deviations.
        let spread = squares + mean * mean * n - 2.0 * mean * sum;
        let spread2 = squares2 + mean2 * mean2 * m - 2.0 * mean2 * sum2;
        let (error, freedom) = if self.equal {
            let freedom = n + m - 2.0;
            ((spread + spread2) / freedom * (1.0 / n + 1.0 / m), freedom)
        } else {
            let (a, b) = (spread / (n - 1.0) / n, spread2 / (m - 1.0) / m);
            (a + b, (a + b) * (a + b) / (a * a / (n - 1.0) + b * b / (m - 1.0)))
        };
        let error = error.sqrt();
        let t = (mean - mean2) / error;
        let mut results = [t, f64::NAN, f64::NAN, f64::NAN];
        if n > 0.0 && m > 0.0 && freedom > 0.0 && t.is_finite() {
            results[1] = student_outside(t, freedom).clamp(0.0, 1.0);
            if let Some(confidence) = self.confidence {
                let width = student_bound(1.0 - confidence, freedom) * error;
                results[2] = mean - mean2 - width;
                results[3] = mean - mean2 + width;
            }
        } else {
            results[0] = f64::NAN;
            // 0 by 0: equal means, and nothing that deviates.
            let has_deviation = if self.equal { freedom > 0.0 } else { n > 1.0 && m > 1.0 };
            if t.is_nan() && n > 0.0 && m > 0.0 && has_deviation {
                results[1] = 0.0;
            }
        }
        let Values::Struct { fields, len } = &mut out.values else {
            bail!(LOGICAL_ERROR, "A t-test does not make a tuple");
        };
        for (field, result) in fields.iter_mut().zip(results) {
            field.natives::<f64>()?.push(result);
        }
        *len += 1;
        Ok(())
    }
}
