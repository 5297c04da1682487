//! `numbers`, `zeros` and `generateSeries`: arithmetic sequences made while they are read.

use crate::scan::{ColumnRange, Interval, TaskQueue};
use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::sync::Arc;

/// Blocks per task: small enough to share, large enough that handing out costs nothing.
const BLOCKS_PER_TASK: u64 = 8;

/// Rows in a block at most, whatever the setting says.
const MAX_BLOCK_ROWS: usize = 1 << 20;

/// `first, first + step, ...`, `count` values of them (endless when `None`); or as many zeros.
#[derive(Clone)]
pub struct Sequence {
    pub column: &'static str,
    pub first: u64,
    pub step: u64,
    pub count: Option<u64>,
    pub zeros: bool,
    pub engine: &'static str,
}

impl Table for Sequence {
    fn is_constant(&self) -> bool {
        true
    }

    fn makes_rows(&self) -> bool {
        true
    }

    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        let ty = if self.zeros { DataType::UInt8 } else { DataType::UInt64 };
        TableSchema::of([(self.column, ty)])
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let mut runs = self.runs();
        let mut is_endless = self.count.is_none();
        if !self.zeros && !request.ranges.is_empty() {
            runs = restricted(&runs, self.step, &request.ranges);
            is_endless = false;
        }
        if let (Some(limit), None) = (request.limit, &request.filter) {
            runs = first_of(runs, limit);
            is_endless = false;
        }
        let block_size = request.context.max_block_size.clamp(1, MAX_BLOCK_ROWS) as u64;
        let count = (!is_endless).then(|| {
            let total: u128 = runs.iter().map(|run| run.count).sum();
            u64::try_from(total).unwrap_or(u64::MAX)
        });
        let shared = Shared {
            runs,
            step: self.step,
            zeros: self.zeros,
            count,
            block_size,
            n_tasks: count.map(|count| count.div_ceil(block_size.saturating_mul(BLOCKS_PER_TASK))),
            n_columns: request.columns.len(),
            tasks: TaskQueue::default(),
        };
        Ok(Arc::new(SequenceScan(Arc::new(shared))))
    }

    fn total_rows(&self) -> Option<u64> {
        self.count
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `first, first + step, ...`, `count` values that do not wrap around.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    first: u64,
    count: u128,
}

/// A sequence that wraps around more often than this is not restricted by ranges.
const MAX_RUNS: usize = 8;

impl Sequence {
    /// The sequence cut where it wraps around. The last run of one that wraps around very often is not cut.
    fn runs(&self) -> Vec<Run> {
        if self.zeros || self.step == 0 {
            let count = self.count.map_or(1 << 64, u128::from);
            return vec![Run { first: self.first, count }];
        }
        let Some(count) = self.count else {
            let count = u128::from((u64::MAX - self.first) / self.step) + 1;
            return vec![Run { first: self.first, count }];
        };
        let (mut first, mut rest) = (self.first, u128::from(count));
        let mut runs = Vec::new();
        while rest > 0 {
            let until_wrap = u128::from((u64::MAX - first) / self.step) + 1;
            let count = if runs.len() < MAX_RUNS { until_wrap.min(rest) } else { rest };
            runs.push(Run { first, count });
            // Truncated on purpose: this is where it wraps around.
            first = first.wrapping_add((count as u64).wrapping_mul(self.step));
            rest -= count;
        }
        runs
    }
}

/// The parts of the runs that lie within all ranges.
fn restricted(runs: &[Run], step: u64, ranges: &[ColumnRange]) -> Vec<Run> {
    if runs.len() > MAX_RUNS || step == 0 {
        return runs.to_vec();
    }
    let everything = vec![(0, u64::MAX)];
    let allowed = ranges.iter().fold(everything, |allowed, range| intersection(&allowed, &intervals(range)));
    let mut kept = Vec::new();
    for run in runs {
        for &(low, high) in &allowed {
            // Numbers of the first and the last value of the run within the interval.
            let from = u128::from(low.saturating_sub(run.first).div_ceil(step));
            let Some(to) = high.checked_sub(run.first).map(|distance| u128::from(distance / step)) else {
                continue;
            };
            let to = to.min(run.count - 1);
            if from <= to {
                let first = run.first.wrapping_add((from as u64).wrapping_mul(step));
                kept.push(Run { first, count: to - from + 1 });
            }
        }
    }
    kept
}

/// The first rows of the runs.
fn first_of(runs: Vec<Run>, limit: u64) -> Vec<Run> {
    let mut rest = u128::from(limit);
    let mut kept = Vec::new();
    for run in runs {
        let count = run.count.min(rest);
        rest -= count;
        if count > 0 {
            kept.push(Run { count, ..run });
        }
    }
    kept
}

/// The values of UInt64 within a range: disjoint intervals, ascending, both ends included.
fn intervals(range: &ColumnRange) -> Vec<(u64, u64)> {
    let bounds = Interval { low: range.low.clone(), high: range.high.clone() };
    let mut found: Vec<(u64, u64)> = interval(&bounds).into_iter().collect();
    if !range.among.is_empty() {
        let points = range.among.iter().filter_map(|value| interval(&Interval::point(value)));
        found = intersection(&found, &union(points.collect()));
    }
    if !range.any_of.is_empty() {
        found = intersection(&found, &union(range.any_of.iter().filter_map(interval).collect()));
    }
    found
}

