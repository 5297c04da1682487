//! Filter: keeps the rows where a condition is true. Keeps order, holds no memory.

use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::Result;
use chalet_columns::Block;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The operator of WHERE, PREWHERE and HAVING.
pub struct Filter {
    pub condition: Program,
    /// Set when the scan below is opened, if it gives only rows that pass.
    pub done_by_scan: Arc<AtomicBool>,
}

impl Filter {
    /// A filter that no scan applies.
    pub fn new(condition: Program) -> Filter {
        Filter { condition, done_by_scan: Arc::default() }
    }
}

impl Operator for Filter {
    fn name(&self) -> &'static str {
        "Filter"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        let condition = (!self.done_by_scan.load(Relaxed)).then(|| self.condition.clone());
        Ok(Box::new(Worker { condition }))
    }
}

struct Worker {
    /// None: all rows pass.
    condition: Option<Program>,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let Some(condition) = &self.condition else { return emit(block) };
        let kept = block.filter(&condition.mask(&block)?);
        if kept.is_empty() { Ok(Flow::Continue) } else { emit(kept) }
    }
}
