//! SetOp: INTERSECT and EXCEPT. The right side is a multiset in memory; the left side streams past it.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_plan::SetOpKind;
use chalet_storage::Scan;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often each row of the right side is still to be matched, and which rows the left side has shown.
#[derive(Default)]
pub struct RightRows {
    counts: Mutex<HashMap<Box<[u8]>, u64>>,
}

impl RightRows {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keys_of(block: &Block) -> chalet_columns::keys::RowKeys {
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
            counts: HashMap::default(),
            memory: Reservation::new(ctx.control.memory.clone()),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut all = self.rows.lock();
        for worker in concrete::<CountWorker>(workers) {
            for (key, count) in worker.counts {
                *all.entry(key).or_insert(0) += count;
            }
        }
        Ok(blocks_as_source(Vec::new(), ctx))
    }
}

struct CountWorker {
    counts: HashMap<Box<[u8]>, u64>,
    memory: Reservation,
}

impl SinkWorker for CountWorker {
    fn push(&mut self, _: Position, block: Block) -> Result<Flow> {
        let keys = keys_of(&block);
        for row in 0..block.n_rows() {
            match self.counts.get_mut(keys.get(row)) {
                Some(count) => *count += 1,
                None => {
                    self.memory.grow(keys.get(row).len() + 33)?;
                    self.counts.insert(keys.get(row).into(), 1);
                }
            }
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Passes the rows of the left side on or not.
pub struct SetOp {
    pub kind: SetOpKind,
    pub distinct: bool,
    pub right: Arc<RightRows>,
}

impl Operator for SetOp {
    fn name(&self) -> &'static str {
        match self.kind {
            SetOpKind::Intersect => "Intersect",
            SetOpKind::Except => "Except",
        }
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker { kind: self.kind, distinct: self.distinct, right: self.right.clone() }))
    }
}

struct Worker {
    kind: SetOpKind,
    distinct: bool,
    right: Arc<RightRows>,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let keys = keys_of(&block);
        let mut kept = Vec::new();
        {
            let mut counts = self.right.lock();
            for row in 0..block.n_rows() {
                if self.keeps(&mut counts, keys.get(row)) {
                    kept.push(row as u32);
                }
            }
        }
        if kept.is_empty() { Ok(Flow::Continue) } else { emit(block.gather(&kept)) }
    }
}

impl Worker {
    /// ALL: each right row matches one left row. DISTINCT: a left row passes once at most.
    fn keeps(&self, counts: &mut HashMap<Box<[u8]>, u64>, key: &[u8]) -> bool {
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
