//! States from a plain per-row description: for aggregates that need no loop of their own.

use crate::States;
use chalet_base::{Result, err};
use chalet_columns::{Builder, Vector};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// One state and what a row does to it.
pub trait RowAggregate: Send + Sync + 'static {
    type State: Send + 'static;

    /// The arguments of a block, looked at once so that rows need no dispatch. Must cost nothing per row.
    type Input<'a>;

    /// The type of the result of a group.
    fn result_type(&self) -> DataType;

    /// The state of a group without rows.
    fn empty(&self) -> Self::State;

    /// Looks at the arguments of a block. Fails when a vector is not of the type that was bound, which is a bug.
    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>>;

    /// Adds one row of a block to a state.
    fn add(&self, state: &mut Self::State, input: &Self::Input<'_>, row: usize) -> Result<()>;

    /// Does [`fetch`](Self::fetch) do something?
    const FETCHES: bool = false;

    /// Fetches into the cache what [`add`](Self::add) will read of a state for a row, which comes soon. Of states of many groups each
    /// row would wait for memory otherwise.
    #[inline(always)]
    fn fetch(&self, state: &Self::State, input: &Self::Input<'_>, row: usize) {
        let _ = (state, input, row);
    }

    /// Adds rows of a block to one state. Aggregates override it for which a loop is faster than its turns.
    fn add_rows(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        mut rows: Range<usize>,
    ) -> Result<()> {
        rows.try_for_each(|row| self.add(state, input, row))
    }

    /// `other`'s rows come after `state`'s.
    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()>;

    /// Appends the state as bytes, from which [`deserialise`](Self::deserialise) makes it again.
    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>);

    /// Takes a state from the front of `bytes`. Fails on bytes that no state has: they may come from a file.
    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State>;

    /// Appends the result of one group. The state stays usable: rows may follow.
    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()>;

    /// Appends the results of a state as it grows: rows up to each of `ends` are added before its result, the first from `from`.
    /// Aggregates whose results are made from those before override it; what they keep besides the state is made anew at each
    /// call, since a call asks for many results.
    fn running(
        &self,
        state: &mut Self::State,
        input: &Self::Input<'_>,
        from: usize,
        ends: &[usize],
        out: &mut Builder,
    ) -> Result<()> {
        let starts = std::iter::once(&from).chain(ends);
        for (&start, &end) in starts.zip(ends) {
            (start..end).try_for_each(|row| self.add(state, input, row))?;
            self.finish(state, out)?;
        }
        Ok(())
    }

    /// Bytes that a state holds beyond its own size.
    fn heap_memory(&self, state: &Self::State) -> usize {
        let _ = state;
        0
    }
}

/// Memory answers in the time of about so many rows.
const ROWS_AHEAD: usize = 8;

/// Makes an [`Aggregate`](crate::Aggregate) of a [`RowAggregate`].
pub struct EachState<A: RowAggregate>(Arc<A>);

impl<A: RowAggregate> EachState<A> {
    /// The aggregate, shared.
    pub fn of(aggregate: A) -> Arc<dyn crate::Aggregate> {
        Arc::new(EachState(Arc::new(aggregate)))
    }
}

impl<A: RowAggregate> crate::Aggregate for EachState<A> {
    fn result_type(&self) -> DataType {
        self.0.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(StateVec { aggregate: self.0.clone(), states: Vec::new() })
    }
}

struct StateVec<A: RowAggregate> {
    aggregate: Arc<A>,
    states: Vec<A::State>,
}

impl<A: RowAggregate> States for StateVec<A> {
    fn grow(&mut self, n: usize) {
        if self.states.len() < n {
            self.states.resize_with(n, || self.aggregate.empty());
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let input = self.aggregate.input(args)?;
        self.aggregate.add_rows(&mut self.states[group], &input, rows)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let input = self.aggregate.input(args)?;
        for (row, &group) in groups.iter().enumerate() {
            if A::FETCHES
                && let Some(&ahead) = groups.get(row + ROWS_AHEAD)
            {
                self.aggregate.fetch(&self.states[ahead as usize], &input, row + ROWS_AHEAD);
            }
            self.aggregate.add(&mut self.states[group as usize], &input, row)?;
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let state = std::mem::replace(&mut other.states[from as usize], self.aggregate.empty());
            self.aggregate.merge(&mut self.states[into as usize], state)?;
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.aggregate.serialise(&self.states[group], out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let state = self.aggregate.deserialise(bytes)?;
        self.aggregate.merge(&mut self.states[group], state)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let mut out = Builder::new(&self.aggregate.result_type());
        for state in &mut self.states[..n] {
            self.aggregate.finish(state, &mut out)?;
        }
        Ok(out.finish())
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let input = self.aggregate.input(args)?;
        let mut out = Builder::new(&self.aggregate.result_type());
        out.reserve(ends.len());
        self.aggregate.running(&mut self.states[0], &input, from, ends, &mut out)?;
        Ok(out.finish())
    }

    fn memory(&self) -> usize {
        let heap: usize = self.states.iter().map(|s| self.aggregate.heap_memory(s)).sum();
        self.states.capacity() * size_of::<A::State>() + heap
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The states as the concrete type of the same aggregate.
pub fn same_states<S: States + 'static>(other: &mut dyn States) -> Result<&mut S> {
    other
        .as_any()
        .downcast_mut()
        .ok_or_else(|| err!(LOGICAL_ERROR, "Aggregate states of different functions cannot be merged"))
}
