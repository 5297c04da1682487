//! Collect: the end of a plan. Hands blocks to the consumer in the source's order, however many workers made them.

use crate::ExecContext;
use crate::control::{Overflow, QueryControl};
use crate::pipeline::{Flow, Position, Sink, SinkWorker};
use crate::pool::waiting_outside;
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_storage::fixed::BlockScan;
use chalet_storage::{Scan, ScanRequest};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// What receives the blocks.
pub type Consumer = Box<dyn FnMut(Block) -> Result<()> + Send>;

/// The last sink of a query: hands blocks to a consumer, in the source's order.
/// The sink at the end of a plan.
pub struct Collect {
    shared: Arc<Shared>,
    rows: Option<RowRange>,
}

/// The rows that a limit on top of the plan leaves: `offset..offset + limit`.
#[derive(Clone)]
pub struct RowRange {
    pub limit: u64,
    pub offset: u64,
    /// Rows behind these are read too, to be counted.
    pub reads_all: bool,
    /// Counts the rows that come in.
    pub rows_in: Arc<AtomicU64>,
}

impl RowRange {
    /// Rows that must be in before reading can stop.
    fn needed(&self) -> u64 {
        if self.reads_all { u64::MAX } else { self.limit.saturating_add(self.offset) }
    }
}

struct Shared {
    state: Mutex<State>,
    full: AtomicBool,
}

struct State {
    consumer: Consumer,
    /// The limits of the query's result apply.
    limited: bool,
    /// Rows that are still to be skipped, then to be given.
    rest: Option<(u64, u64)>,
    reads_all: bool,
    /// Position at which each worker is; `None` when it has ended.
    workers: Vec<Option<Position>>,
    waiting: BTreeMap<(Position, u32), Block>,
    next_key: u32,
    rows: u64,
    bytes: u64,
    memory: Option<Reservation>,
}

impl Collect {
    /// `limited`: the limits of the query's result apply; not for sub-queries.
    /// `rows`: those of a limit on top of the plan.
    pub fn new(consumer: Consumer, limited: bool, rows: Option<RowRange>) -> Self {
        let state = State {
            consumer,
            limited,
            rest: rows.as_ref().map(|rows| (rows.offset, rows.limit)),
            reads_all: rows.as_ref().is_some_and(|rows| rows.reads_all),
            workers: Vec::new(),
            waiting: BTreeMap::new(),
            next_key: 0,
            rows: 0,
            bytes: 0,
            memory: None,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), full: AtomicBool::new(false) });
        Collect { shared, rows }
    }
}

