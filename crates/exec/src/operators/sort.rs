//! Sort: all rows in the order of some keys; equal rows keep the input's order. Holds all rows, or with a limit a small
//! multiple of it: then rows that cannot be among the first are dropped as they come. When memory runs short, each worker
//! writes what it holds to disk as a sorted run, and whoever reads the result merges the runs.

use super::bucket_sort::{self, Buckets};
use super::key_prefix::place;
use super::sort_buffer::{SortBuffer, block_rows};
use super::sorted_scan;
use super::top_k_threshold::TopKThreshold;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use crate::spill::runs::{GroupBytes, RunSizes, RunWriter, merged};
use crate::spill::{Purpose, Threshold};
use chalet_base::{Result, ensure};
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What rows are sorted by.
#[derive(Clone)]
pub enum Keys {
    Program(Program),
    /// Columns of the rows themselves, by position.
    Columns(Vec<usize>),
}

impl Keys {
    fn evaluate(&self, block: &Block) -> Result<Vec<Column>> {
        match self {
            Keys::Program(program) => program.evaluate(block),
            Keys::Columns(columns) => Ok(columns.iter().map(|&at| block.column(at).clone()).collect()),
        }
    }
}

/// The sink of ORDER BY.
pub struct Sort {
    pub keys: Keys,
    pub orders: Vec<Order>,
    /// Only so many first rows are put out.
    pub limit: Option<u64>,
    /// So many of these are left out.
    pub offset: u64,
    /// Rows that are equal in so many first keys, which are columns, are put out by one task.
    pub n_group: Option<usize>,
    /// Where the scan below looks how far rows count.
    pub top_k_threshold: Option<Arc<TopKThreshold>>,
    /// Counts the rows.
    pub rows_in: Arc<AtomicU64>,
}

impl Sort {
    /// How many first bytes of a row's key the rows of its group share.
    fn group_bytes(&self) -> Option<GroupBytes> {
        let Keys::Columns(columns) = &self.keys else { return None };
        let of_group: Vec<(usize, Order)> =
            columns.iter().copied().zip(self.orders.iter().copied()).take(self.n_group?).collect();
        Some(Arc::new(move |block: &Block| {
            let row = block.slice(0, 1);
            let keys: Vec<(&Column, Order)> =
                of_group.iter().map(|&(at, order)| (row.column(at), order)).collect();
            sort_keys(&keys, 1).bytes.len()
        }))
    }
}

impl Sink for Sort {
    fn name(&self) -> &'static str {
        "Sort"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker {
            keys: self.keys.clone(),
            orders: self.orders.clone(),
            rows_in: self.rows_in.clone(),
            top_k_threshold: self.top_k_threshold.clone(),
            limit: self.limit.and_then(|limit| usize::try_from(limit).ok()),
            max_rows: ctx.settings.max_rows_to_sort,
            rows: SortBuffer::default(),
            threshold: None,
            memory: Reservation::new(ctx.control.memory.clone()),
            group_bytes: self.group_bytes(),
            runs: None,
            n_spilled: 0,
            n_spilled_blocks: 0,
            spill_threshold: Threshold::new(ctx.settings.external_sort, ctx),
            control: ctx.control.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let range = usize::try_from(self.offset).unwrap_or(usize::MAX)..limit;
        match held(workers, range.clone(), ctx)? {
            Held::InMemory(buckets) => Ok(sorted_scan::open(buckets, range, ctx)),
            Held::OnDisk(scan) => Ok(scan),
        }
    }
}

/// The rows that workers of a sort have taken.
pub(super) enum Held {
    InMemory(Buckets),
    /// The runs that were written, as a table of rows in order.
    OnDisk(Arc<dyn Scan>),
}

