//! Pipelines: a source, operators that pass blocks on, a sink that swallows them. A stage is a pipeline and the stages
//! that must run before it.

use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::collect::blocks_as_source;
use crate::operators::shared_rows::SharedRows;
use crate::operators::stream::StreamScan;
use crate::pool;
use crate::waiting::Waiting;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::profile::{self, Kind, Phase};
use chalet_memory::{guarded, thread};
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Instant;

/// Place of a block in its source's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// 0 for blocks of the source itself; what operators held back comes later, see [`Operator::rest`].
    pub round: u32,
    pub task: u32,
    pub number: u32,
}

impl Position {
    /// The task that the block is of, in its round.
    pub fn task(self) -> (u32, u32) {
        (self.round, self.task)
    }
}

/// Whether a worker wants more blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// This worker's further blocks are not needed.
    Stop,
}

/// Receives what an operator puts out.
pub type Emit<'a> = &'a mut dyn FnMut(Block) -> Result<Flow>;

/// Passes blocks on, changed, one at a time.
pub trait Operator: Send + Sync {
    /// For EXPLAIN: `Filter`.
    fn name(&self) -> &'static str;

    /// The state of one worker.
    fn worker(&self) -> Result<Box<dyn OperatorWorker>>;

    /// Rows that the operator held back until all of its input was known, as the source of what comes behind it. Asked once,
    /// when all workers have ended; `None` where nothing was held back.
    fn rest(&self, ctx: &ExecContext) -> Result<Option<Arc<dyn Scan>>> {
        let _ = ctx;
        Ok(None)
    }
}

/// An operator's state in one worker.
pub trait OperatorWorker: Send {
    /// The blocks that are pushed next come of the morsel at this position.
    fn begin(&mut self, position: Position) {
        let _ = position;
    }

    /// Takes a block and emits what it makes of it. Fails when the operator does, which ends the query.
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow>;

    /// This worker has no more blocks.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Swallows blocks; when all are in, it is the source of what comes next.
pub trait Sink: Send + Sync {
    /// The name in EXPLAIN.
    fn name(&self) -> &'static str;

    /// The state of one worker.
    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>>;

    /// Enough rows are in: workers finish the task that they have and take no other.
    fn is_satisfied(&self) -> bool {
        false
    }

    /// Workers, at most.
    fn parallelism(&self, _: &ExecContext) -> usize {
        usize::MAX
    }

    /// Is the result needed where no row comes to the operator that depends on it? An operator may hold rows of it back, see
    /// [`Operator::rest`].
    fn is_needed_without_rows(&self) -> bool {
        false
    }

    /// Makes the result of what the workers hold, given in order of their numbers.
    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>>;
}

/// A sink's state in one worker.
pub trait SinkWorker: Send {
    /// A morsel begins at this position; blocks may or may not come of it.
    fn begin(&mut self, position: Position) -> Result<()> {
        let _ = position;
        Ok(())
    }

    /// Takes a block; blocks of one worker come in the order of their positions.
    fn push(&mut self, position: Position, block: Block) -> Result<Flow>;

    /// This worker waits for blocks that have not come yet: all of its tasks are finished.
    fn pause(&mut self) -> Result<()> {
        Ok(())
    }

    /// After [`pause`](Self::pause): the worker is in front of all tasks that nobody has taken.
    fn resume(&mut self) -> Result<()> {
        Ok(())
    }

    /// This worker has no more blocks.
    fn end(&mut self) -> Result<()> {
        Ok(())
    }

