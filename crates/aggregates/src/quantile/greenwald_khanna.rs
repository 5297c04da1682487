//! `quantileGK`: a summary of sorted samples whose ranks are known within bounds (Greenwald and Khanna).

use crate::quantile::levels::{Domain, Levels, check_arguments, check_value};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::{take, take_f64, take_u64};
use chalet_columns::{Builder, Native, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Physical, U256, Value};
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

const ONE: AggregateRecord = AggregateRecord {
    name: "quantileGK",
    aliases: &["medianGK"],
    summary: "The value at a level, whose rank is off by no more than one over the accuracy.",
    syntax: "quantileGK(accuracy[, level])(x)",
    examples: &[Example { sql: "SELECT quantileGK(100, 0.5)(number) FROM numbers(101)", result: "49" }],
    ..AggregateRecord::DEFAULT
};

const MANY: AggregateRecord = AggregateRecord {
    name: "quantilesGK",
    summary: "Several quantiles at once, each as quantileGK gives it.",
    syntax: "quantilesGK(accuracy, level1[, level2, ...])(x)",
    examples: &[Example {
        sql: "SELECT quantilesGK(100, 0.1, 0.9)(number) FROM numbers(101)",
        result: "[10,89]",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct GreenwaldKhanna {
    record: &'static AggregateRecord,
    many: bool,
}

impl GreenwaldKhanna {
    pub const ALL: [GreenwaldKhanna; 2] =
        [GreenwaldKhanna { record: &ONE, many: false }, GreenwaldKhanna { record: &MANY, many: true }];
}

impl AggregateFunction for GreenwaldKhanna {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        check_value(name, args, Domain::All, true)?;
        ensure!(
            !self.many || parameters.len() > 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function for calculation of multiple quantiles require at least one parameter"
        );
        let accuracy = match parameters.first() {
            None => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {name} requires accuracy parameter with integer type"
            ),
            Some(value @ (Value::UInt(_) | Value::Int(_))) => value.as_i64().unwrap_or(i64::MAX),
            Some(_) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregate function {name} requires accuracy parameter with integer type"
            ),
        };
        ensure!(
            accuracy > 0,
            BAD_ARGUMENTS,
            "Aggregate function {name} requires accuracy parameter with positive value but is {accuracy}"
        );
        let levels = Levels::new(name, self.many, &parameters[1..])?;
        check_arguments(name, args, false)?;
        let ty = &args[0].ty;
        let error = 1.0 / accuracy as f64;
        Ok(match ty.physical() {
            Physical::U8 => bound::<u8>(ty, levels, error),
            Physical::U16 => bound::<u16>(ty, levels, error),
            Physical::U32 => bound::<u32>(ty, levels, error),
            Physical::U64 => bound::<u64>(ty, levels, error),
            Physical::U128 => bound::<u128>(ty, levels, error),
            Physical::U256 => bound::<U256>(ty, levels, error),
            Physical::I8 => bound::<i8>(ty, levels, error),
            Physical::I16 => bound::<i16>(ty, levels, error),
            Physical::I32 => bound::<i32>(ty, levels, error),
            Physical::I64 => bound::<i64>(ty, levels, error),
            Physical::I128 => bound::<i128>(ty, levels, error),
            Physical::I256 => bound::<I256>(ty, levels, error),
            Physical::F32 => bound::<f32>(ty, levels, error),
            _ => bound::<f64>(ty, levels, error),
        })
    }
}

fn bound<T: Sample>(ty: &DataType, levels: Levels, error: f64) -> Arc<dyn Aggregate> {
    let mut order: Vec<usize> = (0..levels.of.len()).collect();
    order.sort_by(|&a, &b| levels.of[a].total_cmp(&levels.of[b]));
    EachState::of(Summaries::<T> { ty: ty.clone(), levels, order, error, samples: PhantomData })
}

/// A number that is sampled.
trait Sample: Native + PartialOrd {
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self>;

    /// NaN after all numbers.
    fn order(&self, other: &Self) -> Ordering {
        #[expect(clippy::eq_op, reason = "a value that is not itself is NaN")]
        self.partial_cmp(other).unwrap_or_else(|| (self != self).cmp(&(other != other)))
    }
}