/// Takes the rows of all workers; of those on disk a range of the order, and perhaps more behind it.
pub(super) fn held(
    workers: Vec<Box<dyn SinkWorker>>,
    range: Range<usize>,
    ctx: &ExecContext,
) -> Result<Held> {
    let mut workers = concrete::<Worker>(workers);
    if workers.iter().any(|worker| worker.runs.is_some()) {
        let sizes = RunSizes::new(&Threshold::new(ctx.settings.external_sort, ctx));
        let group_bytes = workers[0].group_bytes.clone();
        let mut runs = Vec::new();
        for worker in &mut workers {
            worker.spill()?;
            runs.extend(worker.runs.take().map(RunWriter::into_runs).into_iter().flatten());
        }
        return merged(runs, Purpose::Sort, sizes, group_bytes, range, ctx).map(Held::OnDisk);
    }
    let mut all = SortBuffer::default();
    let mut memory = Vec::with_capacity(workers.len());
    for worker in workers {
        all.append(worker.rows);
        memory.push(worker.memory);
    }
    Buckets::new(all, memory, ctx).map(Held::InMemory)
}

struct Worker {
    keys: Keys,
    orders: Vec<Order>,
    rows_in: Arc<AtomicU64>,
    top_k_threshold: Option<Arc<TopKThreshold>>,
    limit: Option<usize>,
    max_rows: u64,
    rows: SortBuffer,
    /// With a limit: the last row that still counts.
    threshold: Option<LastRow>,
    memory: Reservation,
    group_bytes: Option<GroupBytes>,
    /// Rows that were written to disk, and how many.
    runs: Option<RunWriter>,
    n_spilled: usize,
    /// Blocks that they were of.
    n_spilled_blocks: u32,
    spill_threshold: Threshold,
    control: Arc<QueryControl>,
}

struct LastRow {
    key: Vec<u8>,
    /// Its first key, as a vector of one row.
    first: Vector,
}

