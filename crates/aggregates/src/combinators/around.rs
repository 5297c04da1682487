//! States of a combinator that changes which rows its function sees, or what its result is, and keeps no more than the
//! function's own states.

use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::States;
use chalet_function_api::states::same_states;
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;

/// What a combinator does otherwise than the function inside.
pub trait Change: Send + 'static {
    /// As [`States::add`], to the states of the function inside.
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()>;

    /// As [`States::add_groups`].
    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()>;

    /// As [`States::finish`].
    fn finish(inner: &mut dyn States, n: usize) -> Result<Vector> {
        inner.finish(n)
    }

    /// As [`States::running`].
    fn running(inner: &mut dyn States, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let starts = std::iter::once(&from).chain(ends);
        let results: Result<Vec<Vector>> = starts
            .zip(ends)
            .map(|(&start, &end)| {
                Self::add(inner, 0, args, start..end)?;
                Self::finish(inner, 1)
            })
            .collect();
        Ok(Vector::concat(&results?.iter().collect::<Vec<_>>()))
    }

    /// As [`States::running_frames`].
    fn running_frames(
        inner: &mut dyn States,
        args: &[Vector],
        frames: &[Range<usize>],
    ) -> Result<Option<Vector>> {
        let _ = (inner, args, frames);
        Ok(None)
    }
}

/// The states of a function with a change.
pub struct Around<C>(Box<dyn States>, PhantomData<C>);

impl<C: Change> Around<C> {
    pub fn of(inner: Box<dyn States>) -> Box<dyn States> {
        Box::new(Around::<C>(inner, PhantomData))
    }
}

impl<C: Change> States for Around<C> {
    fn grow(&mut self, n: usize) {
        self.0.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        C::add(&mut *self.0, group, args, rows)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        C::add_groups(&mut *self.0, groups, args)
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        self.0.merge(&mut *other.0, from, into)
    }

    fn is_divisible(&self) -> bool {
        self.0.is_divisible()
    }

    fn divide(&mut self, group: usize, parts: usize) -> Option<Vec<Box<dyn States>>> {
        Some(self.0.divide(group, parts)?.into_iter().map(Around::<C>::of).collect())
    }

    fn unite(&mut self, group: usize, parts: &mut [&mut (dyn States + 'static)]) -> Result<()> {
        let inner = parts.iter_mut().map(|part| Ok(&mut *same_states::<Self>(*part)?.0));
        self.0.unite(group, &mut inner.collect::<Result<Vec<_>>>()?)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.0.serialise(group, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.0.deserialise(group, bytes)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        C::finish(&mut *self.0, n)
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        C::running(&mut *self.0, args, from, ends)
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        C::running_frames(&mut *self.0, args, frames)
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
