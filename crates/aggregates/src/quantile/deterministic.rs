//! `quantileDeterministic`: from a sample that a hash of the second argument chooses; exact below 8192 values.

use crate::floats::{Floats, Unsigned, put_float, take_float};
use crate::hashes::int_hash64;
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, interpolated, keep_sorted, push_float};
use chalet_base::Result;
use chalet_columns::wire::{take, take_array, take_u8, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const ONE: AggregateRecord = AggregateRecord {
    name: "quantileDeterministic",
    states_of: "quantileDeterministic",
    state_version: 1,
    aliases: &["medianDeterministic"],
    summary: "The value at a level, interpolated, from a sample of at most 8192 values that the second argument, an \
              integer such as an identifier, determines.",
    syntax: "quantileDeterministic(level)(x, determinator)",
    examples: &[Example {
        sql: "SELECT quantileDeterministic(0.5)(number, number) FROM numbers(8000)",
        result: "3999.5",
    }],
    ..AggregateRecord::DEFAULT
};

const MANY: AggregateRecord = AggregateRecord {
    name: "quantilesDeterministic",
    aliases: &[],
    summary: "Several quantiles at once, each as quantileDeterministic gives it.",
    syntax: "quantilesDeterministic(level1, level2, ...)(x, determinator)",
    examples: &[Example {
        sql: "SELECT quantilesDeterministic(0.5, 1)(number, number) FROM numbers(8000)",
        result: "[3999.5,7999]",
    }],
    ..ONE
};

/// Values in a full sample.
const SAMPLE: usize = 8192;

pub struct Deterministic {
    record: &'static AggregateRecord,
    many: bool,
}

impl Deterministic {
    pub const ALL: [Deterministic; 2] =
        [Deterministic { record: &ONE, many: false }, Deterministic { record: &MANY, many: true }];
}

impl AggregateFunction for Deterministic {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        check_value(name, args, Domain::NoDecimals, true)?;
        let levels = Levels::new(name, self.many, parameters)?;
        check_arguments(name, args, true)?;
        Ok(bound(Sampler { ty: interpolated_type(&args[0].ty), given: args[0].ty.clone() }, levels))
    }
}

struct Sampler {
    ty: DataType,
    /// Of the values.
    given: DataType,
}

/// Values whose hashes end in `degree` zeros.
#[derive(Default)]
struct Sample {
    values: Vec<(f64, u32)>,
    degree: u8,
    /// Values that were looked at.
    n_seen: u64,
    /// The first values in order, made for results.
    sorted: Vec<f64>,
}

impl Sample {
    fn good(&self, hash: u32) -> bool {
        u64::from(hash) & ((1 << self.degree) - 1) == 0
    }

    fn raise(&mut self, degree: u8) {
        self.degree = degree;
        let mask = (1u64 << degree) - 1;
        self.sorted.clear();
        self.values.retain(|(_, hash)| u64::from(*hash) & mask == 0);
    }

    fn insert(&mut self, x: f64, hash: u32) {
        if !self.good(hash) {
            return;
        }
        while self.values.len() >= SAMPLE && self.degree < 32 {
            self.raise(self.degree + 1);
            if !self.good(hash) {
                return;
            }
        }
        self.values.push((x, hash));
    }
}

impl Sampler {
    /// Bytes of a value, and of it and its hash side by side, aligned.
    fn widths(&self) -> (usize, usize) {
        let value = self.given.physical().width().unwrap_or(8);
        (value, (value.max(4) + 4).next_multiple_of(value.clamp(4, 16)))
    }
}

impl Sketch for Sampler {
    type State = Sample;
    type Input<'a> = (Floats<'a>, Unsigned<'a>);

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((Floats::of(&args[0], 1.0)?, Unsigned::of(&args[1])))
    }

    fn add(&self, state: &mut Sample, (values, determinators): &Self::Input<'_>, row: usize) {
        let x = values.get(row);
        if !x.is_nan() {
            state.n_seen += 1;
            state.insert(x, int_hash64(determinators.get(row)) as u32);
        }
    }

    fn merge(&self, state: &mut Sample, other: Sample) {
        state.n_seen = state.n_seen.wrapping_add(other.n_seen);
        if other.degree > state.degree {
            state.raise(other.degree);
        }
        other.values.into_iter().for_each(|(x, hash)| state.insert(x, hash));
    }

    fn serialise(&self, state: &Sample, out: &mut Vec<u8>) {
        out.extend((state.values.len() as u64).to_le_bytes());
        out.extend(state.n_seen.to_le_bytes());
        let (value, whole) = self.widths();
        for (x, hash) in &state.values {
            let start = out.len();
            put_float(*x, self.given.physical(), out);
            // As they lie in memory: behind a value that is narrower than a hash there is a gap, and behind a hash where it is wider.
            out.resize(start + value.max(4), 0);
            out.extend(hash.to_le_bytes());
            out.resize(start + whole, 0);
        }
        out.push(state.degree);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Sample> {
        let (n, n_seen) = (take_u64(bytes)?, take_u64(bytes)?);
        let (value, whole) = self.widths();
        let size = usize::try_from(n).ok().and_then(|n| n.checked_mul(whole));
        let pairs = take(bytes, size.unwrap_or(usize::MAX))?;
        let mut values = Vec::with_capacity(n as usize);
        for mut pair in pairs.chunks_exact(whole) {
            let x = take_float(self.given.physical(), &mut &pair[..])?;
            pair = &pair[value.max(4)..];
            values.push((x, u32::from_le_bytes(take_array(&mut pair)?)));
        }
        let degree = take_u8(bytes)?;
        chalet_base::ensure!(degree <= 32, CANNOT_READ_ALL_DATA, "Aggregate state has degree {degree}");
        Ok(Sample { values, degree, n_seen, sorted: Vec::new() })
    }

    fn settle(&self, state: &mut Sample, _: &[f64]) {
        keep_sorted(&mut state.sorted, state.values.len(), |at| state.values[at].0);
    }

    fn push(&self, state: &Sample, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        push_float(interpolated(&state.sorted, level), out)
    }

    fn heap_memory(&self, state: &Sample) -> usize {
        state.values.capacity() * 16 + state.sorted.capacity() * 8
    }
}