    /// The worker as what it is, for its sink.
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

/// Takes workers back as the type that their sink made.
pub fn concrete<W: 'static>(workers: Vec<Box<dyn SinkWorker>>) -> Vec<W> {
    workers.into_iter().filter_map(|w| w.into_any().downcast::<W>().ok()).map(|w| *w).collect()
}

/// Where blocks come from.
#[derive(Clone)]
pub enum Source {
    /// A table; opened when the stage begins.
    Table(Arc<dyn Fn(&ExecContext) -> Result<Arc<dyn Scan>> + Send + Sync>, Arc<str>),
    /// The result of another stage.
    Stage(Arc<Stage>),
    /// These columns of rows that others read too; with them, whether this one shows their stage in EXPLAIN.
    Shared { rows: Arc<SharedRows>, columns: Vec<usize>, name: Arc<str>, is_first: bool },
    /// Several streams, one after the other.
    Union(Vec<Stream>),
}

/// A source and the operators over it.
#[derive(Clone)]
pub struct Stream {
    pub source: Source,
    pub operators: Vec<Arc<dyn Operator>>,
    /// Must have run before (join builds): their result is where they put it.
    pub dependencies: Vec<Arc<Stage>>,
    /// Asked when they have run: where one says yes, no row would come through, and the source is not even opened.
    pub empty_when: Vec<Arc<dyn Fn() -> bool + Send + Sync>>,
}

/// A pipeline.
pub struct Stage {
    pub stream: Stream,
    pub sink: Arc<dyn Sink>,
    pub metrics: Arc<Metrics>,
}

/// What a stage did, for EXPLAIN ANALYZE.
#[derive(Default)]
pub struct Metrics {
    /// Read from the source.
    pub rows: AtomicU64,
    /// That reached the sink.
    pub rows_sunk: AtomicU64,
    pub blocks: AtomicU64,
    pub nanoseconds: AtomicU64,
    /// Of them, those in which the sink made its result.
    pub finishing: AtomicU64,
    /// Nanoseconds that each worker was at work.
    pub workers: Mutex<Vec<u64>>,
    /// What the source says of itself: files, what was skipped.
    pub source: OnceLock<Vec<(String, String)>>,
}

impl Metrics {
    fn worked(&self, nanoseconds: u64) {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(nanoseconds);
    }
}

impl Source {
    /// What it is known by in a profile.
    pub(crate) fn id(&self) -> usize {
        match self {
            Source::Table(open, _) => address(open),
            // The stage itself is not in the way of its source: each is a frame of its own kind.
            Source::Stage(stage) => stage.id(),
            Source::Shared { name, .. } => address(name),
            Source::Union(streams) => streams.as_ptr() as usize,
        }
    }
}

impl Stream {
    /// A stream of what the source gives.
    pub fn of(source: Source) -> Stream {
        Stream { source, operators: Vec::new(), dependencies: Vec::new(), empty_when: Vec::new() }
    }

    /// The stream with one more operator at its end.
    pub fn then(mut self, operator: impl Operator + 'static) -> Stream {
        self.operators.push(Arc::new(operator));
        self
    }

    /// Ends the stream in a sink, whose result is the source of a new stream.
    pub fn into_sink(self, sink: impl Sink + 'static) -> Stream {
        Stream::of(Source::Stage(Arc::new(Stage::new(self, Arc::new(sink)))))
    }

    /// Does the stream read tables itself, rather than the result of another stage?
    fn reads(&self) -> bool {
        !matches!(self.source, Source::Stage(_) | Source::Shared { .. })
    }

    /// Runs what the stream depends on, then opens its source.
    pub fn open(&self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut is_empty = false;
        for stage in &self.dependencies {
            if !is_empty || stage.sink.is_needed_without_rows() {
                stage.run(ctx)?;
            }
            is_empty = is_empty || self.empty_when.iter().any(|is_empty| is_empty());
        }
        if is_empty {
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        match &self.source {
            Source::Table(open, _) => open(ctx),
            Source::Stage(stage) => stage.run(ctx),
            Source::Shared { rows, columns, .. } => rows.open(columns, ctx),
            Source::Union(streams) => Ok(Arc::new(StreamScan::open(streams, ctx)?)),
        }
    }
}

impl Stage {
    /// The pipeline of a stream that ends in a sink.
    pub fn new(stream: Stream, sink: Arc<dyn Sink>) -> Stage {
        Stage { stream, sink, metrics: Arc::default() }
    }

    /// What it is known by in a profile.
    pub(crate) fn id(&self) -> usize {
        address(&self.metrics)
    }

