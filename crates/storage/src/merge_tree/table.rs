//! A table of the MergeTree family.

use super::change::Change;
use super::columns::{ColumnsVersion, KeptBlocks, VersionColumn};
use super::definition::{Defaults, Definition, ImplicitIndexes};
use super::inserter::PartsInserter;
use super::memo::Memo;
use super::merges::{self, MergeChoice};
use super::part::{Part, PartInfo};
use super::partition_bounds;
use super::parts::{Claim, Parts, State};
use super::projection::{ProjectionDefinition, ProjectionWriter};
use super::rewrite::Rewrite;
use super::scan::PartsScan;
use super::skip_index::{IndexWriters, SkipIndexProgram};
use super::{Partition, TableKeys};
use crate::disk::TableFolder;
use crate::samples::{Sample, SampleSize};
use crate::{ColumnSchema, Held, Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_formats::input::Cast;
use chalet_formats::{Format, TableStatistics};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// What every table of the family has beside its own columns, and what it is.
pub(super) const VIRTUAL: [(&str, &str); 14] = [
    ("_part", "Name of part"),
    ("_part_index", "Sequential index of the part in the query result"),
    ("_part_starting_offset", "Cumulative starting row of the part in the query result"),
    ("_part_uuid", "Unique part identifier (if enabled MergeTree setting assign_part_uuids)"),
    ("_partition_id", "Name of partition"),
    ("_sample_factor", "Sample factor (from the query)"),
    ("_part_offset", "Number of row in the part"),
    ("_part_granule_offset", "Number of granule in the part"),
    ("_part_data_version", "Data version of part (either min block number or mutation version)"),
    ("_disk_name", "Disk name"),
    ("_distance", "Pre-computed distance for vector search queries"),
    (
        "_row_exists",
        "Persisted mask created by lightweight delete that show whether row exists or is deleted",
    ),
    ("_block_number", "Persisted original number of block that was assigned at insert"),
    ("_block_offset", "Persisted original number of row in block that was assigned at insert"),
];

/// The names of those of the virtual columns that parts may keep.
pub const PERSISTED: [&str; 3] = ["_row_exists", "_block_number", "_block_offset"];

/// The settings of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableSettings {
    /// `index_granularity`: rows of a granule.
    pub granularity: usize,
    /// `non_replicated_deduplication_window`.
    pub dedup_window: usize,
    /// `enable_block_number_column` and `enable_block_offset_column`: rows keep where they came from when parts are merged.
    pub keeps_blocks: KeptBlocks,
    /// Are granules no larger than `index_granularity_bytes`? 0 says no: `mergeTreeIndex` ends with the last granule then.
    pub is_adaptive: bool,
    pub implicit_indexes: ImplicitIndexes,
}

/// A table of the MergeTree family, as one version of its definition has it. Cheap to clone: a handle.
#[derive(Clone)]
pub struct MergeTree {
    definition: Arc<Definition>,
    parts: Arc<Parts>,
    insert_programs: Memo,
}

fn stored(schema: &TableSchema) -> impl Iterator<Item = (&str, &DataType)> {
    schema.stored().map(|c| (&*c.name, &c.ty))
}

/// Does a definition mean this version?
fn is_of(version: &ColumnsVersion, schema: &TableSchema) -> bool {
    version.has(stored(schema)) && [0, definition_hash(schema)].contains(&version.definition)
}

/// Of what a definition says of columns, by their names; never 0.
fn definition_hash(schema: &TableSchema) -> u64 {
    let own = schema.columns.iter().filter(|column| !column.is_virtual);
    let said = own.map(|column| format!("{}\0{}\0{:?}\0", column.name, column.ty, column.default));
    xxh3_64(said.collect::<String>().as_bytes()).max(1)
}

fn with_virtual(schema: TableSchema) -> TableSchema {
    let mut columns = schema.columns.to_vec();
    for (name, comment) in VIRTUAL {
        if schema.index_of(name).is_some() {
            continue;
        }
        let ty = match name {
            "_part" | "_partition_id" | "_disk_name" => DataType::String.low_cardinality(),
            "_sample_factor" => DataType::Float64,
            "_distance" => DataType::Float32,
            "_part_uuid" => DataType::Uuid,
            "_row_exists" => DataType::UInt8,
            _ => DataType::UInt64,
        };
        let codec = if name.starts_with("_block") { "Delta, LZ4" } else { "" };
        let plain = ColumnSchema::virtual_column(name, ty);
        columns.push(ColumnSchema { comment: comment.into(), codec: codec.into(), ..plain });
    }
    TableSchema { columns: columns.into(), ..schema }
}

