//! Distinct: the first row of each distinct value of some columns. Workers share one set; holds all distinct values.

use crate::ExecContext;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use crate::row_set::RowSet;
use chalet_base::{Result, ensure};
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use std::sync::{Arc, Mutex, PoisonError};

/// The operator of DISTINCT; all workers share the set of rows that were seen.
pub struct Distinct {
    /// Positions of the columns that decide.
    on: Vec<usize>,
    /// No more than this many rows are needed.
    limit: Option<u64>,
    max_rows: u64,
    shared: Arc<Mutex<Seen>>,
}

struct Seen {
    rows: RowSet,
    memory: Reservation,
}

impl Distinct {
    /// Distinct over the columns at these positions; all columns of the first row of each value are put out.
    pub fn new(on: Vec<usize>, limit: Option<u64>, ctx: &ExecContext) -> Self {
        let memory = Reservation::new(ctx.control.memory.clone());
        let shared = Arc::new(Mutex::new(Seen { rows: RowSet::default(), memory }));
        Distinct { on, limit, max_rows: ctx.settings.max_rows_in_distinct, shared }
    }
}

impl Operator for Distinct {
    fn name(&self) -> &'static str {
        "Distinct"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker {
            on: self.on.clone(),
            limit: self.limit,
            max_rows: self.max_rows,
            shared: self.shared.clone(),
        }))
    }
}

struct Worker {
    on: Vec<usize>,
    limit: Option<u64>,
    max_rows: u64,
    shared: Arc<Mutex<Seen>>,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let columns: Vec<&Column> = self.on.iter().map(|&i| block.column(i)).collect();
        let (fresh, total) = {
            let mut seen = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if self.limit.is_some_and(|limit| seen.rows.len() as u64 >= limit) {
                return Ok(Flow::Stop);
            }
            let fresh = seen.rows.insert(&columns, block.n_rows());
            let bytes = seen.rows.memory();
            seen.memory.resize(bytes)?;
            (fresh, seen.rows.len() as u64)
        };
        ensure!(
            self.max_rows == 0 || total <= self.max_rows,
            SET_SIZE_LIMIT_EXCEEDED,
            "Limit for DISTINCT exceeded, max rows: {}, current rows: {total}",
            self.max_rows
        );
        if fresh.is_empty() {
            return Ok(Flow::Continue);
        }
        emit(if fresh.len() == block.n_rows() { block } else { block.gather(&fresh) })
    }
}
