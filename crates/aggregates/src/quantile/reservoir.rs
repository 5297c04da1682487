//! `quantile`: from a random sample of 8192 values, interpolated; exact for fewer. The random numbers are always the
//! same ones, the kernel's.

use crate::floats::{Floats, put_float, take_float};
use crate::pcg::Pcg32;
use crate::quantile::levels::{Domain, Levels, check_arguments, check_value, interpolated_type};
use crate::quantile::{Sketch, bound, interpolated, keep_sorted, push_float};
use chalet_base::Result;
use chalet_columns::wire::{put_bytes, take_bytes, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Physical, Value};
use std::sync::Arc;

const ONE: AggregateRecord = AggregateRecord {
    name: "quantile",
    states_of: "quantile",
    aliases: &["median"],
    summary: "The value at a level (0.5 if not given), interpolated, from a random sample of 8192 values.",
    syntax: "quantile(level)(x)",
    examples: &[Example {
        sql: "SELECT quantile(x), quantile(0.9)(x) FROM values('x Int32', 1, 2, 4, 9, 3, 7)",
        result: "3.5\t8",
    }],
    ..AggregateRecord::DEFAULT
};

const MANY: AggregateRecord = AggregateRecord {
    name: "quantiles",
    aliases: &[],
    summary: "The values at several levels, interpolated, from a random sample of 8192 values.",
    syntax: "quantiles(level1, level2, ...)(x)",
    examples: &[Example {
        sql: "SELECT quantiles(0, 0.25, 0.5, 1)(x) FROM values('x Int32', 1, 2, 4, 9, 3, 7)",
        result: "[1,2.25,3.5,9]",
    }],
    ..ONE
};

/// Values in a full sample.
const SAMPLE: usize = 8192;

pub struct Reservoir {
    record: &'static AggregateRecord,
    many: bool,
}

impl Reservoir {
    pub const ALL: [Reservoir; 2] =
        [Reservoir { record: &ONE, many: false }, Reservoir { record: &MANY, many: true }];
}

impl AggregateFunction for Reservoir {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        check_value(self.record.name, args, Domain::All, false)?;
        let levels = Levels::new(self.record.name, self.many, parameters)?;
        check_arguments(self.record.name, args, false)?;
        Ok(bound(Sampler { ty: interpolated_type(&args[0].ty), values: args[0].ty.physical() }, levels))
    }
}

struct Sampler {
    ty: DataType,
    /// Of the argument: what states hold values as.
    values: Physical,
}

#[derive(Default)]
struct Sample {
    values: Vec<f64>,
    /// Values seen.
    total: u64,
    random: Pcg32,
    /// The first of `values` in order, made for results; they themselves must stay where they are.
    sorted: Vec<f64>,
}

impl Sample {
    #[inline]
    fn insert(&mut self, x: f64) {
        if x.is_nan() {
            return;
        }
        self.total += 1;
        if self.values.len() < SAMPLE {
            self.values.push(x);
            return;
        }
        let place = self.random.below(self.total) as usize;
        if place < SAMPLE {
            self.values[place] = x;
            self.sorted.clear();
        }
    }
}

impl Sketch for Sampler {
    type State = Sample;
    type Input<'a> = Floats<'a>;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Floats<'a>> {
        Floats::of(&args[0], 1.0)
    }

    #[inline]
    fn add(&self, state: &mut Sample, input: &Floats, row: usize) {
        state.insert(input.get(row));
    }

    fn merge(&self, state: &mut Sample, mut other: Sample) {
        if other.total <= SAMPLE as u64 {
            other.values.into_iter().for_each(|x| state.insert(x));
        } else if state.total <= SAMPLE as u64 {
            std::mem::swap(&mut state.values, &mut other.values);
            state.sorted.clear();
            state.total = other.total;
            other.values.into_iter().for_each(|x| state.insert(x));
        } else {
            state.total += other.total;
            state.sorted.clear();
            let step = state.total as f64 / other.total as f64;
            let mut place = 0.0;
            while (place as usize) < SAMPLE {
                state.values[place as usize] = other.values[place as usize];
                place += step;
            }
        }
    }

    fn serialise(&self, state: &Sample, out: &mut Vec<u8>) {
        out.extend((SAMPLE as u64).to_le_bytes());
        out.extend(state.total.to_le_bytes());
        put_bytes(state.random.to_text().as_bytes(), out);
        state.values.iter().for_each(|&x| put_float(x, self.values, out));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Sample> {
        let size = take_u64(bytes)?;
        chalet_base::ensure!(
            size == SAMPLE as u64,
            INCORRECT_DATA,
            "Aggregate state has a sample of {size} values"
        );
        let total = take_u64(bytes)?;
        let random = Pcg32::from_text(take_bytes(bytes)?)?;
        let n = total.min(size);
        let values = (0..n).map(|_| take_float(self.values, bytes)).collect::<Result<Vec<f64>>>()?;
        Ok(Sample { values, total, random, sorted: Vec::new() })
    }

    fn settle(&self, state: &mut Sample, _: &[f64]) {
        keep_sorted(&mut state.sorted, state.values.len(), |at| state.values[at]);
    }

    fn push(&self, state: &Sample, level: f64, _: bool, out: &mut Builder) -> Result<()> {
        push_float(interpolated(&state.sorted, level), out)
    }

    fn heap_memory(&self, state: &Sample) -> usize {
        (state.values.capacity() + state.sorted.capacity()) * 8
    }
}
