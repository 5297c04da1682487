//! Windows as a table, of rows that come in order: whoever reads it gathers whole partitions and computes the functions over
//! these. Rows of a partition come in one task. Holds the rows of the partition that is not complete yet.

use super::Window;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::aggregate::split;
use chalet_base::Result;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::thread;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::Arc;

/// The windows over rows that are sorted by partition and order, as a table.
pub(super) fn open(window: Window, sorted: Arc<dyn Scan>, ctx: &ExecContext) -> Arc<dyn Scan> {
    let (max_block_size, control) = (ctx.settings.max_block_size, ctx.control.clone());
    Arc::new(WindowScan { window, sorted, max_block_size, control })
}

struct WindowScan {
    window: Window,
    sorted: Arc<dyn Scan>,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl Scan for WindowScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker {
            window: self.window.clone(),
            sorted: self.sorted.worker()?,
            held: Vec::new(),
            key: Vec::new(),
            next: None,
            task: 0,
            number: 0,
            ready: Vec::new().into_iter(),
            max_block_size: self.max_block_size,
            control: self.control.clone(),
        }))
    }

    fn parallelism(&self) -> usize {
        self.sorted.parallelism()
    }
}

struct Worker {
    window: Window,
    sorted: Box<dyn ScanWorker>,
    /// Rows of the last partition so far, and its key.
    held: Vec<Block>,
    key: Vec<u8>,
    /// The first rows of the next task.
    next: Option<Morsel>,
    task: u32,
    number: u32,
    /// Rows that can be put out.
    ready: std::vec::IntoIter<Block>,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(block) = self.ready.next() {
                let number = self.number;
                self.number += 1;
                return Ok(Some(Morsel { block, task: self.task, number }));
            }
            self.control.check_with_interrupt()?;
            let morsel = match self.next.take() {
                Some(morsel) => Some(morsel),
                None => self.sorted.next()?,
            };
            let at_end = morsel.is_none();
            let complete = match morsel {
                Some(morsel) if morsel.task == self.task || self.held.is_empty() => {
                    if morsel.task != self.task {
                        (self.task, self.number) = (morsel.task, 0);
                    }
                    self.take(morsel.block)
                }
                // The last partition of a task ends with it.
                other => {
                    self.next = other;
                    std::mem::take(&mut self.held)
                }
            };
            if !complete.is_empty() {
                let before = thread::set_operator("Window");
                let computed = self.window.compute(Block::concat(&complete), &self.control);
                thread::set_operator(before);
                self.ready = split(computed?, self.max_block_size).into_iter();
            } else if at_end {
                return Ok(None);
            }
        }
    }
}

impl Worker {
    /// Takes the next sorted rows; gives the rows of partitions that are complete now.
    fn take(&mut self, block: Block) -> Vec<Block> {
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
        if start == 0 && (self.held.is_empty() || self.key == last) {
            self.key = last.to_vec();
            self.held.push(block);
            return Vec::new();
        }
        let mut complete = std::mem::take(&mut self.held);
        if start > 0 {
            complete.push(block.slice(0, start));
        }
        self.key = last.to_vec();
        self.held.push(block.slice(start, n_rows - start));
        complete
    }
}