    /// Runs everything below, then this pipeline.
    pub fn run(&self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let scan = self.stream.open(ctx)?;
        let _stage = profile::enter(Kind::Stage, self.sink.name(), self.id());
        let started = Instant::now();
        if let Some(rows) = scan.total_rows()
            && self.stream.reads()
        {
            ctx.control.total_rows.fetch_add(rows, Relaxed);
        }
        let operators = &self.stream.operators;
        let mut workers = self.run_round(scan.clone(), operators, 0, Vec::new(), ctx)?;
        for (at, operator) in operators.iter().enumerate() {
            if let Some(rest) = operator.rest(ctx)? {
                workers = self.run_round(rest, &operators[at + 1..], at as u32 + 1, workers, ctx)?;
            }
        }
        // An EXPLAIN runs a stage once; the first answer stands.
        let _ = self.metrics.source.set(scan.describe());
        let finishing = Instant::now();
        thread::set_operator(self.sink.name());
        let result = {
            let _span = profile::span(self.id(), Phase::Finish);
            let _finish = profile::enter(Kind::Operator, self.sink.name(), address(&self.sink));
            self.sink.finish(workers, ctx)?
        };
        thread::set_operator("");
        self.metrics.finishing.fetch_add(finishing.elapsed().as_nanos() as u64, Relaxed);
        self.metrics.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        Ok(result)
    }

    /// Pushes all of a source through some operators into the sink. `before` are the workers of the round before, which go on.
    fn run_round(
        &self,
        scan: Arc<dyn Scan>,
        operators: &[Arc<dyn Operator>],
        round: u32,
        before: Vec<Box<dyn SinkWorker>>,
        ctx: &ExecContext,
    ) -> Result<Vec<Box<dyn SinkWorker>>> {
        let n = ctx.settings.max_threads.min(scan.parallelism()).min(self.sink.parallelism(ctx)).max(1);
        let shared = Shared {
            operators: operators.to_vec(),
            round,
            reads: self.stream.reads() && round == 0,
            sink: self.sink.clone(),
            scan,
            ctx: ctx.clone(),
            id: self.id(),
            sink_id: address(&self.sink),
            source_id: round_id(&self.stream.source, round),
            before: before.into_iter().map(|worker| Mutex::new(Some(worker))).collect(),
            n_workers: n,
            waiting: Waiting::new(),
            done: Mutex::new(Vec::new()),
            metrics: self.metrics.clone(),
        };
        shared.scan.set_wake(shared.waiting.wake());
        if n == 1 {
            shared.work(shared.lane(0)?)?;
            return Ok(shared.all());
        }
        // Jobs outlive no call of `pool::run`, but the pool's type asks for 'static: everything is shared.
        let shared = Arc::new(shared);
        let job = shared.clone();
        // A cancelled query is noticed by its workers.
        let poll = || drop(ctx.control.check_with_interrupt());
        let begin = |recall| shared.waiting.set_recall(recall);
        pool::run_recalled(n, Arc::new(move |number| job.run(number)), &poll, &begin);
        let put_down: Vec<Lane> = std::iter::from_fn(|| shared.waiting.take()).collect();
        if let Some(error) = ctx.control.take_failure() {
            return Err(error);
        }
        // There is nothing more for them, or nothing that is needed.
        for mut lane in put_down {
            lane.is_main = true;
            shared.work(lane)?;
        }
        Ok(shared.all())
    }
}

type SinkWorkers = Vec<(usize, Box<dyn SinkWorker>)>;

/// What the jobs of one round of a stage share.
struct Shared {
    operators: Vec<Arc<dyn Operator>>,
    round: u32,
    reads: bool,
    /// Of stage, sink and source, in a profile.
    id: usize,
    sink_id: usize,
    source_id: usize,
    sink: Arc<dyn Sink>,
    scan: Arc<dyn Scan>,
    ctx: ExecContext,
    /// Workers of the round before, by number.
    before: Vec<Mutex<Option<Box<dyn SinkWorker>>>>,
    /// Numbers from here on are threads that come back for a worker that was put down.
    n_workers: usize,
    waiting: Arc<Waiting<Lane>>,
    done: Mutex<SinkWorkers>,
    metrics: Arc<Metrics>,
}

/// A worker on its way through the source: it may be put down between two morsels, and taken up by another thread.
struct Lane {
    number: usize,
    /// Its thread runs the query.
    is_main: bool,
    sink: Box<dyn SinkWorker>,
    chain: Chain,
    source: Box<dyn ScanWorker>,
    task: Option<u32>,
    rows: u64,
    rows_sunk: u64,
    blocks: u64,
    nanoseconds: u64,
}

impl Shared {
    fn run(&self, number: usize) {
        let worked = guarded(|| {
            let lane = match self.waiting.take() {
                Some(lane) => lane,
                None if number < self.n_workers => self.lane(number)?,
                None => return Ok(()),
            };
            self.work(lane)
        });
        if let Err(error) = worked {
            self.ctx.control.fail(error);
        }
    }

