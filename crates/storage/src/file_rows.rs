//! Rows of files by row id, which is the number of the file and that of the row in it. They are read from the files as the
//! scan has opened them.

use crate::RowsById;
use crate::file::{Shared, complete, in_file, split};
use chalet_base::{Result, ensure, err};
use chalet_columns::{Block, Column, Vector};
use std::ops::Range;
use std::sync::Arc;

/// Bits of a row id that hold the row; those above hold the file.
const ROW_BITS: u32 = 40;

/// So many files have a place in a row id.
pub(crate) const MAX_FILES: usize = 1 << (64 - ROW_BITS);

/// Row ids of one file, by their numbers in it.
pub(crate) fn row_ids(file: usize, numbers: &Column) -> Result<Column> {
    let numbers = numbers.flat();
    let numbers = numbers.values::<u64>()?;
    let fits = numbers.iter().all(|number| number >> ROW_BITS == 0);
    ensure!(fits, NOT_IMPLEMENTED, "Files of more than {} rows are not supported", 1u64 << ROW_BITS);
    let file = (file as u64) << ROW_BITS;
    Ok(Vector::from(numbers.iter().map(|number| file | number).collect::<Vec<u64>>()).into())
}

pub(crate) struct FileRows(Arc<Shared>);

impl FileRows {
    /// The rows of the files that this scan opens.
    pub fn of(shared: Arc<Shared>) -> Arc<dyn RowsById> {
        Arc::new(FileRows(shared))
    }
}

/// The row ids of the file that the first is of: which file, and how many they are.
fn of_one_file(row_ids: &[u64]) -> Option<(usize, usize)> {
    let file = row_ids.first()? >> ROW_BITS;
    Some((file as usize, row_ids.partition_point(|row_id| row_id >> ROW_BITS <= file)))
}

fn numbers(row_ids: &[u64]) -> Vec<u64> {
    row_ids.iter().map(|row_id| row_id & ((1 << ROW_BITS) - 1)).collect()
}

impl RowsById for FileRows {
    fn runs(&self, row_ids: &[u64]) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut at = 0;
        while let Some((file, n)) = of_one_file(&row_ids[at..]) {
            match self.0.rows_of(file) {
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
        let (wanted, places) = split(&shared.schema, shared.request.structure.len(), columns);
        let mut blocks = Vec::new();
        let mut rest = row_ids;
        while let Some((file, n)) = of_one_file(rest) {
            let (here, behind) = rest.split_at(n);
            let rows = shared.rows_of(file);
            let rows =
                rows.ok_or_else(|| err!(LOGICAL_ERROR, "A locator is of file {file}, which was not read"))?;
            let path = &shared.files[file];
            let block = match wanted.is_empty() {
                true => Block::new(Vec::new(), n),
                false => rows.read(&numbers(here), wanted.clone()).map_err(|e| e.context(in_file(path)))?,
            };
            blocks.push(complete(block, &places, path, file)?);
            rest = behind;
        }
        Ok(Block::concat(&blocks))
    }
}
