//! The right side of a join: all its rows in one block, and from keys to rows. Built by any number of workers, indexed by
//! one. Holds all rows of the right side; when memory runs short, they are partitioned to disk by the hash of their keys.

use super::asof::AsofValues;
use super::index::KeyIndex;
use super::narrow_copies::NarrowCopies;
use super::range_index::{RangeIndex, RangeSpec};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::operators::collect::blocks_as_source;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use crate::spill::input_order::{RowNumbers, in_input_order};
use crate::spill::partitions::{LazyWriter, Partition, PartitionWriter, partitions, row_hashes};
use crate::spill::{Purpose, Threshold};
use crate::tasks::Team;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use chalet_types::DataType;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the table is built from.
#[derive(Clone)]
pub struct BuildSpec {
    /// Keys over the right side's columns, then the ASOF value if there is one, then the bounds of inequalities.
    pub keys: Program,
    pub key_types: Vec<DataType>,
    /// Keys for which NULL equals NULL.
    pub null_safe: Vec<bool>,
    /// The type of the ASOF value if there is one.
    pub asof_type: Option<DataType>,
    pub range: Option<RangeSpec>,
    /// Types of the right side's columns.
    pub types: Vec<DataType>,
    /// So many rows are indexed by all workers.
    pub parallel_from: usize,
}

impl BuildSpec {
    /// Hashes of the keys of right rows, by which they are partitioned.
    pub(crate) fn hashes(&self, block: &Block) -> Result<Vec<u64>> {
        key_hashes(&self.keys, &self.null_safe, block)
    }

    /// Rows without keys are all equal: partitioning would not part them.
    fn has_keys(&self) -> bool {
        !self.key_types.is_empty()
    }
}

/// Hashes of the keys of rows of either side: those of equal keys are equal.
pub(crate) fn key_hashes(keys: &Program, null_safe: &[bool], block: &Block) -> Result<Vec<u64>> {
    let mut keys = keys.evaluate(block)?;
    keys.truncate(null_safe.len());
    let (keys, _) = usable_keys(keys, null_safe, block.n_rows());
    Ok(row_hashes(&keys.iter().collect::<Vec<_>>(), block.n_rows()))
}

/// The right side, indexed.
pub struct JoinTable {
    /// All rows, none where they are on disk.
    pub rows: Block,
    narrow: NarrowCopies,
    /// The rows on disk, until they are joined.
    spilled: Option<Mutex<Vec<PartitionWriter>>>,
    /// Rows of equal keys are in the right side's order (by ASOF value with one).
    pub(super) index: KeyIndex,
    pub(super) asof: Option<AsofValues>,
    pub(super) range: Option<RangeIndex>,
    /// Right rows that were put out, for the kinds that ask.
    used: Vec<AtomicBool>,
    _memory: Reservation,
}

