//! Partial aggregation: groups rows as they come by, in a table of each worker, and puts the groups out when the table is full
//! and at the end of the input. What stands above groups them again, so a group may come out several times.
//!
//! Where rows have hardly more than a group each, they pass ungrouped for a while. Keeps no order; holds one table per worker.

use super::groups::{Groups, states};
use super::{Call, LOCAL_GROUPS, MAX_LOCAL_GROUPS, Shape, split};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::hash_table::KeyLayout;
use crate::operators::collect::blocks_as_source;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use chalet_types::DataType;
use std::sync::{Arc, Mutex, PoisonError};

/// The operator that groups rows in part.
pub struct PartialAggregate {
    /// Keys first, then the arguments of all calls.
    inputs: Program,
    shape: Arc<Shape>,
    max_block_size: usize,
    control: Arc<QueryControl>,
    /// The last groups of workers that have ended.
    held: Arc<Mutex<Held>>,
}

struct Held {
    blocks: Vec<Block>,
    memory: Reservation,
}

/// Tables whose rows are passed ungrouped before another one is tried.
const PASSED_TABLES: usize = 16;

/// Fewer rows for each group than this are not worth a table.
const ROWS_PER_GROUP: f64 = 1.5;

impl PartialAggregate {
    /// Groups by keys of these types; `inputs` are the keys, then the arguments of the calls.
    pub fn new(
        inputs: Program,
        key_types: &[DataType],
        calls: Vec<Call>,
        ctx: &ExecContext,
    ) -> PartialAggregate {
        let shape = Shape {
            layout: Arc::new(KeyLayout::of_groups(key_types)),
            calls: calls.into(),
            n_keys: key_types.len(),
            puts_set_number: false,
        };
        let memory = Reservation::new(ctx.control.memory.clone());
        PartialAggregate {
            inputs,
            shape: Arc::new(shape),
            max_block_size: ctx.settings.max_block_size,
            control: ctx.control.clone(),
            held: Arc::new(Mutex::new(Held { blocks: Vec::new(), memory })),
        }
    }
}

impl Operator for PartialAggregate {
    fn name(&self) -> &'static str {
        "PartialAggregate"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker {
            inputs: self.inputs.clone(),
            groups: Groups::new(&self.shape.layout, &self.shape.calls),
            shape: self.shape.clone(),
            max_block_size: self.max_block_size,
            held: self.held.clone(),
            memory: Reservation::new(self.control.memory.clone()),
            rows: 0,
            measured_at: 0,
            rows_to_pass: 0,
        }))
    }

    fn rest(&self, ctx: &ExecContext) -> Result<Option<Arc<dyn Scan>>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = std::mem::take(&mut held.blocks);
        held.memory.resize(0)?;
        Ok((!blocks.is_empty()).then(|| blocks_as_source(blocks, ctx)))
    }
}

struct Worker {
    inputs: Program,
    shape: Arc<Shape>,
    groups: Groups,
    max_block_size: usize,
    held: Arc<Mutex<Held>>,
    memory: Reservation,
    /// In the groups, and when their memory was last measured.
    rows: usize,
    measured_at: usize,
    /// So many rows are still to pass ungrouped.
    rows_to_pass: usize,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        events::add(Event::PartialAggregationRows, block.n_rows() as u64);
        for part in split(block, LOCAL_GROUPS) {
            if self.add(part, emit)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// There is nobody to emit to: the groups are put out with those of the other workers.
    fn end(&mut self) -> Result<()> {
        let block = self.take()?;
        self.memory.resize(0)?;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.memory.grow(block.memory())?;
        held.blocks.extend(split(block, self.max_block_size));
        Ok(())
    }
}

impl Worker {
    fn add(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let n_rows = block.n_rows();
        let mut columns = self.inputs.evaluate(&block)?.into_iter();
        let keys: Vec<Column> = columns.by_ref().take(self.shape.n_keys).collect();
        let mut args: Vec<Vec<Vector>> = Vec::with_capacity(self.shape.calls.len());
        for call in self.shape.calls.iter() {
            args.push(columns.by_ref().take(call.args.len()).map(Column::into_flat).collect());
        }
        if self.rows_to_pass > 0 {
            self.rows_to_pass = self.rows_to_pass.saturating_sub(n_rows);
            events::add(Event::PartialAggregationGroups, n_rows as u64);
            return emit(self.ungrouped(keys, &args, n_rows)?);
        }
        self.groups.add(&keys, &args, n_rows)?;
        self.rows += n_rows;
        let n_groups = self.groups.len();
        let pays = self.rows as f64 >= n_groups as f64 * ROWS_PER_GROUP;
        let is_full = n_groups >= MAX_LOCAL_GROUPS || n_groups >= LOCAL_GROUPS && !pays;
        if !is_full && !self.measure_refused() {
            return Ok(Flow::Continue);
        }
        if !pays {
            self.rows_to_pass = self.rows * PASSED_TABLES;
        }
        let groups = self.take()?;
        self.memory.resize(0)?;
        for part in split(groups, self.max_block_size) {
            if emit(part)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    /// Accounts for the memory of the groups now and then: can it not be had?
    fn measure_refused(&mut self) -> bool {
        if self.rows - self.measured_at < LOCAL_GROUPS {
            return false;
        }
        self.measured_at = self.rows;
        self.memory.resize(self.groups.memory()).is_err()
    }

    /// Every row as a group of its own.
    fn ungrouped(&self, keys: Vec<Column>, args: &[Vec<Vector>], n_rows: usize) -> Result<Block> {
        let all: Vec<u32> = (0..n_rows as u32).collect();
        let mut columns = keys;
        for (mut states, args) in states(&self.shape.calls).into_iter().zip(args) {
            states.grow(n_rows);
            states.add_groups(&all, args)?;
            columns.push(Column::Flat(states.finish(n_rows)?));
        }
        Ok(Block::new(columns, n_rows))
    }

    /// All groups so far, of which the worker knows none then.
    fn take(&mut self) -> Result<Block> {
        let fresh = Groups::new(&self.shape.layout, &self.shape.calls);
        let groups = std::mem::replace(&mut self.groups, fresh);
        (self.rows, self.measured_at) = (0, 0);
        events::add(Event::PartialAggregationGroups, groups.len() as u64);
        Ok(self.shape.output(groups.finish()?))
    }
}
