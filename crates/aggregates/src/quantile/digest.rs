//! `quantileTDigest`: a t-digest: centroids that are small near the ends and large in the middle.

use crate::floats::{Floats, Unsigned};
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value};
use crate::quantile::{Sketch, bound, push_float};
use chalet_base::Result;
use chalet_columns::wire::{put_len, take_array, take_count};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// How much a centroid may hold near the middle, as a share of all.
const EPSILON: f32 = 0.01;
/// Centroids in all, and centroids that wait to be merged.
const MAX: usize = 2048;

macro_rules! records {
    ($($one:ident $many:ident: $weighted:literal, $name:literal, $median:literal, $names:literal, $args:literal,
        $summary:literal;)*) => {
        $(
            const $one: AggregateRecord = AggregateRecord {
                name: $name,
                states_of: $name,
                aliases: &[$median],
                summary: $summary,
                syntax: concat!($name, "(level)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $name, "(0.5)", $args,
                        " FROM (SELECT number AS x, 1 AS w FROM numbers(1000))"),
                    result: "499.5",
                }],
                ..AggregateRecord::DEFAULT
            };
            const $many: AggregateRecord = AggregateRecord {
                name: $names,
                states_of: $name,
                summary: concat!("Several quantiles at once, each as ", $name, " gives it."),
                syntax: concat!($names, "(level1, level2, ...)", $args),
                examples: &[Example {
                    sql: concat!("SELECT ", $names, "(0.5, 1)", $args,
                        " FROM (SELECT number AS x, 1 AS w FROM numbers(1000))"),
                    result: "[499.5,999]",
                }],
                ..AggregateRecord::DEFAULT
            };
        )*
        impl Digest {
            pub const ALL: [Digest; 4] = [$(
                Digest { record: &$one, many: false, weighted: $weighted },
                Digest { record: &$many, many: true, weighted: $weighted },
            )*];
        }
    };
}

records! {
    PLAIN PLAIN_MANY: false, "quantileTDigest", "medianTDigest", "quantilesTDigest", "(x)",
        "The value at a level, approximately, by the t-digest algorithm.";
    WEIGHTED WEIGHTED_MANY: true, "quantileTDigestWeighted", "medianTDigestWeighted", "quantilesTDigestWeighted",
        "(x, w)", "The value at a level, approximately, by the t-digest algorithm, each value with a weight.";
}

pub struct Digest {
    record: &'static AggregateRecord,
    many: bool,
    weighted: bool,
}

impl AggregateFunction for Digest {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        check_value(name, args, Domain::Narrow, true)?;
        let levels = Levels::new(name, self.many, parameters)?;
        check_arguments(name, args, self.weighted)?;
        let ty = &args[0].ty;
        let result = if ty.is_integer() || ty.is_float() { DataType::Float32 } else { ty.clone() };
        Ok(bound(TDigest { result }, levels))
    }
}

struct TDigest {
    result: DataType,
}

#[derive(Clone, Copy)]
struct Centroid {
    mean: f32,
    count: f32,
}

#[derive(Default)]
struct State {
    centroids: Vec<Centroid>,
    count: f32,
    unmerged: usize,
}

impl State {
    fn insert(&mut self, mean: f32, count: f32) {
        if count == 0.0 || mean.is_nan() {
            return;
        }
        self.centroids.push(Centroid { mean, count });
        self.count += count;
        self.unmerged += 1;
        if self.unmerged > MAX {
            self.compress();
        }
    }

