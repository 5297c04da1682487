//! Aggregate: groups rows by keys and folds them into states. Each worker has its own table; they are merged in order of
//! the workers. Holds all groups.

use super::collect::blocks_as_source;
use super::group_table::GroupTable;
use crate::ExecContext;
use crate::control::Reservation;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::{Result, ensure};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_function_api::{Aggregate as AggregateImpl, States};
use chalet_storage::Scan;
use chalet_types::DataType;
use std::any::Any;
use std::sync::{Arc, OnceLock};

pub struct Aggregate {
    /// Keys first, then the arguments of all calls.
    pub inputs: Program,
    pub key_types: Vec<DataType>,
    pub calls: Vec<Call>,
    /// Grouping sets: which keys each of them has. Empty for a plain GROUP BY.
    pub sets: Vec<Vec<usize>>,
    /// The number of the set is put out as a last column.
    pub puts_set_number: bool,
    pub empty_if_no_rows: bool,
    /// Rows must come in order, so one worker takes them all.
    pub order_dependent: bool,
    pub totals: Option<Totals>,
}

#[derive(Clone)]
pub struct Call {
    pub aggregate: Arc<dyn AggregateImpl>,
    pub n_args: usize,
}

/// WITH TOTALS.
pub struct Totals {
    /// HAVING over the output columns.
    pub having: Option<Program>,
    pub include_filtered: bool,
    /// Receives the row of totals.
    pub slot: Arc<OnceLock<Block>>,
}

impl Aggregate {
    fn groups(&self) -> Groups {
        let mut types = self.key_types.clone();
        if !self.sets.is_empty() {
            types.push(DataType::UInt64);
        }
        Groups {
            table: GroupTable::new(&types),
            keyed: !types.is_empty(),
            states: self.calls.iter().map(|c| c.aggregate.states()).collect(),
            any_rows: false,
        }
    }
}

/// Groups and their states.
struct Groups {
    table: GroupTable,
    keyed: bool,
    states: Vec<Box<dyn States>>,
    any_rows: bool,
}

impl Groups {
    fn len(&self) -> usize {
        if self.keyed { self.table.len() } else { 1 }
    }

    fn add(&mut self, keys: &[Column], args: &[Vec<Vector>], n_rows: usize) -> Result<()> {
        self.any_rows = true;
        if !self.keyed {
            for (states, args) in self.states.iter_mut().zip(args) {
                states.grow(1);
                states.add(0, args, 0..n_rows)?;
            }
            return Ok(());
        }
        let groups = self.table.groups(keys, n_rows);
        for (states, args) in self.states.iter_mut().zip(args) {
            states.grow(self.table.len());
            states.add_groups(&groups, args)?;
        }
        Ok(())
    }

    fn merge(&mut self, mut other: Groups) -> Result<()> {
        self.any_rows |= other.any_rows;
        let groups = if self.keyed {
            let keys = other.table.key_columns();
            self.table.groups(keys.columns(), keys.n_rows())
        } else {
            vec![0]
        };
        for (states, others) in self.states.iter_mut().zip(&mut other.states) {
            states.grow(if self.keyed { self.table.len() } else { 1 });
            others.grow(groups.len());
            states.merge(&mut **others, &groups)?;
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.table.memory() + self.states.iter().map(|s| s.memory()).sum::<usize>()
    }
}

impl Sink for Aggregate {
    fn name(&self) -> &'static str {
        "Aggregate"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker {
            inputs: self.inputs.clone(),
            n_keys: self.key_types.len(),
            key_types: self.key_types.clone(),
            n_args: self.calls.iter().map(|c| c.n_args).collect(),
            sets: self.sets.clone(),
            groups: self.groups(),
            max_groups: ctx.settings.max_rows_to_group_by,
            memory: Reservation::new(ctx.control.clone()),
            rows: 0,
            rows_at_measuring: 0,
        }))
    }

    fn parallelism(&self) -> usize {
        if self.order_dependent { 1 } else { usize::MAX }
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut workers = concrete::<Worker>(workers).into_iter();
        let (mut groups, mut memory) = match workers.next() {
            Some(first) => (first.groups, first.memory),
            None => (self.groups(), Reservation::new(ctx.control.clone())),
        };
        for worker in workers {
            groups.merge(worker.groups)?;
            memory.resize(groups.memory())?;
            ctx.control.check_with_interrupt()?;
        }
        if !groups.keyed && !groups.any_rows && self.empty_if_no_rows {
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        let totals = self.totals.as_ref().map(|_| self.partial_states(&mut groups)).transpose()?;
        let first_set = self.first_set(&groups);
        let block = self.result(&mut groups)?;
        let block = match (&self.totals, totals) {
            (Some(totals), Some(states)) => self.split_totals(totals, states, first_set, block)?,
            _ => block,
        };
        Ok(blocks_as_source(split(block, ctx.settings.max_block_size), ctx))
    }
}

impl Aggregate {
    fn result(&self, groups: &mut Groups) -> Result<Block> {
        let n = groups.len();
        let keys = if groups.keyed { groups.table.key_columns() } else { Block::default() };
        let mut columns = keys.into_columns();
        if groups.keyed && columns.is_empty() {
            columns = self.empty_keys();
        }
        let set_number = if self.sets.is_empty() { None } else { columns.pop() };
        for states in &mut groups.states {
            columns.push(Column::Flat(states.finish(n)?));
        }
        columns.extend(set_number.filter(|_| self.puts_set_number));
        Ok(Block::new(columns, n))
    }

