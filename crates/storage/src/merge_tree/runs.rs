//! The parts of a scan as sorted runs. A range of keys is found by the page index, or by bisection where rows are in memory; what the
//! border pages hold beside it is cut off.

use super::layout::Place;
use super::scan::Shared;
use super::scan_worker::{Own, Worker};
use super::stored_type::{is_same, keeps_order};
use crate::sorted_runs::{KeyRange, SortedRuns};
use crate::{Morsel, ScanWorker};
use chalet_base::bisect::partition_point;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Rows of a part in memory between two samples.
const SAMPLE_STEP: usize = 8192;
/// Rows that are turned round at once.
const REVERSED_ROWS: usize = 4 * SAMPLE_STEP;

/// The parts of a scan.
pub(super) struct PartRuns {
    shared: Arc<Shared>,
    /// The first sorting key among the requested columns, where ranges of it can be found.
    key: Option<(usize, DataType)>,
    /// Of each part.
    known: Arc<[Known]>,
}

/// What is known of a part.
#[derive(Default)]
struct Known {
    /// Rows, and a value that none from there on is below.
    minima: OnceLock<Vec<(usize, Value)>>,
    /// Rows that were put out or do not pass the filter. Those of border pages are read for two ranges, and count once.
    counted: AtomicU64,
}

impl PartRuns {
    /// `key` is the position of the first sorting key among the requested columns, if it is one of them and ascends.
    pub fn new(shared: Arc<Shared>, key: Option<usize>) -> PartRuns {
        let key = key.and_then(|key| match &shared.places[key] {
            Place::Stored(_, ty) => Some((key, ty.clone())),
            _ => None,
        });
        let is_known = |(key, ty): &(usize, DataType)| {
            is_searchable(ty) && shared.parts.iter().all(|part| shared.position(part, *key, ty).is_some())
        };
        let key = key.filter(is_known);
        let known = shared.parts.iter().map(|_| Known::default()).collect();
        PartRuns { shared, key, known }
    }

    /// Rows of a part at which it can be begun, each with a value that none from there on is below. Not known where it is empty.
    fn minima(&self, run: usize) -> &[(usize, Value)] {
        self.known[run].minima.get_or_init(|| self.find_minima(run).unwrap_or_default())
    }

    fn find_minima(&self, run: usize) -> Option<Vec<(usize, Value)>> {
        let (key, ty) = self.key.as_ref()?;
        let part = &self.shared.parts[run];
        match part.resident() {
            Some(block) => {
                let column = block.column(self.shared.position(part, *key, ty)?);
                Some((0..block.n_rows()).step_by(SAMPLE_STEP).map(|row| (row, column.value(row))).collect())
            }
            None => {
                let at = self.shared.read_position(part, *key, ty)?;
                self.shared.open_part(part, None).ok()??.page_minima(at)
            }
        }
    }

    /// The rows of a part that hold those of a range, and what surely is within.
    fn rows(&self, run: usize, range: &KeyRange) -> Range<usize> {
        let part = &self.shared.parts[run];
        let n_rows = part.info.rows as usize;
        if let (Some(block), Some((key, ty))) = (part.resident(), &self.key)
            && let Some(position) = self.shared.position(part, *key, ty)
        {
            let column = block.column(position);
            let before = |value: &Value| {
                let bound = Vector::of_value(value, ty).ok()?;
                Some(partition_point(0..n_rows, |row| precedes(column, row, &bound)))
            };
            let start = range.low.as_ref().and_then(before).unwrap_or(0);
            let end = range.high.as_ref().and_then(before).unwrap_or(n_rows);
            return start..end.max(start);
        }
        let minima = self.minima(run);
        let first = |value: &Value| minima.partition_point(|(_, least)| least.compare(value).is_lt());
        let start = range.low.as_ref().map_or(0, |low| match first(low) {
            0 => 0,
            behind => minima[behind - 1].0,
        });
        let end = range.high.as_ref().map_or(n_rows, |high| minima.get(first(high)).map_or(n_rows, |m| m.0));
        start..end.max(start)
    }

    fn reader(&self, run: usize, rows: Range<usize>, range: &KeyRange) -> Result<TrimmedRun> {
        let bound = |value: &Option<Value>| match (&self.key, value) {
            (Some((_, ty)), Some(value)) => Vector::of_value(value, ty).map(Some),
            (None, Some(_)) => bail!(LOGICAL_ERROR, "A range of a key that is not known"),
            (_, None) => Ok(None),
        };
        let key = self.key.as_ref().map_or(0, |(key, _)| *key);
        let own = Own::new(&self.shared, run, rows)?;
        let rows = Worker::of_part(self.shared.clone(), own);
        let (low, high) = (bound(&range.low)?, bound(&range.high)?);
        let (known, n_rows) = (self.known.clone(), self.shared.parts[run].info.rows);
        Ok(TrimmedRun { rows, key, low, high, is_over: false, known, run, n_rows })
    }
}