    /// Merges neighbours as long as the result is not too heavy for its place.
    fn compress(&mut self) {
        if self.unmerged == 0 && self.centroids.len() <= MAX {
            return;
        }
        self.centroids.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        if self.centroids.len() > 3 {
            let limit = self.count * EPSILON * 4.0;
            // What lies before the centroid at `kept`.
            let mut sum = 0f64;
            let mut kept = 0;
            let mut left = self.centroids[0];
            for i in 1..self.centroids.len() {
                let right = self.centroids[i];
                let level = |place: f64| {
                    let q = (place / f64::from(self.count)) as f32;
                    q * (1.0 - q)
                };
                let at_left = level(sum + f64::from(left.count * 0.5));
                let at_right = level(sum + f64::from(left.count) + f64::from(right.count * 0.5));
                let most = limit * at_left.min(at_right);
                let finite = (left.mean.is_finite() && right.mean.is_finite()) || left.mean == right.mean;
                if left.count + right.count <= most && finite {
                    left.count += right.count;
                    if right.mean != left.mean {
                        left.mean += right.count * (right.mean - left.mean) / left.count;
                    }
                    self.centroids[kept] = left;
                } else {
                    sum += f64::from(self.centroids[kept].count);
                    kept += 1;
                    self.centroids[kept] = right;
                    left = right;
                }
            }
            self.count = (sum + f64::from(left.count)) as f32;
            self.centroids.truncate(kept + 1);
        }
        self.unmerged = 0;
        if self.centroids.len() > MAX {
            self.compress_bluntly();
        }
    }

    /// Merges runs of centroids of equal length.
    fn compress_bluntly(&mut self) {
        let batch = self.centroids.len().div_ceil(MAX);
        let merged = self.centroids.chunks(batch).map(|run| {
            let count: f32 = run.iter().map(|c| c.count).sum();
            let mean = run.iter().map(|c| c.mean * c.count).sum::<f32>() / count;
            Centroid { mean, count }
        });
        self.centroids = merged.collect();
        self.count = self.centroids.iter().map(|c| c.count).sum();
    }

    fn quantile(&self, level: f64) -> f32 {
        let Some(first) = self.centroids.first() else {
            return f32::NAN;
        };
        let place = level * f64::from(self.count);
        let (mut before_place, mut before) = (0.0, *first);
        let mut sum = 0f64;
        for &centroid in &self.centroids {
            let middle = sum + f64::from(centroid.count) * 0.5;
            if middle >= place {
                // A single value stands at one point, not over a range.
                let left = if before.count == 1.0 { before_place + 0.5 } else { before_place };
                let right = if centroid.count == 1.0 { middle - 0.5 } else { middle };
                return if place <= left {
                    before.mean
                } else if place >= right {
                    centroid.mean
                } else {
                    // The kernel rounds the places to Float32 first.
                    let [x, left, right] = [place, left, right].map(|x| f64::from(x as f32));
                    let share = (x - left) / (right - left);
                    // Both means in their own weights, so that infinities survive.
                    ((1.0 - share) * f64::from(before.mean) + share * f64::from(centroid.mean)) as f32
                };
            }
            sum += f64::from(centroid.count);
            before = centroid;
            before_place = middle;
        }
        before.mean
    }
}

impl Sketch for TDigest {
    type State = State;
    type Input<'a> = (Floats<'a>, Option<Unsigned<'a>>);

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((Floats::of(&args[0], 1.0)?, args.get(1).map(Unsigned::of)))
    }

    #[inline]
    fn add(&self, state: &mut State, (values, weights): &Self::Input<'_>, row: usize) {
        state.insert(values.get(row) as f32, weights.map_or(1.0, |weights| weights.get(row) as f32));
    }

    fn merge(&self, state: &mut State, other: State) {
        other.centroids.into_iter().for_each(|c| state.insert(c.mean, c.count));
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        put_len(state.centroids.len(), out);
        for centroid in &state.centroids {
            out.extend(centroid.mean.to_le_bytes());
            out.extend(centroid.count.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut state = State::default();
        for _ in 0..take_count(bytes, 8)? {
            let mean = f32::from_le_bytes(take_array(bytes)?);
            state.insert(mean, f32::from_le_bytes(take_array(bytes)?));
        }
        Ok(state)
    }

    fn settle(&self, state: &mut State, _: &[f64]) {
        state.compress();
    }

    fn push(&self, state: &State, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        push_float(state.quantile(level).into(), out)
    }

    fn heap_memory(&self, state: &State) -> usize {
        state.centroids.capacity() * size_of::<Centroid>()
    }
}
