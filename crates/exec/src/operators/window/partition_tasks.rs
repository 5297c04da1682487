//! Windows as a table that all workers compute together. Sorted rows are cut into tasks between partitions, or within the only one
//! where what comes before a part does not matter; whoever takes a task gathers its rows and computes the functions over them.

use super::bounds::{Bounds, PartitionBits};
use super::long_partition::Surroundings;
use super::{Window, partition_scan};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::aggregate::split;
use crate::operators::bucket_sort::{Buckets, SortedRows};
use crate::operators::collect::blocks_as_source;
use chalet_base::events::{self, Event};
use chalet_base::{Result, bisect};
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::thread;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a task, about: whole partitions.
const TASK_ROWS: usize = 1 << 15;

/// The windows over rows in memory, as a table. With `bits` partitions and peers are told by entries, and there are no columns of
/// their keys.
pub(super) fn open(
    window: Window,
    buckets: Buckets,
    bits: Option<PartitionBits>,
    ctx: &ExecContext,
) -> Result<Arc<dyn Scan>> {
    let sorted = SortedRows::new(buckets, ctx)?;
    if sorted.n_rows() == 0 {
        return Ok(blocks_as_source(Vec::new(), ctx));
    }
    let copies = if window.n_partition == 0 { 3 } else { 1 };
    let is_short = ctx.control.memory.exceeded_by((copies * sorted.memory()) as u64).is_some();
    if is_short && bits.is_none() && window.surroundings().is_some() {
        let rows = Arc::new(InOrder { sorted, tasks: TaskQueue::default() });
        return Ok(partition_scan::open(window, Arc::new(InOrderScan(rows)), None, ctx));
    }
    let n_tasks = sorted.n_rows().div_ceil(TASK_ROWS);
    let parts = window.independent_parts().filter(|_| window.n_partition == 0 && n_tasks > 1);
    if window.n_partition == 0 && parts.is_none() {
        // All rows are one partition.
        let rows = sorted.gather_all(ctx)?;
        let before = thread::set_operator("Window");
        let computed = window.compute(rows, None, &ctx.control);
        thread::set_operator(before);
        return Ok(blocks_as_source(split(computed?, ctx.settings.max_block_size), ctx));
    }
    Ok(Arc::new(WindowScan(Arc::new(Tasks {
        window,
        sorted,
        bits,
        parts,
        n_tasks,
        tasks: TaskQueue::default(),
        max_block_size: ctx.settings.max_block_size,
        control: ctx.control.clone(),
    }))))
}

/// The rows as one task, for memory that has no room for them beside what they are gathered from.
struct InOrder {
    sorted: SortedRows,
    tasks: TaskQueue,
}

struct InOrderScan(Arc<InOrder>);

impl Scan for InOrderScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(InOrderWorker { rows: self.0.clone(), left: 0..0, number: 0 }))
    }

    fn parallelism(&self) -> usize {
        1
    }
}

struct InOrderWorker {
    rows: Arc<InOrder>,
    left: Range<usize>,
    number: u32,
}

impl ScanWorker for InOrderWorker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let InOrder { sorted, tasks } = &*self.rows;
        if self.left.is_empty() && tasks.take(1).is_some() {
            self.left = 0..sorted.n_rows();
        }
        if self.left.is_empty() {
            return Ok(None);
        }
        let end = self.left.end.min(self.left.start + TASK_ROWS);
        let block = sorted.gather(&sorted.entries(self.left.start..end));
        self.left.start = end;
        self.number += 1;
        Ok(Some(Morsel { block, task: 0, number: self.number - 1 }))
    }
}

struct WindowScan(Arc<Tasks>);

