//! Rows on disk, partitioned by the hash of some of their values: equal rows are in one partition, which is read for itself. A
//! partition that is too large for the memory is partitioned again, by further bits of the hash.

use super::{Place, Purpose, TempFile, Threshold};
use crate::control::QueryControl;
use chalet_base::Result;
use chalet_base::hash::hash_bytes;
use chalet_columns::keys::group_keys;
use chalet_columns::raw::read_block;
use chalet_columns::{Block, Column};
use std::sync::Arc;

/// Bits of the hash that number a partition, and so many partitions.
const BITS: u32 = 6;
pub const PARTITIONS: usize = 1 << BITS;
/// Rows that are together after so many divisions have the same values: no further one would part them.
const MAX_LEVEL: u32 = 4;
/// A piece is large enough to be compressed well; every worker holds one of each partition, in bytes.
const PIECES: std::ops::RangeInclusive<usize> = (16 << 10)..=(512 << 10);
/// A partition of so many bytes is read at once, whatever memory there is.
const LEAST_BUDGET: u64 = 1 << 20;

/// Writes the rows of one worker to their partitions.
pub struct PartitionWriter {
    file: TempFile,
    purpose: Purpose,
    level: u32,
    budget: usize,
    piece: usize,
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

/// Rows of a partition that are not written yet, and where the others are.
#[derive(Default)]
struct Part {
    blocks: Vec<Block>,
    held: usize,
    places: Vec<Place>,
}

/// Rows of one partition.
pub struct Partition {
    files: Vec<(Arc<TempFile>, Vec<Place>)>,
    purpose: Purpose,
    level: u32,
    /// Bytes that may be read at once.
    budget: usize,
}

/// Hashes of rows by the bits of these values.
pub fn row_hashes(columns: &[&Column], n_rows: usize) -> Vec<u64> {
    let keys = group_keys(columns, n_rows);
    (0..n_rows).map(|row| hash_bytes(keys.get(row))).collect()
}

impl PartitionWriter {
    /// A writer without rows. Fails where no temporary file can be made.
    pub fn new(
        purpose: Purpose,
        threshold: &Threshold,
        control: &Arc<QueryControl>,
    ) -> Result<PartitionWriter> {
        let budget = usize::try_from(threshold.reading().max(LEAST_BUDGET)).unwrap_or(usize::MAX);
        PartitionWriter::at_level(purpose, 0, budget, control)
    }

    fn at_level(
        purpose: Purpose,
        level: u32,
        budget: usize,
        control: &Arc<QueryControl>,
    ) -> Result<PartitionWriter> {
        Ok(PartitionWriter {
            file: TempFile::new(purpose, control)?,
            purpose,
            level,
            budget,
            piece: (budget / PARTITIONS).clamp(*PIECES.start(), *PIECES.end()),
            parts: std::iter::repeat_with(Part::default).take(PARTITIONS).collect(),
            bytes: Vec::new(),
        })
    }

    /// Appends the rows of a block to the partitions of their hashes.
    pub fn write(&mut self, block: &Block, hashes: &[u64]) -> Result<()> {
        let shift = u64::BITS - BITS * (self.level + 1);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); PARTITIONS];
        for (row, hash) in hashes.iter().enumerate() {
            rows[(hash >> shift) as usize % PARTITIONS].push(row as u32);
        }
        let row_bytes = block.memory() / block.n_rows().max(1);
        for (number, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let part = &mut self.parts[number];
            part.blocks.push(block.gather(rows));
            part.held += rows.len() * row_bytes.max(1);
            if part.held >= self.piece {
                self.write_part(number)?;
            }
        }
        Ok(())
    }

    fn write_part(&mut self, number: usize) -> Result<()> {
        let part = &mut self.parts[number];
        if part.blocks.is_empty() {
            return Ok(());
        }
        let block = Block::concat(&std::mem::take(&mut part.blocks));
        part.held = 0;
        part.places.push(self.file.write_block(&block, &mut self.bytes)?);
        Ok(())
    }

    /// Writes what is still in memory.
    pub fn flush(&mut self) -> Result<()> {
        (0..PARTITIONS).try_for_each(|number| self.write_part(number))?;
        self.file.count_part();
        Ok(())
    }
}

