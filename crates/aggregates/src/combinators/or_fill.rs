//! `-OrNull` and `-OrDefault`: NULL, or the default of the result's type, when no row was added.

use crate::resolve::can_be_nullable;
use chalet_base::Result;
use chalet_columns::{NullBuffer, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct OrFill {
    inner: Arc<dyn Aggregate>,
    result: DataType,
}

impl OrFill {
    pub fn or_null(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        let result = inner.result_type();
        let result = if can_be_nullable(&result) { result.nullable() } else { result };
        Arc::new(OrFill { inner, result })
    }

    pub fn or_default(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        let result = inner.result_type();
        Arc::new(OrFill { inner, result })
    }
}

impl Aggregate for OrFill {
    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn states(&self) -> Box<dyn States> {
        let filled = Vec::new();
        Box::new(FilledStates { inner: self.inner.states(), result: self.result.clone(), filled })
    }
}

/// One byte per group: was a row added?
struct FilledStates {
    inner: Box<dyn States>,
    result: DataType,
    filled: Vec<bool>,
}

impl FilledStates {
    /// Results, of which only those that are `filled` are of any rows.
    fn with_fillers(&self, results: Vector, filled: &[bool]) -> Vector {
        if filled.iter().all(|&filled| filled) {
            return results;
        }
        if self.result.is_nullable() {
            return results.with_nulls(Some(&NullBuffer::from(filled)));
        }
        let joined = Vector::concat(&[&results, &Vector::defaults(&self.result, 1)]);
        let n = filled.len() as u32;
        let rows = (0..n).zip(filled).map(|(row, &filled)| if filled { row } else { n });
        joined.gather(&rows.collect::<Vec<u32>>())
    }
}

impl States for FilledStates {
    fn grow(&mut self, n: usize) {
        self.inner.grow(n);
        if self.filled.len() < n {
            self.filled.resize(n, false);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.filled[group] |= !rows.is_empty();
        self.inner.add(group, args, rows)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        groups.iter().for_each(|&group| self.filled[group as usize] = true);
        self.inner.add_groups(groups, args)
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            self.filled[into as usize] |= other.filled[from as usize];
        }
        self.inner.merge(&mut *other.inner, from, into)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.inner.serialise(group, out);
        out.push(u8::from(self.filled[group]));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.inner.deserialise(group, bytes)?;
        self.filled[group] |= chalet_columns::wire::take_u8(bytes)? != 0;
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let result = self.inner.finish(n)?;
        Ok(self.with_fillers(result, &self.filled[..n]))
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let results = self.inner.running(args, from, ends)?;
        let before = self.filled[0];
        let filled: Vec<bool> = ends.iter().map(|&end| before || end > from).collect();
        self.filled[0] = filled.last().copied().unwrap_or(before);
        Ok(self.with_fillers(results, &filled))
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        let results = self.inner.running_frames(args, frames)?;
        let filled: Vec<bool> = frames.iter().map(|frame| !frame.is_empty()).collect();
        Ok(results.map(|results| self.with_fillers(results, &filled)))
    }

    fn memory(&self) -> usize {
        self.inner.memory() + self.filled.capacity()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
