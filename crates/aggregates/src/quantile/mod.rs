//! Quantiles: one frame (levels, one result or an array of them) around many ways to remember values.
//!
//! - [`levels`]: the parameters
//! - [`exact`]: all values kept: `quantileExact` and its variants
//! - [`weighted`]: values with weights: `quantileExactWeighted`, `quantileBFloat16`, ...
//! - [`reservoir`]: a random sample: `quantile`
//! - [`deterministic`]: a sample chosen by hash: `quantileDeterministic`
//! - [`timing`]: a histogram of milliseconds: `quantileTiming`
//! - [`digest`]: t-digest: `quantileTDigest`
//! - [`relative`]: counts by logarithm: `quantileDD`
//! - [`greenwald_khanna`]: samples of bounded rank: `quantileGK`

pub mod deterministic;
pub mod digest;
pub mod exact;
pub mod greenwald_khanna;
pub mod levels;
pub mod relative;
pub mod reservoir;
pub mod timing;
pub mod weighted;

use chalet_base::{Result, bail};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, EachState, Registry, RowAggregate};
use chalet_types::{DataType, bf16};
use levels::Levels;
use std::cmp::Ordering;
use std::sync::Arc;

/// A way to remember values and to tell their quantiles.
pub trait Sketch: Send + Sync + 'static {
    type State: Default + Send + 'static;
    type Input<'a>;

    /// Of one quantile.
    fn result_type(&self) -> DataType;
    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>>;
    fn add(&self, state: &mut Self::State, input: &Self::Input<'_>, row: usize);
    fn merge(&self, state: &mut Self::State, other: Self::State);
    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>);
    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State>;

    /// Runs before [`push`](Self::push) of the levels: sorting.
    fn settle(&self, state: &mut Self::State, levels: &[f64]) {
        let _ = (state, levels);
    }

    /// Adds a row where results are asked for in between.
    fn grow(&self, state: &mut Self::State, input: &Self::Input<'_>, row: usize) {
        self.add(state, input, row);
    }

    /// Settles a state that grows.
    fn settle_growing(&self, state: &mut Self::State, levels: &[f64]) {
        self.settle(state, levels);
    }

    /// Appends the quantile of a level.
    fn push(&self, state: &Self::State, level: f64, many: bool, out: &mut Builder) -> Result<()>;

    fn heap_memory(&self, state: &Self::State) -> usize;
}

/// One result or an array of them from a sketch.
struct Quantiles<S> {
    sketch: S,
    levels: Levels,
}

pub fn bound<S: Sketch>(sketch: S, levels: Levels) -> Arc<dyn Aggregate> {
    EachState::of(Quantiles { sketch, levels })
}

impl<S: Sketch> RowAggregate for Quantiles<S> {
    type State = S::State;
    type Input<'a> = S::Input<'a>;

    fn result_type(&self) -> DataType {
        let one = self.sketch.result_type();
        if self.levels.many { one.array() } else { one }
    }

    fn empty(&self) -> S::State {
        S::State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<S::Input<'a>> {
        self.sketch.input(args)
    }

    #[inline]
    fn add(&self, state: &mut S::State, input: &S::Input<'_>, row: usize) -> Result<()> {
        self.sketch.add(state, input, row);
        Ok(())
    }

    fn merge(&self, state: &mut S::State, other: S::State) -> Result<()> {
        self.sketch.merge(state, other);
        Ok(())
    }

