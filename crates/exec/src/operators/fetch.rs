//! Fetch, the second half of late materialization: further columns of the rows that are left of a scan, read by row id. Keeps
//! order.
//! Holds all rows, which are few: a limit stands below. Reads in pieces, on all workers; each looks before its next piece
//! whether the query is to be stopped.

use super::collect::blocks_as_source;
use super::materialize;
use crate::ExecContext;
use crate::pipeline::{Sink, SinkWorker};
use crate::pool;
use chalet_base::{Result, err};
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_memory::guarded;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{RowsById, Scan};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The sink that reads further columns by row id.
pub struct Fetch {
    /// The scan that the rows are of, once it is open.
    pub scan: Arc<OnceLock<Arc<dyn Scan>>>,
    /// Position of the row ids in the input.
    pub row_id: usize,
    /// Indexes into the schema of the table.
    pub columns: Vec<usize>,
}

impl Sink for Fetch {
    fn name(&self) -> &'static str {
        "Fetch"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let blocks = materialize::in_order(workers);
        if blocks.is_empty() {
            return Ok(blocks_as_source(blocks, ctx));
        }
        let block = Block::concat(&blocks);
        let n_rows = block.n_rows();
        let rows = self.scan.get().and_then(|scan| scan.rows_by_id());
        let rows = rows.ok_or_else(|| err!(LOGICAL_ERROR, "A scan does not locate its rows"))?;
        let row_ids = block.column(self.row_id).flat().into_owned();
        let row_ids = row_ids.values::<u64>()?;
        let mut order: Vec<u32> = (0..n_rows as u32).collect();
        order.sort_unstable_by_key(|&row| row_ids[row as usize]);
        let mut places = vec![0u32; n_rows];
        order.iter().zip(0..).for_each(|(&row, place)| places[row as usize] = place);

        let row_ids: Vec<u64> = order.iter().map(|&row| row_ids[row as usize]).collect();
        let pieces = Pieces::new(rows, row_ids, self.columns.clone(), ctx);
        let mut columns = block.into_columns();
        columns.extend(pieces.read()?.into_iter().map(|column| column.gather(&places)));
        Ok(blocks_as_source(vec![Block::new(columns, n_rows)], ctx))
    }
}

/// What is to be read, and what has been.
struct Pieces {
    rows: Arc<dyn RowsById>,
    /// Ascending.
    row_ids: Vec<u64>,
    columns: Vec<usize>,
    /// Ranges of row ids, and of columns: each of one is read with each of the other.
    runs: Vec<Range<usize>>,
    parts: Vec<Range<usize>>,
    queue: TaskQueue,
    done: Mutex<Vec<Option<Block>>>,
    memory: Mutex<Reservation>,
    ctx: ExecContext,
}

impl Pieces {
    fn new(
        rows: Arc<dyn RowsById>,
        row_ids: Vec<u64>,
        columns: Vec<usize>,
        ctx: &ExecContext,
    ) -> Arc<Pieces> {
        let runs = rows.runs(&row_ids);
        // Several for each worker, as they take differently long.
        let wanted = if ctx.settings.max_threads > 1 { ctx.settings.max_threads * 4 } else { 1 };
        let n_parts = wanted.div_ceil(runs.len().max(1)).clamp(1, columns.len().max(1));
        let parts = (0..n_parts).map(|i| columns.len() * i / n_parts..columns.len() * (i + 1) / n_parts);
        let parts: Vec<_> = parts.collect();
        let done = Mutex::new(vec![None; runs.len() * parts.len()]);
        let memory = Mutex::new(Reservation::new(ctx.control.memory.clone()));
        let (queue, ctx) = (TaskQueue::default(), ctx.clone());
        Arc::new(Pieces { rows, row_ids, columns, runs, parts, queue, done, memory, ctx })
    }

    /// The columns, with rows in the order of the row ids.
    fn read(self: Arc<Self>) -> Result<Vec<Column>> {
        let n = self.ctx.settings.max_threads.min(self.runs.len() * self.parts.len());
        let control = self.ctx.control.clone();
        let shared = self.clone();
        let job = move |number: usize| {
            if let Err(error) = guarded(|| shared.work(number == 0)) {
                shared.ctx.control.fail(error);
            }
        };
        // A cancelled query is noticed by its workers.
        pool::run(n, Arc::new(job), &|| drop(control.check_with_interrupt()));
        if let Some(error) = control.take_failure() {
            return Err(error);
        }
        let done = std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        let done: Vec<Block> = done.into_iter().flatten().collect();
        let parts = self.parts.len();
        let of_part = |part: usize| {
            let blocks: Vec<Block> = done.iter().skip(part).step_by(parts).cloned().collect();
            Block::concat(&blocks).into_columns()
        };
        Ok((0..parts).flat_map(of_part).collect())
    }

    /// Reads pieces until there are none left.
    fn work(&self, main: bool) -> Result<()> {
        let control = &self.ctx.control;
        while let Some(task) = self.queue.take(self.runs.len() * self.parts.len()) {
            if main {
                control.check_with_interrupt()?
            } else {
                control.check()?
            }
            let (run, part) = (task / self.parts.len(), task % self.parts.len());
            let row_ids = &self.row_ids[self.runs[run].clone()];
            let block = self.rows.read(row_ids, &self.columns[self.parts[part].clone()])?;
            let bytes = block.memory();
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).grow(bytes)?;
            // The rows were counted when they were read first; what is left to read is needed.
            control.add_read(0, bytes as u64)?;
            self.done.lock().unwrap_or_else(PoisonError::into_inner)[task] = Some(block);
        }
        Ok(())
    }
}
