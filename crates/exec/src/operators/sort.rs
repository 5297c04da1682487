//! Sort: all rows in the order of some keys; equal rows keep the input's order. Holds all rows, or with a limit a small
//! multiple of it: then rows that cannot be among the first are dropped as they come. When memory runs short, each worker
//! writes what it holds to disk as a sorted run, and whoever reads the result merges the runs.

use super::sort_buffer::SortBuffer;
use super::top_k_threshold::TopKThreshold;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use crate::spill::runs::{RunSizes, RunWriter, merged};
use crate::spill::{Purpose, Threshold};
use chalet_base::{Result, ensure};
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
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
    pub limit: Option<u64>,
    /// Where the scan below looks how far rows count.
    pub top_k_threshold: Option<Arc<TopKThreshold>>,
    /// Counts the rows.
    pub rows_in: Arc<AtomicU64>,
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
            runs: None,
            n_spilled: 0,
            spill_threshold: Threshold::new(ctx.settings.external_sort, ctx),
            control: ctx.control.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut workers = concrete::<Worker>(workers);
        if workers.iter().any(|worker| worker.runs.is_some()) {
            let sizes = RunSizes::new(&Threshold::new(ctx.settings.external_sort, ctx));
            let mut runs = Vec::new();
            for worker in &mut workers {
                worker.spill()?;
                runs.extend(worker.runs.take().map(RunWriter::into_runs).into_iter().flatten());
            }
            return merged(runs, Purpose::Sort, sizes, limit, ctx);
        }
        let mut all = SortBuffer::default();
        workers.into_iter().for_each(|worker| all.append(worker.rows));
        all.into_scan(limit, ctx.settings.max_block_size, &|| ctx.control.check_with_interrupt())
    }
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
    /// Rows that were written to disk, and how many.
    runs: Option<RunWriter>,
    n_spilled: usize,
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
                keys = pick(&keys, &kept);
            }
        }
        let held = self.memory.bytes() + block.memory() + keys.memory();
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
        if self.runs.is_some() {
            return self.spill();
        }
        let control = &self.control;
        self.rows.sort(self.limit.unwrap_or(usize::MAX), &|| control.check())
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
            None => RunWriter::new(Purpose::Sort, RunSizes::new(&self.spill_threshold), control)?,
        };
        self.n_spilled += self.rows.n_rows();
        self.rows.spill(self.limit.unwrap_or(usize::MAX), &mut runs, &|| control.check_with_interrupt())?;
        self.runs = Some(runs);
        self.memory.resize(0)
    }

    /// Drops the rows that cannot be among the first `limit`.
    fn prune(&mut self, limit: usize) -> Result<()> {
        let refs = self.rows.order(limit, &|| Ok(()))?;
        let mut kept: Vec<Vec<u32>> = vec![Vec::new(); self.rows.n_blocks()];
        refs.iter().for_each(|r| kept[r.block as usize].push(r.row));
        if let Some(last) = refs.last() {
            let (block, keys) = self.rows.block(last.block);
            let row = block.gather(&[last.row]);
            let first = self.keys.evaluate(&row)?.swap_remove(0).into_flat().compact();
            if let Some(threshold) = &self.top_k_threshold
                && refs.len() == limit
            {
                threshold.tighten(&first);
            }
            self.threshold = Some(LastRow { key: keys.get(last.row as usize).to_vec(), first });
        }
        let mut rows = self.rows.emptied();
        let mut bytes = 0;
        for ((position, block, keys), mut kept) in std::mem::take(&mut self.rows).into_blocks().zip(kept) {
            if kept.is_empty() {
                continue;
            }
            kept.sort_unstable();
            let block = compact(block.gather(&kept));
            let keys = pick(&keys, &kept);
            bytes += block.memory() + keys.memory();
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

fn pick(keys: &RowKeys, rows: &[u32]) -> RowKeys {
    let mut picked = RowKeys { bytes: Vec::new(), offsets: vec![0] };
    for &row in rows {
        picked.bytes.extend_from_slice(keys.get(row as usize));
        picked.offsets.push(picked.bytes.len());
    }
    picked
}
