//! `-State`: the states themselves, as bytes, instead of their results.

use chalet_base::Result;
use chalet_columns::{StringBuilder, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct State {
    inner: Arc<dyn Aggregate>,
    ty: DataType,
}

impl State {
    /// `ty` is the type of the states of `inner`.
    pub fn around(inner: Arc<dyn Aggregate>, ty: DataType) -> Arc<dyn Aggregate> {
        Arc::new(State { inner, ty })
    }
}

impl Aggregate for State {
    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Serialised(self.inner.states()))
    }
}

struct Serialised(Box<dyn States>);

impl States for Serialised {
    fn grow(&mut self, n: usize) {
        self.0.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.0.add(group, args, rows)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.0.add_groups(groups, args)
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
        self.0.grow(n);
        let mut out = StringBuilder::with_capacity(n);
        for group in 0..n {
            out.push_with(|bytes| self.0.serialise(group, bytes));
        }
        Ok(out.finish().into())
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
