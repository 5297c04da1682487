//! Project: computes columns from columns. Keeps order, holds no memory.

use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::Result;
use chalet_columns::Block;

/// The operator that computes the columns of a projection.
pub struct Project {
    pub columns: Program,
}

impl Operator for Project {
    fn name(&self) -> &'static str {
        "Project"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker { columns: self.columns.clone() }))
    }
}

struct Worker {
    columns: Program,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let columns = self.columns.evaluate(&block)?;
        emit(Block::new(columns, block.n_rows()))
    }
}