impl Shared {
    /// Whoever has it may be waiting for a client that reads slowly.
    fn lock(&self) -> MutexGuard<'_, State> {
        match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => {
                waiting_outside(|| self.state.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }
}

impl State {
    /// Gives out what no worker can come before any more.
    fn drain(&mut self, control: &QueryControl) -> Result<bool> {
        let oldest = self.workers.iter().flatten().min().copied();
        while let Some(entry) = self.waiting.first_entry() {
            if oldest.is_some_and(|oldest| entry.key().0.task() > oldest.task()) {
                break;
            }
            let block = entry.remove();
            if let Some(memory) = &mut self.memory {
                memory.resize(memory.bytes().saturating_sub(block.memory()))?;
            }
            if !self.give(block, control)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `false` when the result is as large as it may be.
    fn give(&mut self, block: Block, control: &QueryControl) -> Result<bool> {
        let limits = &control.limits;
        let Some(block) = self.wanted(block) else { return Ok(!self.is_done()) };
        self.rows += block.n_rows() as u64;
        self.bytes += block.memory() as u64;
        if !self.limited {
            (self.consumer)(block)?;
            return Ok(!self.is_done());
        }
        let over_rows = limits.max_result_rows > 0 && self.rows > limits.max_result_rows;
        let over_bytes = limits.max_result_bytes > 0 && self.bytes > limits.max_result_bytes;
        if (over_rows || over_bytes) && limits.result_overflow == Overflow::Throw {
            if over_rows {
                bail!(
                    TOO_MANY_ROWS_OR_BYTES,
                    "Limit for result exceeded, max rows: {}, current rows: {}",
                    limits.max_result_rows,
                    self.rows
                );
            }
            bail!(
                TOO_MANY_ROWS_OR_BYTES,
                "Limit for result exceeded, max bytes: {}, current bytes: {}",
                limits.max_result_bytes,
                self.bytes
            );
        }
        (self.consumer)(block)?;
        // One that may be cut short ends with the block that makes it as large as it may be.
        let is_full = (limits.max_result_rows > 0 && self.rows >= limits.max_result_rows)
            || (limits.max_result_bytes > 0 && self.bytes >= limits.max_result_bytes);
        Ok(!(is_full && limits.result_overflow != Overflow::Throw || self.is_done()))
    }

    /// The part of the next block that the limit leaves, if there is any.
    fn wanted(&mut self, block: Block) -> Option<Block> {
        let Some((skip, take)) = &mut self.rest else { return Some(block) };
        let n_rows = block.n_rows() as u64;
        let from = n_rows.min(*skip);
        let n = (n_rows - from).min(*take);
        *skip -= from;
        *take -= n;
        match n {
            0 => None,
            n if n == n_rows => Some(block),
            n => Some(block.slice(from as usize, n as usize)),
        }
    }

    /// Has the limit been reached?
    fn is_done(&self) -> bool {
        !self.reads_all && self.rest.is_some_and(|(_, take)| take == 0)
    }
}

impl Sink for Collect {
    fn name(&self) -> &'static str {
        "Collect"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        let mut state = self.shared.lock();
        state.workers.push(Some(Position::default()));
        if state.memory.is_none() {
            state.memory = Some(Reservation::new(ctx.control.memory.clone()));
        }
        let number = state.workers.len() - 1;
        Ok(Box::new(Worker {
            shared: self.shared.clone(),
            control: ctx.control.clone(),
            number,
            rows: self.rows.clone(),
            in_task: (0, 0),
        }))
    }

    fn is_satisfied(&self) -> bool {
        self.shared.full.load(Relaxed)
            || self.rows.as_ref().is_some_and(|rows| rows.rows_in.load(Relaxed) >= rows.needed())
    }

    fn finish(&self, _: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut state = self.shared.lock();
        state.workers.clear();
        state.drain(&ctx.control)?;
        Ok(Arc::new(BlockScan::new(Arc::new([]), &ScanRequest::default())))
    }
}

struct Worker {
    shared: Arc<Shared>,
    control: Arc<QueryControl>,
    number: usize,
    rows: Option<RowRange>,
    /// Task, and rows that came of it.
    in_task: (u32, u64),
}

impl SinkWorker for Worker {
    fn begin(&mut self, position: Position) -> Result<()> {
        let mut state = self.shared.lock();
        let before = state.workers[self.number].replace(position);
        // A new task may set blocks of later tasks free.
        if before.is_none_or(|b| b.task() != position.task())
            && !state.waiting.is_empty()
            && !state.drain(&self.control)?
        {
            self.shared.full.store(true, Relaxed);
        }
        Ok(())
    }

    fn pause(&mut self) -> Result<()> {
        let mut state = self.shared.lock();
        state.workers[self.number] = None;
        if !state.waiting.is_empty() && !state.drain(&self.control)? {
            self.shared.full.store(true, Relaxed);
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        self.shared.lock().workers[self.number] = Some(Position::default());
        Ok(())
    }

    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        if self.shared.full.load(Relaxed) {
            return Ok(Flow::Stop);
        }
        let mut has_enough = false;
        if let Some(rows) = &self.rows {
            if self.in_task.0 != position.task {
                self.in_task = (position.task, 0);
            }
            self.in_task.1 += block.n_rows() as u64;
            rows.rows_in.fetch_add(block.n_rows() as u64, Relaxed);
            // Later tasks of this worker come after this one, so they are not needed either.
            has_enough = self.in_task.1 >= rows.needed();
        }
        let mut state = self.shared.lock();
        state.next_key += 1;
        let key = (position, state.next_key);
        if let Some(memory) = &mut state.memory {
            memory.grow(block.memory())?;
        }
        state.waiting.insert(key, block);
        if state.drain(&self.control)? {
            return Ok(if has_enough { Flow::Stop } else { Flow::Continue });
        }
        self.shared.full.store(true, Relaxed);
        Ok(Flow::Stop)
    }

    fn end(&mut self) -> Result<()> {
        let mut state = self.shared.lock();
        state.workers[self.number] = None;
        state.drain(&self.control)?;
        Ok(())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Blocks as the source of the next stage.
pub fn blocks_as_source(blocks: Vec<Block>, ctx: &ExecContext) -> Arc<dyn Scan> {
    let n_columns = blocks.first().map_or(0, |b| b.columns().len());
    let request = ScanRequest {
        columns: (0..n_columns).collect(),
        context: ctx.scan.clone(),
        ..ScanRequest::default()
    };
    Arc::new(BlockScan::new(blocks.into(), &request))
}
