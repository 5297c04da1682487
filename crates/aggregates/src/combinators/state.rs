//! `-State`: the states themselves, as bytes, instead of their results.

use super::around::{Around, Change};
use chalet_base::Result;
use chalet_columns::{StringBuilder, Vector};
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
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
        Around::<Serialised>::of(self.inner.states())
    }
}

struct Serialised;

impl Change for Serialised {
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        inner.add(group, args, rows)
    }

    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()> {
        inner.add_groups(groups, args)
    }

    fn finish(inner: &mut dyn States, n: usize) -> Result<Vector> {
        inner.grow(n);
        let mut out = StringBuilder::with_capacity(n);
        for group in 0..n {
            out.push_with(|bytes| inner.serialise(group, bytes));
        }
        Ok(out.finish().into())
    }
}
