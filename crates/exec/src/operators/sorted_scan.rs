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
        let (sorted, entries) = (self.0.clone(), Vec::new());
        Ok(Box::new(SortedWorker { sorted, entries, bucket: 0, rows: 0..0, task: 0, number: 0 }))
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
    /// The rows of the bucket, unless they came in order.
    entries: Vec<Entry>,
    bucket: usize,
    /// Those of its rows that are not out.
    rows: Range<usize>,
    task: usize,
    number: u32,
}

impl ScanWorker for SortedWorker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Sorted { buckets, rows, first, n_tasks, max_block_size, tasks } = &*self.sorted;
        while self.rows.is_empty() {
            let Some(task) = tasks.take(*n_tasks) else { return Ok(None) };
            let bucket = first + task;
            let (start, end) = (buckets.starts()[bucket], buckets.starts()[bucket + 1]);
            if buckets.slice(bucket, 0..0).is_none() {
                buckets.sort(bucket, &mut self.entries)?;
            }
            self.rows = rows.start.saturating_sub(start)..rows.end.min(end).saturating_sub(start);
            (self.bucket, self.task, self.number) = (bucket, task, 0);
        }
        let end = self.rows.end.min(self.rows.start + max_block_size);
        let some = self.rows.start..end;
        let block = match buckets.slice(self.bucket, some.clone()) {
            Some(block) => block,
            None => buckets.gather(&self.entries[some]),
        };
        let number = self.number;
        (self.rows.start, self.number) = (end, number + 1);
        Ok(Some(Morsel { block, task: self.task as u32, number }))
    }
}
