//! Sorted rows as a table. A bucket is sorted by whoever reads it, so that those behind a limit are not sorted at all.

use super::bucket_sort::Buckets;
use super::key_prefix::Entry;
use crate::ExecContext;
use chalet_base::Result;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::ops::Range;
use std::sync::Arc;

/// A range of the rows in order.
pub(super) fn open(buckets: Buckets, rows: Range<usize>, ctx: &ExecContext) -> Arc<dyn Scan> {
    let ends = &buckets.starts()[1..];
    let first = ends.partition_point(|&end| end <= rows.start);
    let n_tasks = buckets.starts()[first..ends.len()].partition_point(|&start| start < rows.end);
    let max_block_size = ctx.settings.max_block_size.max(1);
    Arc::new(SortedScan(Arc::new(Sorted {
        buckets,
        rows,
        first,
        n_tasks,
        max_block_size,
        tasks: TaskQueue::default(),
    })))
}

struct SortedScan(Arc<Sorted>);

struct Sorted {
    buckets: Buckets,
    rows: Range<usize>,
    /// The first bucket of which there are rows.
    first: usize,
    n_tasks: usize,
    max_block_size: usize,
    tasks: TaskQueue,
}

impl Scan for SortedScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(SortedWorker { sorted: self.0.clone(), entries: Vec::new(), at: 0, task: 0, number: 0 }))
    }

    fn parallelism(&self) -> usize {
        self.0.n_tasks
    }

    fn total_rows(&self) -> Option<u64> {
        let Range { start, end } = self.0.rows;
        Some(self.0.buckets.n_rows().min(end).saturating_sub(start) as u64)
    }
}

struct SortedWorker {
    sorted: Arc<Sorted>,
    /// The rows of the bucket, of which those before `at` are out.
    entries: Vec<Entry>,
    at: usize,
    task: usize,
    number: u32,
}

impl ScanWorker for SortedWorker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Sorted { buckets, rows, first, n_tasks, max_block_size, tasks } = &*self.sorted;
        while self.at == self.entries.len() {
            let Some(task) = tasks.take(*n_tasks) else { return Ok(None) };
            let start = buckets.starts()[first + task];
            buckets.sort(first + task, &mut self.entries)?;
            self.entries.truncate(rows.end.saturating_sub(start));
            let at = rows.start.saturating_sub(start).min(self.entries.len());
            (self.task, self.at, self.number) = (task, at, 0);
        }
        let end = self.entries.len().min(self.at + max_block_size);
        let block = buckets.gather(&self.entries[self.at..end]);
        let number = self.number;
        (self.at, self.number) = (end, number + 1);
        Ok(Some(Morsel { block, task: self.task as u32, number }))
    }
}
