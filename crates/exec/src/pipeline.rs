//! Pipelines: a source, operators that pass blocks on, a sink that swallows them. A stage is a pipeline and the stages
//! that must run before it.

use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::collect::blocks_as_source;
use crate::operators::stream::StreamScan;
use crate::pool;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::{guarded, thread};
use chalet_storage::{Morsel, Scan};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Place of a block in its source's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub task: u32,
    pub number: u32,
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
}

/// An operator's state in one worker.
pub trait OperatorWorker: Send {
    /// Takes a block and emits what it makes of it. Fails when the operator does, which ends the query.
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow>;
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
    fn parallelism(&self) -> usize {
        usize::MAX
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
    pub rows: AtomicU64,
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
    fn worked(&self, since: Instant) {
        let nanoseconds = since.elapsed().as_nanos() as u64;
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(nanoseconds);
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
        !matches!(self.source, Source::Stage(_))
    }

    /// Runs what the stream depends on, then opens its source.
    pub fn open(&self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        for stage in &self.dependencies {
            stage.run(ctx)?;
            if self.empty_when.iter().any(|is_empty| is_empty()) {
                return Ok(blocks_as_source(Vec::new(), ctx));
            }
        }
        match &self.source {
            Source::Table(open, _) => open(ctx),
            Source::Stage(stage) => stage.run(ctx),
            Source::Union(streams) => Ok(Arc::new(StreamScan::open(streams, ctx)?)),
        }
    }
}

impl Stage {
    /// The pipeline of a stream that ends in a sink.
    pub fn new(stream: Stream, sink: Arc<dyn Sink>) -> Stage {
        Stage { stream, sink, metrics: Arc::default() }
    }

    /// Runs everything below, then this pipeline.
    pub fn run(&self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let scan = self.stream.open(ctx)?;
        let started = Instant::now();
        if let Some(rows) = scan.total_rows()
            && self.stream.reads()
        {
            ctx.control.total_rows.fetch_add(rows, Relaxed);
        }
        let n = ctx.settings.max_threads.min(scan.parallelism()).min(self.sink.parallelism()).max(1);
        let workers = if n == 1 {
            let mut worker = self.sink.worker(ctx)?;
            self.drive(&*scan, &mut *worker, ctx, true)?;
            self.metrics.worked(started);
            vec![worker]
        } else {
            self.run_parallel(scan.clone(), n, ctx)?
        };
        // An EXPLAIN runs a stage once; the first answer stands.
        let _ = self.metrics.source.set(scan.describe());
        let finishing = Instant::now();
        thread::set_operator(self.sink.name());
        let result = self.sink.finish(workers, ctx)?;
        thread::set_operator("");
        self.metrics.finishing.fetch_add(finishing.elapsed().as_nanos() as u64, Relaxed);
        self.metrics.nanoseconds.fetch_add(started.elapsed().as_nanos() as u64, Relaxed);
        Ok(result)
    }

    fn run_parallel(
        &self,
        scan: Arc<dyn Scan>,
        n: usize,
        ctx: &ExecContext,
    ) -> Result<Vec<Box<dyn SinkWorker>>> {
        // Jobs outlive no call of `pool::run`, but the pool's type asks for 'static: everything is shared.
        let shared = Arc::new(Shared {
            stream: self.stream.operators.clone(),
            reads: self.stream.reads(),
            sink: self.sink.clone(),
            scan,
            ctx: ctx.clone(),
            done: Mutex::new(Vec::new()),
            metrics: self.metrics.clone(),
        });
        let job = shared.clone();
        // A cancelled query is noticed by its workers.
        let poll = || drop(ctx.control.check_with_interrupt());
        pool::run(n, Arc::new(move |number| job.run(number)), &poll);
        if let Some(error) = ctx.control.take_failure() {
            return Err(error);
        }
        let mut done = std::mem::take(&mut *shared.done.lock().unwrap_or_else(PoisonError::into_inner));
        done.sort_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, worker)| worker).collect())
    }

    fn drive(&self, scan: &dyn Scan, sink: &mut dyn SinkWorker, ctx: &ExecContext, main: bool) -> Result<()> {
        let reads = self.stream.reads();
        let (rows, blocks) = drive(scan, &self.stream.operators, &*self.sink, sink, ctx, main, reads)?;
        self.metrics.rows.fetch_add(rows, Relaxed);
        self.metrics.blocks.fetch_add(blocks, Relaxed);
        Ok(())
    }
}

