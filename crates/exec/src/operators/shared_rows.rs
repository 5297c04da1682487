//! SharedRows: the rows of a plan that several places of a statement read. Who reads them first runs the plan; rows that the memory
//! has no room for go to disk.

use crate::ExecContext;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, Stage, Stream, concrete};
use crate::spill::{Place, Purpose, TempFile, Threshold};
use chalet_base::Result;
use chalet_base::events;
use chalet_columns::raw::read_block;
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_plan::SharedPlan;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The shared plans of one statement.
#[derive(Clone, Default)]
pub struct SharedPlans(Arc<Mutex<Vec<Arc<SharedRows>>>>);

impl SharedPlans {
    /// The rows of a plan, where it has been planned physically.
    pub fn get(&self, plan: &Arc<SharedPlan>) -> Option<Arc<SharedRows>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|rows| Arc::ptr_eq(&rows.plan, plan)).cloned()
    }

    /// Adds the physical plan of a shared one.
    pub fn add(&self, plan: &Arc<SharedPlan>, stream: Stream) -> Arc<SharedRows> {
        let rows: Arc<OnceLock<Rows>> = Arc::default();
        let stage = Stage::new(stream, Arc::new(Keep { rows: rows.clone() }));
        let shared = Arc::new(SharedRows { plan: plan.clone(), stage, rows, running: Mutex::default() });
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(shared.clone());
        shared
    }
}

/// The rows of one plan.
pub struct SharedRows {
    plan: Arc<SharedPlan>,
    pub stage: Stage,
    rows: Arc<OnceLock<Rows>>,
    /// Held by who runs the plan: others wait.
    running: Mutex<()>,
}

impl SharedRows {
    /// The rows, with these of their columns. Runs the plan where nobody has.
    pub fn open(&self, columns: &[usize], ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if self.rows.get().is_none() {
            self.stage.run(ctx)?;
        }
        drop(running);
        let pieces: Arc<[Piece]> = self.rows.get().map_or_else(Default::default, |rows| rows.pieces.clone());
        if pieces.iter().any(|piece| matches!(piece, Piece::Disk(..))) {
            events::count(Purpose::Share.counters().merge);
        }
        let (columns, max_block_size) = (columns.into(), ctx.settings.max_block_size.max(1));
        Ok(Arc::new(PieceScan {
            shared: Arc::new(Pieces { pieces, columns, max_block_size, tasks: TaskQueue::default() }),
        }))
    }
}

/// All rows, in the order in which the plan puts them out.
struct Rows {
    pieces: Arc<[Piece]>,
    _memory: Vec<Reservation>,
}

/// Rows in memory or on disk.
#[derive(Clone)]
enum Piece {
    Memory(Block),
    Disk(Arc<TempFile>, Place),
}

struct Keep {
    rows: Arc<OnceLock<Rows>>,
}

impl Sink for Keep {
    fn name(&self) -> &'static str {
        "ShareRows"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(KeepWorker {
            held: Vec::new(),
            files: Vec::new(),
            memory: Reservation::new(ctx.control.memory.clone()),
            threshold: Threshold::new(ctx.settings.external_sort, ctx),
            ctx: ctx.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut pieces: Vec<(Position, Piece)> = Vec::new();
        let mut memory = Vec::new();
        for worker in concrete::<KeepWorker>(workers) {
            for (file, places) in worker.files {
                let file = Arc::new(file);
                pieces.extend(places.into_iter().map(|(at, place)| (at, Piece::Disk(file.clone(), place))));
            }
            pieces.extend(worker.held.into_iter().map(|(at, block)| (at, Piece::Memory(block))));
            memory.push(worker.memory);
        }
        // Stable: blocks of one position stay in the order in which they came.
        pieces.sort_by_key(|(position, _)| *position);
        let pieces = pieces.into_iter().map(|(_, piece)| piece).collect();
        // A stage runs once.
        let _ = self.rows.set(Rows { pieces, _memory: memory });
        Ok(super::collect::blocks_as_source(Vec::new(), ctx))
    }
}

/// Places of blocks in a file, with their positions.
type Places = Vec<(Position, Place)>;

struct KeepWorker {
    held: Vec<(Position, Block)>,
    files: Vec<(TempFile, Places)>,
    memory: Reservation,
    threshold: Threshold,
    ctx: ExecContext,
}

impl KeepWorker {
    fn write(&mut self) -> Result<()> {
        let mut file = match self.files.pop() {
            Some(file) => file,
            None => (TempFile::new(Purpose::Share, &self.ctx.control)?, Places::new()),
        };
        let mut bytes = Vec::new();
        for (position, block) in std::mem::take(&mut self.held) {
            file.1.push((position, file.0.write_block(&block, &mut bytes)?));
        }
        file.0.count_part();
        self.files.push(file);
        self.memory.resize(0)
    }
}

impl SinkWorker for KeepWorker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        let refused = self.memory.grow(block.memory()).is_err();
        self.held.push((position, block));
        if refused || self.threshold.is_passed(&self.memory) {
            self.write()?;
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Reads some columns of the pieces; each is a task.
struct PieceScan {
    shared: Arc<Pieces>,
}

struct Pieces {
    pieces: Arc<[Piece]>,
    columns: Arc<[usize]>,
    max_block_size: usize,
    tasks: TaskQueue,
}

impl Scan for PieceScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(PieceWorker { shared: self.shared.clone(), current: None }))
    }

    fn parallelism(&self) -> usize {
        self.shared.pieces.len()
    }
}

struct PieceWorker {
    shared: Arc<Pieces>,
    current: Option<Current>,
}

/// What is left of a piece.
struct Current {
    block: Block,
    task: usize,
    start: usize,
    number: u32,
}

impl ScanWorker for PieceWorker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Pieces { pieces, columns, max_block_size, tasks } = &*self.shared;
        loop {
            let Some(current) = &mut self.current else {
                let Some(task) = tasks.take(pieces.len()) else { return Ok(None) };
                let whole = match &pieces[task] {
                    Piece::Memory(block) => block.clone(),
                    Piece::Disk(file, place) => read_block(&mut &file.read(place)?[..])?,
                };
                let columns: Vec<Column> = columns.iter().map(|&at| whole.column(at).clone()).collect();
                let block = Block::new(columns, whole.n_rows());
                self.current = Some(Current { block, task, start: 0, number: 0 });
                continue;
            };
            let len = (current.block.n_rows() - current.start).min(*max_block_size);
            if len == 0 {
                self.current = None;
                continue;
            }
            let is_whole = len == current.block.n_rows();
            let block =
                if is_whole { current.block.clone() } else { current.block.slice(current.start, len) };
            let morsel = Morsel { block, task: current.task as u32, number: current.number };
            (current.start, current.number) = (current.start + len, current.number + 1);
            return Ok(Some(morsel));
        }
    }
}
