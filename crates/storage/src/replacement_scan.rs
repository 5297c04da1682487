//! Tables over rows that the host program holds, its frames and streams, which replacement scans find by name.
//!
//! A source says which columns it has and opens some of them for one scan: either rows that are held in memory, which
//! workers read in ranges, or a stream, from which one worker at a time takes a run. Converting is done by all workers.

use crate::samples::{self, Sample, SampleSize, SampledColumns};
use crate::{ColumnRange, ColumnSchema, Morsel, Scan, ScanRequest, ScanWorker, Summary, Table, TableSchema};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, RowMask, Vector};
use chalet_formats::TableStatistics;
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where each row stands in its source, from 0: chDB's name for it.
const ROW_ID: &str = "_row_id";

/// Rows of somebody else.
pub trait Source: Send + Sync {
    /// Names, all different, and types.
    fn columns(&self) -> Vec<(Arc<str>, DataType)>;

    /// Rows, when known without opening.
    fn n_rows(&self) -> Option<u64> {
        None
    }

    /// Makes types of these columns certain that were taken from a sample of their values; whether any is another one now.
    fn settle(&self, _columns: &[usize]) -> Result<bool> {
        Ok(false)
    }

    /// Prepares reading of some columns. Called by the first worker that reads, once a scan. Rows outside of the ranges
    /// (whose columns are positions in `columns`) are not needed.
    fn open(&self, columns: &[usize], ranges: &[ColumnRange]) -> Result<Opened>;
}

/// Columns of a source, ready to be read.
pub enum Opened {
    Held(Arc<dyn HeldRows>),
    Stream(Box<dyn RowStream>),
}

/// Rows in memory, in runs that follow each other.
pub trait HeldRows: Send + Sync {
    /// Rows of each run.
    fn runs(&self) -> &[usize];

    /// Some of the opened columns (positions in the list given to `open`) of a range of rows inside a run.
    fn read(&self, run: usize, rows: Range<usize>, columns: &[usize]) -> Result<Vec<Column>>;
}

/// Rows that come once, in order.
pub trait RowStream: Send {
    /// The next rows with the opened columns. Asked again only after an answer.
    fn next(&mut self) -> Result<Option<Arc<dyn HeldRows>>>;
}

/// A source as a table.
pub struct ReplacementTable {
    source: Arc<dyn Source>,
    schema: TableSchema,
    n_columns: usize,
    /// What samples said of columns.
    sampled: SampledColumns,
    /// Where types may come from samples.
    assumed: Option<Assumed>,
}

/// Which columns are named of a table whose types are assumed.
struct Assumed {
    marks: Vec<Arc<AtomicBool>>,
    /// How often schema and marks were asked for.
    schemas: AtomicUsize,
    asked: AtomicUsize,
}

impl ReplacementTable {
    /// A table of the source's columns, with a virtual `_row_id` where the source has no column of that name.
    pub fn new(source: Arc<dyn Source>) -> ReplacementTable {
        let mut columns: Vec<ColumnSchema> =
            source.columns().into_iter().map(|(name, ty)| ColumnSchema::new(name, ty)).collect();
        let n_columns = columns.len();
        if columns.iter().all(|column| &*column.name != ROW_ID) {
            columns.push(ColumnSchema::virtual_column(ROW_ID, DataType::UInt64));
        }
        ReplacementTable {
            source,
            schema: TableSchema::new(columns),
            n_columns,
            sampled: SampledColumns::default(),
            assumed: None,
        }
    }

    /// The same where the source has taken types from samples: [`Self::settle`] makes them certain.
    pub fn with_assumed_types(source: Arc<dyn Source>) -> ReplacementTable {
        let table = ReplacementTable::new(source);
        let marks = (0..table.schema.columns.len()).map(|_| Arc::default()).collect();
        let assumed = Assumed { marks, schemas: AtomicUsize::new(0), asked: AtomicUsize::new(0) };
        ReplacementTable { assumed: Some(assumed), ..table }
    }

    /// A table of the same source with the types that are certain now, and those of all columns are.
    pub fn certain(&self) -> Result<ReplacementTable> {
        self.source.settle(&(0..self.n_columns).collect::<Vec<_>>())?;
        Ok(ReplacementTable::new(self.source.clone()))
    }

    /// Makes types of columns certain that a statement has named; whether any is another than the one that it was told.
    pub fn settle(&self) -> Result<bool> {
        let Some(assumed) = &self.assumed else { return Ok(false) };
        let all = assumed.schemas.swap(0, Relaxed) > assumed.asked.swap(0, Relaxed);
        let named: Vec<usize> =
            (0..self.n_columns).filter(|&c| all || assumed.marks[c].load(Relaxed)).collect();
        self.source.settle(&named)
    }

