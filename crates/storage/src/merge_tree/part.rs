//! A part: sorted rows of one partition, which never change.

use super::Partition;
use super::checksums::Checksums;
use super::columns::{ColumnsVersion, KeptBlocks};
use super::mapping::LastMapping;
use super::partition_bounds::PartitionBounds;
use super::projection::{PartProjections, ProjectionDefinition};
use super::skip_index::{Granules, IndexWriters, Of, PartIndexes, SkipCondition};
use crate::disk::{TableFolder, fs};
use crate::samples::SampledColumns;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_formats::input::Verify;
use chalet_formats::{Buffer, Input};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use xxhash_rust::xxh3::xxh3_64;

/// What is known of a part without its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct PartInfo {
    /// Of no other part of the table.
    pub number: u64,
    pub partition: Partition,
    /// INSERTs are numbered; a merged part is of all from the first to the last.
    pub min_block: u64,
    pub max_block: u64,
    /// How often its rows were merged.
    pub level: u32,
    /// The number of the last mutation that it has been through.
    pub mutation: u64,
    pub rows: u64,
    /// Bytes on disk, or of the journal.
    pub bytes: u64,
    /// Bytes of the columns in memory.
    pub raw_bytes: u64,
    /// Which version of the columns it has.
    pub columns: u32,
    /// When it was made, in seconds since 1970.
    pub modified: u32,
    /// What it keeps of where its rows came from.
    pub blocks: KeptBlocks,
}

impl PartInfo {
    /// `202401_1_5_1`: partition, blocks, level.
    pub fn name(&self) -> String {
        let PartInfo { partition, min_block, max_block, level, mutation, .. } = self;
        let mutation = if *mutation > 0 { format!("_{mutation}") } else { String::new() };
        format!("{}_{min_block}_{max_block}_{level}{mutation}", partition.id)
    }

    /// Could a part have this name?
    pub fn is_name(name: &str) -> bool {
        let fields: Vec<&str> = name.split('_').collect();
        let is_number = |field: &&str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
        matches!(fields.len(), 4 | 5) && !fields[0].is_empty() && fields[1..].iter().all(is_number)
    }
}

/// Where the rows of a part are.
pub enum PartData {
    /// In memory, and on disk in the journal; columns in the order of their version.
    Resident(Block),
    File(PathBuf, Arc<Checksums>),
}

/// A part of a table.
pub struct Part {
    pub info: PartInfo,
    pub columns: Arc<ColumnsVersion>,
    pub data: PartData,
    /// Goes with its last reader.
    is_obsolete: AtomicBool,
    is_frozen: AtomicBool,
    folder: Option<Arc<TableFolder>>,
    /// Where another process may remove the file: open from the first snapshot on.
    held: std::sync::OnceLock<fs::File>,
    mapping: LastMapping,
    pub(super) indexes: PartIndexes,
    pub(super) projections: PartProjections,
    /// Of a part in memory, where they were asked for: the least and the greatest values of the columns of the partition key.
    pub(super) partition_bounds: std::sync::OnceLock<PartitionBounds>,
    /// Of a part in memory: what samples say of its columns, by their numbers in the block.
    pub(super) sampled: SampledColumns,
    /// The column by which rows of a projection are sorted first.
    pub(super) sorted_by: Option<u32>,
}

impl Part {
    /// A part that nobody knows yet: it goes again unless it is [kept](Self::keep).
    pub fn new(
        info: PartInfo,
        columns: Arc<ColumnsVersion>,
        data: PartData,
        folder: Option<Arc<TableFolder>>,
    ) -> Part {
        Part {
            info,
            columns,
            data,
            is_obsolete: AtomicBool::new(true),
            is_frozen: AtomicBool::new(false),
            folder,
            held: std::sync::OnceLock::new(),
            mapping: LastMapping::default(),
            indexes: PartIndexes::default(),
            partition_bounds: std::sync::OnceLock::new(),
            projections: PartProjections::default(),
            sampled: SampledColumns::default(),
            sorted_by: None,
        }
    }

    /// Notes that FREEZE has kept it.
    pub fn set_frozen(&self) {
        self.is_frozen.store(true, Relaxed);
    }

    pub fn is_frozen(&self) -> bool {
        self.is_frozen.load(Relaxed)
    }

    /// What another part has of a projection, which goes with that part.
    pub(super) fn of_projection(
        info: PartInfo,
        columns: Arc<ColumnsVersion>,
        data: PartData,
        folder: Option<Arc<TableFolder>>,
        sorted_by: Option<u32>,
    ) -> Part {
        let mut part = Part::new(info, columns, data, folder);
        part.sorted_by = sorted_by;
        part.keep();
        part
    }

    /// The journal names it.
    pub fn keep(&self) {
        self.is_obsolete.store(false, Relaxed);
    }

    /// The journal has forgotten it.
    pub fn forget(&self) {
        self.is_obsolete.store(true, Relaxed);
    }

