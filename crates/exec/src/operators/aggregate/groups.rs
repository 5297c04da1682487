//! The groups that one worker knows, and their states.

use super::Call;
use super::coded_keys::CodedKeys;
use crate::hash_table::{GroupTable, KeyLayout, Store};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::States;
use std::sync::Arc;

pub(super) struct Groups {
    table: GroupTable,
    keyed: bool,
    pub states: Vec<Box<dyn States>>,
    calls: Arc<[Call]>,
    pub any_rows: bool,
    pub insert_strategy: InsertStrategy,
    /// The arguments of rows that were appended and have no states, block by block.
    pending_args: Vec<Vec<Vec<Vector>>>,
    coded_keys: Option<CodedKeys>,
    /// Added since groups were last partitioned, and how many of them by the code of a dictionary.
    rows: usize,
    rows_by_code: usize,
}

/// How added rows find their group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertStrategy {
    /// Their keys are looked up.
    LookUp,
    /// Each becomes a group of its own: looking keys up did not pay.
    AppendRows,
    /// Neighbours with equal keys become a group.
    AppendRuns,
}

/// What belongs to keys that are partitioned.
pub(super) enum Held<T> {
    States(Vec<Box<dyn States>>),
    /// The arguments of one row for each key, by call.
    Rows(Vec<Vec<T>>),
}

impl Groups {
    /// No groups yet.
    pub fn new(layout: &Arc<KeyLayout>, calls: &Arc<[Call]>) -> Groups {
        Groups::with_room(layout, calls, 0)
    }

    /// No groups yet, and room for so many.
    pub fn with_room(layout: &Arc<KeyLayout>, calls: &Arc<[Call]>, room: usize) -> Groups {
        Groups {
            table: match calls.is_empty() {
                true => GroupTable::unnumbered(layout.clone(), room),
                false => GroupTable::with_room(layout.clone(), room),
            },
            keyed: !layout.types().is_empty(),
            states: states(calls),
            calls: calls.clone(),
            any_rows: false,
            insert_strategy: InsertStrategy::LookUp,
            pending_args: Vec::new(),
            coded_keys: None,
            rows: 0,
            rows_by_code: 0,
        }
    }

    /// Are there keys? Without any there is one group.
    pub fn is_keyed(&self) -> bool {
        self.keyed
    }

    /// Are there no groups?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of groups; one where there are no keys.
    pub fn len(&self) -> usize {
        if self.keyed { self.table.len() } else { 1 }
    }

    /// Rows whose keys were looked up or appended since groups were last partitioned: of neighbours with equal keys the first.
    pub fn looked_at(&self) -> usize {
        self.table.looked_at() + self.rows_by_code
    }

    /// The insert strategy for the next rows, from the hit rate of these, which were looked up.
    pub fn next_insert_strategy(&self) -> InsertStrategy {
        let is_most_of = |rows: usize| self.len() * 4 > rows * 3;
        if !self.calls.is_empty() && is_most_of(self.rows) {
            InsertStrategy::AppendRows
        } else if is_most_of(self.looked_at()) {
            InsertStrategy::AppendRuns
        } else {
            InsertStrategy::LookUp
        }
    }

    /// The group of every row, [`NO_GROUP`](crate::hash_table::NO_GROUP) for keys that have none.
    pub fn find(&self, keys: &[Column], n_rows: usize) -> Vec<u32> {
        self.table.find(keys, n_rows)
    }

    /// Adds the rows of a block: their keys, and the arguments of each call. Fails when a call does.
    pub fn add(&mut self, keys: &[Column], args: &[Vec<Vector>], n_rows: usize) -> Result<()> {
        self.any_rows = true;
        self.rows += n_rows;
        if !self.keyed {
            for (states, args) in self.states.iter_mut().zip(args) {
                states.grow(1);
                states.add(0, args, 0..n_rows)?;
            }
            return Ok(());
        }
        let groups = match (self.insert_strategy, keys) {
            (InsertStrategy::LookUp, _) if !self.table.is_unnumbered() && CodedKeys::pay(keys, n_rows) => {
                self.groups_of_codes(keys, n_rows)
            }
            (InsertStrategy::LookUp, _) if self.calls.is_empty() => {
                self.table.add(keys, n_rows);
                return Ok(());
            }
            (_, _) if self.calls.is_empty() => {
                self.table.append_distinct(keys, n_rows);
                return Ok(());
            }
            (InsertStrategy::AppendRows, _) if self.calls.iter().all(Call::may_wait) => {
                self.table.append(keys, n_rows);
                self.pending_args.push(args.to_vec());
                return Ok(());
            }
            (InsertStrategy::AppendRows, _) => self.table.append(keys, n_rows).collect(),
            (InsertStrategy::AppendRuns, _) => self.table.append_runs(keys, n_rows),
            (InsertStrategy::LookUp, _) => self.table.groups(keys, n_rows),
        };
        self.add_to_states(&groups, args)
    }

