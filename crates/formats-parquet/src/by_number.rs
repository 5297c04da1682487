//! Rows of a file by their numbers: for the few rows that are left of a query, columns that it did not have to read
//! before. Pages without such rows are passed by.

use crate::input::by_name;
use crate::{ParquetFile, Selection};
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_formats::ReadRequest;
use chalet_formats::input::RowsByNumber;
use std::ops::Range;
use std::sync::Arc;

pub struct FileRows {
    file: Arc<ParquetFile>,
    /// Without filter and ranges.
    request: ReadRequest,
    /// The first row of each row group, and the number of all rows.
    starts: Vec<u64>,
}

impl FileRows {
    pub fn new(file: Arc<ParquetFile>, request: ReadRequest) -> FileRows {
        let mut starts = vec![0];
        for group in 0..file.n_row_groups() {
            starts.push(starts[group] + file.row_group_rows(group) as u64);
        }
        let request = ReadRequest {
            filter: None,
            dynamic_filters: Vec::new(),
            ranges: Arc::new([]),
            rows: None,
            row_numbers: false,
            ..request
        };
        FileRows { file, request, starts }
    }

    /// The row group of a row, and where in the file its rows are.
    fn group_of(&self, number: u64) -> Result<(usize, Range<u64>)> {
        let group = self.starts.partition_point(|&start| start <= number) - 1;
        let Some(&end) = self.starts.get(group + 1) else {
            bail!(LOGICAL_ERROR, "Row {number} of a Parquet file of {} rows", self.starts[group]);
        };
        Ok((group, self.starts[group]..end))
    }
}

impl RowsByNumber for FileRows {
    fn runs(&self, numbers: &[u64]) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        let mut at = 0;
        for end in &self.starts[1..] {
            let n = numbers[at..].partition_point(|number| number < end);
            if n > 0 {
                runs.push(at..at + n);
            }
            at += n;
        }
        runs
    }

    fn read(&self, numbers: &[u64], wanted: Arc<[usize]>) -> Result<Block> {
        let request = ReadRequest { wanted, ..self.request.clone() };
        let by_name = by_name(&self.file, &request)?;
        // Of dictionaries only a few values are used.
        let selection = |&column: &usize| Selection { keep_dictionary: false, ..Selection::new(column) };
        let selections: Vec<Selection> = by_name.read.iter().map(selection).collect();
        let mut blocks = Vec::new();
        let mut rest = numbers;
        while let Some(&first) = rest.first() {
            let (group, rows) = self.group_of(first)?;
            let (here, behind) = rest.split_at(rest.partition_point(|&number| number < rows.end));
            let here: Vec<usize> = here.iter().map(|number| (number - rows.start) as usize).collect();
            let reader = self.file.read_row_group(group, &selections, Vec::new(), None)?;
            blocks.push(by_name.block(&reader.read_rows(&here)?, &request)?);
            rest = behind;
        }
        Ok(Block::concat(&blocks))
    }
}
