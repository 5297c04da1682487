//! Rows of files by row id. They are read from the files as the scan has opened them.

use crate::RowsById;
use crate::file::{Shared, complete, in_file, split};
use crate::row_ids;
use chalet_base::{Result, err};
use chalet_columns::Block;
use std::ops::Range;
use std::sync::Arc;

pub(crate) struct FileRows(Arc<Shared>);

impl FileRows {
    /// The rows of the files that this scan opens.
    pub fn of(shared: Arc<Shared>) -> Arc<dyn RowsById> {
        Arc::new(FileRows(shared))
    }
}

impl RowsById for FileRows {
    fn runs(&self, row_ids: &[u64]) -> Vec<Range<usize>> {
        row_ids::runs(row_ids, |file| self.0.rows_of(file))
    }

    fn read(&self, row_ids: &[u64], columns: &[usize]) -> Result<Block> {
        let shared = &self.0;
        let (wanted, places) = split(&shared.schema, shared.request.structure.len(), columns);
        let mut blocks = Vec::new();
        for (file, place, numbers) in row_ids::by_source(row_ids) {
            let rows = shared.rows_of(file);
            let rows =
                rows.ok_or_else(|| err!(LOGICAL_ERROR, "A row id is of file {file}, which was not read"))?;
            let path = &shared.files[file];
            let block = match wanted.is_empty() {
                true => Block::new(Vec::new(), place.len()),
                false => rows.read(&numbers, wanted.clone()).map_err(|e| e.context(in_file(path)))?,
            };
            blocks.push(complete(block, &places, path, file)?);
        }
        Ok(Block::concat(&blocks))
    }
}