/// The writer of one worker, made when it has its first row to spill: most workers never have one.
#[derive(Default)]
pub struct LazyWriter(Option<PartitionWriter>);

impl LazyWriter {
    /// The writer, made by the first call as [`PartitionWriter::new`] does.
    pub fn writer(
        &mut self,
        purpose: Purpose,
        threshold: &Threshold,
        control: &Arc<QueryControl>,
    ) -> Result<&mut PartitionWriter> {
        Ok(match &mut self.0 {
            Some(writer) => writer,
            none => none.insert(PartitionWriter::new(purpose, threshold, control)?),
        })
    }

    /// Whether anything was spilled.
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Takes the writer away, with all of its rows on disk; `None` where nothing was spilled.
    pub fn take_flushed(&mut self) -> Result<Option<PartitionWriter>> {
        let mut writer = self.0.take();
        writer.as_mut().map_or(Ok(()), PartitionWriter::flush)?;
        Ok(writer)
    }
}

/// The partitions of writers that have been flushed, in the order of the hashes.
pub fn partitions(writers: Vec<PartitionWriter>) -> Vec<Partition> {
    let Some(first) = writers.first() else { return Vec::new() };
    let (purpose, level, budget) = (first.purpose, first.level, first.budget);
    let empty = || Partition { files: Vec::new(), purpose, level, budget };
    let mut partitions: Vec<Partition> = std::iter::repeat_with(empty).take(PARTITIONS).collect();
    for writer in writers {
        let file = Arc::new(writer.file);
        for (partition, part) in partitions.iter_mut().zip(writer.parts) {
            if !part.places.is_empty() {
                partition.files.push((file.clone(), part.places));
            }
        }
    }
    partitions
}

impl Partition {
    /// Are there no rows?
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Are the rows more than should be read at once, and could they be parted?
    pub fn is_too_large(&self) -> bool {
        let bytes: usize = self.places().map(|(_, place)| place.bytes()).sum();
        bytes > self.budget && self.level < MAX_LEVEL
    }

    fn places(&self) -> impl Iterator<Item = (&TempFile, &Place)> {
        self.files.iter().flat_map(|(file, places)| places.iter().map(|place| (&**file, place)))
    }

    /// The rows, block by block, those of one worker in their order.
    pub fn blocks(&self) -> impl Iterator<Item = Result<Block>> + '_ {
        self.places().map(|(file, place)| read_block(&mut &file.read(place)?[..]))
    }

    /// The block of this number; none behind the last.
    pub fn block_at(&self, number: usize) -> Result<Option<Block>> {
        self.places().nth(number).map(|(file, place)| read_block(&mut &file.read(place)?[..])).transpose()
    }

    /// All rows as one block; none where there are none.
    pub fn block(&self) -> Result<Option<Block>> {
        let blocks = self.blocks().collect::<Result<Vec<_>>>()?;
        Ok((!blocks.is_empty()).then(|| Block::concat(&blocks)))
    }

    /// Partitions the rows further. `hashes` gives those of a block's rows, the same as when they were written.
    pub fn divided(
        self,
        control: &Arc<QueryControl>,
        hashes: &dyn Fn(&Block) -> Result<Vec<u64>>,
    ) -> Result<Vec<Partition>> {
        let mut writer = PartitionWriter::at_level(self.purpose, self.level + 1, self.budget, control)?;
        for block in self.blocks() {
            control.check_with_interrupt()?;
            let block = block?;
            writer.write(&block, &hashes(&block)?)?;
        }
        writer.flush()?;
        Ok(partitions(vec![writer]))
    }
}