    /// Groups of no rows.
    pub fn add_without_rows(&mut self, keys: &[Column], n: usize) {
        if n > 0 {
            self.table.groups(keys, n);
        }
    }

    /// Looks each combination of dictionary values up once.
    fn groups_of_codes(&mut self, keys: &[Column], n_rows: usize) -> Vec<u32> {
        let mut known = match self.coded_keys.take() {
            Some(known) if known.are_of(keys) => known,
            _ => CodedKeys::new(keys),
        };
        let table = &mut self.table;
        let mut n_fresh = 0;
        let groups = known.groups(keys, n_rows, |fresh| {
            n_fresh = fresh.len();
            let some: Vec<Column> = keys.iter().map(|key| key.gather(fresh)).collect();
            table.groups(&some, fresh.len())
        });
        // The table counts those that it looks up.
        self.rows_by_code += n_rows - n_fresh;
        self.coded_keys = Some(known);
        groups
    }

    /// Adds all groups of others; of order-dependent aggregates their rows come after.
    pub fn merge(&mut self, mut other: Groups) -> Result<()> {
        self.any_rows |= other.any_rows;
        let n = other.len();
        other.states.iter_mut().for_each(|states| states.grow(n));
        self.merge_states(&other.table.into_store(), &mut other.states)
    }

    /// Adds the keys of others: the groups of these, and their states.
    pub fn take_keys_of(&mut self, mut other: Groups) -> (Vec<u32>, Vec<Box<dyn States>>) {
        self.any_rows |= other.any_rows;
        let n = other.len();
        other.states.iter_mut().for_each(|states| states.grow(n));
        let groups = if self.keyed { self.table.insert_store(&other.table.into_store()) } else { vec![0] };
        (groups, other.states)
    }

    /// Adds groups that are held as keys and states.
    pub fn merge_states(&mut self, keys: &Store, others: &mut [Box<dyn States>]) -> Result<()> {
        if self.keyed && self.states.is_empty() {
            self.table.add_store(keys);
            return Ok(());
        }
        let groups = if self.keyed { self.table.insert_store(keys) } else { vec![0] };
        let all: Vec<u32> = (0..groups.len() as u32).collect();
        let n = self.len();
        for (states, others) in self.states.iter_mut().zip(others) {
            states.grow(n);
            states.merge(&mut **others, &all, &groups)?;
        }
        Ok(())
    }

    /// Adds rows: their keys, and the arguments of the calls.
    pub fn merge_rows(&mut self, keys: &Store, args: &[Vec<Vector>]) -> Result<()> {
        let groups = self.table.insert_store(keys);
        self.add_to_states(&groups, args)
    }

    fn add_to_states(&mut self, groups: &[u32], args: &[Vec<Vector>]) -> Result<()> {
        for (states, args) in self.states.iter_mut().zip(args) {
            states.grow(self.table.len());
            states.add_groups(groups, args)?;
        }
        Ok(())
    }

    /// Forgets all groups, and gives their keys and what belongs to them.
    pub fn take(&mut self) -> (Store, Held<Vector>) {
        self.coded_keys = None;
        (self.rows, self.rows_by_code) = (0, 0);
        let n = self.len();
        let keys = self.table.take();
        if !self.pending_args.is_empty() {
            let pending_args = std::mem::take(&mut self.pending_args);
            let concat = |call: usize, arg: usize| {
                Vector::concat(&pending_args.iter().map(|block| &block[call][arg]).collect::<Vec<_>>())
            };
            let args = |call: usize| (0..self.calls[call].args.len()).map(|arg| concat(call, arg)).collect();
            return (keys, Held::Rows((0..self.calls.len()).map(args).collect()));
        }
        self.states.iter_mut().for_each(|states| states.grow(n));
        (keys, Held::States(std::mem::replace(&mut self.states, states(&self.calls))))
    }

    /// The keys of all groups, then the results of all calls.
    pub fn finish(mut self) -> Result<Block> {
        let n = self.len();
        let mut results = Vec::with_capacity(self.states.len());
        for states in &mut self.states {
            results.push(Column::Flat(states.finish(n)?));
        }
        let mut columns = if self.keyed { self.table.into_columns()?.into_columns() } else { Vec::new() };
        columns.extend(results);
        Ok(Block::new(columns, n))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let coded_keys = self.coded_keys.as_ref().map_or(0, CodedKeys::memory);
        let pending_args = self.pending_args.iter().flatten().flatten().map(Vector::memory).sum::<usize>();
        self.table.memory()
            + coded_keys
            + pending_args
            + self.states.iter().map(|s| s.memory()).sum::<usize>()
    }
}

/// No states yet.
pub(super) fn states(calls: &[Call]) -> Vec<Box<dyn States>> {
    calls.iter().map(|call| call.aggregate.states()).collect()
}
