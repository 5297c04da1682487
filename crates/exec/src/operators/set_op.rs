//! SetOp: INTERSECT and EXCEPT. The right side is a multiset in memory; the left side streams past it. When memory runs
//! short, both sides are partitioned to disk by the hash of their rows, and what is left of the left side comes out when it has
//! ended, in its order.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::hash_table::{GroupTable, KeyLayout, NO_GROUP};
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker, Position, Sink, SinkWorker, concrete};
use crate::spill::input_order::{InputOrder, RowNumbers, in_input_order};
use crate::spill::partitions::{LazyWriter, Partition, PartitionWriter, partitions, row_hashes};
use crate::spill::{Purpose, Threshold};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_plan::SetOpKind;
use chalet_storage::Scan;
use chalet_types::DataType;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often each different row is still to be matched.
struct Counts {
    rows: GroupTable,
    /// Of each row of the table.
    counts: Vec<u64>,
}

impl Counts {
    fn new(layout: &Arc<KeyLayout>) -> Counts {
        Counts { rows: GroupTable::new(layout.clone()), counts: Vec::new() }
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize {
        self.rows.memory() + self.counts.capacity() * size_of::<u64>()
    }

    /// Adds rows, each as often as `count` says.
    fn add(&mut self, columns: &[Column], n_rows: usize, count: impl Fn(usize) -> u64) {
        let groups = self.rows.groups(columns, n_rows);
        self.add_groups(&groups, count);
    }

    fn add_groups(&mut self, groups: &[u32], count: impl Fn(usize) -> u64) {
        self.counts.resize(self.rows.len(), 0);
        groups.iter().enumerate().for_each(|(row, &group)| self.counts[group as usize] += count(row));
    }

    /// Adds what another one holds.
    fn merge(&mut self, other: Counts) {
        if self.rows.len() == 0 {
            *self = other;
            return;
        }
        let groups = self.rows.insert_store(other.rows.store());
        self.add_groups(&groups, |row| other.counts[row]);
    }
}

/// The rows of the right side.
pub struct RightRows {
    layout: Arc<KeyLayout>,
    state: Mutex<State>,
}

impl RightRows {
    /// Rows of these types.
    pub fn new(types: &[DataType]) -> RightRows {
        let layout = Arc::new(KeyLayout::of_groups(types));
        let state = State { counts: Counts::new(&layout), memory: None, spilled: None, is_full: false };
        RightRows { layout, state: Mutex::new(state) }
    }
}

struct State {
    /// The rows of the right side; for EXCEPT DISTINCT those of the left side too, which have been put out.
    counts: Counts,
    memory: Option<Reservation>,
    /// All rows of the right side, where memory ran short.
    spilled: Option<Vec<PartitionWriter>>,
    /// Nothing may be added to the counts any more: left rows that they do not have go to disk.
    is_full: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hashes_of(block: &Block) -> Vec<u64> {
    row_hashes(&block.columns().iter().collect::<Vec<&Column>>(), block.n_rows())
}

/// The columns of a block of which the last one says something of its rows.
fn without_last(block: &Block) -> &[Column] {
    &block.columns()[..block.columns().len() - 1]
}

/// Counts the rows of the right side.
pub struct CountRows {
    pub rows: Arc<RightRows>,
}

impl Sink for CountRows {
    fn name(&self) -> &'static str {
        "CountRows"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(CountWorker {
            counts: Counts::new(&self.rows.layout),
            memory: Reservation::new(ctx.control.memory.clone()),
            writer: LazyWriter::default(),
            threshold: Threshold::new(ctx.settings.external_distinct, ctx),
            ctx: ctx.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut workers = concrete::<CountWorker>(workers);
        let mut state = lock(&self.rows.state);
        if workers.iter().any(|worker| worker.writer.is_some()) {
            let mut writers = Vec::new();
            for worker in &mut workers {
                worker.spill()?;
                writers.extend(worker.writer.take_flushed()?);
            }
            state.spilled = Some(writers);
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        workers.into_iter().for_each(|worker| state.counts.merge(worker.counts));
        state.memory = Some(Reservation::new(ctx.control.memory.clone()));
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

struct CountWorker {
    counts: Counts,
    memory: Reservation,
    writer: LazyWriter,
    threshold: Threshold,
    ctx: ExecContext,
}

impl SinkWorker for CountWorker {
    fn push(&mut self, _: Position, block: Block) -> Result<Flow> {
        self.counts.add(block.columns(), block.n_rows(), |_| 1);
        let refused = self.memory.resize(self.counts.memory()).is_err();
        if refused || self.threshold.is_passed(&self.memory) {
            self.spill()?;
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Rows that are written at once.
const ROWS_AT_ONCE: usize = 8192;

impl CountWorker {
    /// Writes all rows to disk, each once with its count behind it.
    fn spill(&mut self) -> Result<()> {
        let writer = self.writer.writer(Purpose::Distinct, &self.threshold, &self.ctx.control)?;
        let Counts { rows, counts } = &mut self.counts;
        let layout = rows.layout().clone();
        let block = layout.columns(rows.take())?;
        let counts = Column::Flat(Vector::from(std::mem::take(counts)));
        for start in (0..block.n_rows()).step_by(ROWS_AT_ONCE) {
            self.ctx.control.check_with_interrupt()?;
            let n_rows = ROWS_AT_ONCE.min(block.n_rows() - start);
            let some = block.slice(start, n_rows);
            let hashes = hashes_of(&some);
            let mut columns = some.into_columns();
            columns.push(counts.slice(start, n_rows));
            writer.write(&Block::new(columns, n_rows), &hashes)?;
        }
        self.counts = Counts::new(&layout);
        self.memory.resize(0)
    }
}

/// Passes the rows of the left side on or not.
pub struct SetOp {
    shared: Arc<Shared>,
}

struct Shared {
    kind: SetOpKind,
    distinct: bool,
    right: Arc<RightRows>,
    /// Left rows, of workers that have ended.
    spilled: Mutex<Vec<PartitionWriter>>,
    threshold: Threshold,
    ctx: ExecContext,
}

impl SetOp {
    /// The operator over the left side; `right` has been filled when it runs.
    pub fn new(kind: SetOpKind, distinct: bool, right: Arc<RightRows>, ctx: &ExecContext) -> SetOp {
        let threshold = Threshold::new(ctx.settings.external_distinct, ctx);
        let spilled = Mutex::default();
        SetOp { shared: Arc::new(Shared { kind, distinct, right, spilled, threshold, ctx: ctx.clone() }) }
    }
}

impl Operator for SetOp {
    fn name(&self) -> &'static str {
        match self.shared.kind {
            SetOpKind::Intersect => "Intersect",
            SetOpKind::Except => "Except",
        }
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker {
            shared: self.shared.clone(),
            numbers: RowNumbers::default(),
            writer: LazyWriter::default(),
        }))
    }

    fn rest(&self, ctx: &ExecContext) -> Result<Option<Arc<dyn Scan>>> {
        let left = std::mem::take(&mut *lock(&self.shared.spilled));
        // What is in memory matches no row that is on disk.
        let right = {
            let mut state = lock(&self.shared.right.state);
            state.counts = Counts::new(&self.shared.right.layout);
            state.memory = None;
            state.spilled.take()
        };
        if left.is_empty() {
            return Ok(None);
        }
        let mut right = right.map(partitions).into_iter().flatten();
        let kept = InputOrder::new(Purpose::Distinct, &self.shared.threshold, ctx);
        let mut rest = Rest { shared: &self.shared, kept };
        for left in partitions(left) {
            rest.add(left, right.next())?;
        }
        rest.kept.finish(ctx).map(Some)
    }
}

/// Left rows on disk that pass.
struct Rest<'a> {
    shared: &'a Shared,
    kept: InputOrder,
}

impl Rest<'_> {
    fn add(&mut self, left: Partition, right: Option<Partition>) -> Result<()> {
        let control = &self.shared.ctx.control;
        control.check_with_interrupt()?;
        if left.is_empty() {
            return Ok(());
        }
        if left.is_too_large() || right.as_ref().is_some_and(Partition::is_too_large) {
            // The last column numbers the rows of the left side, and counts those of the right one.
            let hashes = |block: &Block| {
                Ok(row_hashes(&without_last(block).iter().collect::<Vec<_>>(), block.n_rows()))
            };
            let right = right.map(|right| right.divided(control, &hashes)).transpose()?;
            let mut right = right.into_iter().flatten();
            let mut left = left.divided(control, &hashes)?.into_iter();
            return left.try_for_each(|left| self.add(left, right.next()));
        }
        let mut counts = Counts::new(&self.shared.right.layout);
        for block in right.iter().flat_map(Partition::blocks) {
            let block = block?;
            let values = without_last(&block);
            let numbers = block.column(values.len()).flat();
            let numbers = numbers.values::<u64>()?;
            counts.add(values, block.n_rows(), |row| numbers[row]);
        }
        let Some(block) = left.block()? else { return Ok(()) };
        let (block, numbers) = in_input_order(block)?;
        let (kept, _) = self.shared.kept(&mut counts, &block, false);
        let numbers: Vec<u128> = kept.iter().map(|&row| numbers[row as usize]).collect();
        self.kept.add(block.gather(&kept), numbers)
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
        let (kept, unknown) = {
            let mut state = lock(&shared.right.state);
            let State { counts, memory, spilled, is_full } = &mut *state;
            let found = match spilled {
                Some(_) => (Vec::new(), (0..block.n_rows() as u32).collect()),
                None => shared.kept(counts, &block, *is_full),
            };
            // Only EXCEPT DISTINCT adds to the counts: the left rows that it has put out.
            if shared.adds()
                && !*is_full
                && let Some(memory) = memory
            {
                *is_full = memory.resize(counts.memory()).is_err() || shared.threshold.is_passed(memory);
            }
            found
        };
        if !unknown.is_empty() {
            self.spill(block.gather(&unknown))?;
        }
        if kept.is_empty() { Ok(Flow::Continue) } else { emit(block.gather(&kept)) }
    }

    fn end(&mut self) -> Result<()> {
        lock(&self.shared.spilled).extend(self.writer.take_flushed()?);
        Ok(())
    }
}

impl Worker {
    fn spill(&mut self, block: Block) -> Result<()> {
        let hashes = hashes_of(&block);
        let block = self.numbers.append_to(block);
        let Shared { threshold, ctx, .. } = &*self.shared;
        self.writer.writer(Purpose::Distinct, threshold, &ctx.control)?.write(&block, &hashes)
    }
}

impl Shared {
    /// Are left rows that pass added to the counts?
    fn adds(&self) -> bool {
        self.kind == SetOpKind::Except && self.distinct
    }

    /// Which left rows pass, and which are not known where no more can be remembered. ALL: each right row matches one left row.
    /// DISTINCT: a left row passes once at most.
    fn kept(&self, counts: &mut Counts, block: &Block, is_full: bool) -> (Vec<u32>, Vec<u32>) {
        let (columns, n_rows) = (block.columns(), block.n_rows());
        let Counts { rows, counts } = counts;
        if self.adds() && !is_full {
            // New rows are numbered as they come.
            let mut next = rows.len() as u32;
            let groups = rows.groups(columns, n_rows);
            let mut is_new = |&row: &u32| {
                let is_new = groups[row as usize] == next;
                next += u32::from(is_new);
                is_new
            };
            return ((0..n_rows as u32).filter(|row| is_new(row)).collect(), Vec::new());
        }
        let groups = rows.find(columns, n_rows);
        if self.adds() {
            let unknown = (0..n_rows as u32).filter(|&row| groups[row as usize] == NO_GROUP);
            return (Vec::new(), unknown.collect());
        }
        let passes = |&row: &u32| {
            let is_matched = match counts.get_mut(groups[row as usize] as usize) {
                Some(count) if *count > 0 => {
                    *count = if self.distinct { 0 } else { *count - 1 };
                    true
                }
                _ => false,
            };
            is_matched == (self.kind == SetOpKind::Intersect)
        };
        ((0..n_rows as u32).filter(passes).collect(), Vec::new())
    }
}
