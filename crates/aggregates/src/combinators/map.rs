//! `-Map`: aggregates the values of maps key by key. Over pairs of arrays it is another function of its own.

use crate::combinators::Split;
use crate::sets::GroupSets;
use chalet_base::{Result, bail, ensure};
use chalet_columns::rows::{RowCodec, take_row};
use chalet_columns::wire::{put_len, take_count};
use chalet_columns::{Builder, Data, List, Struct, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Of a map the inner function sees the values; arrays are the business of `<name>MappedArrays`.
pub fn split(split: &mut Split) -> Result<()> {
    let Some(first) = split.args.first() else {
        bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Map combinator takes only one map argument");
    };
    match &first.ty {
        DataType::Map(_, value) => {
            ensure!(
                split.args.len() == 1,
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Map combinator takes only one map argument"
            );
            split.args = vec![Argument::of_type(DataType::clone(value))];
        }
        DataType::Array(_) | DataType::Tuple(_) => {
            ensure!(
                ["sum", "min", "max"].contains(&split.name.to_ascii_lowercase().as_str()),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregation '{}Map' is not implemented for mapped arrays",
                split.name
            );
            split.name = format!("{}MappedArrays", split.name.to_ascii_lowercase());
            split.whole = true;
        }
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Aggregate function Map requires map as argument"),
    }
    Ok(())
}

pub struct Map {
    inner: Arc<dyn Aggregate>,
    key: DataType,
}

impl Map {
    pub fn around(inner: Arc<dyn Aggregate>, args: &[Argument]) -> Arc<dyn Aggregate> {
        let key = match args.first().map(|arg| &arg.ty) {
            Some(DataType::Map(key, _)) => DataType::clone(key),
            _ => DataType::Nothing,
        };
        Arc::new(Map { inner, key })
    }
}

impl Aggregate for Map {
    fn result_type(&self) -> DataType {
        DataType::map(self.key.clone(), self.inner.result_type())
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(KeyedStates {
            inner: self.inner.states(),
            codec: RowCodec::new(&self.key),
            key: self.key.clone(),
            sets: GroupSets::default(),
        })
    }
}

/// Each key of each group is an entry of the set and the group of that number in the inner states.
struct KeyedStates {
    inner: Box<dyn States>,
    codec: RowCodec,
    key: DataType,
    sets: GroupSets,
}

impl KeyedStates {
    fn add_rows(&mut self, args: &[Vector], rows: Range<usize>, group: impl Fn(usize) -> u32) -> Result<()> {
        let list = args[0].list()?;
        let pairs = list.values.structure()?;
        let (start, end) = (list.offsets[rows.start] as usize, list.offsets[rows.end] as usize);
        let mut inner_groups = Vec::with_capacity(end - start);
        let mut key = Vec::new();
        for row in rows {
            for element in list.range(row) {
                key.clear();
                self.codec.put(&pairs.fields[0], element, &mut key);
                inner_groups.push(self.sets.insert(group(row), &key).0);
            }
        }
        self.inner.grow(self.sets.len());
        self.inner.add_groups(&inner_groups, &[pairs.fields[1].slice(start, end - start)])
    }
}

impl States for KeyedStates {
    fn grow(&mut self, n: usize) {
        self.sets.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.add_rows(args, rows, |_| group as u32)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(args, 0..groups.len(), |row| groups[row])
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for (&from, &into) in from.iter().zip(into) {
            for entry in other.sets.entries_of(from as usize) {
                theirs.push(entry);
                ours.push(self.sets.insert(into, other.sets.key(entry)).0);
            }
        }
        self.inner.grow(self.sets.len());
        self.inner.merge(&mut *other.inner, &theirs, &ours)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        put_len(self.sets.entries_of(group).count(), out);
        for entry in self.sets.entries_of(group) {
            out.extend_from_slice(self.sets.key(entry));
            self.inner.serialise(entry as usize, out);
        }
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        for _ in 0..take_count(bytes, 1)? {
            let key = take_row(std::slice::from_ref(&self.codec), bytes)?;
            let (entry, _) = self.sets.insert(group as u32, key);
            self.inner.grow(self.sets.len());
            self.inner.deserialise(entry as usize, bytes)?;
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let mut keys = Builder::new(&self.key);
        for entry in 0..self.sets.len() as u32 {
            self.codec.take(&mut self.sets.key(entry), &mut keys)?;
        }
        let keys = keys.finish();
        let values = self.inner.finish(self.sets.len())?;
        let mut rows: Vec<u32> = Vec::with_capacity(keys.len());
        let mut offsets = vec![0i64];
        for group in 0..n {
            let start = rows.len();
            rows.extend(self.sets.entries_of(group));
            rows[start..].sort_by(|&a, &b| keys.compare(a as usize, &keys, b as usize));
            offsets.push(rows.len() as i64);
        }
        let pairs = Struct { fields: vec![keys.gather(&rows), values.gather(&rows)], len: rows.len() };
        let values = Arc::new(Data::Struct(pairs).into());
        Ok(Data::List(List { offsets: offsets.into(), values }).into())
    }

    fn memory(&self) -> usize {
        self.inner.memory() + self.sets.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
