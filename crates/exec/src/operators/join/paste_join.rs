//! PASTE JOIN: the first left row with the first right row, and so on, as long as both sides have rows. Holds both.

use crate::ExecContext;
use crate::operators::aggregate::split;
use crate::operators::collect::blocks_as_source;
use crate::operators::materialize;
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::Result;
use chalet_columns::{Block, Column};
use chalet_storage::Scan;
use std::sync::{Arc, OnceLock};

/// Materializes the right side, in order.
pub struct PasteJoinBuild {
    pub slot: Arc<OnceLock<Block>>,
}

/// Materializes the left side, in order, and puts the right one beside it.
pub struct PasteJoin {
    pub slot: Arc<OnceLock<Block>>,
}

impl Sink for PasteJoinBuild {
    fn name(&self) -> &'static str {
        "PasteRight"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        // The stage runs once.
        let _ = self.slot.set(Block::concat(&materialize::in_order(workers)));
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

impl Sink for PasteJoin {
    fn name(&self) -> &'static str {
        "PasteJoin"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let left = Block::concat(&materialize::in_order(workers));
        let right = self.slot.get().cloned().unwrap_or_default();
        let n_rows = left.n_rows().min(right.n_rows());
        let mut columns: Vec<Column> = left.slice(0, n_rows).into_columns();
        columns.extend(right.slice(0, n_rows).into_columns());
        Ok(blocks_as_source(split(Block::new(columns, n_rows), ctx.settings.max_block_size), ctx))
    }
}
