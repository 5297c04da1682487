//! Rows of a part in the making: gathered in memory, and written to a file once they are many.

use super::definition::Definition;
use super::part::PartData;
use super::part_file::PartWriter;
use super::skip_index::{IndexWriters, SkipIndexProgram};
use chalet_base::Result;
use chalet_columns::{Block, Column};
use std::path::PathBuf;
use std::sync::Arc;

/// Rows of no more bytes in memory than this are kept there.
const RESIDENT_BYTES: usize = 1 << 18;

/// Dropped without being finished it leaves nothing.
pub(super) struct RowsWriter {
    definition: Arc<Definition>,
    /// None of a table in memory.
    path: Option<PathBuf>,
    /// That may encode at once.
    threads: usize,
    gathered: Vec<Block>,
    gathered_bytes: usize,
    writer: Option<(PartWriter, IndexWriters)>,
    /// What is gathered of rows that are a file.
    indexes: Arc<[SkipIndexProgram]>,
    rows: u64,
    raw_bytes: u64,
}

/// What was written.
pub(super) struct WrittenRows {
    pub data: PartData,
    pub rows: u64,
    pub bytes: u64,
    pub raw_bytes: u64,
    /// Of a file.
    pub indexes: Option<IndexWriters>,
}

impl RowsWriter {
    pub fn new(
        definition: Arc<Definition>,
        path: Option<PathBuf>,
        indexes: Arc<[SkipIndexProgram]>,
    ) -> RowsWriter {
        RowsWriter {
            definition,
            path,
            threads: 1,
            gathered: Vec::new(),
            gathered_bytes: 0,
            writer: None,
            indexes,
            rows: 0,
            raw_bytes: 0,
        }
    }

    /// How many threads may encode at once.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Another definition, before there are rows.
    pub fn set_definition(&mut self, definition: Arc<Definition>) {
        self.definition = definition;
    }

    /// Appends rows, which come in their order; the columns are those that are stored.
    pub fn write(&mut self, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let bytes = block.memory();
        self.rows += block.n_rows() as u64;
        self.raw_bytes += bytes as u64;
        if self.writer.is_none() {
            self.gathered_bytes += bytes;
            self.gathered.push(block);
            let Some(path) = self.path.as_ref().filter(|_| self.gathered_bytes > RESIDENT_BYTES) else {
                return Ok(());
            };
            let writer = PartWriter::create(path.clone(), &self.definition, self.threads, &self.gathered)?;
            let (writer, indexes) = self.writer.insert((writer, IndexWriters::new(&self.indexes)));
            return std::mem::take(&mut self.gathered).iter().try_for_each(|block| {
                indexes.write(block)?;
                writer.write(block)
            });
        }
        let Some((writer, indexes)) = &mut self.writer else { return Ok(()) };
        indexes.write(&block)?;
        writer.write(&block)
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// All rows, on disk where they are a file.
    pub fn finish(self) -> Result<WrittenRows> {
        let (rows, raw_bytes) = (self.rows, self.raw_bytes);
        if let (Some((writer, indexes)), Some(path)) = (self.writer, self.path) {
            let checksums = writer.finish()?;
            let bytes = checksums.len();
            let data = PartData::File(path, Arc::new(checksums));
            return Ok(WrittenRows { data, rows, bytes, raw_bytes, indexes: Some(indexes) });
        }
        let block = match self.gathered.is_empty() {
            // With its columns, though it has no rows.
            true => Block::new(
                self.definition.columns.columns.iter().map(|c| Column::Flat(c.fill.slice(0, 0))).collect(),
                0,
            ),
            false => compact(Block::concat(&self.gathered)),
        };
        let bytes = block.memory() as u64;
        Ok(WrittenRows { data: PartData::Resident(block), rows, bytes, raw_bytes: bytes, indexes: None })
    }
}

/// What columns point into is kept no longer than needed.
fn compact(block: Block) -> Block {
    let n_rows = block.n_rows();
    let columns = block.into_columns().into_iter().map(|column| match column {
        Column::Flat(vector) => Column::Flat(vector.compact()),
        other => Column::Flat(other.into_flat().compact()),
    });
    Block::new(columns.collect(), n_rows)
}
