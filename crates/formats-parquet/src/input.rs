//! The Parquet format as a reader of files: row groups are the units.

use crate::{ParquetFile, RowGroupReader, Selection};
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer};
use chalet_formats::by_name::ByName;
use chalet_formats::{BlockReader, FileScan, FormatSettings, Input, InputFormat, ReadRequest, Schema};
use std::sync::Arc;

pub struct Parquet;

impl InputFormat for Parquet {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        // The schema is at the end.
        let bytes = std::mem::replace(input, Input::from(Vec::new())).into_bytes()?;
        *input = Input::Bytes(bytes.clone());
        let file = ParquetFile::open(bytes)?;
        file.schema(settings.input_format_parquet_skip_columns_with_unsupported_types_in_schema_inference)
            .map(Some)
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let settings = &request.settings;
        let file = ParquetFile::open(input.into_bytes()?)?
            .with_verify_checksums(settings.input_format_parquet_verify_checksums);
        let names = (0..file.n_columns()).map(|column| file.column_name(column));
        let by_name = ByName::new(
            &request,
            names,
            |column| Ok(file.column(column)?.ty.clone()),
            settings.input_format_parquet_case_insensitive_column_matching,
            settings.input_format_parquet_allow_missing_columns,
        )?;
        let selections = by_name.read.iter().map(|&column| Selection::new(column)).collect();
        Ok(Box::new(Scan { file, request, selections, by_name: Arc::new(by_name), next_group: 0 }))
    }
}

struct Scan {
    file: Arc<ParquetFile>,
    request: ReadRequest,
    selections: Vec<Selection>,
    by_name: Arc<ByName>,
    next_group: usize,
}

impl FileScan for Scan {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        let group = self.next_group;
        if group == self.file.n_row_groups() {
            return Ok(None);
        }
        self.next_group += 1;
        let reader = self.file.read_row_group(group, &self.selections, None, None)?;
        let bytes = self.selections.iter().map(|s| self.file.compressed_bytes(group, s.column)).sum();
        Ok(Some(Box::new(Group {
            reader,
            request: self.request.clone(),
            by_name: self.by_name.clone(),
            n_rows: self.file.row_group_rows(group) as u64,
            rows_read: 0,
            bytes,
            omitted: Vec::new(),
        })))
    }
}

struct Group {
    reader: RowGroupReader,
    request: ReadRequest,
    by_name: Arc<ByName>,
    n_rows: u64,
    rows_read: u64,
    /// Of the columns that are read, compressed.
    bytes: u64,
    omitted: Vec<Option<BooleanBuffer>>,
}

impl BlockReader for Group {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let limit = self.request.settings.input_format_parquet_max_block_size.max(1) as usize;
        let Some(block) = self.reader.next_block(max_rows.min(limit))? else { return Ok(None) };
        let n = block.n_rows();
        self.rows_read += n as u64;
        self.omitted = self.by_name.omitted(n);
        self.by_name.block(&block, &self.request).map(Some)
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.bytes * self.rows_read / self.n_rows.max(1)
    }
}
