//! Distinct: the first row of each distinct value of some columns. Workers share one set; holds all distinct values. When
//! memory runs short the set stays as it is: rows that it has not seen are partitioned to disk by their hash, and come out when
//! the input has ended, in its order.

use crate::ExecContext;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker, Position};
use crate::row_set::RowSet;
use crate::spill::input_order::{InputOrder, RowNumbers, in_input_order};
use crate::spill::partitions::{LazyWriter, Partition, PartitionWriter, partitions, row_hashes};
use crate::spill::{Purpose, Threshold};
use chalet_base::{Result, ensure};
use chalet_columns::{Block, Column, bits};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The operator of DISTINCT; all workers share the set of rows that were seen.
pub struct Distinct {
    shared: Arc<Shared>,
}

struct Shared {
    /// Positions of the columns that decide.
    on: Vec<usize>,
    /// No more than this many rows are needed.
    limit: Option<u64>,
    max_rows: u64,
    seen: Mutex<Seen>,
    /// Of workers that have ended.
    spilled: Mutex<Vec<PartitionWriter>>,
    threshold: Threshold,
    ctx: ExecContext,
}

struct Seen {
    rows: RowSet,
    memory: Reservation,
    /// New rows go to disk.
    is_full: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Distinct {
    /// Distinct over the columns at these positions; all columns of the first row of each value are put out.
    pub fn new(on: Vec<usize>, limit: Option<u64>, ctx: &ExecContext) -> Self {
        let memory = Reservation::new(ctx.control.memory.clone());
        Distinct {
            shared: Arc::new(Shared {
                on,
                limit,
                max_rows: ctx.settings.max_rows_in_distinct,
                seen: Mutex::new(Seen { rows: RowSet::default(), memory, is_full: false }),
                spilled: Mutex::default(),
                threshold: Threshold::new(ctx.settings.external_distinct, ctx),
                ctx: ctx.clone(),
            }),
        }
    }
}

impl Operator for Distinct {
    fn name(&self) -> &'static str {
        "Distinct"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker {
            shared: self.shared.clone(),
            numbers: RowNumbers::default(),
            writer: LazyWriter::default(),
        }))
    }

    fn rest(&self, ctx: &ExecContext) -> Result<Option<Arc<dyn Scan>>> {
        let spilled = std::mem::take(&mut *lock(&self.shared.spilled));
        if spilled.is_empty() {
            return Ok(None);
        }
        let total = {
            let mut seen = lock(&self.shared.seen);
            let total = seen.rows.len() as u64;
            // None of these rows is on disk.
            seen.rows = RowSet::default();
            seen.memory.resize(0)?;
            total
        };
        let mut rest = Rest {
            shared: &self.shared,
            kept: InputOrder::new(Purpose::Distinct, &self.shared.threshold, ctx),
            total,
        };
        partitions(spilled).into_iter().try_for_each(|partition| rest.add(partition))?;
        rest.kept.finish(ctx).map(Some)
    }
}

impl Shared {
    fn check_rows(&self, total: u64) -> Result<()> {
        ensure!(
            self.max_rows == 0 || total <= self.max_rows,
            SET_SIZE_LIMIT_EXCEEDED,
            "Limit for DISTINCT exceeded, max rows: {}, current rows: {total}",
            self.max_rows
        );
        Ok(())
    }

    fn columns<'a>(&self, block: &'a Block) -> Vec<&'a Column> {
        self.on.iter().map(|&i| block.column(i)).collect()
    }
}

/// The first rows of each value among those on disk.
struct Rest<'a> {
    shared: &'a Shared,
    kept: InputOrder,
    /// Distinct rows so far.
    total: u64,
}

impl Rest<'_> {
    fn add(&mut self, partition: Partition) -> Result<()> {
        let (shared, control) = (self.shared, &self.shared.ctx.control);
        control.check_with_interrupt()?;
        if partition.is_too_large() {
            let hashes = |block: &Block| Ok(row_hashes(&shared.columns(block), block.n_rows()));
            return partition.divided(control, &hashes)?.into_iter().try_for_each(|part| self.add(part));
        }
        let Some(block) = partition.block()? else { return Ok(()) };
        let (block, numbers) = in_input_order(block)?;
        let fresh = RowSet::default().insert(&shared.columns(&block), block.n_rows());
        self.total += fresh.len() as u64;
        shared.check_rows(self.total)?;
        let numbers: Vec<u128> = fresh.iter().map(|&row| numbers[row as usize]).collect();
        self.kept.add(block.gather(&fresh), numbers)
    }
}

struct Worker {
    shared: Arc<Shared>,
    numbers: RowNumbers,
    /// Rows that this worker has written to disk.
    writer: LazyWriter,
}

impl OperatorWorker for Worker {
    fn begin(&mut self, position: Position) {
        self.numbers.begin(position);
    }

    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let shared = self.shared.clone();
        let columns = shared.columns(&block);
        let (fresh, total) = {
            let mut seen = lock(&shared.seen);
            if shared.limit.is_some_and(|limit| seen.rows.len() as u64 >= limit) {
                return Ok(Flow::Stop);
            }
            if seen.is_full {
                let columns: Vec<Column> = columns.into_iter().cloned().collect();
                let known = bits::nonzero(&seen.rows.find(&columns, block.n_rows()));
                drop(seen);
                self.spill(block.filter(&!&known))?;
                return Ok(Flow::Continue);
            }
            let fresh = seen.rows.insert(&columns, block.n_rows());
            let bytes = seen.rows.memory();
            let refused = seen.memory.resize(bytes).is_err();
            seen.is_full = refused || shared.threshold.is_passed(&seen.memory);
            (fresh, seen.rows.len() as u64)
        };
        shared.check_rows(total)?;
        if fresh.is_empty() {
            return Ok(Flow::Continue);
        }
        emit(if fresh.len() == block.n_rows() { block } else { block.gather(&fresh) })
    }

    fn end(&mut self) -> Result<()> {
        lock(&self.shared.spilled).extend(self.writer.take_flushed()?);
        Ok(())
    }
}

impl Worker {
    fn spill(&mut self, block: Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let hashes = row_hashes(&self.shared.columns(&block), block.n_rows());
        let block = self.numbers.append_to(block);
        let Shared { threshold, ctx, .. } = &*self.shared;
        self.writer.writer(Purpose::Distinct, threshold, &ctx.control)?.write(&block, &hashes)
    }
}
