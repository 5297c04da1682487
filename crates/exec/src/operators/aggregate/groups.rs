//! The groups that one worker knows, and their states.

use super::Call;
use crate::hash_table::{GroupTable, KeyLayout, NO_GROUP, Store};
use chalet_base::Result;
use chalet_columns::{Block, Buf, Column, Data, Vector};
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
    dictionary: Option<Dictionary>,
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

/// The groups of the values of a dictionary that blocks share.
struct Dictionary {
    /// Held, so that no other dictionary can come to lie at the same place.
    values: Vector,
    /// By code; [`NO_GROUP`] where the code has not come yet.
    groups: Vec<u32>,
}

impl Dictionary {
    fn is_of(&self, values: &Vector) -> bool {
        match (&self.values.data, &values.data) {
            (Data::Str(a), Data::Str(b)) => {
                std::ptr::eq(a.views().as_ptr(), b.views().as_ptr()) && a.len() == b.len()
            }
            _ => false,
        }
    }
}

/// A dictionary with more values per row than this is not worth an array over its codes.
const MAX_CODES_PER_ROW: usize = 16;

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
            dictionary: None,
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
            (InsertStrategy::LookUp, [Column::Dict { codes, values }])
                if values.len() <= n_rows * MAX_CODES_PER_ROW && !self.table.is_unnumbered() =>
            {
                self.groups_of_codes(codes, values)
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

    /// Looks each value of a dictionary up once.
    fn groups_of_codes(&mut self, codes: &Buf<u32>, values: &Vector) -> Vec<u32> {
        let mut known = match self.dictionary.take() {
            Some(known) if known.is_of(values) => known,
            _ => Dictionary { values: values.clone(), groups: vec![NO_GROUP; values.len()] },
        };
        /// The code came in this block for the first time.
        const PENDING: u32 = NO_GROUP - 1;
        let mut fresh: Vec<u32> = Vec::new();
        for &code in &codes[..] {
            let group = &mut known.groups[code as usize];
            if *group == NO_GROUP {
                *group = PENDING;
                fresh.push(code);
            }
        }
        // The table counts those that it looks up.
        self.rows_by_code += codes.len() - fresh.len();
        if !fresh.is_empty() {
            let groups = self.table.groups(&[Column::Flat(values.gather(&fresh))], fresh.len());
            fresh.iter().zip(groups).for_each(|(&code, group)| known.groups[code as usize] = group);
        }
        let groups = codes.iter().map(|&code| known.groups[code as usize]).collect();
        self.dictionary = Some(known);
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
        self.dictionary = None;
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
        let dictionary = self.dictionary.as_ref().map_or(0, |d| d.groups.capacity() * 4);
        let pending_args = self.pending_args.iter().flatten().flatten().map(Vector::memory).sum::<usize>();
        self.table.memory()
            + dictionary
            + pending_args
            + self.states.iter().map(|s| s.memory()).sum::<usize>()
    }
}

/// No states yet.
pub(super) fn states(calls: &[Call]) -> Vec<Box<dyn States>> {
    calls.iter().map(|call| call.aggregate.states()).collect()
}
