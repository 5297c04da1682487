//! `quantileDD`: DDSketch, which counts values by their logarithms, so that quantiles have a bounded relative error.

use crate::floats::Floats;
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::wire::{put_len, take_count, take_f64, take_len, take_u8};
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

    /// The index of the greatest size that has one.
    fn last_index(&self) -> i32 {
        self.index(f64::MAX / self.gamma)
    }

    fn value(&self, index: i32) -> f64 {
        (f64::from(index) / self.scale).exp() * (1.0 + self.accuracy)
    }
}

/// What stands in a state, by the byte before it.
mod flag {
    pub const POSITIVE: u8 = 1;
    pub const MAPPING: u8 = 2;
    pub const NEGATIVE: u8 = 3;
    pub const ZEROS: u8 = 4;
    /// Counts of the bins of a store: all from the first to the last, or those that are not 0.
    pub const ALL_BINS: u8 = 12;
    pub const SOME_BINS: u8 = 4;
}

/// The smallest index of a store without bins.
const NO_BIN: i32 = i32::MAX;

/// A store of so many bins that stand one after the other is none.
const MAX_BINS: usize = 1 << 20;

fn put_store(counts: &BTreeMap<i32, u64>, out: &mut Vec<u8>) {
    let first = counts.first_key_value().map_or(NO_BIN, |(&index, _)| index);
    let n_bins = counts.last_key_value().map_or(0, |(&last, _)| i64::from(last) - i64::from(first) + 1);
    let n_empty = n_bins - counts.len() as i64;
    // Whatever takes less.
    if n_empty * 8 <= 2 * counts.len() as i64 {
        out.push(flag::ALL_BINS);
        put_len(n_bins as usize, out);
        put_signed(first.into(), out);
        put_signed(1, out);
        for at in 0..n_bins {
            let count = counts.get(&(first + at as i32)).copied().unwrap_or(0);
            out.extend((count as f64).to_le_bytes());
        }
        return;
    }
    out.push(flag::SOME_BINS);
    put_len(counts.len(), out);
    let mut before = 0;
    for (&index, &count) in counts {
        put_signed(i64::from(index) - before, out);
        before = index.into();
        out.extend((count as f64).to_le_bytes());
    }
}

fn take_store(bytes: &mut &[u8], counts: &mut BTreeMap<i32, u64>) -> Result<()> {
    let kind = take_u8(bytes)?;
    ensure!(
        matches!(kind, flag::ALL_BINS | flag::SOME_BINS),
        INCORRECT_DATA,
        "Aggregate state has a store of unknown kind {kind}"
    );
    let n = take_count(bytes, 8)?;
    ensure!(n <= MAX_BINS, INCORRECT_DATA, "Aggregate state has a store of {n} bins");
    let (mut index, mut step) = (0i64, None);
    if kind == flag::ALL_BINS {
        (index, step) = (take_signed(bytes)?, Some(take_signed(bytes)?));
    }
    for at in 0..n {
        index = match step {
            Some(_) if at == 0 => index,
            Some(step) => index.saturating_add(step),
            None => index.saturating_add(take_signed(bytes)?),
        };
        let bin = i32::try_from(index);
        let bin = bin.map_err(|_| err!(INCORRECT_DATA, "Aggregate state has a bin of index {index}"))?;
        let count = take_number(bytes)?;
        if count > 0 {
            let sum = counts.entry(bin).or_default();
            *sum = sum.saturating_add(count);
        }
    }
    Ok(())
}

/// A count, which the kernel has as a float.
fn take_number(bytes: &mut &[u8]) -> Result<u64> {
    let n = take_f64(bytes)?;
    ensure!(
        (0.0..=MAX_COUNT).contains(&n) && n.fract() == 0.0,
        INCORRECT_DATA,
        "Aggregate state has {n} values in a bin"
    );
    Ok(n as u64)
}

/// Greater counts are no whole numbers of a float.
const MAX_COUNT: f64 = (1u64 << 53) as f64;

fn expect(bytes: &mut &[u8], flag: u8) -> Result<()> {
    let found = take_u8(bytes)?;
    ensure!(found == flag, INCORRECT_DATA, "Aggregate state has flag {found} in place of {flag}");
    Ok(())
}

/// A signed number by its size, the lowest bit saying that it is negative.
fn put_signed(x: i64, out: &mut Vec<u8>) {
    put_len(((x << 1) ^ (x >> 63)) as usize, out);
}

fn take_signed(bytes: &mut &[u8]) -> Result<i64> {
    let x = take_len(bytes)? as u64;
    Ok((x >> 1) as i64 ^ -((x & 1) as i64))
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
            from.into_iter().for_each(|(index, count)| {
                let sum = to.entry(index).or_default();
                *sum = sum.saturating_add(count);
            });
        }
        state.zeros = state.zeros.saturating_add(other.zeros);
        state.count = state.count.saturating_add(other.count);
        state.too_great = state.too_great.or(other.too_great);
    }

    /// As the kernel does: the mapping, the two stores and the zeros, each behind a flag.
    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        out.push(flag::MAPPING);
        out.extend(self.gamma.to_le_bytes());
        out.extend(0f64.to_le_bytes());
        for (flag, counts, sign) in
            [(flag::POSITIVE, &state.positive, false), (flag::NEGATIVE, &state.negative, true)]
        {
            out.push(flag);
            match state.too_great.filter(|x| x.is_sign_negative() == sign) {
                None => put_store(counts, out),
                // Its bin is the next after those that values can have.
                Some(_) => {
                    let mut counts = counts.clone();
                    counts.insert(self.last_index() + 1, 1);
                    put_store(&counts, out);
                }
            }
        }
        out.push(flag::ZEROS);
        out.extend((state.zeros as f64).to_le_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        expect(bytes, flag::MAPPING)?;
        let (gamma, offset) = (take_f64(bytes)?, take_f64(bytes)?);
        ensure!(
            gamma == self.gamma && offset == 0.0,
            NOT_IMPLEMENTED,
            "States of quantileDD of another accuracy are not supported: logarithms to the base {gamma} are not those to {}",
            self.gamma
        );
        let mut state = State::default();
        expect(bytes, flag::POSITIVE)?;
        take_store(bytes, &mut state.positive)?;
        expect(bytes, flag::NEGATIVE)?;
        take_store(bytes, &mut state.negative)?;
        expect(bytes, flag::ZEROS)?;
        state.zeros = take_number(bytes)?;
        let last = self.last_index();
        for (counts, x) in [(&mut state.positive, f64::INFINITY), (&mut state.negative, f64::NEG_INFINITY)] {
            if !counts.split_off(&(last + 1)).is_empty() {
                state.too_great = Some(x);
            }
        }
        let counts = state.positive.values().chain(state.negative.values());
        state.count = counts.fold(state.zeros, |sum, &n| sum.saturating_add(n));
        Ok(state)
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
        let below = state.negative.values().fold(0u64, |sum, &n| sum.saturating_add(n)) as f64;
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