    /// Some rows of rows that are held, of these columns; `None` of streams, and where one of the columns is no column of the source.
    fn rows_of_sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Block>> {
        let Some(all_rows) = self.source.n_rows().filter(|&rows| rows > 0) else { return Ok(None) };
        if columns.is_empty() || columns.iter().any(|&column| column >= self.n_columns) {
            return Ok(None);
        }
        let Opened::Held(held) = self.source.open(columns, &[])? else { return Ok(None) };
        let positions: Vec<usize> = (0..columns.len()).collect();
        let mut blocks = Vec::new();
        for (run, numbers) in samples::rows_of_pieces(held.runs().iter().copied(), all_rows, size) {
            for together in numbers.chunk_by(|a, b| a + 1 == *b) {
                let rows = together[0]..together[0] + together.len();
                blocks.push(Block::new(held.read(run, rows, &positions)?, together.len()));
            }
        }
        Ok((!blocks.is_empty()).then(|| Block::concat(&blocks)))
    }
}

impl Table for ReplacementTable {
    fn engine(&self) -> &str {
        "Python"
    }

    fn schema(&self) -> TableSchema {
        if let Some(assumed) = &self.assumed {
            assumed.schemas.fetch_add(1, Relaxed);
        }
        self.schema.clone()
    }

    fn name_marks(&self) -> Option<Vec<Arc<AtomicBool>>> {
        let assumed = self.assumed.as_ref()?;
        assumed.asked.fetch_add(1, Relaxed);
        Some(assumed.marks.clone())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let wanted: Vec<usize> = request.columns.iter().copied().filter(|&c| c < self.n_columns).collect();
        let places = places(&request.columns, self.n_columns);
        // Numbers of rows are those of all rows.
        let mut ranges = Vec::new();
        if places.iter().all(Option::is_some) {
            ranges.clone_from(&request.ranges);
        }
        let unopened = Unopened { source: self.source.clone(), columns: wanted, ranges };
        let supply = Supply { unopened: Some(unopened), ..Supply::default() };
        Ok(Arc::new(ReplacementTableScan(Arc::new(Shared {
            supply: Mutex::new(supply),
            n_rows: self.source.n_rows(),
            places,
            request: request.clone(),
        }))))
    }