impl MergeTree {
    /// A new table, in a folder or in memory. Fails where a column cannot be kept.
    pub fn create(
        keys: TableKeys,
        layout: TableSettings,
        schema: TableSchema,
        folder: Option<TableFolder>,
        format: &'static Format,
        (cast, defaults): (Cast, Arc<dyn Defaults>),
    ) -> Result<MergeTree> {
        let columns = ColumnsVersion::first(stored(&schema));
        super::part_file::structure(&columns)?;
        let parts = Parts::create(columns.clone(), folder.map(Arc::new))?;
        let definition = Definition {
            keys,
            granularity: layout.granularity,
            dedup_window: layout.dedup_window,
            keeps_blocks: layout.keeps_blocks,
            is_adaptive: layout.is_adaptive,
            implicit_indexes: layout.implicit_indexes,
            schema: with_virtual(schema),
            columns: Arc::new(columns),
            format,
            cast,
            defaults,
        };
        Ok(MergeTree::of(definition, Arc::new(parts)))
    }

    /// A handle of the table with these parts.
    pub fn of(definition: impl Into<Arc<Definition>>, parts: Arc<Parts>) -> MergeTree {
        MergeTree { definition: definition.into(), parts, insert_programs: Memo::default() }
    }

    /// The table of a folder, and how many bytes of a change were dropped that was not finished.
    pub fn open(
        keys: TableKeys,
        layout: TableSettings,
        schema: TableSchema,
        folder: Arc<TableFolder>,
        format: &'static Format,
        (cast, defaults): (Cast, Arc<dyn Defaults>),
    ) -> Result<(MergeTree, u64)> {
        let (parts, dropped) = Parts::open(folder)?;
        let columns = match parts.snapshot() {
            // The definition is what counts: a change of columns that is in the journal alone was not finished.
            Ok(state) => match state.versions.iter().rev().find(|version| is_of(version, &schema)) {
                Some(version) => parts.settle_columns(version)?,
                None => {
                    bail!(CORRUPTED_DATA, "The journal of the table has other columns than its definition")
                }
            },
            // Its error comes when it is used.
            Err(_) => Arc::new(ColumnsVersion::first(stored(&schema))),
        };
        let definition = Definition {
            keys,
            granularity: layout.granularity,
            dedup_window: layout.dedup_window,
            keeps_blocks: layout.keeps_blocks,
            is_adaptive: layout.is_adaptive,
            implicit_indexes: layout.implicit_indexes,
            schema: with_virtual(schema),
            columns,
            format,
            cast,
            defaults,
        };
        Ok((MergeTree::of(definition, Arc::new(parts)), dropped))
    }

    /// What the table is defined as.
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// The same table with other columns, as a version that follows that of this handle; `columns` are those that are stored, in
    /// the order of the schema.
    pub fn with_columns(&self, schema: TableSchema, columns: Vec<VersionColumn>) -> Result<MergeTree> {
        let state = self.parts.snapshot()?;
        let number = state.versions.last().map_or(0, |last| last.number) + 1;
        // Only the definition tells then which of the two versions it means.
        let definition = match self.definition.columns.has(stored(&schema)) {
            true => definition_hash(&schema),
            false => 0,
        };
        let columns = ColumnsVersion { number, columns: columns.into(), definition };
        super::part_file::structure(&columns)?;
        let definition = Definition {
            schema: with_virtual(schema),
            columns: Arc::new(columns),
            ..Definition::clone(&self.definition)
        };
        Ok(MergeTree::of(definition, self.parts.clone()))
    }

    /// The columns of the table, and behind them, as if they were stored, those that say where rows came from.
    pub fn kept_schema(&self, kept: KeptBlocks) -> TableSchema {
        let schema = &self.definition.schema;
        let own = schema.columns.iter().filter(|column| !column.is_virtual).cloned();
        let kept = kept.columns().map(|(name, _)| ColumnSchema::new(name, DataType::UInt64));
        TableSchema { columns: own.chain(kept).collect(), ..schema.clone() }
    }

