//! Windows as a table: whoever reads it takes sorted rows, gathers whole partitions of them and computes the functions over
//! these. Holds the rows of the partition that is not complete yet.

use super::Window;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::aggregate::split;
use chalet_base::Result;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::thread;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::{Arc, Mutex, PoisonError};

/// One worker at a time computes; what comes behind it is done by all of them.
pub(super) struct PartitionScan(Arc<Shared>);

struct Shared {
    window: Window,
    /// None when all rows are out, or after an error.
    state: Mutex<Option<State>>,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

struct State {
    sorted: Box<dyn ScanWorker>,
    /// Rows of the last partition so far, and its key.
    held: Vec<Block>,
    key: Vec<u8>,
    /// Rows that can be put out.
    ready: std::vec::IntoIter<Block>,
    task: u32,
}

impl PartitionScan {
    /// The windows over rows that are sorted by partition and order.
    pub fn open(window: Window, sorted: &dyn Scan, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let state = State {
            sorted: sorted.worker()?,
            held: Vec::new(),
            key: Vec::new(),
            ready: Vec::new().into_iter(),
            task: 0,
        };
        Ok(Arc::new(PartitionScan(Arc::new(Shared {
            window,
            state: Mutex::new(Some(state)),
            max_block_size: ctx.settings.max_block_size,
            control: ctx.control.clone(),
        }))))
    }
}

impl Scan for PartitionScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker(self.0.clone())))
    }

    fn parallelism(&self) -> usize {
        usize::MAX
    }
}

struct Worker(Arc<Shared>);

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let mut shared = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut state) = shared.take() else { return Ok(None) };
        let block = match state.ready.next() {
            Some(block) => block,
            None => match self.0.compute_next(&mut state)? {
                Some(block) => block,
                None => return Ok(None),
            },
        };
        let task = state.task;
        state.task = state.task.saturating_add(1);
        *shared = Some(state);
        Ok(Some(Morsel { block, task, number: 0 }))
    }
}

impl Shared {
    /// Reads until a partition is complete.
    fn compute_next(&self, state: &mut State) -> Result<Option<Block>> {
        loop {
            self.control.check_with_interrupt()?;
            let complete = match state.sorted.next()? {
                Some(Morsel { block, .. }) => self.take(block, state),
                None => std::mem::take(&mut state.held),
            };
            let at_end = complete.is_empty() && state.held.is_empty();
            if !complete.is_empty() {
                let before = thread::set_operator("Window");
                let computed = self.window.compute(Block::concat(&complete), &self.control);
                thread::set_operator(before);
                state.ready = split(computed?, self.max_block_size).into_iter();
            }
            match state.ready.next() {
                Some(block) => return Ok(Some(block)),
                None if at_end => return Ok(None),
                None => {}
            }
        }
    }

    /// Takes the next sorted rows; gives the rows of partitions that are complete now.
    fn take(&self, block: Block, state: &mut State) -> Vec<Block> {
        let n_rows = block.n_rows();
        if n_rows == 0 {
            return Vec::new();
        }
        let columns = self.window.inputs[..self.window.n_partition].iter().map(|&at| block.column(at));
        let keys = group_keys(&columns.collect::<Vec<&Column>>(), n_rows);
        let last = keys.get(n_rows - 1);
        // Where the partition of the last row begins.
        let mut start = n_rows - 1;
        while start > 0 && keys.get(start - 1) == last {
            start -= 1;
        }
        if start == 0 && (state.held.is_empty() || state.key == last) {
            state.key = last.to_vec();
            state.held.push(block);
            return Vec::new();
        }
        let mut complete = std::mem::take(&mut state.held);
        if start > 0 {
            complete.push(block.slice(0, start));
        }
        state.key = last.to_vec();
        state.held.push(block.slice(start, n_rows - start));
        complete
    }
}