/// Rows are pruned when there are this many times more than the limit, and more than a few.
const PRUNE_FACTOR: usize = 4;
const PRUNE_LEAST: usize = 1024;

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        self.rows_in.fetch_add(block.n_rows() as u64, Relaxed);
        let mut columns = self.keys.evaluate(&block)?;
        let mut block = block;
        // Most rows are told by their first key alone; only those that are left get bytes to compare.
        if let Some(threshold) = &self.threshold {
            // With one key, equal rows come too late: the rows of a worker come in order.
            let or_equal = columns.len() > 1;
            let before = columns[0].rows_before(&threshold.first, self.orders[0].descending, or_equal);
            if let Some(rows) = before.filter(|rows| rows.len() < block.n_rows()) {
                if rows.is_empty() {
                    return Ok(Flow::Continue);
                }
                block = block.gather(&rows);
                columns.iter_mut().for_each(|column| *column = column.gather(&rows));
            }
        }
        let ordered: Vec<(&Column, Order)> = columns.iter().zip(self.orders.iter().copied()).collect();
        let mut keys = sort_keys(&ordered, block.n_rows());
        if let Some(LastRow { key, .. }) = &self.threshold {
            let kept: Vec<u32> =
                (0..block.n_rows() as u32).filter(|&row| keys.get(row as usize) <= &key[..]).collect();
            if kept.is_empty() {
                return Ok(Flow::Continue);
            }
            if kept.len() < block.n_rows() {
                block = block.gather(&kept);
                keys = kept.iter().map(|&row| keys.get(row as usize)).collect();
            }
        }
        let n_rows = block.n_rows();
        let held = self.memory.bytes() + block.memory() + keys.memory() + n_rows * bucket_sort::BYTES_A_ROW;
        self.rows.push(position, block, keys);
        let refused = self.memory.resize(held).is_err();
        let n_rows = self.n_spilled + self.rows.n_rows();
        ensure!(
            self.max_rows == 0 || n_rows as u64 <= self.max_rows,
            TOO_MANY_ROWS_OR_BYTES,
            "Limit for rows to sort exceeded, max rows: {}, current rows: {n_rows}",
            self.max_rows
        );
        if let Some(limit) = self.limit
            && self.rows.n_rows() > limit.saturating_mul(PRUNE_FACTOR).max(PRUNE_LEAST)
        {
            self.prune(limit)?;
        }
        if refused || self.spill_threshold.is_passed(&self.memory) {
            self.spill()?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self) -> Result<()> {
        // The workers do this side by side.
        if self.runs.is_some() { self.spill() } else { Ok(()) }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Worker {
    /// Writes the rows that are held to disk.
    fn spill(&mut self) -> Result<()> {
        if self.rows.n_rows() == 0 {
            return Ok(());
        }
        let control = &self.control;
        let mut runs = match self.runs.take() {
            Some(runs) => runs,
            None => RunWriter::new(
                Purpose::Sort,
                RunSizes::new(&self.spill_threshold),
                self.group_bytes.clone(),
                control,
            )?,
        };
        self.n_spilled += self.rows.n_rows();
        let mut rows = std::mem::take(&mut self.rows);
        let check = || control.check_with_interrupt();
        let entries = rows.order(self.limit.unwrap_or(usize::MAX), &check)?;
        let n_rows = runs.sizes().rows(rows.memory(), rows.n_rows());
        let blocks = rows.blocks();
        runs.begin();
        for some in entries.chunks(n_rows) {
            check()?;
            let (mut keys, mut key) = (RowKeys::default(), Vec::new());
            for &entry in some {
                let (number, row) = place(entry);
                let (position, _, of_block) = rows.block(number);
                key.clear();
                key.extend_from_slice(of_block.get(row as usize));
                // Equal rows of different runs keep their order too.
                let number = self.n_spilled_blocks + number;
                for part in [position.round, position.task, position.number, number, row] {
                    key.extend_from_slice(&part.to_be_bytes());
                }
                keys.push(&key);
            }
            runs.write(&Block::interleave(&blocks, &block_rows(some)), &keys)?;
        }
        self.n_spilled_blocks += blocks.len() as u32;
        self.runs = Some(runs);
        self.memory.resize(0)
    }

    /// Drops the rows that cannot be among the first `limit`.
    fn prune(&mut self, limit: usize) -> Result<()> {
        let entries = self.rows.order(limit, &|| Ok(()))?;
        let mut kept: Vec<Vec<u32>> = vec![Vec::new(); self.rows.n_blocks()];
        for &entry in &entries {
            let (block, row) = place(entry);
            kept[block as usize].push(row);
        }
        if let Some(&last) = entries.last() {
            let (block, row) = place(last);
            let row = self.rows.block(block).1.gather(&[row]);
            let first = self.keys.evaluate(&row)?.swap_remove(0).into_flat().compact();
            if let Some(threshold) = &self.top_k_threshold
                && entries.len() == limit
            {
                threshold.tighten(&first);
            }
            self.threshold = Some(LastRow { key: self.rows.key(last).to_vec(), first });
        }
        let mut rows = SortBuffer::default();
        let mut bytes = 0;
        let blocks = std::mem::take(&mut self.rows).into_blocks();
        for ((position, block, keys), mut kept) in blocks.into_iter().zip(kept) {
            if kept.is_empty() {
                continue;
            }
            kept.sort_unstable();
            let block = compact(block.gather(&kept));
            let keys: RowKeys = kept.iter().map(|&row| keys.get(row as usize)).collect();
            bytes += block.memory() + keys.memory() + kept.len() * bucket_sort::BYTES_A_ROW;
            rows.push(position, block, keys);
        }
        self.rows = rows;
        self.memory.resize(bytes)
    }
}

/// Lets go of memory that only dropped rows used.
fn compact(block: Block) -> Block {
    let n_rows = block.n_rows();
    let columns = block.into_columns().into_iter().map(|c| match c {
        Column::Flat(vector) => Column::Flat(vector.compact()),
        other => other,
    });
    Block::new(columns.collect(), n_rows)
}