    /// Where the columns of [`kept_schema`](Self::kept_schema) are in the schema.
    pub fn kept_positions(&self, kept: KeptBlocks) -> Vec<usize> {
        let schema = &self.definition.schema;
        let kept = kept.columns().filter_map(|(name, _)| schema.index_of(name));
        schema.stored_positions().into_iter().chain(kept).collect()
    }

    /// A number for a new column.
    pub fn next_column_id(&self) -> Result<u32> {
        let state = self.parts.snapshot()?;
        let ids = state.versions.iter().flat_map(|version| version.columns.iter().map(|column| column.id));
        Ok(ids.max().map_or(0, |id| id + 1))
    }

    /// The parts.
    pub fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    /// A partition under the name that it has in this table: those of tables of earlier versions have names that were made in another
    /// way, and rows of one value stay in one partition.
    pub fn known_partition(&self, partition: Partition) -> Result<Partition> {
        if !partition.may_have_earlier_name() {
            return Ok(partition);
        }
        let parts = self.parts().snapshot()?;
        // Those that are kept aside come back to where they were.
        let mut all = parts.parts.iter().chain(&parts.detached).map(|part| &part.info.partition);
        let same = all.find(|known| known.shown == partition.shown);
        Ok(same.cloned().unwrap_or(partition))
    }

    /// What INSERTs run, made of the definition.
    pub fn insert_programs(&self) -> &Memo {
        &self.insert_programs
    }

    /// Begins an INSERT, whose parts have these indexes.
    pub fn insert_parts(&self, indexes: Arc<[SkipIndexProgram]>) -> Result<PartsInserter> {
        self.parts.check_writable()?;
        Ok(PartsInserter::new(self.clone(), indexes))
    }

    /// Begins a part with these indexes.
    pub fn rewrite_part(&self, partition: Partition, indexes: Arc<[SkipIndexProgram]>) -> Rewrite {
        Rewrite::new(self.parts.clone(), self.definition.clone(), partition, indexes)
    }

    /// Gives a part indexes that it lacks. `rows` are its stored columns as this handle has them, in its order.
    pub fn index_part(
        &self,
        part: &Part,
        indexes: &[SkipIndexProgram],
        rows: &mut dyn FnMut() -> Result<Option<Block>>,
    ) -> Result<()> {
        if part.resident().is_some() {
            return Ok(());
        }
        let mut writers = IndexWriters::new(indexes);
        while let Some(block) = rows()? {
            writers.write(&block)?;
        }
        part.write_indexes(writers)?;
        self.parts.folder().map_or(Ok(()), |folder| crate::disk::durable::sync_folder(folder.path()))
    }

    /// Begins the rows that a part has of a projection.
    pub fn project_part(&self, part: &Arc<Part>, projection: &ProjectionDefinition) -> ProjectionWriter {
        ProjectionWriter::new(&self.parts, part.clone(), projection.clone())
    }

    /// Are parts files, and small ones records of a journal?
    pub fn is_on_disk(&self) -> bool {
        self.parts.folder().is_some()
    }

    /// How many rows of each part statistics, sorting keys and indexes leave for a request.
    pub fn selected_rows(&self, parts: Vec<Arc<Part>>, request: &ScanRequest) -> Result<Vec<u64>> {
        PartsScan::new(parts, &self.definition, request)?.selected_rows()
    }

    /// What is known of some parts.
    pub(super) fn statistics_of(&self, parts: Vec<Arc<Part>>, columns: &[usize]) -> Option<TableStatistics> {
        let request = ScanRequest { columns: columns.to_vec(), ..ScanRequest::default() };
        PartsScan::new(parts, &self.definition, &request).ok()?.statistics()
    }

    /// Some rows of some parts.
    pub(super) fn sample_of(
        &self,
        parts: Vec<Arc<Part>>,
        columns: &[usize],
        size: SampleSize,
    ) -> Result<Option<Sample>> {
        let request = ScanRequest { columns: columns.to_vec(), with_row_ids: true, ..ScanRequest::default() };
        let block = PartsScan::new(parts, &self.definition, &request)?.sample(size)?;
        Ok(Some(Sample { block }))
    }

    /// The columns that the partition key reads: where they are in the schema.
    pub fn partition_columns(&self) -> Vec<usize> {
        let columns = &self.definition.columns;
        let ids = partition_bounds::partition_columns(&self.definition.keys.partition, columns);
        let names =
            columns.columns.iter().filter(|column| ids.contains(&column.id)).map(|column| &column.name);
        names.filter_map(|name| self.definition.schema.index_of(name)).collect()
    }

