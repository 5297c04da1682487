//! MergeRuns: sorted runs of a table as one scan in order. The keys are cut into ranges by samples of the first of them; each range is
//! a task, which merges the rows that the runs have of it, so that all workers merge side by side and hold a block of each run.
//! Rows whose keys are equal are of one range: for FINAL, its rule is applied to each range by itself.

use super::merge_rows::RowMerger;
use crate::expression::{Layout, Program};
use crate::sorted_streams::{MergedSize, SortedStreams};
use crate::{ExecContext, QueryControl};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_plan::RowRule;
use chalet_storage::scan::TaskQueue;
use chalet_storage::sorted_runs::{KeyRange, SortedRuns};
use chalet_storage::{Morsel, RowsById, Scan, ScanWorker};
use chalet_types::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// By what runs are merged.
pub struct MergeOrder {
    /// The keys of rows.
    pub keys: Program,
    pub orders: Vec<Order>,
    /// The runs are read from their ends.
    pub reversed: bool,
    /// About how many rows are needed.
    pub limit: Option<u64>,
    /// What becomes of rows whose keys are equal, and where the columns are that it reads.
    pub rule: Option<(RowRule, Layout)>,
}

impl MergeOrder {
    fn of(&self, block: &Block) -> Result<RowKeys> {
        let columns = self.keys.evaluate(block)?;
        let ordered: Vec<(&Column, Order)> = columns.iter().zip(self.orders.iter().copied()).collect();
        Ok(sort_keys(&ordered, block.n_rows()))
    }
}

/// Ranges that each worker merges, about.
const RANGES_A_WORKER: usize = 8;
/// Rows of a range, at least, about.
const RANGE_ROWS: usize = 1 << 16;
/// The same for each run: pages at the border of two ranges are read for both.
const RUN_ROWS: usize = 1 << 15;
/// The same where few rows are needed.
const FIRST_ROWS: usize = 1 << 13;
/// Bytes of a block that is put out, about.
const BLOCK_BYTES: usize = 16 << 20;

/// The runs of a scan in order.
pub fn open(
    inner: Arc<dyn Scan>,
    runs: Arc<dyn SortedRuns>,
    order: Arc<MergeOrder>,
    ctx: &ExecContext,
) -> Arc<dyn Scan> {
    let n_workers = ctx.settings.max_threads.max(1);
    let least = RANGE_ROWS.max(runs.n_runs().saturating_mul(RUN_ROWS));
    let ranges = key_ranges(&runs.samples(), &order, n_workers, least);
    Arc::new(MergeRuns {
        inner,
        merge: Arc::new(Ranges {
            runs,
            order,
            n_workers: n_workers.min(ranges.len()),
            ranges,
            tasks: TaskQueue::default(),
            max_block_size: ctx.settings.max_block_size.max(1),
            control: ctx.control.clone(),
        }),
    })
}

/// Ranges of keys that follow each other in the order of the merge. The first ones are small where few rows are needed: most
/// often they have them.
fn key_ranges(
    samples: &[(Value, usize)],
    order: &MergeOrder,
    n_workers: usize,
    least: usize,
) -> Vec<KeyRange> {
    let total: usize = samples.iter().map(|(_, rows)| rows).sum();
    let most = (total / (n_workers * RANGES_A_WORKER)).max(least);
    let first = order.limit.map_or(most, |limit| usize::try_from(limit).unwrap_or(most).max(FIRST_ROWS));
    let (mut ranges, mut rows) = (Vec::new(), 0);
    let mut open = KeyRange::default();
    let target = |n_ranges: usize| first.saturating_mul(1 << (n_ranges / n_workers).min(32)).min(most);
    if order.reversed {
        for (value, n) in samples.iter().rev() {
            rows += n;
            // A range begins with the least of its values.
            if rows >= target(ranges.len()) && open.high.as_ref() != Some(value) {
                let low = Some(value.clone());
                ranges.push(KeyRange { low: low.clone(), high: open.high.take() });
                (open.high, rows) = (low, 0);
            }
        }
    } else {
        for (value, n) in samples {
            if rows >= target(ranges.len()) && open.low.as_ref() != Some(value) {
                let high = Some(value.clone());
                ranges.push(KeyRange { low: open.low.take(), high: high.clone() });
                (open.low, rows) = (high, 0);
            }
            rows += n;
        }
    }
    ranges.push(open);
    ranges
}

