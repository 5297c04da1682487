//! `quantilePrometheusHistogram`: quantiles of a histogram that is given by its buckets, as PromQL's `histogram_quantile` does it.

use crate::floats::{Floats, Unsigned};
use crate::quantile::levels::Levels;
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_f64, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const ONE: AggregateRecord = AggregateRecord {
    name: "quantilePrometheusHistogram",
    aliases: &["medianPrometheusHistogram"],
    summary: "The quantile of a histogram of which each row gives the upper bound of a bucket and the number of values up to it; \
              the greatest bound must be infinity.",
    syntax: "quantilePrometheusHistogram([level])(bucket_upper_bound, cumulative_count)",
    examples: &[Example {
        sql: "SELECT quantilePrometheusHistogram(b, c) FROM values('b Float64, c UInt64', (0, 6), (0.5, 11), (1, 14), (inf, 19))",
        result: "0.35",
    }],
    ..AggregateRecord::DEFAULT
};

const MANY: AggregateRecord = AggregateRecord {
    name: "quantilesPrometheusHistogram",
    summary: "Several quantiles at once, each as quantilePrometheusHistogram gives it.",
    syntax: "quantilesPrometheusHistogram(level1[, level2, ...])(bucket_upper_bound, cumulative_count)",
    examples: &[Example {
        sql: "SELECT quantilesPrometheusHistogram(0.25, 0.5)(b, c) FROM values('b Float64, c UInt64', (0, 6), (0.5, 11), (1, 14), \
              (inf, 19))",
        result: "[0,0.35]",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct Prometheus {
    record: &'static AggregateRecord,
    many: bool,
}

impl Prometheus {
    pub const ALL: [Prometheus; 2] =
        [Prometheus { record: &ONE, many: false }, Prometheus { record: &MANY, many: true }];
}

impl AggregateFunction for Prometheus {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let levels = Levels::new(name, self.many, parameters)?;
        crate::check::two_arguments(name, args)?;
        let (bound_type, count) = (&args[0].ty, &args[1].ty);
        let float = |ty: &DataType| matches!(ty, DataType::Float32 | DataType::Float64);
        ensure!(
            float(bound_type),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {bound_type} of argument for aggregate function {name}"
        );
        let unsigned = count.is_unsigned() && count.physical().width().is_some_and(|width| width <= 8);
        ensure!(
            float(count) || unsigned,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {count} of argument for aggregate function {name}"
        );
        Ok(bound(Buckets { ty: bound_type.clone(), unsigned }, levels))
    }
}

struct Buckets {
    ty: DataType,
    /// The counts are integers.
    unsigned: bool,
}

/// The bits of a bound, which is not NaN; adding 0 makes one zero of both.
fn key(bound: f64) -> u64 {
    (bound + 0.0).to_bits()
}

/// Counts by bound, in the order of bounds.
fn in_order(state: &HashMap<u64, Count>) -> Vec<(f64, Count)> {
    let mut all: Vec<(f64, Count)> =
        state.iter().map(|(bound, count)| (f64::from_bits(*bound), *count)).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    all
}

/// A sum of counts, in whichever of the two they are.
#[derive(Clone, Copy, Default)]
struct Count {
    integer: u64,
    float: f64,
}

impl Count {
    fn value(self, unsigned: bool) -> f64 {
        if unsigned { self.integer as f64 } else { self.float }
    }

    fn add(&mut self, other: Count) {
        self.integer = self.integer.wrapping_add(other.integer);
        self.float += other.float;
    }
}

impl Sketch for Buckets {
    /// By the bits of bounds.
    type State = HashMap<u64, Count>;
    type Input<'a> = (Floats<'a>, Floats<'a>, Unsigned<'a>);

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?, Unsigned::of(&args[1])))
    }

    fn add(&self, state: &mut Self::State, (bounds, floats, integers): &Self::Input<'_>, row: usize) {
        let bound = bounds.get(row);
        if bound.is_nan() {
            return;
        }
        let count = match self.unsigned {
            true => Count { integer: integers.get(row), float: 0.0 },
            false => Count { integer: 0, float: floats.get(row) },
        };
        state.entry(key(bound)).or_default().add(count);
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) {
        other.into_iter().for_each(|(bound, count)| state.entry(bound).or_default().add(count));
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for (bound, count) in in_order(state) {
            match self.ty {
                DataType::Float32 => out.extend((bound as f32).to_le_bytes()),
                _ => out.extend(bound.to_le_bytes()),
            }
            match self.unsigned {
                true => out.extend(count.integer.to_le_bytes()),
                false => out.extend(count.float.to_le_bytes()),
            }
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let mut state = HashMap::default();
        for _ in 0..take_count(bytes, 12)? {
            let bound = match self.ty {
                DataType::Float32 => f64::from(f32::from_le_bytes(take_array(bytes)?)),
                _ => take_f64(bytes)?,
            };
            let count = match self.unsigned {
                true => Count { integer: take_u64(bytes)?, float: 0.0 },
                false => Count { integer: 0, float: take_f64(bytes)? },
            };
            state.insert(key(bound), count);
        }
        Ok(state)
    }

    fn push(&self, state: &Self::State, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        if state.is_empty() {
            return push_float(0.0, out);
        }
        let buckets: Vec<(f64, f64)> =
            in_order(state).into_iter().map(|(bound, count)| (bound, count.value(self.unsigned))).collect();
        push_float(quantile(&buckets, level), out)
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        state.capacity() * (size_of::<(u64, Count)>() + 1)
    }
}

/// Interpolates in the bucket in which the rank of the level is; the first one begins at 0 unless its bound is below.
fn quantile(buckets: &[(f64, f64)], level: f64) -> f64 {
    let n = buckets.len();
    let (greatest, total) = buckets[n - 1];
    if n < 2 || greatest != f64::INFINITY || total == 0.0 {
        return f64::NAN;
    }
    let rank = total * level;
    let index = buckets.partition_point(|(_, count)| *count < rank).min(n - 1);
    let (bound, count) = buckets[index];
    if index == n - 1 {
        return buckets[n - 2].0;
    }
    let (low, before) = match index {
        0 if bound <= 0.0 => return bound,
        0 => (0.0, 0.0),
        _ => buckets[index - 1],
    };
    low + (bound - low) * ((rank - before) / (count - before))
}
