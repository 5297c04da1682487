//! Sort: all rows in the order of some keys; equal rows keep the input's order. Holds all rows, or with a limit a small
//! multiple of it: then rows that cannot be among the first are dropped as they come.

use super::collect::blocks_as_source;
use super::sort_buffer::SortBuffer;
use super::top_k_threshold::TopKThreshold;
use crate::ExecContext;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::{Result, ensure};
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The sink of ORDER BY.
pub struct Sort {
    pub keys: Program,
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
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let workers = concrete::<Worker>(workers);
        let mut all = SortBuffer::default();
        let mut held = Vec::with_capacity(workers.len());
        for worker in workers {
            all.append(worker.rows);
            held.push(worker.memory);
        }
        let check = || ctx.control.check_with_interrupt();
        let sorted = all.sorted(self.limit.map_or(usize::MAX, |limit| limit as usize), &check)?;
        Ok(blocks_as_source(sorted.into_iter().collect(), ctx))
    }
}

struct Worker {
    keys: Program,
    orders: Vec<Order>,
    rows_in: Arc<AtomicU64>,
    top_k_threshold: Option<Arc<TopKThreshold>>,
    limit: Option<usize>,
    max_rows: u64,
    rows: SortBuffer,
    /// With a limit: the last row that still counts.
    threshold: Option<Threshold>,
    memory: Reservation,
}

struct Threshold {
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
        if let Some(Threshold { key, .. }) = &self.threshold {
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
        self.memory.grow(block.memory() + keys.memory())?;
        self.rows.push(position, block, keys);
        ensure!(
            self.max_rows == 0 || self.rows.n_rows() as u64 <= self.max_rows,
            TOO_MANY_ROWS_OR_BYTES,
            "Limit for rows to sort exceeded, max rows: {}, current rows: {}",
            self.max_rows,
            self.rows.n_rows()
        );
        if let Some(limit) = self.limit
            && self.rows.n_rows() > (limit * PRUNE_FACTOR).max(PRUNE_LEAST)
        {
            self.prune(limit)?;
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Worker {
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
            self.threshold = Some(Threshold { key: keys.get(last.row as usize).to_vec(), first });
        }
        let mut rows = SortBuffer::default();
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