    /// The worker of the round before with this number, if it has not been taken yet.
    fn take_before(&self, number: usize) -> Option<Box<dyn SinkWorker>> {
        self.before.get(number)?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Those that were at work in this round and those that were not, in order of their numbers.
    fn all(&self) -> Vec<Box<dyn SinkWorker>> {
        let mut done = std::mem::take(&mut *self.done.lock().unwrap_or_else(PoisonError::into_inner));
        let idle = (0..self.before.len()).filter_map(|number| Some((number, self.take_before(number)?)));
        done.extend(idle);
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, worker)| worker).collect()
    }

    /// A worker at its beginning.
    fn lane(&self, number: usize) -> Result<Lane> {
        let mut sink = match self.take_before(number) {
            Some(worker) => worker,
            None => self.sink.worker(&self.ctx)?,
        };
        let chain = chain_of(&self.operators)?;
        let source = self.scan.worker()?;
        // The worker has ended once: it is in front of all tasks again before it takes one.
        sink.begin(Position { round: self.round, ..Position::default() })?;
        let (task, rows, rows_sunk, blocks, nanoseconds) = (None, 0, 0, 0, 0);
        Ok(Lane {
            number,
            is_main: number == 0,
            sink,
            chain,
            source,
            task,
            rows,
            rows_sunk,
            blocks,
            nanoseconds,
        })
    }

    /// The loop of one worker, to its end, or until it is put down.
    fn work(&self, mut lane: Lane) -> Result<()> {
        let _span = profile::span(self.id, Phase::Work);
        loop {
            let started = Instant::now();
            let calls = self.drive(&mut lane)?;
            lane.nanoseconds += started.elapsed().as_nanos() as u64;
            let Some(calls) = calls else { break };
            lane.sink.pause()?;
            if lane.is_main {
                let _wait = profile::enter(Kind::Wait, "WaitForSource", self.source_id);
                self.waiting.wait(calls);
            } else {
                match self.waiting.put_down(lane, calls) {
                    Some(back) => lane = back,
                    None => return Ok(()),
                }
            }
            check(&self.ctx.control, lane.is_main)?;
            lane.sink.resume()?;
        }
        let Lane { number, mut sink, mut chain, rows, rows_sunk, blocks, nanoseconds, .. } = lane;
        end_chain(&mut chain)?;
        {
            let _sink = profile::enter(Kind::Operator, self.sink.name(), self.sink_id);
            sink.end()?;
        }
        self.metrics.rows.fetch_add(rows, Relaxed);
        self.metrics.rows_sunk.fetch_add(rows_sunk, Relaxed);
        self.metrics.blocks.fetch_add(blocks, Relaxed);
        self.metrics.worked(nanoseconds);
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((number, sink));
        Ok(())
    }

