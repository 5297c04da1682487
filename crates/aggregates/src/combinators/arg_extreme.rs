//! `-ArgMin`, `-ArgMax`: only the rows at which the last argument is smallest or largest.

use crate::selection::gather;
use crate::slots::{Keep, Slots, slots_of};
use chalet_base::{Result, err};
use chalet_columns::Vector;
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::DataType;
use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

pub struct ArgExtreme {
    inner: Arc<dyn Aggregate>,
    key: DataType,
    keep: Keep,
}

impl ArgExtreme {
    pub fn around(inner: Arc<dyn Aggregate>, args: &[Argument], min: bool) -> Arc<dyn Aggregate> {
        let key = args.last().map_or(DataType::Nothing, |arg| arg.ty.clone());
        Arc::new(ArgExtreme { inner, key, keep: if min { Keep::Min } else { Keep::Max } })
    }
}

impl Aggregate for ArgExtreme {
    fn result_type(&self) -> DataType {
        self.inner.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(ExtremeStates {
            inner: self.inner.states(),
            keys: slots_of(&self.key),
            keep: self.keep,
            current: Vec::new(),
            n_inner: 0,
        })
    }
}

/// A better key gives its group a fresh inner state; the one before is forgotten.
struct ExtremeStates {
    inner: Box<dyn States>,
    keys: Box<dyn Slots>,
    keep: Keep,
    /// The inner group of every group.
    current: Vec<u32>,
    n_inner: u32,
}

impl ExtremeStates {
    fn renew(&mut self, group: u32) {
        self.current[group as usize] = self.n_inner;
        self.n_inner += 1;
    }
}

impl States for ExtremeStates {
    fn grow(&mut self, n: usize) {
        self.keys.grow(n);
        while self.current.len() < n {
            self.current.push(self.n_inner);
            self.n_inner += 1;
        }
        self.inner.grow(self.n_inner as usize);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let groups = vec![group as u32; rows.len()];
        let args: Vec<Vector> = args.iter().map(|arg| arg.slice(rows.start, rows.len())).collect();
        self.add_groups(&groups, &args)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (key, args) =
            args.split_last().ok_or_else(|| err!(LOGICAL_ERROR, "The ArgMin combinator was given no key"))?;
        let mut taken = Vec::new();
        self.keys.fold_groups(self.keep, groups, key, Some(&mut taken))?;
        let mut renewed: Vec<u32> = taken.iter().map(|&row| groups[row as usize]).collect();
        renewed.sort_unstable();
        renewed.dedup();
        renewed.into_iter().for_each(|group| self.renew(group));
        self.inner.grow(self.n_inner as usize);
        let mut rows = Vec::new();
        let mut inner_groups = Vec::new();
        for (row, &group) in groups.iter().enumerate() {
            if self.keys.order(self.keep, group as usize, key, row)?.is_eq() {
                rows.push(row as u32);
                inner_groups.push(self.current[group as usize]);
            }
        }
        self.inner.add_groups(&inner_groups, &gather(args, &rows))
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let outcome = self.keys.merge(self.keep, &mut *other.keys, from, into)?;
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for ((&from, &into), order) in from.iter().zip(into).zip(outcome) {
            if order == Ordering::Less {
                self.renew(into);
            }
            if order != Ordering::Greater {
                theirs.push(other.current[from as usize]);
                ours.push(self.current[into as usize]);
            }
        }
        self.inner.grow(self.n_inner as usize);
        self.inner.merge(&mut *other.inner, &theirs, &ours)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.keys.serialise(group, out);
        self.inner.serialise(self.current[group] as usize, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let mut key = self.keys.deserialise(bytes)?;
        let order = self.keys.merge(self.keep, &mut *key, &[0], &[group as u32])?[0];
        let target = match order {
            Ordering::Less => {
                self.renew(group as u32);
                self.current[group]
            }
            Ordering::Equal => self.current[group],
            Ordering::Greater => {
                self.n_inner += 1;
                self.n_inner - 1
            }
        };
        self.inner.grow(self.n_inner as usize);
        self.inner.deserialise(target as usize, bytes)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        Ok(self.inner.finish(self.n_inner as usize)?.gather(&self.current[..n]))
    }

    fn memory(&self) -> usize {
        self.inner.memory() + self.keys.memory() + self.current.capacity() * 4
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
