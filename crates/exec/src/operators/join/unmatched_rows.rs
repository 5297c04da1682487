//! The right rows that found no partner, put out after all left rows: RIGHT, FULL and ANTI RIGHT joins. Holds the
//! result.

use super::table::{JoinTable, built};
use crate::ExecContext;
use crate::operators::aggregate::split;
use crate::operators::collect::blocks_as_source;
use crate::operators::materialize;
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_storage::Scan;
use chalet_types::DataType;
use std::sync::{Arc, OnceLock};

/// The sink behind the probe of a RIGHT, FULL or ANTI RIGHT join: the joined rows, then the unmatched right rows.
pub struct UnmatchedRows {
    pub slot: Arc<OnceLock<JoinTable>>,
    /// Types of the result's columns that come from the left: they hold defaults.
    pub left_types: Vec<DataType>,
}

impl Sink for UnmatchedRows {
    fn name(&self) -> &'static str {
        "JoinTail"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut blocks = materialize::in_order(workers);
        let table = built(&self.slot)?;
        let rows: Vec<u32> =
            (0..table.rows.n_rows()).filter(|&row| !table.is_used(row)).map(|row| row as u32).collect();
        if !rows.is_empty() {
            let left = self.left_types.iter().map(|ty| Column::constant(Vector::fillers(ty, 1), rows.len()));
            let mut columns: Vec<Column> = left.collect();
            columns.extend(table.rows.gather(&rows).into_columns());
            blocks.extend(split(Block::new(columns, rows.len()), ctx.settings.max_block_size));
        }
        Ok(blocks_as_source(blocks, ctx))
    }
}