struct MergeRuns {
    inner: Arc<dyn Scan>,
    merge: Arc<Ranges>,
}

struct Ranges {
    runs: Arc<dyn SortedRuns>,
    order: Arc<MergeOrder>,
    /// In the order of the merge.
    ranges: Vec<KeyRange>,
    n_workers: usize,
    tasks: TaskQueue,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl Scan for MergeRuns {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { of: self.merge.clone(), open: None, passed_by: Arc::default() }))
    }

    fn parallelism(&self) -> usize {
        self.merge.n_workers
    }

    fn total_rows(&self) -> Option<u64> {
        self.inner.total_rows()
    }

    fn applies_filter(&self) -> bool {
        self.inner.applies_filter()
    }

    fn rows_by_id(&self) -> Option<Arc<dyn RowsById>> {
        self.inner.rows_by_id()
    }

    fn describe(&self) -> Vec<(String, String)> {
        let mut lines = self.inner.describe();
        let n_runs = self.merge.runs.n_runs();
        lines.push(("Sorted runs merged".into(), format!("{n_runs} in {} ranges", self.merge.ranges.len())));
        lines
    }
}

struct Worker {
    of: Arc<Ranges>,
    open: Option<OpenRange>,
    passed_by: Arc<AtomicU64>,
}

/// A range that is being merged.
struct OpenRange {
    task: u32,
    number: u32,
    rows: SortedStreams,
    merger: Option<RowMerger>,
    is_over: bool,
}

impl Ranges {
    fn open(&self, task: usize, passed_by: &Arc<AtomicU64>) -> Result<OpenRange> {
        let mut streams: Vec<Box<dyn ScanWorker>> = Vec::with_capacity(self.runs.n_runs());
        for run in 0..self.runs.n_runs() {
            self.control.check_with_interrupt()?;
            let rows = self.runs.open(run, &self.ranges[task], self.order.reversed)?;
            streams.push(Box::new(Counted { rows, passed_by: passed_by.clone() }));
        }
        let size = MergedSize { rows: self.max_block_size, bytes: BLOCK_BYTES };
        let rows = SortedStreams::open(streams, &|block| self.order.of(block), size)?;
        let merger = match &self.order.rule {
            None => None,
            Some((rule, layout)) => {
                events::count(Event::FinalMergedRanges);
                Some(RowMerger::new(rule, layout, Reservation::new(self.control.memory.clone()))?)
            }
        };
        Ok(OpenRange { task: task as u32, number: 0, rows, merger, is_over: false })
    }
}

impl OpenRange {
    fn next(&mut self, of: &Ranges) -> Result<Option<Block>> {
        while !self.is_over {
            of.control.check_with_interrupt()?;
            let block = self.rows.next(&|block| of.order.of(block))?;
            self.is_over = block.is_none();
            let out = match (&mut self.merger, block) {
                (None, block) => block,
                (Some(merger), Some(block)) => {
                    let keys = of.order.keys.evaluate(&block)?;
                    merger.push(block, &keys)?
                }
                (Some(merger), None) => merger.finish()?,
            };
            if out.is_some() {
                return Ok(out);
            }
        }
        Ok(None)
    }
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            let of = self.of.clone();
            if let Some(open) = &mut self.open {
                if let Some(block) = open.next(&of)? {
                    let number = open.number;
                    open.number += 1;
                    return Ok(Some(Morsel { block, task: open.task, number }));
                }
                self.open = None;
            }
            let Some(task) = of.tasks.take(of.ranges.len()) else { return Ok(None) };
            self.open = Some(of.open(task, &self.passed_by)?);
        }
    }

    fn take_passed_by(&mut self) -> u64 {
        self.passed_by.swap(0, Relaxed)
    }
}

/// A run whose rows that do not pass the filter are counted.
struct Counted {
    rows: Box<dyn ScanWorker>,
    passed_by: Arc<AtomicU64>,
}

impl ScanWorker for Counted {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let morsel = self.rows.next();
        self.passed_by.fetch_add(self.rows.take_passed_by(), Relaxed);
        morsel
    }
}
