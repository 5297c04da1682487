//! SetOp: INTERSECT and EXCEPT. The right side is a multiset in memory; the left side streams past it. When memory runs
//! short, both sides are partitioned to disk by the hash of their rows, and what is left of the left side comes out when it has
//! ended, in its order.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker, Position, Sink, SinkWorker, concrete};
use crate::spill::input_order::{InputOrder, RowNumbers, in_input_order};
use crate::spill::partitions::{LazyWriter, Partition, PartitionWriter, partitions, row_hashes};
use crate::spill::{Purpose, Threshold};
use chalet_base::Result;
use chalet_base::hash::{HashMap, hash_bytes};
use chalet_columns::keys::{RowKeys, group_keys};
use chalet_columns::{Block, Column, Strings, Vector};
use chalet_memory::Reservation;
use chalet_plan::SetOpKind;
use chalet_storage::Scan;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often each row of the right side is still to be matched, and which rows the left side has shown.
type Counts = HashMap<Box<[u8]>, u64>;

/// Bytes of an entry beside its key.
const ENTRY: usize = 33;

/// The rows of the right side.
#[derive(Default)]
pub struct RightRows {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    /// Bytes that the counts take.
    bytes: usize,
    memory: Option<Reservation>,
    /// All rows of the right side, where memory ran short.
    spilled: Option<Vec<PartitionWriter>>,
    /// Nothing may be added to the counts any more: left rows that they do not have go to disk.
    is_full: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keys_of(block: &Block) -> RowKeys {
    group_keys(&block.columns().iter().collect::<Vec<&Column>>(), block.n_rows())
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
            counts: Counts::default(),
            bytes: 0,
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
        state.bytes = workers.iter().map(|worker| worker.bytes).sum();
        for worker in workers {
            for (key, count) in worker.counts {
                *state.counts.entry(key).or_insert(0) += count;
            }
        }
        state.memory = Some(Reservation::new(ctx.control.memory.clone()));
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

struct CountWorker {
    counts: Counts,
    bytes: usize,
    memory: Reservation,
    writer: LazyWriter,
    threshold: Threshold,
    ctx: ExecContext,
}

impl SinkWorker for CountWorker {
    fn push(&mut self, _: Position, block: Block) -> Result<Flow> {
        let keys = keys_of(&block);
        for row in 0..block.n_rows() {
            match self.counts.get_mut(keys.get(row)) {
                Some(count) => *count += 1,
                None => {
                    self.bytes += keys.get(row).len() + ENTRY;
                    self.counts.insert(keys.get(row).into(), 1);
                }
            }
        }
        let refused = self.memory.resize(self.bytes).is_err();
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
    /// Writes all counts to disk, as blocks of keys and counts.
    fn spill(&mut self) -> Result<()> {
        let writer = self.writer.writer(Purpose::Distinct, &self.threshold, &self.ctx.control)?;
        let counts: Vec<(Box<[u8]>, u64)> = std::mem::take(&mut self.counts).into_iter().collect();
        for some in counts.chunks(ROWS_AT_ONCE) {
            self.ctx.control.check_with_interrupt()?;
            let hashes: Vec<u64> = some.iter().map(|(key, _)| hash_bytes(key)).collect();
            let keys: Strings = some.iter().map(|(key, _)| key).collect();
            let counts = Vector::from(some.iter().map(|(_, count)| *count).collect::<Vec<u64>>());
            let columns = vec![Column::Flat(keys.into()), Column::Flat(counts)];
            writer.write(&Block::new(columns, some.len()), &hashes)?;
        }
        self.bytes = 0;
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
        let right = std::mem::take(&mut *lock(&self.shared.right.state)).spilled;
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
            // The last column numbers the rows.
            let of_left = |block: &Block| {
                let values = &block.columns()[..block.columns().len() - 1];
                Ok(row_hashes(&values.iter().collect::<Vec<_>>(), block.n_rows()))
            };
            let of_right =
                |block: &Block| Ok(block.column(0).flat().strings()?.iter().map(hash_bytes).collect());
            let right = right.map(|right| right.divided(control, &of_right)).transpose()?;
            let mut right = right.into_iter().flatten();
            let mut left = left.divided(control, &of_left)?.into_iter();
            return left.try_for_each(|left| self.add(left, right.next()));
        }
        let mut counts = Counts::default();
        for block in right.iter().flat_map(Partition::blocks) {
            let block = block?;
            let (keys, numbers) = (block.column(0).flat(), block.column(1).flat());
            for (key, count) in keys.strings()?.iter().zip(numbers.values::<u64>()?) {
                *counts.entry(key.into()).or_insert(0) += count;
            }
        }
        let Some(block) = left.block()? else { return Ok(()) };
        let (block, numbers) = in_input_order(block)?;
        let keys = keys_of(&block);
        let passes = |row: &u32| self.shared.keeps(&mut counts, keys.get(*row as usize));
        let kept: Vec<u32> = (0..block.n_rows() as u32).filter(passes).collect();
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
        let keys = keys_of(&block);
        let shared = self.shared.clone();
        let (mut kept, mut unknown) = (Vec::new(), Vec::new());
        {
            let mut state = lock(&shared.right.state);
            let State { counts, bytes, memory, spilled, is_full } = &mut *state;
            for row in 0..block.n_rows() {
                let key = keys.get(row);
                if spilled.is_some() || *is_full && !counts.contains_key(key) {
                    unknown.push(row as u32);
                } else if shared.keeps(counts, key) {
                    kept.push(row as u32);
                }
            }
            // Only EXCEPT DISTINCT adds to the counts: the left rows that it has put out.
            if shared.adds() && !*is_full {
                *bytes += kept.iter().map(|&row| keys.get(row as usize).len() + ENTRY).sum::<usize>();
                if let Some(memory) = memory {
                    *is_full = memory.resize(*bytes).is_err() || shared.threshold.is_passed(memory);
                }
            }
        }
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
        let hashes = row_hashes(&block.columns().iter().collect::<Vec<_>>(), block.n_rows());
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

    /// ALL: each right row matches one left row. DISTINCT: a left row passes once at most.
    fn keeps(&self, counts: &mut Counts, key: &[u8]) -> bool {
        match (self.kind, self.distinct) {
            (SetOpKind::Intersect, false) => match counts.get_mut(key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            },
            (SetOpKind::Intersect, true) => counts.remove(key).is_some(),
            (SetOpKind::Except, false) => match counts.get_mut(key) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            },
            (SetOpKind::Except, true) => {
                let is_new = !counts.contains_key(key);
                if is_new {
                    counts.insert(key.into(), 1);
                }
                is_new
            }
        }
    }
}