macro_rules! samples {
    ($($ty:ty)*) => {$(
        impl Sample for $ty {
            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                Ok(<$ty>::from_le_bytes(chalet_columns::wire::take_array(bytes)?))
            }
        }
    )*};
}

samples!(u8 u16 u32 u64 u128 U256 i8 i16 i32 i64 i128 I256 f32 f64);

struct Summaries<T> {
    ty: DataType,
    levels: Levels,
    /// Levels from the least to the greatest.
    order: Vec<usize>,
    /// Of a rank, as a share of all values.
    error: f64,
    samples: PhantomData<T>,
}

/// Summaries of more samples are compressed before more values come.
const COMPRESS_FROM: usize = 10_000;

/// Values are collected before they are merged into the samples.
const HEAD: usize = 50_000;

#[derive(Clone, Copy)]
struct Stats<T> {
    value: T,
    /// The least rank minus that of the sample before.
    step: i64,
    /// The greatest rank minus the least.
    span: i64,
}

#[derive(Clone)]
struct Summary<T> {
    count: u64,
    compressed: bool,
    samples: Vec<Stats<T>>,
    head: Vec<T>,
}

impl<T: Sample> Summary<T> {
    fn take_head(&mut self, error: f64) {
        if self.head.is_empty() {
            return;
        }
        let mut head = std::mem::take(&mut self.head);
        head.sort_by(T::order);
        let mut merged = Vec::with_capacity(self.samples.len() + head.len());
        let mut rest = self.samples.iter().copied().peekable();
        for (i, &value) in head.iter().enumerate() {
            while let Some(sample) = rest.next_if(|sample| sample.value.order(&value).is_le()) {
                merged.push(sample);
            }
            self.count = self.count.wrapping_add(1);
            let outermost = merged.is_empty() || (rest.peek().is_none() && i == head.len() - 1);
            let span = if outermost { 0 } else { (2.0 * error * self.count as f64).floor() as i64 };
            merged.push(Stats { value, step: 1, span });
        }
        merged.extend(rest);
        self.samples = merged;
        head.clear();
        self.head = head;
    }

    fn compress(&mut self, error: f64) {
        if self.compressed {
            return;
        }
        self.take_head(error);
        self.drop_samples(2.0 * error * self.count as f64);
        self.compressed = true;
    }

    /// Joins neighbours from the back as long as the ranks of what they become are known well enough.
    fn drop_samples(&mut self, threshold: f64) {
        let [first, middle @ .., last] = &self.samples[..] else { return };
        let mut kept = Vec::new();
        let mut head = *last;
        for sample in middle.iter().rev() {
            if (sample.step.saturating_add(head.step).saturating_add(head.span) as f64) < threshold {
                head.step = head.step.saturating_add(sample.step);
            } else {
                kept.push(head);
                head = *sample;
            }
        }
        kept.push(head);
        if first.value.order(&head.value).is_le() {
            kept.push(*first);
        }
        kept.reverse();
        self.samples = kept;
    }

    fn merge(&mut self, mut other: Summary<T>, error: f64) {
        self.compress(error);
        other.compress(error);
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other;
            return;
        }
        let own_span = (2.0 * error * other.count as f64).floor() as i64;
        let other_span = (2.0 * error * self.count as f64).floor() as i64;
        let (own, others) = (&self.samples, &other.samples);
        let mut merged = Vec::with_capacity(own.len() + others.len());
        let (mut i, mut j) = (0, 0);
        // A sample between those of the other side may stand anywhere between them.
        while i < own.len() && j < others.len() {
            let (mut next, wider) = if own[i].value.order(&others[j].value).is_lt() {
                i += 1;
                (own[i - 1], if j > 0 { own_span } else { 0 })
            } else {
                j += 1;
                (others[j - 1], if i > 0 { other_span } else { 0 })
            };
            next.span = next.span.saturating_add(wider);
            merged.push(next);
        }
        merged.extend(&own[i..]);
        merged.extend(&others[j..]);
        self.samples = merged;
        self.count = self.count.wrapping_add(other.count);
        self.drop_samples(2.0 * error * self.count as f64);
    }

    /// The values at levels that ascend. The search for a level goes on where the one before it ended.
    fn values(&self, levels: impl Iterator<Item = f64>, error: f64) -> Vec<T> {
        let (Some(first), Some(last)) = (self.samples.first(), self.samples.last()) else {
            return levels.map(|_| T::default()).collect();
        };
        let widest = self.samples.iter().map(|s| s.span.saturating_add(s.step)).max().unwrap_or(0);
        let target = (widest / 2) as f64;
        let (mut index, mut least) = (0, first.step);
        let of_level = |level: f64| {
            if level <= error {
                return first.value;
            }
            if level >= 1.0 - error {
                return last.value;
            }
            let rank = (level * self.count as f64).ceil();
            while index + 1 < self.samples.len() {
                let sample = &self.samples[index];
                let greatest = least.saturating_add(sample.span) as f64;
                if greatest - target <= rank && rank <= least as f64 + target {
                    return sample.value;
                }
                index += 1;
                least = least.saturating_add(self.samples[index].step);
            }
            least = 0;
            last.value
        };
        levels.map(of_level).collect()
    }
}

