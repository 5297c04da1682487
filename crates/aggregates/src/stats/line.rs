//! Functions of points: `simpleLinearRegression`, `boundingRatio`, and the `exponentialMovingAverage` over time.

use crate::check::{illegal_type, no_parameters, two_arguments};
use crate::floats::{Floats, divisor};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::{take_f64, take_u8, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

const REGRESSION: AggregateRecord = AggregateRecord {
    name: "simpleLinearRegression",
    summary: "Slope k and intercept b of the line that fits the points best.",
    syntax: "simpleLinearRegression(x, y)",
    examples: &[Example {
        sql: "SELECT simpleLinearRegression(x, y) FROM values('x Float64, y Float64', (0, 100), (1, 110), (2, 120.5))",
        result: "(10.25,99.91666666666667)",
    }],
    ..AggregateRecord::DEFAULT
};

const RATIO: AggregateRecord = AggregateRecord {
    name: "boundingRatio",
    summary: "The slope between the leftmost and the rightmost point.",
    syntax: "boundingRatio(x, y)",
    examples: &[Example {
        sql: "SELECT boundingRatio(x, y) FROM values('x Int8, y Float64', (1, 5), (3, 10), (7, 2))",
        result: "-0.5",
    }],
    ..AggregateRecord::DEFAULT
};

const MOVING: AggregateRecord = AggregateRecord {
    name: "exponentialMovingAverage",
    summary: "The mean in which a value loses half of its weight over every `half_decay` of time.",
    syntax: "exponentialMovingAverage(half_decay)(value, time)",
    examples: &[Example {
        sql: "SELECT exponentialMovingAverage(5)(x, t) FROM values('x Float64, t UInt32', (1, 1), (5, 3), (2, 9))",
        result: "0.5833319624540294",
    }],
    ..AggregateRecord::DEFAULT
};

#[derive(Clone, Copy)]
enum Measure {
    Regression,
    Ratio,
    Moving { half_decay: f64 },
}

pub struct Line {
    record: &'static AggregateRecord,
    measure: Measure,
}

impl Line {
    pub const ALL: [Line; 3] = [
        Line { record: &REGRESSION, measure: Measure::Regression },
        Line { record: &RATIO, measure: Measure::Ratio },
        Line { record: &MOVING, measure: Measure::Moving { half_decay: 1.0 } },
    ];
}

impl AggregateFunction for Line {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let mut measure = self.measure;
        match &mut measure {
            Measure::Moving { half_decay } => {
                ensure!(
                    parameters.len() == 1,
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Aggregate function {name} requires exactly one parameter: half decay time"
                );
                match parameters[0].as_f64() {
                    Some(given) => *half_decay = given,
                    None => bail!(BAD_ARGUMENTS, "Half decay time of {name} should be a number"),
                }
            }
            _ => no_parameters(name, parameters)?,
        }
        two_arguments(name, args)?;
        for arg in args {
            let ok = match measure {
                Measure::Ratio => arg.ty.is_comparable_by_number(),
                _ => arg.ty.is_number(),
            };
            if !ok && matches!(measure, Measure::Ratio) {
                bail!(
                    BAD_ARGUMENTS,
                    "Illegal types of arguments of aggregate function {name}, must have number representation"
                );
            }
            if !ok {
                return Err(illegal_type(name, &arg.ty));
            }
        }
        Ok(EachState::of(Points { measure, divisors: [divisor(&args[0].ty), divisor(&args[1].ty)] }))
    }
}

struct Points {
    measure: Measure,
    divisors: [f64; 2],
}

impl Points {
    /// A value that stood at a time, seen from a later one.
    fn decayed(value: f64, passed: f64, half_decay: f64) -> f64 {
        value * (-passed / half_decay).exp2()
    }
}