impl JoinTable {
    /// Are the rows on disk?
    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }

    /// Has the right side no rows?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && !self.is_spilled()
    }

    /// The partitions of the rows on disk, once.
    pub(crate) fn take_partitions(&self) -> Vec<Partition> {
        let Some(spilled) = &self.spilled else { return Vec::new() };
        partitions(std::mem::take(&mut *spilled.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Right rows, defaults of the given types where there is none; columns that are not read are not made.
    pub fn gather_or_default(&self, rows: &[u32], types: &[DataType], is_read: &[bool]) -> Vec<Column> {
        self.narrow.gather(&self.rows, rows, types, is_read)
    }

    /// Right rows that no left row has found, with defaults of the given types in place of the left columns.
    pub fn unmatched(&self, left_types: &[DataType], max_block_size: usize) -> Vec<Block> {
        let unused = |&row: &u32| !self.is_used(row);
        let rows: Vec<u32> = (0..self.rows.n_rows() as u32).filter(unused).collect();
        let block = |rows: &[u32]| {
            let left = left_types.iter().map(|ty| Column::constant(Vector::fillers(ty, 1), rows.len()));
            let mut columns: Vec<Column> = left.collect();
            columns.extend(self.rows.gather(rows).into_columns());
            Block::new(columns, rows.len())
        };
        rows.chunks(max_block_size.max(1)).map(block).collect()
    }

    /// Was a right row put out?
    pub fn is_used(&self, row: u32) -> bool {
        self.used[row as usize].load(Relaxed)
    }

    /// Marks a right row as put out; `true` the first time.
    pub fn use_row(&self, row: u32) -> bool {
        !self.used[row as usize].swap(true, Relaxed)
    }
}

/// Keys without validity, and the rows whose keys may be equal to others.
pub(crate) fn usable_keys(
    keys: Vec<Column>,
    null_safe: &[bool],
    n_rows: usize,
) -> (Vec<Column>, BooleanBuffer) {
    let mut valid = BooleanBuffer::new_set(n_rows);
    let keys = keys
        .into_iter()
        .zip(null_safe)
        .map(|(key, null_safe)| {
            if *null_safe {
                return key;
            }
            let vector = key.into_flat();
            if let Some(validity) = &vector.validity {
                valid = &valid & validity.inner();
            }
            Column::Flat(vector.without_nulls())
        })
        .collect();
    (keys, valid)
}

/// The sink that builds a [`JoinTable`] into its slot.
pub struct Build {
    pub spec: BuildSpec,
    /// Right rows are put out that have found no partner.
    pub keeps_unmatched: bool,
    pub slot: Arc<OnceLock<JoinTable>>,
}

impl Sink for Build {
    fn name(&self) -> &'static str {
        "JoinBuild"
    }

    fn is_needed_without_rows(&self) -> bool {
        self.keeps_unmatched
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker {
            blocks: Vec::new(),
            n_rows: 0,
            max_rows: ctx.settings.max_rows_in_join,
            memory: Reservation::new(ctx.control.memory.clone()),
            numbers: RowNumbers::default(),
            writer: LazyWriter::default(),
            threshold: Threshold::new(ctx.settings.external_join, ctx),
            spec: self.spec.clone(),
            control: ctx.control.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut memory = Reservation::new(ctx.control.memory.clone());
        let mut workers = concrete::<Worker>(workers);
        if workers.iter().any(|worker| worker.writer.is_some()) {
            let mut writers = Vec::new();
            for worker in &mut workers {
                worker.spill()?;
                writers.extend(worker.writer.take_flushed()?);
            }
            let table = self.spec.index(self.spec.no_rows(), memory, &Team::alone(&ctx.control))?;
            let _ = self.slot.set(JoinTable { spilled: Some(Mutex::new(writers)), ..table });
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        let mut blocks = Vec::new();
        for worker in workers {
            memory.grow(worker.memory.bytes())?;
            blocks.extend(worker.blocks);
        }
        blocks.sort_by_key(|(position, _)| *position);
        let blocks: Vec<Block> = blocks.into_iter().map(|(_, block)| block).collect();
        let team = Team::of(ctx);
        let rows = if blocks.is_empty() { self.spec.no_rows() } else { concat(blocks, &team)? };
        ctx.control.check_with_interrupt()?;
        let table = self.spec.index(rows, memory, &team)?;
        // The stage of a build runs once.
        let _ = self.slot.set(table);
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

/// Blocks as one, column by column by all of a team.
fn concat(blocks: Vec<Block>, team: &Team) -> Result<Block> {
    let n_rows: usize = blocks.iter().map(Block::n_rows).sum();
    if n_rows < CONCAT_AT_ONCE {
        return Ok(Block::concat(&blocks));
    }
    let n_columns = blocks[0].columns().len();
    let columns = team.collect_all(n_columns, move |at| {
        Ok(Column::concat(&blocks.iter().map(|block| block.column(at)).collect::<Vec<_>>()))
    })?;
    Ok(Block::new(columns, n_rows))
}

/// Fewer rows are joined together by one worker.
const CONCAT_AT_ONCE: usize = 1 << 17;

impl BuildSpec {
    fn no_rows(&self) -> Block {
        let columns = self.types.iter().map(|ty| Column::Flat(Vector::defaults(ty, 0)));
        Block::new(columns.collect(), 0)
    }

    /// The table of right rows, which are in their order.
    pub(crate) fn index(&self, rows: Block, mut memory: Reservation, team: &Team) -> Result<JoinTable> {
        let spec = self;
        let n_rows = rows.n_rows();
        ensure!(
            n_rows < u32::MAX as usize,
            SET_SIZE_LIMIT_EXCEEDED,
            "Too many rows on the right side of a JOIN"
        );
        let mut keys = spec.keys.evaluate(&rows)?;
        let mut others = keys.split_off(spec.null_safe.len());
        let asof = spec.asof_type.as_ref().map(|_| others.remove(0));
        let types: Vec<DataType> = spec
            .key_types
            .iter()
            .zip(&spec.null_safe)
            .map(|(ty, null_safe)| if *null_safe { ty.clone() } else { ty.bare().clone() })
            .collect();
        let (keys, mut valid) = usable_keys(keys, &spec.null_safe, n_rows);
        let asof = asof.map(|asof| {
            let (mut asof, is_there) = usable_keys(vec![asof], &[false], n_rows);
            valid = &valid & &is_there;
            asof.swap_remove(0)
        });
        let bounds = spec.range.as_ref().map(|range| {
            let (bounds, are_there) = range.usable(others, n_rows);
            valid = &valid & &are_there;
            bounds
        });
        let in_lists = asof.is_some() || bounds.is_some();
        let mut index = KeyIndex::new(&keys, &types, &valid, team, spec.parallel_from, in_lists)?;
        let asof = asof.zip(spec.asof_type.as_ref()).map(|(asof, ty)| AsofValues::new(asof, ty, &mut index));
        let range = bounds.zip(spec.range.as_ref());
        let range = range.and_then(|(bounds, range)| RangeIndex::new(range, bounds, &mut index));
        let searched =
            asof.as_ref().map_or(0, AsofValues::memory) + range.as_ref().map_or(0, RangeIndex::memory);
        memory.grow(index.memory() + n_rows + searched)?;
        let used = (0..n_rows).map(|_| AtomicBool::new(false)).collect();
        let narrow = NarrowCopies::new(memory.tracker().clone());
        Ok(JoinTable { rows, narrow, spilled: None, index, asof, range, used, _memory: memory })
    }

    /// The table of the rows of a partition.
    pub(crate) fn index_partition(
        &self,
        partition: &Partition,
        control: &Arc<QueryControl>,
    ) -> Result<JoinTable> {
        let rows = match partition.block()? {
            Some(block) => in_input_order(block)?.0,
            None => self.no_rows(),
        };
        let mut memory = Reservation::new(control.memory.clone());
        memory.grow(rows.memory())?;
        self.index(rows, memory, &Team::alone(control))
    }
}

struct Worker {
    blocks: Vec<(Position, Block)>,
    n_rows: u64,
    max_rows: u64,
    memory: Reservation,
    numbers: RowNumbers,
    /// Rows that were written to disk.
    writer: LazyWriter,
    threshold: Threshold,
    spec: BuildSpec,
    control: Arc<QueryControl>,
}

impl Worker {
    /// Writes all rows to their partitions.
    fn spill(&mut self) -> Result<()> {
        let writer = self.writer.writer(Purpose::Join, &self.threshold, &self.control)?;
        for (position, block) in self.blocks.drain(..) {
            self.control.check_with_interrupt()?;
            let hashes = self.spec.hashes(&block)?;
            writer.write(&self.numbers.at(position).append_to(block), &hashes)?;
        }
        self.memory.resize(0)
    }
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        self.n_rows += block.n_rows() as u64;
        ensure!(
            self.max_rows == 0 || self.n_rows <= self.max_rows,
            SET_SIZE_LIMIT_EXCEEDED,
            "Limit for JOIN exceeded, max rows: {}, current rows: {}",
            self.max_rows,
            self.n_rows
        );
        let refused = self.memory.grow(block.memory());
        self.blocks.push((position, block));
        if !self.spec.has_keys() {
            refused?;
        } else if refused.is_err() || self.threshold.is_passed(&self.memory) {
            self.spill()?;
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// The table of a build that has run.
pub(crate) fn built(slot: &OnceLock<JoinTable>) -> Result<&JoinTable> {
    slot.get().ok_or_else(|| err!(LOGICAL_ERROR, "The right side of a JOIN is not built"))
}
