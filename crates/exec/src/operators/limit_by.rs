//! LimitBy: at most so many rows for each distinct value of some columns, in the input's order. Holds all rows, because
//! which of them come first is known only when all are in.

use super::collect::blocks_as_source;
use super::materialize;
use crate::ExecContext;
use crate::expression::Program;
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::Column;
use chalet_columns::keys::group_keys;
use chalet_storage::Scan;
use std::sync::Arc;

/// The sink of LIMIT BY.
pub struct LimitBy {
    pub columns: Program,
    pub limit: u64,
    pub offset: u64,
}

impl Sink for LimitBy {
    fn name(&self) -> &'static str {
        "LimitBy"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let blocks = materialize::in_order(workers);
        let range = self.offset..self.offset.saturating_add(self.limit);
        let mut seen: HashMap<Box<[u8]>, u64> = HashMap::default();
        let mut kept = Vec::with_capacity(blocks.len());
        for block in blocks {
            ctx.control.check_with_interrupt()?;
            let columns = self.columns.evaluate(&block)?;
            let keys = group_keys(&columns.iter().collect::<Vec<&Column>>(), block.n_rows());
            let mut rows = Vec::new();
            for row in 0..block.n_rows() {
                let count = match seen.get_mut(keys.get(row)) {
                    Some(count) => count,
                    None => seen.entry(keys.get(row).into()).or_insert(0),
                };
                if range.contains(count) {
                    rows.push(row as u32);
                }
                *count += 1;
            }
            if !rows.is_empty() {
                kept.push(block.gather(&rows));
            }
        }
        Ok(blocks_as_source(kept, ctx))
    }
}
