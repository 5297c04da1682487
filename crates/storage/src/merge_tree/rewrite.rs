//! Making parts: rows of one partition in their order, gathered in memory and written to a file once they are many.

use super::part::{Part, PartData, PartInfo};
use super::part_file::{PartWriter, path_of};
use super::parts::Parts;
use super::skip_index::{IndexWriters, SkipIndexProgram};
use super::{Definition, Partition};
use chalet_base::Result;
use chalet_columns::{Block, Column};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// A part of no more bytes in memory than this is kept there, and in the journal.
const RESIDENT_BYTES: usize = 1 << 18;

/// A part in the making. Dropped without being finished it leaves nothing.
pub struct Rewrite {
    parts: Arc<Parts>,
    definition: Definition,
    partition: Partition,
    /// That may encode at once.
    threads: usize,
    number: u64,
    gathered: Vec<Block>,
    gathered_bytes: usize,
    writer: Option<(PartWriter, IndexWriters)>,
    /// What a part that is a file has beside it.
    indexes: Arc<[SkipIndexProgram]>,
    rows: u64,
    raw_bytes: u64,
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
        definition: Definition,
        partition: Partition,
        indexes: Arc<[SkipIndexProgram]>,
    ) -> Rewrite {
        let number = parts.next_number();
        Rewrite {
            parts,
            definition,
            partition,
            threads: 1,
            number,
            gathered: Vec::new(),
            gathered_bytes: 0,
            writer: None,
            indexes,
            rows: 0,
            raw_bytes: 0,
        }
    }

    /// The same with so many threads that encode at once.
    pub fn with_threads(self, threads: usize) -> Rewrite {
        Rewrite { threads, ..self }
    }

    /// Appends rows, which come in the order of the sorting key; the columns are those that are stored.
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
            let Some(folder) = self.parts.folder().filter(|_| self.gathered_bytes > RESIDENT_BYTES) else {
                return Ok(());
            };
            let path = path_of(folder, self.number);
            let Definition { columns, granularity, format, .. } = &self.definition;
            let writer = PartWriter::create(path, columns, *granularity, format, self.threads)?;
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

    /// The part; none without rows. It is not one of the table yet.
    pub fn finish(self, lineage: Lineage) -> Result<Option<Arc<Part>>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let Lineage { min_block, max_block, level, mutation } = lineage;
        let mut info = PartInfo {
            number: self.number,
            partition: self.partition,
            min_block,
            max_block,
            level,
            mutation,
            rows: self.rows,
            bytes: 0,
            raw_bytes: self.raw_bytes,
            columns: self.definition.columns.number,
            modified: now(),
        };
        let folder = self.parts.folder().cloned();
        let mut indexes = None;
        let data = match (self.writer, &folder) {
            (Some((writer, of_file)), Some(folder)) => {
                indexes = Some(of_file);
                let checksums = writer.finish()?;
                info.bytes = checksums.len();
                PartData::File(path_of(folder, self.number), Arc::new(checksums))
            }
            _ => {
                let block = compact(Block::concat(&self.gathered));
                info.raw_bytes = block.memory() as u64;
                info.bytes = info.raw_bytes;
                PartData::Resident(block)
            }
        };
        let part = Part::new(info, self.definition.columns, data, folder);
        indexes.map_or(Ok(()), |indexes| part.write_indexes(indexes))?;
        Ok(Some(Arc::new(part)))
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

fn now() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().min(u32::MAX.into()) as u32
}
