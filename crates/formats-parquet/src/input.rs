//! The Parquet format as a reader of files: row groups are the units.

use crate::{ParquetFile, RowGroupReader, Selection};
use chalet_base::{Result, bail};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_formats::{
    BlockReader, FileScan, FormatSettings, Input, InputFormat, ReadRequest, Schema, convert,
};
use chalet_types::DataType;
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
        let mut sources = Vec::with_capacity(request.wanted.len());
        let mut selections = Vec::new();
        for &wanted in request.wanted.iter() {
            let (name, ty) = &request.structure[wanted];
            let found =
                file.column_index(name, settings.input_format_parquet_case_insensitive_column_matching);
            let Some(column) = found else {
                if !settings.input_format_parquet_allow_missing_columns {
                    bail!(THERE_IS_NO_COLUMN, "Column '{name}' is not presented in input data");
                }
                sources.push(Source { read: None, ty: ty.clone() });
                continue;
            };
            let read = (selections.len(), file.column(column)?.ty.clone());
            selections.push(Selection::new(column));
            sources.push(Source { read: Some(read), ty: ty.clone() });
        }
        Ok(Box::new(Scan { file, request, selections, sources: sources.into(), next_group: 0 }))
    }
}

/// Where a wanted column comes from.
struct Source {
    /// Position among the columns that are read, and the type there; none when the file lacks it.
    read: Option<(usize, DataType)>,
    ty: DataType,
}

struct Scan {
    file: Arc<ParquetFile>,
    request: ReadRequest,
    selections: Vec<Selection>,
    sources: Arc<[Source]>,
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
            sources: self.sources.clone(),
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
    sources: Arc<[Source]>,
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
        let mut columns = Vec::with_capacity(self.sources.len());
        for source in self.sources.iter() {
            columns.push(match &source.read {
                Some((position, from)) => {
                    convert::column(block.column(*position), from, &source.ty, &self.request)?
                }
                None => Column::constant(Vector::defaults(&source.ty, 1), n),
            });
        }
        if self.sources.iter().any(|source| source.read.is_none()) {
            let all = |source: &Source| source.read.is_none().then(|| BooleanBuffer::new_set(n));
            self.omitted = self.sources.iter().map(all).collect();
        }
        Ok(Some(Block::new(columns, n)))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.bytes * self.rows_read / self.n_rows.max(1)
    }
}