impl RowAggregate for Points {
    /// Count, then: sums of x, y, x x, x y; or the leftmost and the rightmost point; or value and time.
    type State = [f64; 5];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        match self.measure {
            Measure::Regression => {
                let field = |name: &str| TupleField { name: Some(name.into()), ty: DataType::Float64 };
                DataType::Tuple([field("k"), field("b")].into_iter().collect())
            }
            _ => DataType::Float64,
        }
    }

    fn empty(&self) -> [f64; 5] {
        [0.0; 5]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], self.divisors[0])?, Floats::of(&args[1], self.divisors[1])?])
    }

    fn add(&self, state: &mut [f64; 5], [xs, ys]: &[Floats; 2], row: usize) -> Result<()> {
        let (x, y) = (xs.get(row), ys.get(row));
        let one = match self.measure {
            Measure::Regression => [1.0, x, y, x * x, x * y],
            Measure::Ratio => [1.0, x, y, x, y],
            Measure::Moving { .. } => [1.0, x, y, 0.0, 0.0],
        };
        self.merge(state, one)
    }

    fn merge(&self, state: &mut [f64; 5], other: [f64; 5]) -> Result<()> {
        if other[0] == 0.0 {
            return Ok(());
        }
        if state[0] == 0.0 {
            *state = other;
            return Ok(());
        }
        match self.measure {
            Measure::Regression => state.iter_mut().zip(other).for_each(|(x, y)| *x += y),
            Measure::Ratio => {
                state[0] += other[0];
                if other[1] < state[1] {
                    (state[1], state[2]) = (other[1], other[2]);
                }
                if other[3] > state[3] {
                    (state[3], state[4]) = (other[3], other[4]);
                }
            }
            Measure::Moving { half_decay } => {
                let [_, x, t, ..] = *state;
                let [_, y, u, ..] = other;
                let now = t.max(u);
                let sum = Self::decayed(x, now - t, half_decay) + Self::decayed(y, now - u, half_decay);
                *state = [state[0] + other[0], sum, now, 0.0, 0.0];
            }
        }
        Ok(())
    }

    fn serialise(&self, state: &[f64; 5], out: &mut Vec<u8>) {
        let [n, sums @ ..] = *state;
        let sums = match self.measure {
            Measure::Regression => {
                out.extend((n as u64).to_le_bytes());
                &sums[..]
            }
            // Is there no point?
            Measure::Ratio if n == 0.0 => return out.push(1),
            Measure::Ratio => {
                out.push(0);
                &sums[..]
            }
            Measure::Moving { .. } => &sums[..2],
        };
        sums.iter().for_each(|x| out.extend(x.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 5]> {
        let mut state = self.empty();
        let n_sums = match self.measure {
            Measure::Regression => {
                state[0] = take_u64(bytes)? as f64;
                4
            }
            Measure::Ratio if take_u8(bytes)? != 0 => return Ok(state),
            Measure::Ratio => {
                state[0] = 1.0;
                4
            }
            Measure::Moving { .. } => 2,
        };
        for x in &mut state[1..=n_sums] {
            *x = take_f64(bytes)?;
        }
        if matches!(self.measure, Measure::Moving { .. }) && (state[1], state[2]) != (0.0, 0.0) {
            state[0] = 1.0;
        }
        Ok(state)
    }

    fn finish(&self, state: &mut [f64; 5], out: &mut Builder) -> Result<()> {
        let [n, a, b, c, d] = *state;
        match self.measure {
            Measure::Regression => {
                let spread = n * c - a * a;
                let (k, intercept) = if spread == 0.0 || n == 0.0 {
                    (f64::NAN, f64::NAN)
                } else {
                    let k = (n * d - a * b) / spread;
                    (k, (b - k * a) / n)
                };
                let Values::Struct { fields, len } = &mut out.values else {
                    bail!(LOGICAL_ERROR, "Regression does not make a tuple");
                };
                fields[0].natives::<f64>()?.push(k);
                fields[1].natives::<f64>()?.push(intercept);
                *len += 1;
            }
            Measure::Ratio => out.natives::<f64>()?.push((d - b) / (c - a)),
            Measure::Moving { half_decay } => {
                out.natives::<f64>()?.push(a * (1.0 - (-1.0 / half_decay).exp2()));
            }
        }
        Ok(())
    }
}
