//! Windows as a table: whoever reads it takes sorted rows, gathers whole partitions of them and computes the functions over
//! these. Holds the rows of the partition that is not complete yet.

use super::Window;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::aggregate::split;
use crate::operators::serial_scan::serial_scan;
use chalet_base::Result;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::thread;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::Arc;

/// The windows over rows that are sorted by partition and order, as a table.
pub(super) fn open(window: Window, sorted: &dyn Scan, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
    let mut partitions = Partitions {
        window,
        sorted: sorted.worker()?,
        held: Vec::new(),
        key: Vec::new(),
        ready: Vec::new().into_iter(),
        max_block_size: ctx.settings.max_block_size,
        control: ctx.control.clone(),
    };
    Ok(serial_scan(move || match partitions.ready.next() {
        Some(block) => Ok(Some(block)),
        None => partitions.compute_next(),
    }))
}

struct Partitions {
    window: Window,
    sorted: Box<dyn ScanWorker>,
    /// Rows of the last partition so far, and its key.
    held: Vec<Block>,
    key: Vec<u8>,
    /// Rows that can be put out.
    ready: std::vec::IntoIter<Block>,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl Partitions {
    /// Reads until a partition is complete.
    fn compute_next(&mut self) -> Result<Option<Block>> {
        loop {
            self.control.check_with_interrupt()?;
            let complete = match self.sorted.next()? {
                Some(Morsel { block, .. }) => self.take(block),
                None => std::mem::take(&mut self.held),
            };
            let at_end = complete.is_empty() && self.held.is_empty();
            if !complete.is_empty() {
                let before = thread::set_operator("Window");
                let computed = self.window.compute(Block::concat(&complete), &self.control);
                thread::set_operator(before);
                self.ready = split(computed?, self.max_block_size).into_iter();
            }
            match self.ready.next() {
                Some(block) => return Ok(Some(block)),
                None if at_end => return Ok(None),
                None => {}
            }
        }
    }

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
