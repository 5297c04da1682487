//! Merging sorted runs as a table. The keys are cut into ranges, of which each is merged by itself, so that all workers merge side
//! by side; the first keys of pieces tell where to cut without reading them.

use super::runs::{Merge, Run};
use crate::ExecContext;
use crate::control::QueryControl;
use chalet_base::Result;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::ops::Range;
use std::sync::Arc;

/// Ranges that each worker merges, about. Pieces at the border of two ranges are read for both.
const RANGES_A_WORKER: usize = 8;
/// Pieces of each run in a range, at least, about.
const PIECES_A_RANGE: usize = 4;

/// A range of the rows of some runs in order, and perhaps more behind it. The runs are few enough to be read together.
pub(super) fn open(
    runs: Vec<Run>,
    fan_in: usize,
    range: Range<usize>,
    ctx: &ExecContext,
) -> Result<Arc<MergeScan>> {
    // Each worker holds a piece of every run.
    let n_workers = ctx.settings.max_threads.min(fan_in / runs.len().max(1)).max(1);
    let mut cuts: Vec<&[u8]> =
        runs.iter().flat_map(|run| run.pieces.iter()).map(|piece| &piece.cut[..]).collect();
    cuts.sort_unstable();
    let most = cuts.len() / (PIECES_A_RANGE * runs.len().max(1));
    let n_ranges = if n_workers == 1 { 1 } else { most.clamp(1, n_workers * RANGES_A_WORKER) };
    let mut bounds: Vec<Vec<u8>> = (1..n_ranges).map(|n| cuts[n * cuts.len() / n_ranges].to_vec()).collect();
    bounds.dedup();
    // The first range begins with the first key, whatever that is.
    bounds.insert(0, Vec::new());
    bounds.dedup();
    let needed = bounds.partition_point(|bound| rows_surely_before(&runs, bound) < range.end);
    let (first, skipped) = first_range(&runs, &bounds[..needed], range.start)?;
    bounds.drain(..first);
    let n_tasks = needed - first;
    let n_rows = runs.iter().map(Run::n_rows).sum();
    Ok(Arc::new(MergeScan(Arc::new(Ranges {
        n_rows,
        runs,
        bounds,
        skipped,
        n_tasks,
        n_workers,
        max_block_size: ctx.settings.max_block_size.max(1),
        tasks: TaskQueue::default(),
        control: ctx.control.clone(),
    }))))
}

/// The last range that begins at the row of this number or before it, and how many rows it has before that row.
fn first_range(runs: &[Run], bounds: &[Vec<u8>], row: usize) -> Result<(usize, usize)> {
    if row == 0 {
        return Ok((0, 0));
    }
    let (mut first, mut end, mut before) = (0, bounds.len(), 0);
    while end - first > 1 {
        let middle = first + (end - first) / 2;
        let n_rows = runs.iter().map(|run| run.rows_before(&bounds[middle])).sum::<Result<usize>>()?;
        if n_rows <= row { (first, before) = (middle, n_rows) } else { end = middle }
    }
    Ok((first, row - before))
}

/// Rows that surely are before a key.
fn rows_surely_before(runs: &[Run], key: &[u8]) -> usize {
    let of_run = |run: &Run| -> usize {
        let behind = run.pieces.partition_point(|piece| &piece.cut[..] < key);
        run.pieces[..behind.saturating_sub(1)].iter().map(|piece| piece.n_rows).sum()
    };
    runs.iter().map(of_run).sum()
}

/// Runs as a table whose tasks are ranges.
pub struct MergeScan(Arc<Ranges>);

struct Ranges {
    runs: Vec<Run>,
    n_rows: usize,
    /// The first key of each range.
    bounds: Vec<Vec<u8>>,
    /// Rows of the first range that are left out.
    skipped: usize,
    n_tasks: usize,
    n_workers: usize,
    max_block_size: usize,
    tasks: TaskQueue,
    control: Arc<QueryControl>,
}

impl MergeScan {
    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.0.n_rows
    }

    /// How many of them come before those of a task, where all are put out. Reads a piece of each run.
    pub fn rows_before(&self, task: u32) -> Result<usize> {
        let bound = &self.0.bounds[task as usize];
        self.0.runs.iter().map(|run| if bound.is_empty() { Ok(0) } else { run.rows_before(bound) }).sum()
    }
}

impl Scan for MergeScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { ranges: self.0.clone(), merge: None, task: 0, number: 0 }))
    }

    fn parallelism(&self) -> usize {
        self.0.n_workers.min(self.0.n_tasks)
    }
}

struct Worker {
    ranges: Arc<Ranges>,
    merge: Option<Merge>,
    task: u32,
    number: u32,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Ranges { runs, bounds, skipped, n_tasks, max_block_size, tasks, control, .. } = &*self.ranges;
        loop {
            control.check_with_interrupt()?;
            if let Some(merge) = &mut self.merge {
                if let Some(block) = merge.next(*max_block_size)? {
                    let number = self.number;
                    self.number += 1;
                    return Ok(Some(Morsel { block, task: self.task, number }));
                }
                self.merge = None;
            }
            let Some(task) = tasks.take(*n_tasks) else { return Ok(None) };
            let merge =
                self.merge.insert(Merge::open(runs, &bounds[task], bounds.get(task + 1).cloned(), true)?);
            if task == 0 {
                merge.skip(*skipped, &|| control.check_with_interrupt())?;
            }
            (self.task, self.number) = (task as u32, 0);
        }
    }
}