fn interval(bounds: &Interval) -> Option<(u64, u64)> {
    let low = match &bounds.low {
        Some((value, included)) => i128_of(value).map_or(0, |low| low + i128::from(!included)),
        None => 0,
    };
    let most = i128::from(u64::MAX);
    let high = match &bounds.high {
        Some((value, included)) => i128_of(value).map_or(most, |high| high - i128::from(!included)),
        None => most,
    };
    let (low, high) = (low.max(0), high.min(most));
    (low <= high).then_some((low as u64, high as u64))
}

/// The value of an integer; other bounds do not bound.
fn i128_of(value: &Value) -> Option<i128> {
    match value {
        Value::UInt(x) => Some(i128::from(*x)),
        Value::Int(x) => Some(i128::from(*x)),
        _ => None,
    }
}

/// Intervals in any order as disjoint ones, ascending.
fn union(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
    for (low, high) in intervals {
        match merged.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

fn intersection(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x.0.max(y.0), x.1.min(y.1))));
    pairs.filter(|(low, high)| low <= high).collect()
}

struct Shared {
    runs: Vec<Run>,
    step: u64,
    zeros: bool,
    /// Rows of all runs; `None` when they never end.
    count: Option<u64>,
    block_size: u64,
    n_tasks: Option<u64>,
    /// The one column may be asked for never or more than once.
    n_columns: usize,
    tasks: TaskQueue,
}

impl Shared {
    /// Rows `start..start + len` of all runs.
    fn values(&self, start: u64, len: u64) -> Column {
        if self.zeros {
            return Column::constant(Vector::from(vec![0u8]), len as usize);
        }
        let mut values: Vec<u64> = Vec::with_capacity(len as usize);
        let (mut skipped, mut wanted) = (u128::from(start), u128::from(len));
        for run in &self.runs {
            if skipped >= run.count {
                skipped -= run.count;
                continue;
            }
            let n = (run.count - skipped).min(wanted) as u64;
            let first = run.first.wrapping_add((skipped as u64).wrapping_mul(self.step));
            values.extend((0..n).map(|i| first.wrapping_add(i.wrapping_mul(self.step))));
            wanted -= u128::from(n);
            skipped = 0;
            if wanted == 0 {
                break;
            }
        }
        Column::Flat(Vector::from(values))
    }
}

struct SequenceScan(Arc<Shared>);

impl Scan for SequenceScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), task: 0, number: BLOCKS_PER_TASK as u32 }))
    }

    fn parallelism(&self) -> usize {
        self.0.n_tasks.map_or(usize::MAX, |n| n as usize)
    }

    fn total_rows(&self) -> Option<u64> {
        self.0.count
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u64,
    /// Of the next block inside the task.
    number: u32,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Shared { count, block_size, n_tasks, n_columns, tasks, .. } = &*self.shared;
        loop {
            if u64::from(self.number) == BLOCKS_PER_TASK {
                let limit = n_tasks.map_or(usize::MAX, |n| n as usize);
                let Some(task) = tasks.take(limit) else { return Ok(None) };
                (self.task, self.number) = (task as u64, 0);
            }
            let block_number = self.task.saturating_mul(BLOCKS_PER_TASK) + u64::from(self.number);
            let start = block_number.saturating_mul(*block_size);
            let len = count.map_or(*block_size, |count| count.saturating_sub(start).min(*block_size));
            if len == 0 {
                self.number = BLOCKS_PER_TASK as u32;
                continue;
            }
            let number = self.number;
            self.number += 1;
            let column = self.shared.values(start, len);
            let n_rows = column.len();
            let block = Block::new(vec![column; *n_columns], n_rows);
            return Ok(Some(Morsel { block, task: self.task as u32, number }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(first: u64, step: u64, count: Option<u64>) -> Sequence {
        Sequence { column: "number", first, step, count, zeros: false, engine: "SystemNumbers" }
    }

    fn between(low: u64, high: u64) -> ColumnRange {
        let bound = |x| Some((Value::UInt(x), true));
        ColumnRange { low: bound(low), high: bound(high), ..ColumnRange::of(0) }
    }

    #[test]
    fn ranges_cut_sequences_where_they_wrap_around_too() {
        let wrapping = sequence(u64::MAX - 1, 1, Some(5)).runs();
        assert_eq!(wrapping, [Run { first: u64::MAX - 1, count: 2 }, Run { first: 0, count: 3 }]);
        assert_eq!(restricted(&wrapping, 1, &[between(1, 7)]), [Run { first: 1, count: 2 }]);
        let endless = sequence(3, 5, None).runs();
        assert_eq!(restricted(&endless, 5, &[between(4, 13)]), [Run { first: 8, count: 2 }]);
        assert_eq!(restricted(&endless, 5, &[between(9, 12)]), []);
        assert_eq!(restricted(&endless, 5, &[between(0, 9), between(7, 99)]), [Run { first: 8, count: 1 }]);
        let among =
            ColumnRange { among: vec![Value::Int(-1), Value::UInt(8), Value::UInt(9)], ..ColumnRange::of(0) };
        assert_eq!(restricted(&endless, 5, &[among]), [Run { first: 8, count: 1 }]);
    }
}
