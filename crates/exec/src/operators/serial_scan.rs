//! Blocks that only one worker at a time can make, as a table: what comes behind it is done by all of them.

use chalet_base::Result;
use chalet_columns::Block;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes the next block; none behind the last.
type Next = Box<dyn FnMut() -> Result<Option<Block>> + Send>;

/// A table of the blocks that `next` makes, in their order. It is not called again after the last block or an error.
pub(crate) fn serial_scan(next: impl FnMut() -> Result<Option<Block>> + Send + 'static) -> Arc<dyn Scan> {
    Arc::new(SerialScan(Arc::new(Mutex::new(Some((Box::new(next), 0))))))
}

/// `next` and the number of its next block; none when all blocks are out, or after an error.
type State = Arc<Mutex<Option<(Next, u32)>>>;

struct SerialScan(State);

impl Scan for SerialScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker(self.0.clone())))
    }

    fn parallelism(&self) -> usize {
        usize::MAX
    }
}

struct Worker(State);

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((mut next, task)) = shared.take() else { return Ok(None) };
        let Some(block) = next()? else { return Ok(None) };
        *shared = Some((next, task.saturating_add(1)));
        Ok(Some(Morsel { block, task, number: 0 }))
    }
}