    fn total_rows(&self) -> Option<u64> {
        self.source.n_rows()
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let rows = self.source.n_rows()?;
        // An error is told by the scan that reads.
        let read =
            |column| Some(self.rows_of_sample(&[column], SampleSize::Conditions).ok()??.column(0).clone());
        Some(self.sampled.statistics(rows, columns, read))
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        Ok(self.rows_of_sample(columns, size)?.map(|block| Sample { block }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// For each requested column its place among the opened ones; none is the number of the row.
fn places(requested: &[usize], n_columns: usize) -> Vec<Option<usize>> {
    let mut next = 0;
    let place = |&column: &usize| {
        (column < n_columns).then(|| {
            next += 1;
            next - 1
        })
    };
    requested.iter().map(place).collect()
}

/// A range of rows for one worker to read.
struct Task {
    of: Arc<dyn HeldRows>,
    run: usize,
    rows: Range<usize>,
    /// Of the first row in the whole.
    row_id: u64,
    number: u32,
}

/// What a scan will read.
struct Unopened {
    source: Arc<dyn Source>,
    columns: Vec<usize>,
    ranges: Vec<ColumnRange>,
}

/// Where tasks come from.
#[derive(Default)]
struct Supply {
    /// Until the first worker asks.
    unopened: Option<Unopened>,
    /// None after the end.
    stream: Option<Box<dyn RowStream>>,
    /// What is read now, from which run and row on.
    current: Option<(Arc<dyn HeldRows>, usize, usize)>,
    number: u32,
    row_id: u64,
    /// Rows that passed the filter.
    passed: u64,
}

impl Supply {
    fn next(&mut self, max_rows: usize) -> Result<Option<Task>> {
        if let Some(Unopened { source, columns, ranges }) = self.unopened.take() {
            match source.open(&columns, &ranges)? {
                Opened::Held(rows) => self.current = Some((rows, 0, 0)),
                Opened::Stream(stream) => self.stream = Some(stream),
            }
        }
        loop {
            let Some((of, run, start)) = &mut self.current else {
                let Some(stream) = &mut self.stream else { return Ok(None) };
                match stream.next() {
                    Ok(Some(rows)) => self.current = Some((rows, 0, 0)),
                    end => {
                        self.stream = None;
                        return end.map(|_| None);
                    }
                }
                continue;
            };
            match of.runs().get(*run) {
                None => self.current = None,
                Some(&n) if *start >= n => (*run, *start) = (*run + 1, 0),
                Some(&n) => {
                    let rows = *start..n.min(start.saturating_add(max_rows));
                    *start = rows.end;
                    let (row_id, number) = (self.row_id, self.number);
                    self.row_id += rows.len() as u64;
                    self.number += 1;
                    return Ok(Some(Task { of: of.clone(), run: *run, rows, row_id, number }));
                }
            }
        }
    }
}

struct Shared {
    supply: Mutex<Supply>,
    /// When known.
    n_rows: Option<u64>,
    places: Vec<Option<usize>>,
    request: ScanRequest,
}

impl Shared {
    fn supply(&self) -> MutexGuard<'_, Supply> {
        self.supply.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Columns (positions in the request) of a task.
    fn read(&self, task: &Task, rows: Range<usize>, positions: &[usize]) -> Result<Vec<Column>> {
        let n = rows.len();
        let opened: Vec<usize> = positions.iter().filter_map(|&at| self.places[at]).collect();
        let mut read = task.of.read(task.run, rows.clone(), &opened)?.into_iter();
        let mut columns = Vec::with_capacity(positions.len());
        for &at in positions {
            columns.push(match self.places[at] {
                None => {
                    let first = task.row_id + (rows.start - task.rows.start) as u64;
                    Column::Flat(Vector::from((first..first + n as u64).collect::<Vec<u64>>()))
                }
                Some(_) => match read.next() {
                    Some(column) if column.len() == n => column,
                    Some(column) => {
                        bail!(INCORRECT_DATA, "A source gave {} rows where it has {n}", column.len())
                    }
                    None => bail!(LOGICAL_ERROR, "A source gave too few columns"),
                },
            });
        }
        Ok(columns)
    }

    /// The rows of a task that pass the filter. Of the columns that the filter does not see no more is converted than
    /// from the first row that passes to the last.
    fn filtered(&self, task: &Task) -> Result<Block> {
        let all: Vec<usize> = (0..self.places.len()).collect();
        let rows = task.rows.clone();
        let Some(filter) = &self.request.filter else {
            let n = rows.len();
            return Ok(Block::new(self.read(task, rows, &all)?, n));
        };
        let tested = Block::new(self.read(task, rows.clone(), &filter.columns)?, rows.len());
        let mask = (filter.evaluate)(&tested)?;
        let first = mask.set_indices().next().unwrap_or(0);
        let end = (first..mask.len()).rposition(|row| mask.value(row)).map_or(first, |last| first + last + 1);
        let n = end - first;
        let (mask, tested) = (mask.slice(first, n), tested.slice(first, n));
        let passing = RowMask::new(&mask);
        let mut columns: Vec<Option<Column>> = vec![None; all.len()];
        // Columns that were just looked at are gathered while they are near.
        for (column, &at) in tested.columns().iter().zip(&filter.columns) {
            // Of what nobody reads any values will do.
            let is_unread = filter.unread.contains(&at);
            columns[at] =
                Some(if is_unread { column.slice(0, passing.len()) } else { column.select(&passing) });
        }
        let others: Vec<usize> = all.into_iter().filter(|at| !filter.columns.contains(at)).collect();
        let rest = self.read(task, rows.start + first..rows.start + end, &others)?;
        rest.iter().zip(&others).for_each(|(column, &at)| columns[at] = Some(column.select(&passing)));
        let Some(columns) = columns.into_iter().collect() else {
            bail!(LOGICAL_ERROR, "A source gave too few columns")
        };
        Ok(Block::new(columns, passing.len()))
    }
}

struct ReplacementTableScan(Arc<Shared>);

impl Scan for ReplacementTableScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), passed_by: 0 }))
    }

    fn parallelism(&self) -> usize {
        let max = self.0.request.context.max_block_size.max(1) as u64;
        self.0.n_rows.map_or(usize::MAX, |n| n.div_ceil(max) as usize)
    }

    fn total_rows(&self) -> Option<u64> {
        self.0.n_rows
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let rows = self.0.n_rows.filter(|_| columns.is_empty())?;
        Some(Summary { rows, extremes: Vec::new() })
    }

    fn applies_filter(&self) -> bool {
        self.0.request.filter.is_some()
    }
}

struct Worker {
    shared: Arc<Shared>,
    passed_by: u64,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let shared = &*self.shared;
        let task = {
            let mut supply = shared.supply();
            // Tasks are taken in order: what was taken by now holds the first rows that pass.
            if shared.request.limit.is_some_and(|limit| supply.passed >= limit) {
                return Ok(None);
            }
            supply.next(shared.request.context.max_block_size.max(1))?
        };
        let Some(task) = task else { return Ok(None) };
        let block = shared.filtered(&task)?;
        let n = block.n_rows();
        self.passed_by += (task.rows.len() - n) as u64;
        if shared.request.limit.is_some() {
            shared.supply().passed += n as u64;
        }
        Ok(Some(Morsel { block, task: task.number, number: 0 }))
    }

    fn take_passed_by(&mut self) -> u64 {
        std::mem::take(&mut self.passed_by)
    }
}
