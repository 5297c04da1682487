//! `entropy`: Shannon's entropy of values, in bits.

use crate::check::{no_parameters, some_arguments};
use crate::key_counts::{Counts, TOGETHER};
use crate::uniq::keys::WideKeys;
use chalet_base::Result;
use chalet_columns::wire::{put_len, take_array, take_count, take_u64};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "entropy",
    summary: "The entropy of the values, or of combinations of several arguments, in bits.",
    syntax: "entropy(x[, ...])",
    examples: &[Example { sql: "SELECT entropy(number % 4) FROM numbers(8)", result: "2" }],
    ..AggregateRecord::DEFAULT
};

pub struct Entropy;

impl AggregateFunction for Entropy {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        some_arguments(RECORD.name, args)?;
        Ok(EachState::of(Frequencies(WideKeys::new(args))))
    }
}

struct Frequencies(WideKeys);

impl Frequencies {
    /// Counts rows, and calls `f` with how many the value of each has had so far; a NaN does not count.
    fn count(&self, state: &mut Counts, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(u64)) {
        let (doubles, singles) = match args {
            [Vector { data: Data::F64(values), .. }] => (Some(values), None),
            [Vector { data: Data::F32(values), .. }] => (None, Some(values)),
            _ => (None, None),
        };
        let at_once = if rows.len() < TOGETHER { 1 } else { TOGETHER };
        let (mut together, mut n) = ([0; TOGETHER], 0);
        self.0.for_each(args, rows, |row, key| {
            if doubles.is_some_and(|values| values[row].is_nan())
                || singles.is_some_and(|values| values[row].is_nan())
            {
                return;
            }
            together[n] = key;
            n += 1;
            if n == at_once {
                state.add_all(&together[..n], &mut f);
                n = 0;
            }
        });
        state.add_all(&together[..n], &mut f);
    }
}

impl RowAggregate for Frequencies {
    /// Rows by value.
    type State = Counts;
    type Input<'a> = &'a [Vector];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Self::State {
        Counts::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [Vector]> {
        Ok(args)
    }

    fn add(&self, state: &mut Self::State, args: &&[Vector], row: usize) -> Result<()> {
        self.count(state, args, row..row + 1, drop);
        Ok(())
    }

    fn add_rows(&self, state: &mut Self::State, args: &&[Vector], rows: Range<usize>) -> Result<()> {
        self.count(state, args, rows, drop);
        Ok(())
    }

    fn running(
        &self,
        state: &mut Self::State,
        args: &&[Vector],
        from: usize,
        ends: &[usize],
        out: &mut Builder,
    ) -> Result<()> {
        let results = out.natives::<f64>()?;
        let mut total: u64 = state.counts().sum();
        // The sum of n * log2(n) over the values' rows.
        let mut sum: f64 = state.counts().map(|n| n as f64 * (n as f64).log2()).sum();
        let starts = std::iter::once(&from).chain(ends);
        for (&start, &end) in starts.zip(ends) {
            self.count(state, args, start..end, |n| {
                let n = n as f64;
                total += 1;
                if n > 1.0 {
                    sum += n * n.log2() - (n - 1.0) * (n - 1.0).log2();
                }
            });
            let rows = total as f64;
            results.push(if state.len() < 2 { 0.0 } else { rows.log2() - sum / rows });
        }
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()> {
        other.iter().for_each(|(key, n)| {
            state.add(key, n);
        });
        Ok(())
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for (key, n) in state.iter() {
            out.extend(key.to_le_bytes());
            out.extend(n.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let n = take_count(bytes, 24)?;
        let mut counts = Counts::default();
        for _ in 0..n {
            let key = u128::from_le_bytes(take_array(bytes)?);
            counts.add(key, take_u64(bytes)?);
        }
        Ok(counts)
    }

    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()> {
        // In order of size, so that the result does not depend on the order of a hash table.
        let mut counts: Vec<u64> = state.counts().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = counts.iter().sum();
        let terms = counts.into_iter().map(|n| n as f64 / total as f64).map(|p| -p * p.log2());
        out.natives::<f64>()?.push(terms.fold(0.0, |sum, term| sum + term));
        Ok(())
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        state.memory()
    }
}
