//! Making parts: rows of one partition in their order.

use super::Partition;
use super::columns::KeptBlocks;
use super::definition::Definition;
use super::part::{Part, PartInfo};
use super::part_file::path_of;
use super::parts::Parts;
use super::rows_writer::{RowsWriter, WrittenRows};
use super::skip_index::SkipIndexProgram;
use chalet_base::Result;
use chalet_columns::Block;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A part in the making. Dropped without being finished it leaves nothing.
pub struct Rewrite {
    parts: Arc<Parts>,
    definition: Arc<Definition>,
    partition: Partition,
    number: u64,
    rows: RowsWriter,
    blocks: KeptBlocks,
}

/// Which blocks and merges a part has behind it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lineage {
    /// 0: that of an INSERT, which is numbered when it is committed.
    pub min_block: u64,
    pub max_block: u64,
    pub level: u32,
    pub mutation: u64,
}

impl Rewrite {
    pub(super) fn new(
        parts: Arc<Parts>,
        definition: Arc<Definition>,
        partition: Partition,
        indexes: Arc<[SkipIndexProgram]>,
    ) -> Rewrite {
        let number = parts.next_number();
        let path = parts.folder().map(|folder| path_of(folder, number));
        let rows = RowsWriter::new(definition.clone(), path, indexes);
        Rewrite { parts, definition, partition, number, rows, blocks: KeptBlocks::default() }
    }

    /// The same with so many threads that encode at once.
    pub fn with_threads(mut self, threads: usize) -> Rewrite {
        self.rows.set_threads(threads);
        self
    }

    /// The same for rows that come with where they came from, as [`MergeTree::kept_schema`](super::MergeTree::kept_schema) has it.
    pub fn keeping_blocks(mut self, kept: KeptBlocks) -> Rewrite {
        self.blocks = kept;
        let columns = self.definition.columns.with_blocks(kept);
        self.definition = Arc::new(Definition { columns, ..Definition::clone(&self.definition) });
        self.rows.set_definition(self.definition.clone());
        self
    }

    /// Appends rows, which come in the order of the sorting key; the columns are those that are stored.
    pub fn write(&mut self, block: Block) -> Result<()> {
        self.rows.write(block)
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows.rows()
    }

    /// The part; none without rows. It is not one of the table yet.
    pub fn finish(self, lineage: Lineage) -> Result<Option<Arc<Part>>> {
        if self.rows.rows() == 0 {
            return Ok(None);
        }
        let Lineage { min_block, max_block, level, mutation } = lineage;
        let WrittenRows { data, rows, bytes, raw_bytes, indexes } = self.rows.finish()?;
        let info = PartInfo {
            number: self.number,
            partition: self.partition,
            min_block,
            max_block,
            level,
            mutation,
            rows,
            bytes,
            raw_bytes,
            columns: self.definition.columns.number,
            modified: now(),
            blocks: self.blocks,
        };
        let part = Part::new(info, self.definition.columns.clone(), data, self.parts.folder().cloned());
        indexes.map_or(Ok(()), |indexes| part.write_indexes(indexes))?;
        Ok(Some(Arc::new(part)))
    }
}

fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().min(u32::MAX.into()) as u32
}
