//! Rows of parts by row id, which is the position of the part in the scan and the number of the row in it.

use super::scan::{Layout, Shared, places};
use crate::RowsById;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use std::ops::Range;
use std::sync::Arc;

/// Bits of a row id that hold the row; those above hold the part.
const ROW_BITS: u32 = 40;
const ROW_MASK: u64 = (1 << ROW_BITS) - 1;

/// Row ids of one part, by the numbers of its rows.
pub(super) fn of_part(part: usize, numbers: &Column) -> Result<Column> {
    let numbers = numbers.flat();
    let part = (part as u64) << ROW_BITS;
    let ids: Vec<u64> = numbers.values::<u64>()?.iter().map(|number| part | number).collect();
    Ok(Vector::from(ids).into())
}

/// The rows of the parts of a scan.
pub(super) struct PartRows(Arc<Shared>);

impl PartRows {
    pub fn of(shared: Arc<Shared>) -> Arc<dyn RowsById> {
        Arc::new(PartRows(shared))
    }
}

/// The row ids that are of the part of the first one: which part, and how many.
fn of_one_part(row_ids: &[u64]) -> Option<(usize, usize)> {
    let part = row_ids.first()? >> ROW_BITS;
    Some((part as usize, row_ids.partition_point(|row_id| row_id >> ROW_BITS <= part)))
}

fn numbers(row_ids: &[u64]) -> Vec<u64> {
    row_ids.iter().map(|row_id| row_id & ROW_MASK).collect()
}

impl RowsById for PartRows {
    fn runs(&self, row_ids: &[u64]) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut at = 0;
        while let Some((part, n)) = of_one_part(&row_ids[at..]) {
            match self.0.rows.get(part).and_then(|rows| rows.get()) {
                Some(rows) => {
                    let here = rows.runs(&numbers(&row_ids[at..at + n]));
                    runs.extend(here.into_iter().map(|run| at + run.start..at + run.end));
                }
                None => runs.push(at..at + n),
            }
            at += n;
        }
        runs
    }

    fn read(&self, row_ids: &[u64], columns: &[usize]) -> Result<Block> {
        let shared = &self.0;
        let places = places(&shared.definition.schema, &shared.definition.columns, columns)?;
        let mut blocks = Vec::new();
        let mut rest = row_ids;
        while let Some((part, n)) = of_one_part(rest) {
            let (here, behind) = rest.split_at(n);
            rest = behind;
            let Some(of) = shared.parts.get(part) else { bail!(LOGICAL_ERROR, "A row id is of part {part}") };
            let layout = Layout::of(of, &places)?;
            let here = numbers(here);
            let known = Column::from(Vector::from(here.clone()));
            if let Some(block) = of.resident() {
                let rows: Vec<u32> = here.iter().map(|&row| row as u32).collect();
                let read = layout.wanted.iter().map(|&at| block.column(at).clone()).collect();
                let read = Block::new(read, block.n_rows()).gather(&rows).into_columns();
                let columns = shared.complete(part, &layout, &places, read, Some(known), n)?;
                blocks.push(Block::new(columns, n));
                continue;
            }
            let Some(rows) = shared.rows.get(part).and_then(|rows| rows.get()) else {
                bail!(LOGICAL_ERROR, "A row id is of part {part}, which was not read")
            };
            let read = match layout.wanted.is_empty() {
                true => Vec::new(),
                false => rows.read(&here, layout.wanted.clone())?.into_columns(),
            };
            let columns = shared.complete(part, &layout, &places, read, Some(known), n)?;
            blocks.push(Block::new(columns, n));
        }
        Ok(Block::concat(&blocks))
    }
}