    fn empty_keys(&self) -> Vec<Column> {
        let mut types = self.key_types.clone();
        if !self.sets.is_empty() {
            types.push(DataType::UInt64);
        }
        types.iter().map(|ty| Column::Flat(Vector::defaults(ty, 0))).collect()
    }

    /// The states of every group as bytes, because finishing may use them up.
    fn partial_states(&self, groups: &mut Groups) -> Result<Vec<Vec<Vec<u8>>>> {
        let n = groups.len();
        let states = groups.states.iter_mut().map(|states| {
            states.grow(n);
            let bytes = (0..n).map(|group| {
                let mut bytes = Vec::new();
                states.serialise(group, &mut bytes);
                bytes
            });
            bytes.collect()
        });
        Ok(states.collect())
    }

    /// Of grouping sets: which groups are of the first. Every set holds all rows, so totals need one of them.
    fn first_set(&self, groups: &Groups) -> Option<Vec<bool>> {
        if self.totals.is_none() || self.sets.is_empty() {
            return None;
        }
        let keys = groups.table.key_columns();
        let number = keys.columns().last()?;
        Some((0..keys.n_rows()).map(|row| number.value(row).as_u64() == Some(0)).collect())
    }

    /// Filters the groups by HAVING and puts the totals of those that count into the slot.
    fn split_totals(
        &self,
        totals: &Totals,
        states: Vec<Vec<Vec<u8>>>,
        first_set: Option<Vec<bool>>,
        block: Block,
    ) -> Result<Block> {
        let passed = match &totals.having {
            Some(having) if !block.is_empty() => having.mask(&block)?,
            _ => BooleanBuffer::new_set(block.n_rows()),
        };
        let mut columns: Vec<Column> =
            self.key_types.iter().map(|ty| Column::Flat(Vector::defaults(ty, 1))).collect();
        for (call, groups) in self.calls.iter().zip(states) {
            let mut total = call.aggregate.states();
            total.grow(1);
            for (group, bytes) in groups.iter().enumerate() {
                let counts = first_set.as_ref().is_none_or(|first| first[group]);
                if counts && (totals.include_filtered || passed.value(group)) {
                    total.deserialise(0, &mut &bytes[..])?;
                }
            }
            columns.push(Column::Flat(total.finish(1)?));
        }
        if self.puts_set_number {
            columns.push(Column::constant(Vector::from(vec![0u64]), 1));
        }
        // A second run of the same plan does not happen: the slot is empty.
        let _ = totals.slot.set(Block::new(columns, 1));
        Ok(block.filter(&passed))
    }
}

/// In pieces of at most `max_rows`.
pub fn split(block: Block, max_rows: usize) -> Vec<Block> {
    let max_rows = max_rows.max(1);
    if block.n_rows() <= max_rows {
        return if block.is_empty() { Vec::new() } else { vec![block] };
    }
    let starts = (0..block.n_rows()).step_by(max_rows);
    starts.map(|start| block.slice(start, max_rows.min(block.n_rows() - start))).collect()
}

struct Worker {
    inputs: Program,
    n_keys: usize,
    key_types: Vec<DataType>,
    n_args: Vec<usize>,
    sets: Vec<Vec<usize>>,
    groups: Groups,
    max_groups: u64,
    memory: Reservation,
    /// Rows taken so far, and when the memory was last measured.
    rows: usize,
    rows_at_measuring: usize,
}

/// No more rows than this go by without measuring.
const ROWS_UNMEASURED: usize = 65_536;

impl SinkWorker for Worker {
    fn push(&mut self, _: Position, block: Block) -> Result<Flow> {
        let n_rows = block.n_rows();
        let mut columns = self.inputs.evaluate(&block)?.into_iter();
        let keys: Vec<Column> = columns.by_ref().take(self.n_keys).collect();
        let mut args: Vec<Vec<Vector>> = Vec::with_capacity(self.n_args.len());
        for &n in &self.n_args {
            args.push(columns.by_ref().take(n).map(Column::into_flat).collect());
        }
        if self.sets.is_empty() {
            self.groups.add(&keys, &args, n_rows)?;
        }
        for (number, set) in self.sets.iter().enumerate() {
            let mut keys: Vec<Column> = keys
                .iter()
                .enumerate()
                .map(|(i, key)| match set.contains(&i) {
                    true => key.clone(),
                    false => Column::constant(Vector::defaults(&self.key_types[i], 1), n_rows),
                })
                .collect();
            keys.push(Column::constant(Vector::from(vec![number as u64]), n_rows));
            self.groups.add(&keys, &args, n_rows)?;
        }
        self.rows += n_rows;
        // Measuring walks over all pieces of the state: after each of many small blocks that would be quadratic.
        if self.rows - self.rows_at_measuring >= (self.rows / 16).min(ROWS_UNMEASURED) {
            self.memory.resize(self.groups.memory())?;
            self.rows_at_measuring = self.rows;
        }
        ensure!(
            self.max_groups == 0 || self.groups.len() as u64 <= self.max_groups,
            TOO_MANY_ROWS,
            "Limit for rows to GROUP BY exceeded: has {} rows, maximum: {}",
            self.groups.len(),
            self.max_groups
        );
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