    /// The least and the greatest value of a column of the partition key in a part, where they are known.
    pub fn partition_bounds(&self, part: &Arc<Part>, column: usize) -> Option<(Value, Value)> {
        let Some(block) = part.resident() else {
            return self.statistics_of(vec![part.clone()], &[column])?.columns.pop()?.bounds;
        };
        let columns = &self.definition.columns;
        let ids = partition_bounds::partition_columns(&self.definition.keys.partition, columns);
        let name = &self.definition.schema.columns[column].name;
        let id = columns.columns.iter().find(|known| known.name == *name)?.id;
        partition_bounds::of_column(part, block, &ids, id)
    }

    /// The least and the greatest value of a stored column in a part, where they are known.
    pub fn column_bounds(&self, part: &Arc<Part>, column: usize) -> Option<(Value, Value)> {
        let Some(block) = part.resident() else {
            return self.statistics_of(vec![part.clone()], &[column])?.columns.pop()?.bounds;
        };
        let name = &self.definition.schema.columns[column].name;
        let id = self.definition.columns.columns.iter().find(|known| known.name == *name)?.id;
        partition_bounds::of_any_column(part, block, id)
    }

    /// A scan of some parts, as all others in the order of the parts.
    pub fn scan_parts(&self, parts: Vec<Arc<Part>>, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(PartsScan::new(parts, &self.definition, request)?))
    }

    /// Which parts had best be merged in the background now, claimed.
    pub fn choose_merge(&self) -> Result<Option<(MergeChoice, Claim)>> {
        let state = self.parts.snapshot()?;
        let columns = &self.definition.columns.columns;
        if state.versions.last().is_none_or(|last| !Arc::ptr_eq(&last.columns, columns)) {
            // This handle is of a table that was altered since.
            return Ok(None);
        }
        if self.parts.should_give_up() {
            return Ok(None);
        }
        let Some(choice) = merges::choose(&state, &self.parts.claimed()) else { return Ok(None) };
        let numbers: Vec<u64> = choice.parts.iter().map(|part| part.info.number).collect();
        Ok(self.parts.claim_to_merge(&numbers).map(|claim| (choice, claim)))
    }

    /// Removes the parts that `wanted` names, or keeps them aside; returns how many.
    pub fn remove_parts(
        &self,
        wanted: impl Fn(&PartInfo) -> bool,
        keep_aside: bool,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<usize> {
        self.parts.check_writable()?;
        let (claim, _) = self.parts.claim_all(wanted, check)?;
        let numbers = claim.numbers().to_vec();
        let n_parts = numbers.len();
        if n_parts > 0 {
            self.parts.commit(match keep_aside {
                true => Change { detached: numbers, ..Change::default() },
                false => Change { removed: numbers, ..Change::default() },
            })?;
        }
        Ok(n_parts)
    }

    fn known(&self) -> Option<Arc<State>> {
        self.parts.snapshot().ok()
    }
}

impl Table for MergeTree {
    fn engine(&self) -> &str {
        self.definition.keys.merging.engine()
    }

    fn schema(&self) -> TableSchema {
        self.definition.schema.clone()
    }

    fn identity(&self) -> Option<String> {
        Some(format!(
            "parts at {:p}, columns at {:p}",
            Arc::as_ptr(&self.parts),
            Arc::as_ptr(&self.definition.columns)
        ))
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.scan_parts(self.parts.snapshot()?.parts.clone(), request)
    }

    fn has_row_ids(&self) -> bool {
        true
    }

    fn keys(&self) -> Option<&TableKeys> {
        Some(&self.definition.keys)
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        bail!(LOGICAL_ERROR, "The rows of a MergeTree are sorted before they are written")
    }

    fn truncate(&self) -> Result<()> {
        self.remove_parts(|_| true, false, &|| Ok(())).map(drop)
    }

    fn total_rows(&self) -> Option<u64> {
        self.known().map(|state| state.n_rows())
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        self.statistics_of(self.parts.snapshot().ok()?.parts.clone(), columns)
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        self.sample_of(self.parts.snapshot()?.parts.clone(), columns, size)
    }

    fn total_bytes(&self) -> Option<u64> {
        self.known().map(|state| state.n_bytes())
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.parts.folder()
    }

    fn hold(&self) -> Result<Option<Held>> {
        Ok(self.parts.hold()?.map(|held| held as Held))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
