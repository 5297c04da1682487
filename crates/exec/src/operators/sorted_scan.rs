//! Sorted rows as a table. A bucket is sorted by whoever reads it, so that those behind a limit are not sorted at all.

use super::bucket_sort::Buckets;
use super::key_prefix::Entry;
use crate::ExecContext;
use chalet_base::Result;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::Arc;

/// The rows, or the first `limit`, in order.
pub(super) fn open(buckets: Buckets, limit: usize, ctx: &ExecContext) -> Arc<dyn Scan> {
    let starts = buckets.starts();
    let n_tasks = starts[..starts.len() - 1].partition_point(|&start| start < limit);
    let max_block_size = ctx.settings.max_block_size.max(1);
    Arc::new(SortedScan(Arc::new(Sorted {
        buckets,
        limit,
        n_tasks,
        max_block_size,
        tasks: TaskQueue::default(),
    })))
}

struct SortedScan(Arc<Sorted>);

struct Sorted {
    buckets: Buckets,
    limit: usize,
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
        Some(self.0.buckets.n_rows().min(self.0.limit) as u64)
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
        let Sorted { buckets, limit, n_tasks, max_block_size, tasks } = &*self.sorted;
        while self.at == self.entries.len() {
            let Some(task) = tasks.take(*n_tasks) else { return Ok(None) };
            (self.task, self.at, self.number) = (task, 0, 0);
            buckets.sort(task, &mut self.entries)?;
            self.entries.truncate(limit - buckets.starts()[task]);
        }
        let end = self.entries.len().min(self.at + max_block_size);
        let block = buckets.gather(&self.entries[self.at..end]);
        let number = self.number;
        (self.at, self.number) = (end, number + 1);
        Ok(Some(Morsel { block, task: self.task as u32, number }))
    }
}