/// What the jobs of one stage share.
struct Shared {
    stream: Vec<Arc<dyn Operator>>,
    reads: bool,
    sink: Arc<dyn Sink>,
    scan: Arc<dyn Scan>,
    ctx: ExecContext,
    done: Mutex<Vec<(usize, Box<dyn SinkWorker>)>>,
    metrics: Arc<Metrics>,
}

impl Shared {
    fn run(&self, number: usize) {
        let started = Instant::now();
        let result = guarded(|| {
            let mut worker = self.sink.worker(&self.ctx)?;
            let (rows, blocks) = drive(
                &*self.scan,
                &self.stream,
                &*self.sink,
                &mut *worker,
                &self.ctx,
                number == 0,
                self.reads,
            )?;
            self.metrics.rows.fetch_add(rows, Relaxed);
            self.metrics.blocks.fetch_add(blocks, Relaxed);
            self.metrics.worked(started);
            Ok(worker)
        });
        match result {
            Ok(worker) => self.done.lock().unwrap_or_else(PoisonError::into_inner).push((number, worker)),
            Err(error) => self.ctx.control.fail(error),
        }
    }
}

/// The loop of one worker. Returns rows and blocks of the source.
fn drive(
    scan: &dyn Scan,
    operators: &[Arc<dyn Operator>],
    sink: &dyn Sink,
    sink_worker: &mut dyn SinkWorker,
    ctx: &ExecContext,
    main: bool,
    reads: bool,
) -> Result<(u64, u64)> {
    let mut chain = chain_of(operators)?;
    let mut source = scan.worker()?;
    let sink_name = sink.name();
    let (mut rows, mut blocks) = (0, 0);
    let mut task = None;
    loop {
        check(&ctx.control, main)?;
        // A limit with `break` ends the reading of tables; what came of it goes on through the later stages.
        if reads && ctx.control.is_stopped() {
            break;
        }
        // Asked before a task is taken: rows that were in then are of tasks before it, so it is not needed. Rows that come
        // in while it is taken may be of tasks behind it.
        let satisfied = sink.is_satisfied();
        let Some(Morsel { block, task: this, number }) = source.next()? else { break };
        if task != Some(this) && satisfied {
            break;
        }
        task = Some(this);
        rows += block.n_rows() as u64;
        blocks += 1;
        let position = Position { task: this, number };
        sink_worker.begin(position)?;
        let flow = push_through(&mut chain, block, &mut |block| {
            let before = thread::set_operator(sink_name);
            let flow = sink_worker.push(position, block);
            thread::set_operator(before);
            flow
        })?;
        if flow == Flow::Stop {
            break;
        }
    }
    sink_worker.end()?;
    Ok((rows, blocks))
}

fn check(control: &QueryControl, main: bool) -> Result<()> {
    if main { control.check_with_interrupt() } else { control.check() }
}

/// The operators of one worker, with their names.
pub type Chain = Vec<(&'static str, Box<dyn OperatorWorker>)>;

/// A worker of each operator.
pub fn chain_of(operators: &[Arc<dyn Operator>]) -> Result<Chain> {
    operators.iter().map(|operator| Ok((operator.name(), operator.worker()?))).collect()
}

/// Pushes a block through the operators and what comes out into `emit`. An operator is named while it works, so that errors
/// about memory can say whose it is.
pub fn push_through(
    chain: &mut [(&'static str, Box<dyn OperatorWorker>)],
    block: Block,
    emit: Emit,
) -> Result<Flow> {
    if block.is_empty() {
        return Ok(Flow::Continue);
    }
    match chain {
        [] => emit(block),
        [(name, first), rest @ ..] => {
            let before = thread::set_operator(name);
            let flow = first.push(block, &mut |block| push_through(rest, block, emit));
            thread::set_operator(before);
            flow
        }
    }
}
