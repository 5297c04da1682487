//! The rows of a row group that are known to pass the filter: they are read by their numbers, and the filter is not applied
//! again. Columns that only it would read are not even looked at.

use crate::Selection;
use crate::input::Scan;
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_formats::{BlockReader, ReadRequest, by_name::ByName};
use std::sync::Arc;

pub struct KnownRows {
    /// All of them; made when first asked for.
    rows: Option<Rows>,
    block: Block,
    /// Rows of the block that were given out.
    given: usize,
    omitted: Vec<Option<BooleanBuffer>>,
    by_name: Arc<ByName>,
    bytes: u64,
}

struct Rows {
    reader: crate::RowGroupReader,
    numbers: Vec<usize>,
    request: ReadRequest,
    /// Of the row group, in the file.
    first_row: u64,
    /// Positions of columns that are not read, in ascending order, and what stands for their values.
    unread: Vec<(usize, Vector)>,
}

impl KnownRows {
    pub fn new(scan: &Scan, group: usize, first_row: u64, numbers: Vec<usize>) -> Result<KnownRows> {
        let mut unread =
            scan.filter.iter().flatten().flat_map(|stage| stage.unread.clone()).collect::<Vec<_>>();
        unread.sort_by_key(|(position, _)| *position);
        let is_read = |position: &usize| unread.binary_search_by_key(position, |u| u.0).is_err();
        // Of dictionaries only a few values are used.
        let selections: Vec<Selection> = (0..scan.selections.len())
            .filter(is_read)
            .map(|position| Selection { keep_dictionary: false, ..scan.selections[position].clone() })
            .collect();
        let share =
            |bytes: u64| bytes * numbers.len() as u64 / (scan.file.row_group_rows(group) as u64).max(1);
        let bytes = selections.iter().map(|s| share(scan.file.compressed_bytes(group, s.column))).sum();
        let reader = scan.file.read_row_group(group, &selections, Vec::new(), None)?;
        Ok(KnownRows {
            rows: Some(Rows { reader, numbers, request: scan.request.clone(), first_row, unread }),
            block: Block::default(),
            given: 0,
            omitted: Vec::new(),
            by_name: scan.by_name.clone(),
            bytes,
        })
    }
}

impl Rows {
    fn read(self, by_name: &ByName) -> Result<Block> {
        let n = self.numbers.len();
        let numbers = self
            .request
            .row_numbers
            .then(|| -> Vec<u64> { self.numbers.iter().map(|&row| self.first_row + row as u64).collect() });
        let mut columns = self.reader.read_rows(&self.numbers)?.into_columns();
        for (position, value) in self.unread {
            columns.insert(position, Column::constant(value, n));
        }
        let mut columns = by_name.block(&Block::new(columns, n), &self.request)?.into_columns();
        columns.extend(numbers.map(|numbers| Vector::from(numbers).into()));
        Ok(Block::new(columns, n))
    }
}

impl BlockReader for KnownRows {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        if let Some(rows) = self.rows.take() {
            self.block = rows.read(&self.by_name)?;
        }
        let n = max_rows.max(1).min(self.block.n_rows() - self.given);
        self.omitted = self.by_name.omitted(n);
        self.given += n;
        Ok((n > 0).then(|| self.block.slice(self.given - n, n)))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn applies_filter(&self) -> bool {
        true
    }

    fn bytes_read(&self) -> u64 {
        if self.rows.is_some() { 0 } else { self.bytes }
    }
}
