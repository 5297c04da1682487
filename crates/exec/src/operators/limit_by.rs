//! LimitBy: at most so many rows for each distinct value of some columns, in the input's order. Each worker keeps the rows
//! that are among the first of their value in what it has seen; which of them are among the first of all is known when all
//! are in. Where a limit stands above, workers take no other task when one of them has enough rows alone.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::expression::Program;
use crate::hash_table::{GroupTable, KeyLayout};
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub struct LimitBy {
    pub columns: Program,
    /// How the values of these columns are kept.
    pub layout: Arc<KeyLayout>,
    pub limit: u64,
    pub offset: u64,
    /// No more rows than these are needed, the first ones.
    pub needed: Option<u64>,
    /// Some worker has them.
    pub has_enough: Arc<AtomicBool>,
}

impl Sink for LimitBy {
    fn name(&self) -> &'static str {
        "LimitBy"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker {
            // Skipped rows are kept: a worker does not know how many came before its own.
            first: First::new(self, 0),
            offset: self.offset,
            needed: self.needed,
            ready: 0,
            in_task: (0, 0),
            has_enough: self.has_enough.clone(),
            blocks: Vec::new(),
            kept: 0,
            memory: Reservation::new(ctx.control.memory.clone()),
        }))
    }

    fn is_satisfied(&self) -> bool {
        self.has_enough.load(Relaxed)
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let workers = concrete::<Worker>(workers).into_iter().filter(|worker| !worker.blocks.is_empty());
        let mut workers: Vec<Worker> = workers.collect();
        if let ([_], 0) = (&workers[..], self.offset) {
            // One worker that has seen all rows has kept the right ones: its tasks come in their order.
            let blocks = workers.remove(0).blocks.into_iter().map(|(_, block)| block).collect();
            return Ok(blocks_as_source(blocks, ctx));
        }
        let mut blocks: Vec<(Position, Block)> = workers.into_iter().flat_map(|w| w.blocks).collect();
        // Stable: blocks of one position stay in the order in which they came.
        blocks.sort_by_key(|(position, _)| *position);
        let mut first = First::new(self, self.offset);
        let mut kept = Vec::with_capacity(blocks.len());
        for (_, block) in blocks {
            ctx.control.check_with_interrupt()?;
            let (block, _) = first.of(block)?;
            if !block.is_empty() {
                kept.push(block);
            }
        }
        Ok(blocks_as_source(kept, ctx))
    }
}

/// Counts the rows of each value, to tell which of them are rows `start..end` of theirs.
struct First {
    columns: Program,
    start: u64,
    end: u64,
    values: GroupTable,
    /// Rows of each value so far.
    counts: Vec<u64>,
}

impl First {
    fn new(of: &LimitBy, start: u64) -> First {
        let (columns, end) = (of.columns.clone(), of.offset.saturating_add(of.limit));
        First { columns, start, end, values: GroupTable::new(of.layout.clone()), counts: Vec::new() }
    }

    /// The rows of a block that are within the range of their value, and the number of each among its own.
    fn of(&mut self, block: Block) -> Result<(Block, Vec<u64>)> {
        let columns = self.columns.evaluate(&block)?;
        let groups = self.values.groups(&columns, block.n_rows());
        self.counts.resize(self.values.len(), 0);
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for (row, group) in (0..).zip(groups) {
            let count = &mut self.counts[group as usize];
            if (self.start..self.end).contains(count) {
                rows.push(row);
                numbers.push(*count);
            }
            *count += 1;
        }
        let kept = if rows.len() == block.n_rows() { block } else { block.gather(&rows) };
        Ok((kept, numbers))
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize {
        self.values.memory() + self.counts.capacity() * size_of::<u64>()
    }
}

struct Worker {
    first: First,
    offset: u64,
    needed: Option<u64>,
    /// Rows that are in the result or stand for others that are.
    ready: u64,
    /// Task, and such rows that came of it.
    in_task: (u32, u64),
    has_enough: Arc<AtomicBool>,
    blocks: Vec<(Position, Block)>,
    /// Bytes of these.
    kept: usize,
    memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        let (block, numbers) = self.first.of(block)?;
        self.kept += block.memory();
        self.memory.resize(self.kept + self.first.memory())?;
        if !block.is_empty() {
            self.blocks.push((position, block));
        }
        let ready = numbers.iter().filter(|&&number| number >= self.offset).count() as u64;
        if self.in_task.0 != position.task {
            self.in_task = (position.task, 0);
        }
        self.in_task.1 += ready;
        self.ready += ready;
        let Some(needed) = self.needed else { return Ok(Flow::Continue) };
        if self.ready >= needed {
            self.has_enough.store(true, Relaxed);
        }
        // Values that this task has brought first come before all that is still to come.
        Ok(if self.in_task.1 >= needed { Flow::Stop } else { Flow::Continue })
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
