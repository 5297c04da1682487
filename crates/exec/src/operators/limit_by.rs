//! LimitBy: at most so many rows for each distinct value of some columns, in the input's order. Each worker keeps the rows
//! that are among the first of their value in what it has seen; which of them are among the first of all is known when all
//! are in. Where a limit stands above, workers take no other task when one of them has enough rows alone.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub struct LimitBy {
    pub columns: Program,
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
            first: First::new(&self.columns, 0, self.offset.saturating_add(self.limit)),
            offset: self.offset,
            needed: self.needed,
            ready: 0,
            in_task: (0, 0),
            has_enough: self.has_enough.clone(),
            blocks: Vec::new(),
            memory: Reservation::new(ctx.control.memory.clone()),
        }))
    }

    fn is_satisfied(&self) -> bool {
        self.has_enough.load(Relaxed)
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut blocks: Vec<(Position, Block)> =
            concrete::<Worker>(workers).into_iter().flat_map(|w| w.blocks).collect();
        // Stable: blocks of one position stay in the order in which they came.
        blocks.sort_by_key(|(position, _)| *position);
        let mut first = First::new(&self.columns, self.offset, self.offset.saturating_add(self.limit));
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
    seen: HashMap<Box<[u8]>, u64>,
    /// Bytes of the values that were seen.
    key_bytes: usize,
}

/// Bytes of a value that was seen, beside its own.
const ENTRY: usize = 40;

impl First {
    fn new(columns: &Program, start: u64, end: u64) -> First {
        First { columns: columns.clone(), start, end, seen: HashMap::default(), key_bytes: 0 }
    }

    /// The rows of a block that are within the range of their value, and the number of each among its own.
    fn of(&mut self, block: Block) -> Result<(Block, Vec<u64>)> {
        let columns = self.columns.evaluate(&block)?;
        let keys = group_keys(&columns.iter().collect::<Vec<&Column>>(), block.n_rows());
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for row in 0..block.n_rows() {
            let key = keys.get(row);
            let count = match self.seen.get_mut(key) {
                Some(count) => count,
                None => {
                    self.key_bytes += key.len() + ENTRY;
                    self.seen.entry(key.into()).or_insert(0)
                }
            };
            if (self.start..self.end).contains(count) {
                rows.push(row as u32);
                numbers.push(*count);
            }
            *count += 1;
        }
        let kept = if rows.len() == block.n_rows() { block } else { block.gather(&rows) };
        Ok((kept, numbers))
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
    memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        let keys_before = self.first.key_bytes;
        let (block, numbers) = self.first.of(block)?;
        self.memory.grow(block.memory() + self.first.key_bytes - keys_before)?;
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
