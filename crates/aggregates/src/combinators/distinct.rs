//! `-Distinct`: every combination of arguments counts once per group.

use crate::sets::GroupSets;
use chalet_base::Result;
use chalet_columns::rows::{RowCodec, take_row};
use chalet_columns::wire::{put_len, take_count};
use chalet_columns::{Builder, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct Distinct {
    inner: Arc<dyn Aggregate>,
    types: Arc<[DataType]>,
}

impl Distinct {
    pub fn around(inner: Arc<dyn Aggregate>, args: &[Argument]) -> Arc<dyn Aggregate> {
        Arc::new(Distinct { inner, types: args.iter().map(|arg| arg.ty.clone()).collect() })
    }
}

impl Aggregate for Distinct {
    fn result_type(&self) -> DataType {
        self.inner.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(DistinctStates {
            inner: self.inner.clone(),
            types: self.types.clone(),
            codecs: self.types.iter().map(RowCodec::new).collect(),
            sets: GroupSets::default(),
        })
    }
}

/// Rows are kept as bytes; the inner aggregate runs over them at the end.
struct DistinctStates {
    inner: Arc<dyn Aggregate>,
    types: Arc<[DataType]>,
    codecs: Vec<RowCodec>,
    sets: GroupSets,
}

impl DistinctStates {
    fn key(&self, args: &[Vector], row: usize, key: &mut Vec<u8>) {
        key.clear();
        self.codecs.iter().zip(args).for_each(|(codec, arg)| codec.put(arg, row, key));
    }
}

impl States for DistinctStates {
    fn grow(&mut self, n: usize) {
        self.sets.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let mut key = Vec::new();
        for row in rows {
            self.key(args, row, &mut key);
            self.sets.insert(group as u32, &key);
        }
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let mut key = Vec::new();
        for (row, &group) in groups.iter().enumerate() {
            self.key(args, row, &mut key);
            self.sets.insert(group, &key);
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            for entry in other.sets.entries_of(from as usize) {
                self.sets.insert(into, other.sets.key(entry));
            }
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        put_len(self.sets.entries_of(group).count(), out);
        self.sets.entries_of(group).for_each(|entry| out.extend_from_slice(self.sets.key(entry)));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        for _ in 0..take_count(bytes, 1)? {
            let key = take_row(&self.codecs, bytes)?;
            self.sets.insert(group as u32, key);
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let mut builders: Vec<Builder> = self.types.iter().map(Builder::new).collect();
        let mut groups = Vec::with_capacity(self.sets.len());
        for entry in 0..self.sets.len() as u32 {
            groups.push(self.sets.group(entry));
            let mut key = self.sets.key(entry);
            for (codec, builder) in self.codecs.iter().zip(&mut builders) {
                codec.take(&mut key, builder)?;
            }
        }
        let args: Vec<Vector> = builders.into_iter().map(Builder::finish).collect();
        let mut inner = self.inner.states();
        inner.grow(n.max(groups.iter().max().map_or(0, |&g| g as usize + 1)));
        inner.add_groups(&groups, &args)?;
        inner.finish(n)
    }

    fn memory(&self) -> usize {
        self.sets.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
