//! `entropy`: Shannon's entropy of values, in bits.

use crate::check::{no_parameters, some_arguments};
use crate::kernel_rows::{KernelKeys, is_number};
use crate::key_counts::{Counts, Key, TOGETHER, Wide};
use crate::uniq::keys::NarrowKeys;
use chalet_base::Result;
use chalet_columns::wire::{put_len, take, take_array, take_count, take_u64};
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
        Ok(match NarrowKeys::new(args) {
            Some(keys) if is_number(&args[0].ty) => EachState::of(Frequencies(keys)),
            _ => {
                let is_plain = matches!(args, [one] if matches!(one.ty, DataType::Int128 | DataType::Uuid | DataType::IPv6));
                EachState::of(Frequencies(KernelKeys::new(args, is_plain)))
            }
        })
    }
}

/// How rows become keys.
trait Keys: Send + Sync + 'static {
    type Key: Key;

    /// Calls `f` with the key of each row.
    fn each(&self, args: &[Vector], rows: Range<usize>, f: impl FnMut(Self::Key));

    /// Are keys so cheap that making them twice costs less than waiting for the table? Those of strings are not: grouped by 10 values
    /// their entropy took 1.4 times as long (2026-11-26), where that of many numbers took 0.8.
    const CHEAP: bool;

    /// A key as the kernel's states have it.
    fn put(&self, key: Self::Key, out: &mut Vec<u8>);

    fn take(&self, bytes: &mut &[u8]) -> Result<Self::Key>;
}

impl Keys for NarrowKeys {
    type Key = u64;
    const CHEAP: bool = true;

    fn each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(u64)) {
        // A NaN does not count.
        match &args[0].data {
            Data::F64(values) => values[rows].iter().filter(|x| !x.is_nan()).for_each(|x| f(x.to_bits())),
            Data::F32(values) => {
                values[rows].iter().filter(|x| !x.is_nan()).for_each(|x| f(x.to_bits().into()));
            }
            _ => self.for_each(&args[0], rows, f),
        }
    }

    fn put(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&key.to_le_bytes()[..self.width()]);
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<u64> {
        let mut key = [0; 8];
        key[..self.width()].copy_from_slice(take(bytes, self.width())?);
        Ok(u64::from_le_bytes(key))
    }
}

// What is no number of up to 64 bits has the keys that the kernel has.
impl Keys for KernelKeys {
    type Key = Wide;
    const CHEAP: bool = false;

    fn each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(Wide)) {
        self.for_each(args, rows, |_, key| f(key.into()));
    }

    fn put(&self, key: Wide, out: &mut Vec<u8>) {
        out.extend(u128::from(key).to_le_bytes());
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<Wide> {
        Ok(u128::from_le_bytes(take_array(bytes)?).into())
    }
}

struct Frequencies<W>(W);

impl<W: Keys> Frequencies<W> {
    /// Counts rows, and calls `f` with how many the value of each has had so far.
    fn count(&self, state: &mut Counts<W::Key>, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(u64)) {
        let at_once = if rows.len() < TOGETHER { 1 } else { TOGETHER };
        let (mut together, mut n) = ([W::Key::default(); TOGETHER], 0);
        let mut count = |_, count: &mut u64| {
            *count += 1;
            f(*count);
        };
        self.0.each(args, rows, |key| {
            together[n] = key;
            n += 1;
            if n == at_once {
                state.entries(&together[..n], &mut count);
                n = 0;
            }
        });
        state.entries(&together[..n], count);
    }
}

impl<W: Keys> RowAggregate for Frequencies<W> {
    /// Rows by value.
    type State = Counts<W::Key>;
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
        self.0.each(args, row..row + 1, |key| *state.entry(key) += 1);
        Ok(())
    }

    const FETCHES: bool = W::CHEAP;

    #[inline]
    fn fetch(&self, state: &Self::State, args: &&[Vector], row: usize) {
        self.0.each(args, row..row + 1, |key| state.fetch(key));
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
        state.merge(other);
        Ok(())
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for (key, n) in state.iter() {
            self.0.put(key, out);
            out.extend(n.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let n = take_count(bytes, 9)?;
        let mut counts = Counts::default();
        for _ in 0..n {
            let key = self.0.take(bytes)?;
            counts.add(key, take_u64(bytes)?);
        }
        Ok(counts)
    }

    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()> {
        // In order of size, so that the result does not depend on the order of a hash table.
        let mut counts: Vec<u64> = state.counts().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = counts.iter().sum();
        // Many values have the same count.
        let mut sum = 0.0;
        for same in counts.chunk_by(|a, b| a == b) {
            let share = same[0] as f64 / total as f64;
            let term = -share * share.log2();
            same.iter().for_each(|_| sum += term);
        }
        out.natives::<f64>()?.push(sum);
        Ok(())
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        state.memory()
    }
}
