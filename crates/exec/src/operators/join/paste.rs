//! PASTE JOIN: the first left row with the first right row, and so on, as long as both sides have rows. Holds both.

use crate::ExecContext;
use crate::control::Reservation;
use crate::operators::aggregate::split;
use crate::operators::collect::blocks_as_source;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::{Block, Column};
use chalet_storage::Scan;
use std::any::Any;
use std::sync::{Arc, OnceLock};

/// Gathers the right side, in order.
pub struct PasteRight {
    pub slot: Arc<OnceLock<Block>>,
}

/// Gathers the left side and puts the right one beside it.
pub struct Paste {
    pub slot: Arc<OnceLock<Block>>,
}

struct Worker {
    blocks: Vec<(Position, Block)>,
    memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        self.memory.grow(block.memory())?;
        self.blocks.push((position, block));
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn worker(ctx: &ExecContext) -> Box<dyn SinkWorker> {
    Box::new(Worker { blocks: Vec::new(), memory: Reservation::new(ctx.control.clone()) })
}

fn joined(workers: Vec<Box<dyn SinkWorker>>) -> Block {
    let mut blocks: Vec<_> = concrete::<Worker>(workers).into_iter().flat_map(|w| w.blocks).collect();
    blocks.sort_by_key(|(position, _)| *position);
    Block::concat(&blocks.into_iter().map(|(_, block)| block).collect::<Vec<_>>())
}

impl Sink for PasteRight {
    fn name(&self) -> &'static str {
        "PasteRight"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        // The stage runs once.
        let _ = self.slot.set(joined(workers));
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

impl Sink for Paste {
    fn name(&self) -> &'static str {
        "PasteJoin"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let left = joined(workers);
        let right = self.slot.get().cloned().unwrap_or_default();
        let n_rows = left.n_rows().min(right.n_rows());
        let mut columns: Vec<Column> = left.slice(0, n_rows).into_columns();
        columns.extend(right.slice(0, n_rows).into_columns());
        Ok(blocks_as_source(split(Block::new(columns, n_rows), ctx.settings.max_block_size), ctx))
    }
}
