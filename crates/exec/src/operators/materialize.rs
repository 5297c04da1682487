//! Materializing the input of a pipeline breaker: the worker that keeps every block, and the blocks of all workers in the
//! source's order. For sinks that need all rows before they begin.

use crate::ExecContext;
use crate::pipeline::{Flow, Position, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::Reservation;
use std::any::Any;

struct Materialize {
    blocks: Vec<(Position, Block)>,
    memory: Reservation,
}

/// A worker that keeps every block.
pub fn worker(ctx: &ExecContext) -> Box<dyn SinkWorker> {
    Box::new(Materialize { blocks: Vec::new(), memory: Reservation::new(ctx.control.memory.clone()) })
}

/// The blocks that the workers kept, in the source's order.
pub fn in_order(workers: Vec<Box<dyn SinkWorker>>) -> Vec<Block> {
    let mut blocks: Vec<_> = concrete::<Materialize>(workers).into_iter().flat_map(|w| w.blocks).collect();
    // Stable: blocks of one position stay in the order in which they came.
    blocks.sort_by_key(|(position, _)| *position);
    blocks.into_iter().map(|(_, block)| block).collect()
}

impl SinkWorker for Materialize {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        self.memory.grow(block.memory())?;
        self.blocks.push((position, block));
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