    fn serialise(&self, state: &S::State, out: &mut Vec<u8>) {
        self.sketch.serialise(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<S::State> {
        self.sketch.deserialise(bytes)
    }

    fn finish(&self, state: &mut S::State, out: &mut Builder) -> Result<()> {
        self.sketch.settle(state, &self.levels.of);
        self.push(state, out)
    }

    fn running(
        &self,
        state: &mut S::State,
        input: &S::Input<'_>,
        from: usize,
        ends: &[usize],
        out: &mut Builder,
    ) -> Result<()> {
        let starts = std::iter::once(&from).chain(ends);
        for (&start, &end) in starts.zip(ends) {
            (start..end).for_each(|row| self.sketch.grow(state, input, row));
            self.sketch.settle_growing(state, &self.levels.of);
            self.push(state, out)?;
        }
        Ok(())
    }

    fn heap_memory(&self, state: &S::State) -> usize {
        self.sketch.heap_memory(state)
    }
}

impl<S: Sketch> Quantiles<S> {
    fn push(&self, state: &S::State, out: &mut Builder) -> Result<()> {
        if !self.levels.many {
            return self.sketch.push(state, self.levels.of[0], false, out);
        }
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Quantiles are not a list");
        };
        for &level in &self.levels.of {
            self.sketch.push(state, level, true, &mut list.values)?;
        }
        list.close();
        Ok(())
    }
}

/// Values that are put where they belong one by one; sorting more of them anew is faster.
const FEW_NEW: usize = 8;

/// Brings values into order of which the first `n_sorted` are: a window adds one at a time.
pub fn sort_grown<T: Copy>(values: &mut [T], n_sorted: usize, order: impl Fn(&T, &T) -> Ordering) {
    if n_sorted == 0 || values.len().saturating_sub(n_sorted) > FEW_NEW {
        return values.sort_unstable_by(order);
    }
    for new in n_sorted..values.len() {
        let x = values[new];
        let place = values[..new].partition_point(|y| order(y, &x).is_le());
        values.copy_within(place..new, place + 1);
        values[place] = x;
    }
}

/// Brings `sorted`, the first of `n` values in order, up to date with the others.
fn keep_sorted(sorted: &mut Vec<f64>, n: usize, value: impl Fn(usize) -> f64) {
    let known = sorted.len();
    sorted.extend((known..n).map(value));
    sort_grown(sorted, known, f64::total_cmp);
}

/// Appends a float to a builder of floats, or truncated to one of integers.
pub fn push_float(x: f64, out: &mut Builder) -> Result<()> {
    match &mut out.values {
        Values::F64(values) => values.push(x),
        Values::F32(values) => values.push(x as f32),
        // The upper half, without rounding.
        Values::BF16(values) => values.push(bf16::from_bits(((x as f32).to_bits() >> 16) as u16)),
        Values::U8(values) => values.push(x as u8),
        Values::U64(values) => values.push(x as u64),
        Values::U128(values) => values.push(x as u128),
        Values::U256(values) => values.push(wide(x).as_u256()),
        Values::I8(values) => values.push(x as i8),
        Values::I16(values) => values.push(x as i16),
        Values::U16(values) => values.push(x as u16),
        Values::U32(values) => values.push(x as u32),
        Values::I32(values) => values.push(x as i32),
        Values::I64(values) => values.push(x as i64),
        Values::I128(values) => values.push(x as i128),
        Values::I256(values) => values.push(wide(x)),
        _ => bail!(LOGICAL_ERROR, "Result of a quantile is {:?}", out.physical()),
    }
    Ok(())
}

fn wide(x: f64) -> chalet_types::I256 {
    // Beyond 128 bits the digits of a float are zeros anyway.
    let shift = if x.abs() < 1e38 { 0 } else { 128 };
    chalet_types::I256::from((x / 2f64.powi(shift)) as i128) << shift as u32
}

/// Linear interpolation between the two values nearest to a level of sorted values.
pub fn interpolated(sorted: &[f64], level: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let last = sorted.len() - 1;
    let index = (level * last as f64).clamp(0.0, last as f64);
    let left = index as usize;
    if left == last {
        return sorted[left];
    }
    sorted[left] * ((left + 1) as f64 - index) + sorted[left + 1] * (index - left as f64)
}

pub fn register(registry: &mut Registry) {
    fn all<F: AggregateFunction + 'static>(registry: &mut Registry, functions: impl IntoIterator<Item = F>) {
        functions.into_iter().for_each(|function| registry.add_aggregate(function));
    }
    all(registry, exact::Exact::ALL);
    all(registry, weighted::Weighted::ALL);
    all(registry, reservoir::Reservoir::ALL);
    all(registry, deterministic::Deterministic::ALL);
    all(registry, timing::Timing::ALL);
    all(registry, digest::Digest::ALL);
    all(registry, relative::Relative::ALL);
    all(registry, greenwald_khanna::GreenwaldKhanna::ALL);
}
