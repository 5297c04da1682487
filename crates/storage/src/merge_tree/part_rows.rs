//! Rows of parts by row id, as the scan has opened the parts.

use super::layout::{Layout, places};
use super::scan::Shared;
use crate::{RowsById, row_ids};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use std::ops::Range;
use std::sync::Arc;

/// The rows of the parts of a scan.
pub(super) struct PartRows(Arc<Shared>);

impl PartRows {
    pub fn of(shared: Arc<Shared>) -> Arc<dyn RowsById> {
        Arc::new(PartRows(shared))
    }
}

impl RowsById for PartRows {
    fn runs(&self, row_ids: &[u64]) -> Vec<Range<usize>> {
        row_ids::runs(row_ids, |part| self.0.rows.get(part)?.get().cloned())
    }

    fn read(&self, row_ids: &[u64], columns: &[usize]) -> Result<Block> {
        let shared = &self.0;
        let places = places(&shared.definition.schema, &shared.definition.columns, columns)?;
        let mut blocks = Vec::new();
        for (part, place, numbers) in row_ids::by_source(row_ids) {
            let Some(of) = shared.parts.get(part) else { bail!(LOGICAL_ERROR, "A row id is of part {part}") };
            let layout = Layout::of(of, &places, &shared.definition)?;
            let read = match (of.resident(), shared.rows.get(part).and_then(|rows| rows.get())) {
                _ if layout.wanted.is_empty() => Vec::new(),
                (Some(block), _) => {
                    let rows: Vec<u32> = numbers.iter().map(|&row| row as u32).collect();
                    let read = layout.wanted.iter().map(|&at| block.column(at).clone()).collect();
                    Block::new(read, block.n_rows()).gather(&rows).into_columns()
                }
                (None, Some(rows)) => rows.read(&numbers, layout.wanted.clone())?.into_columns(),
                (None, None) => bail!(LOGICAL_ERROR, "A row id is of part {part}, which was not read"),
            };
            let numbers = Some(Column::from(Vector::from(numbers)));
            let columns = shared.complete(part, &layout, places.len(), read, numbers, place.len())?;
            blocks.push(Block::new(columns, place.len()));
        }
        Ok(Block::concat(&blocks))
    }
}
