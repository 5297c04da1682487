//! Filter: keeps the rows where a condition is true. Keeps order, holds no memory.

use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::Result;
use chalet_columns::Block;

pub struct Filter {
    pub condition: Program,
}

impl Operator for Filter {
    fn name(&self) -> &'static str {
        "Filter"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker { condition: self.condition.clone() }))
    }
}

struct Worker {
    condition: Program,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let kept = block.filter(&self.condition.mask(&block)?);
        if kept.is_empty() { Ok(Flow::Continue) } else { emit(kept) }
    }
}