    /// The rows, when they are in memory.
    pub fn resident(&self) -> Option<&Block> {
        match &self.data {
            PartData::Resident(block) => Some(block),
            PartData::File(..) => None,
        }
    }

    /// Is it the same file? A number alone does not tell: those of parts that are gone are given anew when a table is opened again.
    pub(super) fn is_same_file(&self, other: &Part) -> bool {
        let (PartData::File(_, own), PartData::File(_, others)) = (&self.data, &other.data) else {
            return false;
        };
        self.info == other.info && own == others
    }

    /// Opens the file, so that it can be read after another process has removed it.
    pub(super) fn hold(&self) -> Result<()> {
        if let PartData::File(path, _) = &self.data
            && self.held.get().is_none()
        {
            let file = fs::File::open(path, fs::Access::Read)
                .map_err(|e| crate::disk::durable::cannot_open(path, &e))?;
            let _ = self.held.set(file);
        }
        Ok(())
    }

    /// The bytes of the file.
    pub(super) fn open(&self) -> Result<Option<Input>> {
        match &self.data {
            PartData::Resident(_) => Ok(None),
            PartData::File(path, _) => self.mapping.open(path, self.held.get()).map(Some),
        }
    }
}

impl Part {
    /// Compares what is read of a file with its checksums; `bytes` is the whole file.
    pub(super) fn verifier(&self, bytes: Buffer) -> Option<Verify> {
        let PartData::File(_, checksums) = &self.data else { return None };
        let checksums = checksums.clone();
        Some(Arc::new(move |range| checksums.verify(&bytes, range)))
    }

    /// Fails where a byte of the file is not what was written.
    pub fn check(&self) -> Result<()> {
        match (&self.data, self.open()?) {
            (PartData::File(_, checksums), Some(input)) => {
                let bytes = input.into_bytes()?;
                checksums.verify_all(&bytes).map_err(|e| e.context(format!("(in part {})", self.info.name())))
            }
            _ => Ok(()),
        }
    }
}

impl Part {
    /// What its indexes and projections say of the rows that they are of; none where they are in memory.
    pub(super) fn of_file(&self) -> Option<(&Arc<TableFolder>, Of)> {
        let (PartData::File(_, checksums), Some(folder)) = (&self.data, &self.folder) else { return None };
        let mut bytes = Vec::new();
        checksums.encode(&mut bytes);
        let of = Of { number: self.info.number, rows: self.info.rows, checksum: xxh3_64(&bytes) };
        Some((folder, of))
    }

    /// Puts indexes of all rows on disk. Those of rows in memory are not needed.
    pub(super) fn write_indexes(&self, writers: IndexWriters) -> Result<()> {
        let Some((folder, of)) = self.of_file() else { return Ok(()) };
        for index in writers.finish() {
            let (program, n_granules, granules) = index?;
            self.indexes.write(folder, of, &program, n_granules, &granules)?;
        }
        Ok(())
    }

    /// What an index knows of the rows, and the rows of a granule; none without a sound index.
    pub(super) fn granules(&self, condition: &SkipCondition) -> Option<(Granules, usize)> {
        let (folder, of) = self.of_file()?;
        self.indexes.granules(folder, of, condition)
    }

    /// Is there an index of this key?
    pub fn has_index(&self, key: u64) -> bool {
        self.indexes.has(key)
    }

    /// Bytes of the index of this key on disk.
    pub fn index_bytes(&self, key: u64) -> u64 {
        self.of_file().map_or(0, |(folder, of)| self.indexes.bytes(folder, of.number, key))
    }

    /// Removes the index of this key.
    pub fn remove_index(&self, key: u64) {
        if let Some((folder, of)) = self.of_file() {
            self.indexes.remove(folder, of.number, key);
        }
    }
}

impl Part {
    /// The rows that it has of a projection; none where it has none, or keeps only its own.
    pub fn projection(&self, projection: &ProjectionDefinition) -> Option<Arc<Part>> {
        let Some((folder, of)) = self.of_file() else { return self.projections.in_memory(projection.key()) };
        let rows = self.projections.get(folder, of, projection, &self.info)?;
        // Another process may remove the file.
        match folder.is_read_only() && rows.hold().is_err() {
            true => None,
            false => Some(rows),
        }
    }

    /// Has it a projection of this key, with rows or without?
    pub fn has_projection(&self, key: u64) -> bool {
        self.projections.has(key)
    }

    /// Has it a projection, though only its own rows are kept?
    pub fn declare_projection(&self, key: u64) {
        self.projections.declare(key);
    }

    /// Removes the rows of a projection.
    pub fn remove_projection(&self, key: u64) {
        let folder = self.folder.as_deref();
        self.projections.remove(folder, self.info.number, key);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let (PartData::File(path, _), Some(folder)) = (&self.data, &self.folder)
            && self.is_obsolete.load(Relaxed)
            && folder.check_writable().is_ok()
        {
            // What stays is removed when the table is opened again.
            let _ = fs::remove_file(path);
            self.indexes.remove_all(folder, self.info.number);
            self.projections.remove_all(folder, self.info.number);
        }
    }
}