    /// Pushes morsels on until there are no more; where none has come yet, gives how often the source had called before it was asked.
    fn drive(&self, lane: &mut Lane) -> Result<Option<u64>> {
        let Shared { sink, ctx, .. } = self;
        let Lane { is_main, sink: sink_worker, chain, source, .. } = lane;
        let sink_name = sink.name();
        loop {
            check(&ctx.control, *is_main)?;
            // A limit with `break` ends the reading of tables; what came of it goes on through the later stages.
            if self.reads && ctx.control.is_stopped() {
                return Ok(None);
            }
            // Asked before a task is taken: rows that were in then are of tasks before it, so it is not needed. Rows that
            // come in while it is taken may be of tasks behind it.
            let satisfied = sink.is_satisfied();
            let calls = self.waiting.calls();
            let next = {
                let _read = profile::enter(Kind::Operator, READ, self.source_id);
                match source.poll_next()? {
                    Poll::Ready(morsel) => counted(morsel),
                    Poll::Pending if satisfied => None,
                    Poll::Pending => return Ok(Some(calls)),
                }
            };
            let Some(Morsel { block, task: this, number }) = next else { return Ok(None) };
            if lane.task != Some(this) && satisfied {
                return Ok(None);
            }
            lane.task = Some(this);
            lane.rows += block.n_rows() as u64;
            lane.blocks += 1;
            let position = Position { round: self.round, task: this, number };
            sink_worker.begin(position)?;
            chain.iter_mut().for_each(|link| link.worker.begin(position));
            let rows_sunk = &mut lane.rows_sunk;
            let flow = push_through(chain, block, &mut |block| {
                let before = thread::set_operator(sink_name);
                let _sink = profile::enter(Kind::Operator, sink_name, self.sink_id);
                count(&block);
                *rows_sunk += block.n_rows() as u64;
                let flow = sink_worker.push(position, block);
                thread::set_operator(before);
                flow
            })?;
            if flow == Flow::Stop {
                return Ok(None);
            }
        }
    }
}

fn check(control: &QueryControl, main: bool) -> Result<()> {
    if main { control.check_with_interrupt() } else { control.check() }
}

/// The name of reading, in a profile.
pub const READ: &str = "Read";

/// What something shared is known by in a profile, as long as the query lives.
pub(crate) fn address<T: ?Sized>(shared: &Arc<T>) -> usize {
    Arc::as_ptr(shared).cast::<()>() as usize
}

/// The same of a source; 0 for rows that operators held back.
fn round_id(source: &Source, round: u32) -> usize {
    if round == 0 { source.id() } else { 0 }
}

/// Counts a block that comes into what runs now, where somebody wants to know.
pub(crate) fn count(block: &Block) {
    if profile::is_on() {
        profile::count_block(block.n_rows(), block.memory());
    }
}

/// The same of what a source gives.
pub(crate) fn counted(morsel: Option<Morsel>) -> Option<Morsel> {
    morsel.inspect(|morsel| count(&morsel.block))
}

/// An operator of one worker.
pub struct Link {
    name: &'static str,
    /// In a profile.
    id: usize,
    pub worker: Box<dyn OperatorWorker>,
}

/// The operators of one worker.
pub type Chain = Vec<Link>;

/// A worker of each operator.
pub fn chain_of(operators: &[Arc<dyn Operator>]) -> Result<Chain> {
    operators
        .iter()
        .map(|operator| Ok(Link { name: operator.name(), id: address(operator), worker: operator.worker()? }))
        .collect()
}

/// Tells the operators of a worker that it has no more blocks.
pub fn end_chain(chain: &mut Chain) -> Result<()> {
    for Link { name, id, worker } in chain {
        let before = thread::set_operator(name);
        let _operator = profile::enter(Kind::Operator, name, *id);
        let ended = worker.end();
        thread::set_operator(before);
        ended?;
    }
    Ok(())
}

/// Pushes a block through the operators and what comes out into `emit`. An operator is named while it works, so that errors
/// about memory can say whose it is.
pub fn push_through(chain: &mut [Link], block: Block, emit: Emit) -> Result<Flow> {
    if block.is_empty() {
        return Ok(Flow::Continue);
    }
    match chain {
        [] => emit(block),
        [Link { name, id, worker }, rest @ ..] => {
            let before = thread::set_operator(name);
            let _operator = profile::enter(Kind::Operator, name, *id);
            count(&block);
            let flow = worker.push(block, &mut |block| push_through(rest, block, emit));
            thread::set_operator(before);
            flow
        }
    }
}
