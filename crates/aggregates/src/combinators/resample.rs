//! `-Resample(start, end, step)`: one result per bucket of the last argument; rows outside are left out.

use crate::combinators::Split;
use crate::selection::gather;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Data, List, Vector, each_native};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Buckets of one group, as in the kernel.
const MAX_BUCKETS: u64 = 1_048_576;

/// Parameters of the whole are those of the inner function, then start, end, step.
pub fn split(split: &mut Split) -> Result<()> {
    ensure!(
        split.parameters.len() >= 3 && !split.args.is_empty(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Incorrect number of {} for aggregate function with Resample suffix",
        if split.args.is_empty() { "arguments" } else { "parameters" }
    );
    split.parameters.truncate(split.parameters.len() - 3);
    split.args.pop();
    Ok(())
}

#[derive(Clone, Copy)]
struct Buckets {
    start: i128,
    end: i128,
    step: i128,
    n: usize,
}

pub struct Resample {
    inner: Arc<dyn Aggregate>,
    buckets: Buckets,
}

impl Resample {
    pub fn around(
        inner: Arc<dyn Aggregate>,
        parameters: &[Value],
        args: &[Argument],
    ) -> Result<Arc<dyn Aggregate>> {
        let range = &parameters[parameters.len() - 3..];
        let mut bounds = [0i128; 3];
        for (bound, value) in bounds.iter_mut().zip(range) {
            *bound = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).ok_or_else(|| {
                err!(ILLEGAL_TYPE_OF_ARGUMENT, "Parameters of the Resample suffix must be integers")
            })?;
        }
        let [start, end, step] = bounds;
        ensure!(
            step != 0,
            ARGUMENT_OUT_OF_BOUND,
            "The step given in an aggregate function with Resample suffix should not be zero"
        );
        ensure!(step > 0, ARGUMENT_OUT_OF_BOUND, "The step of the Resample suffix should be positive");
        let n = if end <= start { 0 } else { (end - start + step - 1) / step };
        ensure!(
            n <= i128::from(MAX_BUCKETS),
            ARGUMENT_OUT_OF_BOUND,
            "The range given in an aggregate function with Resample suffix contains too many elements"
        );
        match args.last().map(|arg| &arg.ty) {
            Some(ty)
                if ty.is_comparable_by_number()
                    && !ty.is_float()
                    && !ty.is_decimal()
                    && ty.physical().width().is_some_and(|w| w <= 8) => {}
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal types of argument for aggregate function Resample, the type of the last argument should be \
                 native integer or integer-like"
            ),
        }
        Ok(Arc::new(Resample { inner, buckets: Buckets { start, end, step, n: n as usize } }))
    }
}

impl Aggregate for Resample {
    fn result_type(&self) -> DataType {
        self.inner.result_type().array()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(BucketStates { inner: self.inner.states(), buckets: self.buckets, n_groups: 0 })
    }
}

/// Bucket `b` of group `g` is group `g * n + b` of the inner states.
struct BucketStates {
    inner: Box<dyn States>,
    buckets: Buckets,
    n_groups: usize,
}

impl BucketStates {
    fn add_rows(
        &mut self,
        args: &[Vector],
        rows: Range<usize>,
        group: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let (key, args) =
            args.split_last().ok_or_else(|| err!(LOGICAL_ERROR, "Resample was given no key"))?;
        let Buckets { start, end, step, n } = self.buckets;
        let mut kept: Vec<u32> = Vec::new();
        let mut groups: Vec<u32> = Vec::new();
        for row in rows {
            let key = integer(key, row);
            if key >= start && key < end {
                kept.push(row as u32);
                groups.push((group(row) * n + ((key - start) / step) as usize) as u32);
            }
        }
        self.inner.add_groups(&groups, &gather(args, &kept))
    }
}

fn integer(vector: &Vector, row: usize) -> i128 {
    match &vector.data {
        Data::U8(v) => v[row].into(),
        Data::U16(v) => v[row].into(),
        Data::U32(v) => v[row].into(),
        Data::U64(v) => v[row].into(),
        Data::I8(v) => v[row].into(),
        Data::I16(v) => v[row].into(),
        Data::I32(v) => v[row].into(),
        Data::I64(v) => v[row].into(),
        other => each_native!(other, _v => 0, _ => 0),
    }
}

impl States for BucketStates {
    fn grow(&mut self, n: usize) {
        self.n_groups = self.n_groups.max(n);
        self.inner.grow(self.n_groups * self.buckets.n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.add_rows(args, rows, |_| group)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(args, 0..groups.len(), |row| groups[row] as usize)
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let n = self.buckets.n as u32;
        let buckets = |groups: &[u32]| -> Vec<u32> {
            groups.iter().flat_map(|&group| group * n..(group + 1) * n).collect()
        };
        self.inner.merge(&mut *other.inner, &buckets(from), &buckets(into))
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let n = self.buckets.n;
        (group * n..(group + 1) * n).for_each(|inner| self.inner.serialise(inner, out));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let n = self.buckets.n;
        (group * n..(group + 1) * n).try_for_each(|inner| self.inner.deserialise(inner, bytes))
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let per_group = self.buckets.n;
        let values = Arc::new(self.inner.finish(n * per_group)?);
        let offsets: Vec<i64> = (0..=n).map(|group| (group * per_group) as i64).collect();
        Ok(Data::List(List { offsets: offsets.into(), values }).into())
    }

    fn memory(&self) -> usize {
        self.inner.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