struct Tasks {
    window: Window,
    sorted: SortedRows,
    bits: Option<PartitionBits>,
    /// Tasks are parts of one partition, which have to see so much around them.
    parts: Option<Surroundings>,
    n_tasks: usize,
    tasks: TaskQueue,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl Tasks {
    /// What is put out for some rows.
    fn compute(&self, rows: Range<usize>) -> Result<Block> {
        let Some(parts) = self.parts else {
            let entries = self.sorted.entries(rows);
            let bounds = self.bits.map(|bits| Bounds::of_entries(&entries, bits));
            events::add(Event::EntryBounds, u64::from(bounds.is_some()));
            return self.window.compute(self.sorted.gather(&entries), bounds, &self.control);
        };
        events::count(Event::WindowParts);
        let n_rows = self.sorted.n_rows();
        let before = parts.before.min(rows.start);
        let after = parts.after.min(n_rows - rows.end);
        let block = self.sorted.gather(&self.sorted.entries(rows.start - before..rows.end + after));
        let own = before..before + rows.len();
        self.window.compute_independent(block, own, (rows.start, n_rows), &self.control)
    }

    /// The partitions that begin in a task's share of the rows, or the groups of peers.
    fn rows(&self, task: usize) -> Range<usize> {
        self.boundary(task)..self.boundary(task + 1)
    }

    /// The first row of the first partition that begins in the task's share or behind it; of a part, that of the first group of
    /// peers, or of the share itself.
    fn boundary(&self, task: usize) -> usize {
        let n_rows = self.sorted.n_rows();
        if task == 0 {
            return 0;
        }
        let start = task * TASK_ROWS;
        if task == self.n_tasks || start >= n_rows {
            return n_rows;
        }
        if self.parts.is_some_and(|parts| !parts.peers) {
            return start;
        }
        // The row before may belong to a partition that goes on.
        if let Some(bits) = self.bits {
            let last = self.sorted.entry(start - 1);
            return end_of(start - 1, n_rows, |row| bits.same(self.sorted.entry(row), last));
        }
        let key = self.key(start - 1);
        end_of(start - 1, n_rows, |row| self.key(row) == key)
    }

    /// The bytes of what rows that stay together have in common: their partition, or within the only one what they are sorted by.
    fn key(&self, row: usize) -> Vec<u8> {
        let block = self.sorted.row(row);
        let n_keys = if self.parts.is_some() { self.window.orders.len() } else { self.window.n_partition };
        let columns = self.window.inputs[..n_keys].iter().map(|&at| block.column(at));
        group_keys(&columns.collect::<Vec<&Column>>(), 1).bytes
    }
}

/// The first row behind `known` that does not belong to it any more, or `n_rows`; galloping finds it.
fn end_of(mut known: usize, n_rows: usize, belongs: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while known + step < n_rows && belongs(known + step) {
        known += step;
        step *= 2;
    }
    bisect::partition_point(known + 1..n_rows.min(known + step), belongs)
}

impl Scan for WindowScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { tasks: self.0.clone(), task: 0, number: 0, ready: Vec::new().into_iter() }))
    }

    fn parallelism(&self) -> usize {
        self.0.n_tasks
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.0.sorted.n_rows() as u64)
    }
}

struct Worker {
    tasks: Arc<Tasks>,
    task: usize,
    number: u32,
    /// Rows of the task that can be put out.
    ready: std::vec::IntoIter<Block>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Tasks { n_tasks, tasks, max_block_size, control, .. } = &*self.tasks;
        loop {
            if let Some(block) = self.ready.next() {
                let number = self.number;
                self.number += 1;
                return Ok(Some(Morsel { block, task: self.task as u32, number }));
            }
            let Some(task) = tasks.take(*n_tasks) else { return Ok(None) };
            control.check()?;
            (self.task, self.number) = (task, 0);
            let rows = self.tasks.rows(task);
            if rows.is_empty() {
                continue;
            }
            let before = thread::set_operator("Window");
            let computed = self.tasks.compute(rows);
            thread::set_operator(before);
            self.ready = split(computed?, *max_block_size).into_iter();
        }
    }
}
