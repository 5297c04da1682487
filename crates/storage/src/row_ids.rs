//! Row ids of scans that read several sources, files or parts: the number of the source and that of the row in it.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_formats::input::RowsByNumber;
use std::ops::Range;
use std::sync::Arc;

/// Bits of a row id that hold the row; those above hold the source.
const ROW_BITS: u32 = 40;

/// So many sources have a place in a row id.
pub(crate) const MAX_SOURCES: usize = 1 << (64 - ROW_BITS);

/// Row ids of one source, by the numbers of its rows.
pub(crate) fn row_ids(source: usize, numbers: &Column) -> Result<Column> {
    let numbers = numbers.flat();
    let numbers = numbers.values::<u64>()?;
    let fits = numbers.iter().all(|number| number >> ROW_BITS == 0);
    ensure!(fits, NOT_IMPLEMENTED, "Files of more than {} rows are not supported", 1u64 << ROW_BITS);
    let source = (source as u64) << ROW_BITS;
    Ok(Vector::from(numbers.iter().map(|number| source | number).collect::<Vec<u64>>()).into())
}

/// Ascending row ids source by source: which source, where its row ids are among all, and the numbers of its rows.
pub(crate) fn by_source(row_ids: &[u64]) -> impl Iterator<Item = (usize, Range<usize>, Vec<u64>)> {
    let source = |row_id: &u64| row_id >> ROW_BITS;
    let mut start = 0;
    row_ids.chunk_by(move |a, b| source(a) == source(b)).map(move |ids| {
        let place = start..start + ids.len();
        start = place.end;
        let numbers = ids.iter().map(|row_id| row_id & ((1 << ROW_BITS) - 1)).collect();
        (source(&ids[0]) as usize, place, numbers)
    })
}

/// Cuts ascending row ids into the runs that are best read each for itself; `rows_of` are the rows of a source by number.
pub(crate) fn runs(
    row_ids: &[u64],
    rows_of: impl Fn(usize) -> Option<Arc<dyn RowsByNumber>>,
) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    for (source, place, numbers) in by_source(row_ids) {
        match rows_of(source) {
            Some(rows) => {
                let here = rows.runs(&numbers);
                runs.extend(here.into_iter().map(|run| place.start + run.start..place.start + run.end));
            }
            None => runs.push(place),
        }
    }
    runs
}
