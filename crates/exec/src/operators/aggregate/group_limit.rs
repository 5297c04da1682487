//! GROUP BY with a LIMIT and no order: any groups will do, so that all workers keep the first that are seen, and leave
//! out rows of other groups.

use super::Shape;
use super::groups::states;
use crate::expression::Program;
use crate::hash_table::{GroupTable, NO_GROUP, Store};
use crate::pipeline::{Flow, Position, SinkWorker};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::States;
use chalet_memory::Reservation;
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A larger limit does not save enough.
pub(super) const MAX_LIMIT: u64 = 1 << 14;

/// The groups within the limit, shared by all workers: a table that is filled under a lock, then only read.
pub(super) struct GroupLimit {
    limit: usize,
    filling: Mutex<GroupTable>,
    full: OnceLock<GroupTable>,
}

impl GroupLimit {
    /// No groups yet, and no more than `limit` ever.
    pub fn new(limit: usize, shape: &Shape) -> GroupLimit {
        let filling = Mutex::new(GroupTable::new(shape.layout.clone()));
        GroupLimit { limit, filling, full: OnceLock::new() }
    }

    /// Rows of groups within the limit, and their groups.
    fn find(&self, keys: &[Column], n_rows: usize) -> (Vec<u32>, Vec<u32>) {
        let groups = match self.full.get() {
            Some(table) => table.find(keys, n_rows),
            None => self.choose(keys, n_rows),
        };
        let most = self.limit as u32;
        let within_limit = |(row, group): (usize, u32)| (group < most).then_some((row as u32, group));
        groups.into_iter().enumerate().filter_map(within_limit).unzip()
    }

    fn choose(&self, keys: &[Column], n_rows: usize) -> Vec<u32> {
        let mut table = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
        // Another worker may have filled it meanwhile.
        if let Some(full) = self.full.get() {
            return full.find(keys, n_rows);
        }
        let mut groups = Vec::with_capacity(n_rows);
        let step = (self.limit * 2).max(64);
        while groups.len() < n_rows && table.len() < self.limit {
            let (start, len) = (groups.len(), step.min(n_rows - groups.len()));
            let some: Vec<Column> = keys.iter().map(|key| key.slice(start, len)).collect();
            groups.extend(table.groups(&some, len));
        }
        if table.len() >= self.limit {
            let empty = GroupTable::new(table.layout().clone());
            let full = std::mem::replace(&mut *table, empty);
            let (start, len) = (groups.len(), n_rows - groups.len());
            let rest: Vec<Column> = keys.iter().map(|key| key.slice(start, len)).collect();
            groups.extend(full.find(&rest, len));
            // The lock is held, so nobody else sets it.
            let _ = self.full.set(full);
        }
        groups
    }

    /// The keys of the groups within the limit.
    fn keys(&self) -> Result<Block> {
        let filling;
        let table = match self.full.get() {
            Some(full) => full,
            None => {
                filling = self.filling.lock().unwrap_or_else(PoisonError::into_inner);
                &*filling
            }
        };
        let n = table.len().min(self.limit);
        let mut keys = Store::new(table.layout());
        keys.append_from(table.store(), &(0..n as u32).collect::<Vec<_>>());
        table.layout().columns(keys)
    }
}

pub(super) struct Worker {
    pub inputs: Program,
    pub shape: Arc<Shape>,
    pub group_limit: Arc<GroupLimit>,
    /// Of the groups within the limit.
    pub states: Vec<Box<dyn States>>,
    pub memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, _: Position, block: Block) -> Result<Flow> {
        let n_rows = block.n_rows();
        let mut columns = self.inputs.evaluate(&block)?.into_iter();
        let keys: Vec<Column> = columns.by_ref().take(self.shape.n_keys).collect();
        let (rows, groups) = self.group_limit.find(&keys, n_rows);
        debug_assert!(!groups.contains(&NO_GROUP));
        if rows.is_empty() {
            return Ok(Flow::Continue);
        }
        for (states, call) in self.states.iter_mut().zip(self.shape.calls.iter()) {
            let args: Vec<Vector> =
                columns.by_ref().take(call.args.len()).map(|arg| arg.gather(&rows).into_flat()).collect();
            states.grow(self.group_limit.limit);
            states.add_groups(&groups, &args)?;
        }
        self.memory.resize(self.states.iter().map(|states| states.memory()).sum())?;
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The groups within the limit with the states of all workers merged.
pub(super) fn finish(workers: Vec<Worker>, group_limit: &GroupLimit, shape: &Shape) -> Result<Block> {
    let keys = group_limit.keys()?;
    let n = keys.n_rows();
    let all: Vec<u32> = (0..n as u32).collect();
    let mut merged = states(&shape.calls);
    for mut worker in workers {
        for (states, others) in merged.iter_mut().zip(&mut worker.states) {
            states.grow(n);
            others.grow(n);
            states.merge(&mut **others, &all, &all)?;
        }
    }
    let mut columns = keys.into_columns();
    for states in &mut merged {
        columns.push(Column::Flat(states.finish(n)?));
    }
    Ok(Block::new(columns, n))
}