impl<T: Sample> RowAggregate for Summaries<T> {
    type State = Summary<T>;
    type Input<'a> = &'a [T];

    fn result_type(&self) -> DataType {
        if self.levels.many { self.ty.clone().array() } else { self.ty.clone() }
    }

    fn empty(&self) -> Summary<T> {
        Summary { count: 0, compressed: false, samples: Vec::new(), head: Vec::new() }
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [T]> {
        args[0].values()
    }

    fn add(&self, state: &mut Summary<T>, values: &&[T], row: usize) -> Result<()> {
        state.head.push(values[row]);
        state.compressed = false;
        if state.head.len() >= HEAD {
            state.take_head(self.error);
            if state.samples.len() >= COMPRESS_FROM {
                state.compress(self.error);
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Summary<T>, other: Summary<T>) -> Result<()> {
        state.merge(other, self.error);
        Ok(())
    }

    fn serialise(&self, state: &Summary<T>, out: &mut Vec<u8>) {
        let mut state = state.clone();
        state.compress(self.error);
        out.extend((COMPRESS_FROM as u64).to_le_bytes());
        out.extend(self.error.to_le_bytes());
        out.extend(state.count.to_le_bytes());
        out.extend((state.samples.len() as u64).to_le_bytes());
        for sample in &state.samples {
            sample.value.put(out);
            out.extend(sample.step.to_le_bytes());
            out.extend(sample.span.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Summary<T>> {
        let threshold = take_u64(bytes)?;
        ensure!(
            threshold == COMPRESS_FROM as u64,
            INCORRECT_DATA,
            "The compress threshold {threshold} isn't the expected one {COMPRESS_FROM}"
        );
        take_f64(bytes)?;
        let count = take_u64(bytes)?;
        let n = usize::try_from(take_u64(bytes)?).unwrap_or(usize::MAX);
        // What is promised must be there before room is made for it.
        let width = size_of::<T>() + 16;
        let mut samples = take(bytes, n.saturating_mul(width))?;
        let sample = |_| {
            let value = T::take(&mut samples)?;
            let (step, span) = (take_u64(&mut samples)? as i64, take_u64(&mut samples)? as i64);
            Ok(Stats { value, step, span })
        };
        let samples = (0..n).map(sample).collect::<Result<_>>()?;
        Ok(Summary { count, compressed: true, samples, head: Vec::new() })
    }

    fn finish(&self, state: &mut Summary<T>, out: &mut Builder) -> Result<()> {
        state.compress(self.error);
        let sorted = self.order.iter().map(|&level| self.levels.of[level]);
        let values = state.values(sorted, self.error);
        if !self.levels.many {
            out.natives::<T>()?.push(values[0]);
            return Ok(());
        }
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Quantiles are not a list");
        };
        let to = list.values.natives::<T>()?;
        let start = to.len();
        to.resize(start + values.len(), T::default());
        for (&level, value) in self.order.iter().zip(values) {
            to[start + level] = value;
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Summary<T>) -> usize {
        state.samples.capacity() * size_of::<Stats<T>>() + state.head.capacity() * size_of::<T>()
    }
}