/// Are pages of this type known by their least values, and are these ordered as the rows are?
fn is_searchable(ty: &DataType) -> bool {
    let has_gaps = ty.is_nullable() || ty.is_float();
    is_same(ty) && keeps_order(ty) && !has_gaps
}

impl SortedRuns for PartRuns {
    fn n_runs(&self) -> usize {
        self.shared.parts.len()
    }

    fn samples(&self) -> Vec<(Value, usize)> {
        let mut samples = Vec::new();
        for (run, part) in self.shared.parts.iter().enumerate() {
            let minima = self.minima(run);
            if minima.is_empty() && part.info.rows > 0 {
                return Vec::new();
            }
            let ends = minima.iter().skip(1).map(|(row, _)| *row).chain([part.info.rows as usize]);
            samples.extend(minima.iter().zip(ends).map(|((row, least), end)| (least.clone(), end - row)));
        }
        // What the filter leaves of the key is all that is worth cutting.
        if let Some((key, _)) = &self.key {
            samples.retain(|(value, _)| self.shared.may_be_read(*key, value));
        }
        samples.sort_by(|a, b| a.0.compare(&b.0));
        samples
    }

    fn open(&self, run: usize, range: &KeyRange, reversed: bool) -> Result<Box<dyn ScanWorker>> {
        let rows = self.rows(run, range);
        if !reversed {
            return Ok(Box::new(self.reader(run, rows, range)?));
        }
        let starts = rows.clone().step_by(REVERSED_ROWS);
        let pieces = starts.map(|start| start..rows.end.min(start + REVERSED_ROWS)).collect();
        let runs = PartRuns { shared: self.shared.clone(), key: self.key.clone(), known: self.known.clone() };
        Ok(Box::new(ReversedRun { runs, run, range: range.clone(), pieces, passed_by: 0 }))
    }
}

/// Rows in order, of which those outside of a range of the key are cut off.
struct TrimmedRun {
    rows: Worker,
    key: usize,
    low: Option<Vector>,
    high: Option<Vector>,
    /// A row behind the range has come.
    is_over: bool,
    known: Arc<[Known]>,
    run: usize,
    /// Of the whole run.
    n_rows: u64,
}

impl ScanWorker for TrimmedRun {
    fn next(&mut self) -> Result<Option<Morsel>> {
        while !self.is_over {
            let Some(morsel) = self.rows.next()? else { return Ok(None) };
            let block = morsel.block;
            let n_rows = block.n_rows();
            let before = |bound: &Vector| {
                let column = block.column(self.key);
                partition_point(0..n_rows, |row| precedes(column, row, bound))
            };
            let end = self.high.as_ref().map_or(n_rows, before);
            let start = self.low.as_ref().map_or(0, before);
            self.is_over = end < n_rows;
            if start < n_rows {
                // Whatever comes behind a row within the range is not below it.
                self.low = None;
            }
            if start < end {
                self.known[self.run].counted.fetch_add((end - start) as u64, Relaxed);
                let block = if end - start == n_rows { block } else { block.slice(start, end - start) };
                return Ok(Some(Morsel { block, ..morsel }));
            }
        }
        Ok(None)
    }

    fn take_passed_by(&mut self) -> u64 {
        let passed_by = self.rows.take_passed_by();
        let counted = &self.known[self.run].counted;
        let left = self.n_rows.saturating_sub(counted.fetch_add(passed_by, Relaxed));
        passed_by.min(left)
    }
}

fn precedes(column: &Column, row: usize, bound: &Vector) -> bool {
    let (vector, row) = column.locate(row);
    vector.compare(row, bound, 0) == Ordering::Less
}

/// Rows in reverse order: pieces from the end on, each turned round.
struct ReversedRun {
    runs: PartRuns,
    run: usize,
    range: KeyRange,
    /// The rows that are left.
    pieces: Vec<Range<usize>>,
    passed_by: u64,
}

impl ScanWorker for ReversedRun {
    fn next(&mut self) -> Result<Option<Morsel>> {
        while let Some(rows) = self.pieces.pop() {
            let mut reader = self.runs.reader(self.run, rows, &self.range)?;
            let mut blocks = Vec::new();
            while let Some(morsel) = reader.next()? {
                blocks.push(morsel.block);
            }
            self.passed_by += reader.take_passed_by();
            let block = Block::concat(&blocks);
            if block.is_empty() {
                continue;
            }
            let rows: Vec<u32> = (0..block.n_rows() as u32).rev().collect();
            return Ok(Some(Morsel { block: block.gather(&rows), task: 0, number: 0 }));
        }
        Ok(None)
    }

    fn take_passed_by(&mut self) -> u64 {
        std::mem::take(&mut self.passed_by)
    }
}
