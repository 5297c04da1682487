//! `-Merge`: the result over all rows of the states that are its argument.

use chalet_base::{Result, ensure};
use chalet_columns::Vector;
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct Merge(Arc<dyn Aggregate>);

impl Merge {
    /// `inner` takes the arguments that the states were made of.
    pub fn around(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        Arc::new(Merge(inner))
    }
}

impl Aggregate for Merge {
    fn result_type(&self) -> DataType {
        self.0.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Merged(self.0.states()))
    }
}

struct Merged(Box<dyn States>);

impl Merged {
    fn take(&mut self, group: usize, mut bytes: &[u8]) -> Result<()> {
        self.0.deserialise(group, &mut bytes)?;
        ensure!(bytes.is_empty(), INCORRECT_DATA, "Aggregate state has {} trailing byte(s)", bytes.len());
        Ok(())
    }
}

impl States for Merged {
    fn grow(&mut self, n: usize) {
        self.0.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], mut rows: Range<usize>) -> Result<()> {
        let states = args[0].strings()?;
        rows.try_for_each(|row| self.take(group, states.get(row)))
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let mut states = groups.iter().zip(args[0].strings()?.iter());
        states.try_for_each(|(&group, state)| self.take(group as usize, state))
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        self.0.merge(&mut *other.0, from, into)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.0.serialise(group, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.0.deserialise(group, bytes)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.0.finish(n)
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
