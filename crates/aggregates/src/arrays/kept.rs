//! `groupArrayLast` and `groupArraySample`: the last values, or some at random, of which states hold no more than results do.

use crate::kernel_rows::{KernelCodec, Layout};
use crate::pcg::Pcg32;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_bytes, put_len, take_bytes, take_count, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, Argument, EachState, RowAggregate};
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The last `limit` values.
pub fn last(limit: usize, arg: &Argument) -> Arc<dyn Aggregate> {
    keeping(limit, None, arg)
}

/// At most `limit` values chosen at random.
pub fn sample(limit: usize, seed: u64, arg: &Argument) -> Arc<dyn Aggregate> {
    keeping(limit, Some(Pcg32::new(seed)), arg)
}

fn keeping(limit: usize, random: Option<Pcg32>, arg: &Argument) -> Arc<dyn Aggregate> {
    let ty = arg.ty.clone();
    let (codec, in_states) = (RowCodec::new(&ty), KernelCodec::new(&ty, Layout::Node));
    EachState::of(Kept { ty, codec, in_states, limit, random })
}

struct Kept {
    ty: DataType,
    codec: RowCodec,
    in_states: KernelCodec,
    limit: usize,
    /// With what samples begin; none for the last values.
    random: Option<Pcg32>,
}

/// Values as rows of the codec.
struct Held {
    /// Of the last values a ring: value `i` stands at `i % limit`.
    values: Vec<Vec<u8>>,
    /// Values that came.
    total: u64,
    random: Option<Pcg32>,
}

impl Held {
    /// The place of the next value among as many as are kept, None where it is not.
    fn next_place(&mut self, limit: usize) -> Option<usize> {
        let before = self.total;
        self.total = before.saturating_add(1);
        if self.values.len() < limit {
            self.values.push(Vec::new());
            return Some(self.values.len() - 1);
        }
        match &mut self.random {
            None => Some((before % limit as u64) as usize),
            Some(random) => Some(random.below(self.total) as usize).filter(|&place| place < limit),
        }
    }
}

impl RowAggregate for Kept {
    type State = Held;
    type Input<'a> = &'a Vector;

    fn result_type(&self) -> DataType {
        self.ty.clone().array()
    }

    fn empty(&self) -> Held {
        Held { values: Vec::new(), total: 0, random: self.random.clone() }
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a Vector> {
        Ok(&args[0])
    }

    fn add(&self, state: &mut Held, values: &&Vector, row: usize) -> Result<()> {
        if let Some(place) = state.next_place(self.limit) {
            let held = &mut state.values[place];
            held.clear();
            self.codec.put(values, row, held);
        }
        Ok(())
    }

    fn add_rows(&self, state: &mut Held, values: &&Vector, mut rows: Range<usize>) -> Result<()> {
        if self.random.is_none() && rows.len() > self.limit {
            // All places are taken anew.
            let passed = rows.len() - self.limit;
            state.total = state.total.saturating_add(passed as u64);
            state.values.resize_with(self.limit, Vec::new);
            rows.start += passed;
        }
        rows.try_for_each(|row| self.add(state, values, row))
    }

    fn merge(&self, state: &mut Held, mut other: Held) -> Result<()> {
        if state.total == 0 {
            // Random numbers go on from where they are here.
            other.random = state.random.take();
            *state = other;
            return Ok(());
        }
        let limit = self.limit as u64;
        if state.random.is_some() && other.total > limit {
            if state.total <= limit {
                std::mem::swap(state, &mut other);
            } else {
                return self.mix(state, other);
            }
        }
        let passed = other.total - other.values.len() as u64;
        for value in other.values {
            if let Some(place) = state.next_place(self.limit) {
                state.values[place] = value;
            }
        }
        if state.random.is_none() {
            state.total = state.total.saturating_add(passed);
        }
        Ok(())
    }

    fn serialise(&self, state: &Held, out: &mut Vec<u8>) {
        put_len(state.values.len(), out);
        state.values.iter().for_each(|value| self.in_states.put_row(value, out));
        out.extend(state.total.to_le_bytes());
        if let Some(random) = &state.random {
            put_bytes(random.to_text().as_bytes(), out);
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Held> {
        let n = take_count(bytes, 1)?;
        ensure!(n <= self.limit, TOO_LARGE_ARRAY_SIZE, "Too large array size {n} (maximum: {})", self.limit);
        let mut state = self.empty();
        for _ in 0..n {
            let mut value = Vec::new();
            self.in_states.take_row(bytes, &mut value)?;
            state.values.push(value);
        }
        state.total = take_u64(bytes)?;
        ensure!(
            state.total == n as u64 || (state.total > n as u64 && n == self.limit),
            INCORRECT_DATA,
            "Aggregate state holds {n} values of {}",
            state.total
        );
        if state.random.is_some() {
            state.random = Some(Pcg32::from_text(take_bytes(bytes)?)?);
        }
        Ok(state)
    }

    fn finish(&self, state: &mut Held, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Kept values are not a list");
        };
        state.values.iter().try_for_each(|value| self.codec.take(&mut &value[..], &mut list.values))?;
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Held) -> usize {
        let values: usize = state.values.iter().map(Vec::capacity).sum();
        state.values.capacity() * size_of::<Vec<u8>>() + values
    }
}

impl Kept {
    /// Joins two full samples, as the kernel does: each place is taken by the other sample's value as often as rows are from there.
    fn mix(&self, state: &mut Held, other: Held) -> Result<()> {
        let Some(random) = &mut state.random else {
            bail!(LOGICAL_ERROR, "A sample has no random numbers");
        };
        for i in 1..state.values.len() {
            let place = random.below(i as u64 + 1) as usize;
            state.values.swap(i, place);
        }
        state.total = state.total.saturating_add(other.total);
        for (held, value) in state.values.iter_mut().zip(other.values) {
            if random.below(state.total) < other.total {
                *held = value;
            }
        }
        Ok(())
    }
}
