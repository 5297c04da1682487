//! The frame of the approximate counts: words of rows go into a sketch per group.

use crate::uniq::words::Words;
use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Counts different words.
pub trait Sketch: Send + Sized + 'static {
    /// What the parameters and the argument types decide.
    type Plan: Clone + Send + Sync + 'static;

    fn empty(plan: &Self::Plan) -> Self;
    fn insert(&mut self, plan: &Self::Plan, word: u64);
    fn merge(&mut self, plan: &Self::Plan, other: Self);
    fn count(&mut self, plan: &Self::Plan) -> u64;
    fn serialise(&self, plan: &Self::Plan, out: &mut Vec<u8>);
    fn deserialise(plan: &Self::Plan, bytes: &mut &[u8]) -> Result<Self>;
    fn heap(&self) -> usize;
}

pub fn counting<S: Sketch>(plan: S::Plan, words: Words) -> Arc<dyn Aggregate> {
    Arc::new(Counting::<S> { plan, words })
}

struct Counting<S: Sketch> {
    plan: S::Plan,
    words: Words,
}

impl<S: Sketch> Aggregate for Counting<S> {
    fn result_type(&self) -> DataType {
        DataType::UInt64
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Sketches::<S> { plan: self.plan.clone(), words: self.words.clone(), sketches: Vec::new() })
    }
}

struct Sketches<S: Sketch> {
    plan: S::Plan,
    words: Words,
    sketches: Vec<S>,
}

impl<S: Sketch> States for Sketches<S> {
    fn grow(&mut self, n: usize) {
        if self.sketches.len() < n {
            self.sketches.resize_with(n, || S::empty(&self.plan));
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (plan, sketch) = (&self.plan, &mut self.sketches[group]);
        self.words.for_each(args, rows, |_, word| sketch.insert(plan, word));
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (plan, sketches) = (&self.plan, &mut self.sketches);
        self.words.for_each(args, 0..groups.len(), |row, word| {
            sketches[groups[row] as usize].insert(plan, word);
        });
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let sketch = std::mem::replace(&mut other.sketches[from as usize], S::empty(&self.plan));
            self.sketches[into as usize].merge(&self.plan, sketch);
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.sketches[group].serialise(&self.plan, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let sketch = S::deserialise(&self.plan, bytes)?;
        self.sketches[group].merge(&self.plan, sketch);
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let counts = self.sketches[..n].iter_mut().map(|sketch| sketch.count(&self.plan));
        Ok(counts.collect::<Vec<u64>>().into())
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let (plan, sketch) = (&self.plan, &mut self.sketches[0]);
        let mut counts = Vec::with_capacity(ends.len());
        let last = ends.last().copied().unwrap_or(from);
        self.words.for_each(args, from..last, |row, word| {
            while ends.get(counts.len()).is_some_and(|&end| end <= row) {
                counts.push(sketch.count(plan));
            }
            sketch.insert(plan, word);
        });
        counts.resize(ends.len(), sketch.count(plan));
        Ok(counts.into())
    }

    fn memory(&self) -> usize {
        self.sketches.capacity() * size_of::<S>() + self.sketches.iter().map(S::heap).sum::<usize>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
