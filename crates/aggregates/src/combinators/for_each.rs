//! `-ForEach`: aggregates arrays position by position; the result is as long as the longest array.

use crate::collect::MAX_ARRAY_SIZE;
use crate::combinators::array::flatten;
use chalet_base::{Result, ensure};
use chalet_columns::wire::take_u64;
use chalet_columns::{Data, List, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Positions of one group, as in the kernel.
const MAX_POSITIONS: usize = 0xFF_FFFF;

pub struct ForEach(Arc<dyn Aggregate>);

impl ForEach {
    pub fn around(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        Arc::new(ForEach(inner))
    }
}

impl Aggregate for ForEach {
    fn result_type(&self) -> DataType {
        self.0.result_type().array()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(PositionStates { inner: self.0.states(), n_inner: 0, positions: Vec::new() })
    }
}

/// Each position of each group is a group of the inner states.
struct PositionStates {
    inner: Box<dyn States>,
    n_inner: usize,
    positions: Vec<Vec<u32>>,
}

impl PositionStates {
    /// Makes at least `n` positions in a group.
    fn widen(&mut self, group: usize, n: usize) -> Result<()> {
        ensure!(
            n <= MAX_POSITIONS,
            TOO_LARGE_ARRAY_SIZE,
            "Suspiciously large array size ({n}) in -ForEach aggregate function"
        );
        while self.positions[group].len() < n {
            self.positions[group].push(self.n_inner as u32);
            self.n_inner += 1;
        }
        Ok(())
    }

    fn spread(&mut self, groups: impl Iterator<Item = usize>, lengths: &[usize]) -> Result<Vec<u32>> {
        let mut inner_groups = Vec::with_capacity(lengths.iter().sum());
        for (group, &len) in groups.zip(lengths) {
            self.widen(group, len)?;
            inner_groups.extend_from_slice(&self.positions[group][..len]);
        }
        self.inner.grow(self.n_inner);
        Ok(inner_groups)
    }
}

impl States for PositionStates {
    fn grow(&mut self, n: usize) {
        if self.positions.len() < n {
            self.positions.resize(n, Vec::new());
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (elements, lengths) = flatten(args, rows)?;
        let groups = self.spread(std::iter::repeat(group), &lengths)?;
        self.inner.add_groups(&groups, &elements)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (elements, lengths) = flatten(args, 0..groups.len())?;
        let groups = self.spread(groups.iter().map(|&g| g as usize), &lengths)?;
        self.inner.add_groups(&groups, &elements)
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let (mut inner_from, mut inner_into) = (Vec::new(), Vec::new());
        for (&from, &into) in from.iter().zip(into) {
            let theirs = &other.positions[from as usize];
            self.widen(into as usize, theirs.len())?;
            inner_from.extend_from_slice(theirs);
            inner_into.extend_from_slice(&self.positions[into as usize][..theirs.len()]);
        }
        self.inner.grow(self.n_inner);
        self.inner.merge(&mut *other.inner, &inner_from, &inner_into)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        out.extend((self.positions[group].len() as u64).to_le_bytes());
        self.positions[group].iter().for_each(|&inner| self.inner.serialise(inner as usize, out));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let n = usize::try_from(take_u64(bytes)?).unwrap_or(usize::MAX);
        ensure!(
            n <= MAX_ARRAY_SIZE,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size {n} (maximum: {MAX_ARRAY_SIZE})"
        );
        self.widen(group, n)?;
        self.inner.grow(self.n_inner);
        for position in 0..n {
            self.inner.deserialise(self.positions[group][position] as usize, bytes)?;
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let values = self.inner.finish(self.n_inner)?;
        let mut offsets = vec![0i64];
        let mut rows: Vec<u32> = Vec::new();
        for positions in &self.positions[..n] {
            rows.extend_from_slice(positions);
            offsets.push(rows.len() as i64);
        }
        let values = Arc::new(values.gather(&rows));
        Ok(Data::List(List { offsets: offsets.into(), values }).into())
    }

    fn memory(&self) -> usize {
        self.inner.memory() + self.positions.capacity() * size_of::<Vec<u32>>() + self.n_inner * 4
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
