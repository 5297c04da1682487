//! `quantileDD`: DDSketch, which counts values by their logarithms, so that quantiles have a bounded relative error.

use crate::floats::Floats;
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_f64, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const ONE: AggregateRecord = AggregateRecord {
    name: "quantileDD",
    states_of: "quantileDD",
    aliases: &["medianDD"],
    summary: "The value at a level, off by no more than the given share of it.",
    syntax: "quantileDD(relative_accuracy[, level])(x)",
    examples: &[Example {
        sql: "SELECT round(quantileDD(0.01, 0.5)(number)) FROM numbers(101)",
        result: "50",
    }],
    own_states: true,
    ..AggregateRecord::DEFAULT
};

const MANY: AggregateRecord = AggregateRecord {
    name: "quantilesDD",
    states_of: "quantileDD",
    summary: "Several quantiles at once, each as quantileDD gives it.",
    syntax: "quantilesDD(relative_accuracy, level1, level2, ...)(x)",
    examples: &[Example {
        sql: "SELECT arrayMap(x -> round(x), quantilesDD(0.01, 0.5, 0.9)(number)) FROM numbers(101)",
        result: "[50,89]",
    }],
    own_states: true,
    ..AggregateRecord::DEFAULT
};

pub struct Relative {
    record: &'static AggregateRecord,
    many: bool,
}

impl Relative {
    pub const ALL: [Relative; 2] =
        [Relative { record: &ONE, many: false }, Relative { record: &MANY, many: true }];
}

impl AggregateFunction for Relative {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        check_value(name, args, Domain::Narrow, false)?;
        ensure!(
            !self.many || parameters.len() > 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function for calculation of multiple quantiles require at least one parameter"
        );
        let accuracy = match parameters.first() {
            None => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {name} requires at least one param"
            ),
            Some(Value::Float(accuracy)) => *accuracy,
            Some(_) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregate function {name} requires relative accuracy parameter with Float64 type"
            ),
        };
        ensure!(
            accuracy > 0.0 && accuracy < 1.0,
            BAD_ARGUMENTS,
            "Aggregate function {name} requires relative accuracy parameter with value between 0 and 1 but is {accuracy}"
        );
        let levels = Levels::new(name, self.many, &parameters[1..])?;
        check_arguments(name, args, false)?;
        let ty = &args[0].ty;
        let gamma = (1.0 + accuracy) / (1.0 - accuracy);
        Ok(bound(
            Logarithms { result: interpolated_type(ty), accuracy, gamma, scale: 1.0 / gamma.ln() },
            levels,
        ))
    }
}

struct Logarithms {
    result: DataType,
    accuracy: f64,
    /// Each step is greater than the one before by this factor.
    gamma: f64,
    /// From natural logarithms to those to the base gamma.
    scale: f64,
}

#[derive(Default)]
struct State {
    /// Counts of values by the logarithms of their sizes.
    positive: BTreeMap<i32, u64>,
    negative: BTreeMap<i32, u64>,
    zeros: u64,
    count: u64,
    /// A value that is too great for a logarithm; the result fails.
    too_great: Option<f64>,
}

impl Logarithms {
    fn index(&self, size: f64) -> i32 {
        let place = size.ln() * self.scale;
        if place >= 0.0 { place as i32 } else { place as i32 - 1 }
    }

    fn value(&self, index: i32) -> f64 {
        (f64::from(index) / self.scale).exp() * (1.0 + self.accuracy)
    }
}

impl Sketch for Logarithms {
    type State = State;
    type Input<'a> = Floats<'a>;

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Floats<'a>> {
        Floats::of(&args[0], 1.0)
    }

    fn add(&self, state: &mut State, input: &Floats<'_>, row: usize) {
        let x = input.get(row);
        if x.is_nan() {
            return;
        }
        let size = x.abs();
        if size > f64::MAX / self.gamma {
            state.too_great = Some(x);
            return;
        }
        state.count += 1;
        if size < f64::MIN_POSITIVE * self.gamma {
            state.zeros += 1;
        } else {
            let counts = if x > 0.0 { &mut state.positive } else { &mut state.negative };
            *counts.entry(self.index(size)).or_default() += 1;
        }
    }

    fn merge(&self, state: &mut State, other: State) {
        for (to, from) in [(&mut state.positive, other.positive), (&mut state.negative, other.negative)] {
            from.into_iter().for_each(|(index, count)| *to.entry(index).or_default() += count);
        }
        state.zeros += other.zeros;
        state.count += other.count;
        state.too_great = state.too_great.or(other.too_great);
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        for counts in [&state.positive, &state.negative] {
            put_len(counts.len(), out);
            for (index, count) in counts {
                out.extend(index.to_le_bytes());
                out.extend(count.to_le_bytes());
            }
        }
        out.extend(state.zeros.to_le_bytes());
        out.extend(state.count.to_le_bytes());
        out.extend(state.too_great.unwrap_or(0.0).to_le_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut counts = || -> Result<BTreeMap<i32, u64>> {
            (0..take_count(bytes, 12)?)
                .map(|_| Ok((i32::from_le_bytes(take_array(bytes)?), take_u64(bytes)?)))
                .collect()
        };
        let (positive, negative) = (counts()?, counts()?);
        let (zeros, count) = (take_u64(bytes)?, take_u64(bytes)?);
        let too_great = Some(take_f64(bytes)?).filter(|x| *x != 0.0);
        Ok(State { positive, negative, zeros, count, too_great })
    }

    fn push(&self, state: &State, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        if let Some(x) = state.too_great {
            bail!(
                BAD_ARGUMENTS,
                "Value {x} is out of range [{:e}, {:e}]",
                f64::MIN_POSITIVE * self.gamma,
                f64::MAX / self.gamma
            );
        }
        if state.count == 0 {
            return push_float(f64::NAN, out);
        }
        let rank = level * (state.count - 1) as f64;
        let below = state.negative.values().sum::<u64>() as f64;
        let find = |counts: &BTreeMap<i32, u64>, found: &dyn Fn(f64) -> bool| {
            let mut passed = 0.0;
            let reached = counts.iter().find(|(_, count)| {
                passed += **count as f64;
                found(passed)
            });
            reached.or(counts.iter().next_back()).map_or(0.0, |(index, _)| self.value(*index))
        };
        let value = if rank < below {
            let rank = below - rank - 1.0;
            -find(&state.negative, &|passed| passed >= rank + 1.0)
        } else if rank < below + state.zeros as f64 {
            0.0
        } else {
            let rank = rank - below - state.zeros as f64;
            find(&state.positive, &|passed| passed > rank)
        };
        push_float(value, out)
    }

    fn heap_memory(&self, state: &State) -> usize {
        (state.positive.len() + state.negative.len()) * 2 * size_of::<(i32, u64)>()
    }
}
