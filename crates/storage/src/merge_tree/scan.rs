//! Parts to blocks. Each row group of a file, and some blocks of each part in memory, are a task of their own; statistics and the
//! page index of files leave out what cannot pass the filter.

use super::definition::Definition;
use super::layout::{Layout, Place, places};
use super::part::Part;
use super::part_file::{lengths_of, structure};
use super::part_rows::PartRows;
use super::partition_bounds::{may_be_within, partition_columns};
use super::runs::PartRuns;
use super::scan_worker::{Rows, Unit, Worker};
use super::skip_index::rows_to_read;
use super::sorted_rows::{first_columns, hinted_granules, is_within, sorted_rows};
use super::stored_type::{is_same, keeps_order};
use crate::condition_cache;
use crate::file_statistics::merged;
use crate::row_ids;
use crate::samples::{self, SampleSize};
use crate::scan::{ScanFilter, ScanProgress};
use crate::sorted_runs::SortedRuns;
use crate::{RowsById, Scan, ScanRequest, ScanWorker};
use chalet_base::events::{self, Event};
use chalet_base::{Result, err};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::input::{ColumnRange, FileScan, OnlyLengths, Pruned, RowFilter, RowsByNumber, intersect};
use chalet_formats::{ColumnStatistics, FormatSettings, Input, ReadRequest, Summary, TableStatistics};
use chalet_types::{DataType, Value};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A scan of some columns of parts.
pub(super) struct PartsScan {
    shared: Arc<Shared>,
    parallelism: usize,
}

pub(super) struct Shared {
    pub parts: Vec<Arc<Part>>,
    pub definition: Arc<Definition>,
    pub request: ScanRequest,
    /// The numbers of the columns that rows of parts are sorted by first.
    sorted_by: Vec<u32>,
    /// Those of the partition key.
    partition_columns: Vec<u32>,
    pub places: Vec<Place>,
    /// Are rows numbered, for row ids or a column of their numbers?
    pub numbers: bool,
    state: Mutex<State>,
    /// Of the files that were opened, when row ids are asked for.
    pub rows: Vec<OnceLock<Arc<dyn RowsByNumber>>>,
    /// Of each index that is used: its granules, and those that it left.
    tested: Mutex<Vec<(u64, u64)>>,
}

#[derive(Default)]
struct State {
    next_part: usize,
    /// Units that were looked for before anybody read them, or the error that came of it.
    ahead: VecDeque<Result<Unit>>,
    open: Option<(usize, Box<dyn FileScan>)>,
    /// The part in memory that is read now, and its rows that no worker has taken.
    resident: Option<(usize, VecDeque<Range<usize>>)>,
    next_task: u32,
    units_read: u32,
    pruned: Pruned,
    /// Parts of which nothing was read.
    pruned_parts: u64,
}

impl PartsScan {
    pub fn new(
        parts: Vec<Arc<Part>>,
        definition: &Arc<Definition>,
        request: &ScanRequest,
    ) -> Result<PartsScan> {
        let places = places(&definition.schema, &definition.columns, &request.columns)?;
        let numbers = request.with_row_ids || places.iter().any(Place::needs_numbers);
        let rows = parts.iter().map(|_| OnceLock::new()).collect();
        let parallelism = request.context.max_threads.max(1);
        let shared = Shared {
            parts,
            definition: definition.clone(),
            request: request.clone(),
            sorted_by: first_columns(&definition.keys, &definition.columns),
            partition_columns: partition_columns(&definition.keys.partition, &definition.columns),
            places,
            numbers,
            state: Mutex::default(),
            rows,
            tested: Mutex::default(),
        };
        Ok(PartsScan { shared: Arc::new(shared), parallelism })
    }
}

/// Blocks of a part in memory that a worker takes at once: few, so that all workers share a small table.
const RESIDENT_BLOCKS: usize = 2;

/// Rows of a table that may be one unit only.
const FEW_ROWS: u64 = 1 << 18;

/// Parts whose statistics are looked at; the others are taken to be like them.
const MAX_PARTS: usize = 16;

impl PartsScan {
    /// What is known of all rows, or guessed at little cost, for the requested columns.
    pub fn statistics(&self) -> Option<TableStatistics> {
        let shared = &self.shared;
        let n_columns = shared.places.len();
        let all_rows: u64 = shared.parts.iter().map(|part| part.info.rows).sum();
        let mut largest: Vec<&Arc<Part>> = shared.parts.iter().collect();
        largest.sort_by_key(|part| std::cmp::Reverse(part.info.rows));
        let mut found: Option<TableStatistics> = None;
        for part in largest.into_iter().take(MAX_PARTS) {
            let known = shared.part_statistics(part);
            let known = known.unwrap_or_else(|| TableStatistics::of_rows(part.info.rows as f64, n_columns));
            found = Some(match found {
                None => known,
                Some(before) => merged(before, known),
            });
        }
        let mut found = found.unwrap_or_default();
        found.columns.resize(n_columns, ColumnStatistics::default());
        found.rows = all_rows as f64;
        Some(found)
    }
}

impl PartsScan {
    /// Some rows of the largest parts, of the requested columns.
    pub fn sample(&self, size: SampleSize) -> Result<Block> {
        let shared = &self.shared;
        let all_rows = shared.parts.iter().map(|part| part.info.rows).sum();
        let mut largest: Vec<usize> = (0..shared.parts.len()).collect();
        largest.sort_by_key(|&part| std::cmp::Reverse(shared.parts[part].info.rows));
        let mut blocks = Vec::new();
        for part in largest.into_iter().take(samples::MAX_SOURCES) {
            blocks.push(shared.sample_of(part, all_rows, size)?);
        }
        Ok(Block::concat(&blocks))
    }

    /// How many rows of each part statistics, sorting keys and indexes leave.
    pub fn selected_rows(&self) -> Result<Vec<u64>> {
        let shared = &self.shared;
        let of_part = |part: &Arc<Part>| {
            if let Some(block) = part.resident() {
                if shared.request.whole_granules {
                    let left = shared.resident_ranges(part, block);
                    return Ok(left.iter().map(|rows| rows.len() as u64).sum());
                }
                let Range { start, end } = shared.resident_rows(part, block);
                // As files have it, whose granules are read as a whole.
                let granule = shared.definition.granularity.max(1);
                let rounded = end.div_ceil(granule).saturating_mul(granule).min(block.n_rows());
                return Ok(if start < end { (rounded - start / granule * granule) as u64 } else { 0 });
            }
            let Some(mut scan) = shared.open_part(part, None)? else { return Ok(0) };
            while scan.next_unit().map_err(|e| e.context(in_part(part)))?.is_some() {}
            Ok(part.info.rows.saturating_sub(scan.pruned().rows))
        };
        shared.parts.iter().map(of_part).collect()
    }
}

impl Scan for PartsScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker::new(self.shared.clone())))
    }

    /// Where few rows are left, no more threads are woken than there are units.
    fn parallelism(&self) -> usize {
        let is_small = self.total_rows().is_some_and(|rows| rows <= FEW_ROWS);
        if self.shared.request.ranges.is_empty() && !is_small {
            return self.parallelism;
        }
        self.shared.look_ahead(self.parallelism).max(1)
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.shared.parts.iter().map(|part| part.info.rows).sum())
    }

    fn applies_filter(&self) -> bool {
        self.shared.request.filter.is_some()
    }

    fn applies_dynamic_filters(&self) -> bool {
        true
    }

    fn sorted_runs(&self, key: Option<usize>) -> Option<Arc<dyn SortedRuns>> {
        Some(Arc::new(PartRuns::new(self.shared.clone(), key)))
    }

    fn rows_by_id(&self) -> Option<Arc<dyn RowsById>> {
        self.shared.request.with_row_ids.then(|| PartRows::of(self.shared.clone()))
    }

    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        let shared = &self.shared;
        if shared.request.filter.is_some() {
            return None;
        }
        let mut all = vec![0; columns.len()];
        for part in &shared.parts {
            let scan = shared.open_part(part, None).ok()??;
            let layout = Layout::of(part, &shared.places, &shared.definition).ok()?;
            let own = |&column: &usize| {
                let Place::Stored(_, ty) = &shared.places[column] else { return None };
                layout.as_it_is(column, ty)
            };
            let own: Vec<usize> = columns.iter().map(own).collect::<Option<_>>()?;
            let counts = scan.null_counts(&own)?;
            all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Some(all)
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let shared = &self.shared;
        if shared.request.filter.is_some() {
            return None;
        }
        let mut all = Summary::empty(columns.len());
        for part in &shared.parts {
            let scan = shared.open_part(part, None).ok()??;
            let layout = Layout::of(part, &shared.places, &shared.definition).ok()?;
            let own = |&column: &usize| {
                let Place::Stored(_, ty) = &shared.places[column] else { return None };
                layout.as_it_is(column, ty).filter(|_| is_same(ty) && keeps_order(ty))
            };
            let own: Vec<usize> = columns.iter().map(own).collect::<Option<_>>()?;
            all.merge(scan.summary(&own)?);
        }
        Some(all)
    }

    fn describe(&self) -> Vec<(String, String)> {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = vec![("Parts".into(), self.shared.parts.len().to_string())];
        let request = &self.shared.request;
        let tested = self.shared.tested.lock().unwrap_or_else(PoisonError::into_inner);
        for (condition, (granules, left)) in request.skip_conditions.iter().zip(tested.iter()) {
            lines.push((format!("Index {}", condition.name), format!("{left}/{granules} granules")));
        }
        if !request.ranges.is_empty() || !request.skip_conditions.is_empty() {
            lines.push(("Parts skipped".into(), state.pruned_parts.to_string()));
            lines.push(("Units read".into(), state.units_read.to_string()));
            lines.push(("Units skipped".into(), state.pruned.units.to_string()));
            lines.push(("Rows skipped".into(), state.pruned.rows.to_string()));
        }
        lines
    }
}

impl Shared {
    fn sample_of(&self, number: usize, all_rows: u64, size: SampleSize) -> Result<Block> {
        let part = &self.parts[number];
        let layout = Layout::of(part, &self.places, &self.definition)?;
        let numbers = samples::row_numbers(part.info.rows, all_rows, size);
        let read = match part.resident() {
            Some(block) => {
                let rows: Vec<u32> = numbers.iter().map(|&row| row as u32).collect();
                let columns = layout.wanted.iter().map(|&at| block.column(at).clone()).collect();
                Block::new(columns, block.n_rows()).gather(&rows)
            }
            None => {
                let identity = part.open()?.and_then(|input| input.identity());
                samples::kept(identity, format!("{:?} {}", layout.wanted, numbers.len()), || {
                    let Some(scan) = self.open_part(part, None)? else { return Ok(Block::default()) };
                    samples::of_file(&*scan, layout.wanted.clone(), Some(all_rows), size)
                })?
            }
        };
        let n_rows = numbers.len();
        let numbers = Some(Column::from(Vector::from(numbers)));
        let columns =
            self.complete(number, &layout, self.places.len(), read.into_columns(), numbers, n_rows)?;
        Ok(Block::new(columns, n_rows))
    }

    fn part_statistics(&self, part: &Part) -> Option<TableStatistics> {
        if let Some(block) = part.resident() {
            return self.resident_statistics(part, block);
        }
        let scan = self.open_part(part, None).ok()??;
        let layout = Layout::of(part, &self.places, &self.definition).ok()?;
        let own: Vec<Option<usize>> = self
            .places
            .iter()
            .enumerate()
            .map(|(column, place)| match place {
                Place::Stored(_, ty) => layout.as_it_is(column, ty).filter(|_| keeps_order(ty)),
                _ => None,
            })
            .collect();
        let asked: Vec<usize> = own.iter().flatten().copied().collect();
        let known = scan.statistics(&asked)?;
        let mut of_asked = known.columns.into_iter();
        let columns = own.iter().map(|column| column.and_then(|_| of_asked.next()).unwrap_or_default());
        Some(TableStatistics { rows: known.rows, columns: columns.collect() })
    }

    /// What samples say of the columns of a part in memory.
    fn resident_statistics(&self, part: &Part, block: &Block) -> Option<TableStatistics> {
        let rows = part.info.rows;
        let layout = Layout::of(part, &self.places, &self.definition).ok()?;
        let of_block = |(column, place): (usize, &Place)| match place {
            Place::Stored(_, ty) => layout.as_it_is(column, ty).map(|at| layout.wanted[at]),
            _ => None,
        };
        let positions: Vec<Option<usize>> = self.places.iter().enumerate().map(of_block).collect();
        let asked: Vec<usize> = positions.iter().flatten().copied().collect();
        let read = |at: usize| {
            let numbers = samples::row_numbers(rows, rows, SampleSize::Conditions);
            let numbers: Vec<u32> = numbers.iter().map(|&row| row as u32).collect();
            Some(block.column(at).gather(&numbers))
        };
        let mut known = part.sampled.statistics(rows, &asked, read).columns.into_iter();
        let columns = positions.iter().map(|at| at.and_then(|_| known.next()).unwrap_or_default()).collect();
        Some(TableStatistics { rows: rows as f64, columns })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The filter over the columns that are read of a part; none if it reads others, or such as must be converted first.
    fn own_filter(&self, filter: &ScanFilter, layout: &Layout) -> Option<RowFilter> {
        let own = |&column: &usize| {
            let Place::Stored(_, ty) = &self.places[column] else { return None };
            layout.as_it_is(column, ty).filter(|_| is_same(ty))
        };
        let columns = filter.columns.iter().map(own).collect::<Option<_>>()?;
        let unread =
            filter.unread.iter().filter_map(own).filter(|at| !layout.of_defaults.contains(at)).collect();
        let stages = filter.stages.iter().map(|stage| stage.over(own)).collect::<Option<_>>()?;
        Some(RowFilter { columns, unread, evaluate: filter.evaluate.clone(), stages })
    }

    fn own_range(&self, range: &ColumnRange, layout: &Layout) -> Option<ColumnRange> {
        let Place::Stored(_, ty) = &self.places[range.column] else { return None };
        let column = layout.as_it_is(range.column, ty).filter(|_| keeps_order(ty))?;
        Some(ColumnRange { column, ..range.clone() })
    }

    /// Where a requested column is among the columns of a part, if the part has it in this very type.
    pub fn position(&self, part: &Part, column: usize, ty: &DataType) -> Option<usize> {
        let layout = Layout::of(part, &self.places, &self.definition).ok()?;
        layout.as_it_is(column, ty).map(|at| layout.wanted[at])
    }

    /// Where it is among those that are read of the part.
    pub fn read_position(&self, part: &Part, column: usize, ty: &DataType) -> Option<usize> {
        Layout::of(part, &self.places, &self.definition).ok()?.as_it_is(column, ty)
    }

    /// The file of a part, opened for all rows or some; none where the part is in memory.
    pub fn open_part(&self, part: &Part, rows: Option<&Range<usize>>) -> Result<Option<Box<dyn FileScan>>> {
        let layout = Layout::of(part, &self.places, &self.definition)?;
        let Some(input) = part.open()? else { return Ok(None) };
        let verify = match &input {
            Input::Bytes(bytes) | Input::Known(bytes, _) => part.verifier(bytes.clone()),
            Input::Stream(_) => None,
        };
        let filter = self.request.filter.as_ref().and_then(|filter| self.own_filter(filter, &layout));
        // Of some rows nothing is found out about the others.
        let remember =
            (filter.is_some() && rows.is_none()).then(|| condition_cache::remember(&self.request)).flatten();
        let read = ReadRequest {
            wanted: layout.wanted.clone(),
            settings: settings(),
            filter,
            dynamic_filters: self
                .request
                .dynamic_filters
                .iter()
                .filter_map(|filter| self.own_filter(filter, &layout))
                .collect(),
            only_lengths: self.only_lengths(part, &layout),
            ranges: self.request.ranges.iter().filter_map(|range| self.own_range(range, &layout)).collect(),
            rows: match (self.rows_to_read(part)?, rows) {
                (Some(left), Some(rows)) => Some(intersect(&left, std::slice::from_ref(rows)).into()),
                (left, rows) => left.or(rows.map(|rows| Arc::from([rows.clone()]))),
            },
            row_numbers: self.numbers,
            keep_dictionaries: self.request.context.use_dictionary_cache,
            // Runs that are read in order are cut by who merges them.
            units: match rows {
                None => self.request.context.max_threads.div_ceil(self.parts.len().max(1)),
                Some(_) => 1,
            },
            remember,
            verify,
            ..ReadRequest::all(structure(&part.columns)?)
        };
        self.definition.format.open(input, read).map(Some).map_err(|e| e.context(in_part(part)))
    }

    /// Strings that may come with any bytes.
    fn only_lengths(&self, part: &Part, layout: &Layout) -> Vec<OnlyLengths> {
        let own = |&column: &usize| {
            let Place::Stored(_, ty) = &self.places[column] else { return None };
            let wanted = layout.as_it_is(column, ty).filter(|at| !layout.of_defaults.contains(at))?;
            let name = &part.columns.columns[layout.wanted[wanted]].name;
            Some(OnlyLengths { wanted, kept_as: lengths_of(name) })
        };
        self.request.only_lengths.iter().filter_map(own).collect()
    }

    /// The rows of a part that the indexes of the table leave.
    fn rows_to_read(&self, part: &Part) -> Result<Option<Arc<[Range<usize>]>>> {
        if self.request.skip_conditions.is_empty() {
            return Ok(None);
        }
        let begun = Instant::now();
        let mut tested = self.tested.lock().unwrap_or_else(PoisonError::into_inner);
        tested.resize(self.request.skip_conditions.len(), (0, 0));
        let rows = rows_to_read(part, &self.request.skip_conditions, &mut |at, granules, left| {
            tested[at].0 += granules as u64;
            tested[at].1 += left as u64;
        })?;
        let time = begun.elapsed().as_micros() as u64;
        events::add(Event::FilteringMarksWithSecondaryKeysMicroseconds, time);
        if let Some(rows) = &rows {
            let left: usize = rows.iter().map(|range| range.len()).sum();
            events::add(Event::SkipIndexPrunedRows, part.info.rows - left as u64);
        }
        Ok(rows.map(Arc::from))
    }

    /// The rows of a part in memory that are to be read, none of the ranges empty.
    fn resident_ranges(&self, part: &Part, block: &Block) -> Vec<Range<usize>> {
        if !self.request.whole_granules {
            return Some(self.resident_rows(part, block))
                .filter(|rows| !rows.is_empty())
                .into_iter()
                .collect();
        }
        if !may_be_within(part, block, &self.partition_columns, &self.places, &self.request.ranges) {
            return Vec::new();
        }
        let granularity = self.definition.granularity;
        let sorted_by = self.sorted_by_of(part);
        hinted_granules(part, block, sorted_by, &self.places, &self.request.ranges, granularity)
    }

    /// The numbers of the columns that the rows of a part are sorted by.
    fn sorted_by_of<'a>(&'a self, part: &'a Part) -> &'a [u32] {
        let own = part.sorted_by.as_slice();
        if own.is_empty() { &self.sorted_by } else { own }
    }

    /// The rows of a part in memory that ranges leave.
    fn resident_rows(&self, part: &Part, block: &Block) -> Range<usize> {
        if !may_be_within(part, block, &self.partition_columns, &self.places, &self.request.ranges) {
            return 0..0;
        }
        sorted_rows(part, block, self.sorted_by_of(part), &self.places, &self.request.ranges)
    }

    /// May rows with this value of a requested column pass the filter?
    pub fn may_be_read(&self, column: usize, value: &Value) -> bool {
        is_within(value, column, &self.request.ranges)
    }

    /// The next unit of any part.
    pub fn next_unit(&self) -> Result<Option<Unit>> {
        let mut state = self.lock();
        match state.ahead.pop_front() {
            Some(unit) => unit.map(Some),
            None => self.find_unit(&mut state),
        }
    }

    /// How many units are left, at most `n`.
    fn look_ahead(&self, n: usize) -> usize {
        let mut state = self.lock();
        while state.ahead.len() < n {
            match self.find_unit(&mut state).transpose() {
                Some(unit) => state.ahead.push_back(unit),
                None => break,
            }
        }
        state.ahead.len()
    }

    fn find_unit(&self, state: &mut State) -> Result<Option<Unit>> {
        loop {
            if let Some((part, scan)) = &mut state.open {
                let part = *part;
                if let Some(reader) = scan.next_unit().map_err(|e| e.context(in_part(&self.parts[part])))? {
                    state.units_read += 1;
                    let rows = Rows::File { reader, bytes: 0, passed_by: 0 };
                    return self.unit(state, part, rows).map(Some);
                }
                let pruned = scan.pruned();
                state.open = None;
                state.pruned.units += pruned.units;
                state.pruned.remembered += pruned.remembered;
                state.pruned.rows += pruned.rows;
                if pruned.rows == self.parts[part].info.rows {
                    state.pruned_parts += 1;
                    events::count(Event::MergeTreePrunedParts);
                }
                self.progress().skipped_rows.fetch_add(pruned.rows, Relaxed);
            }
            if let Some((part, left)) = &mut state.resident {
                let part = *part;
                let Some(next) = left.front_mut() else {
                    state.resident = None;
                    continue;
                };
                let rows = next.start..next.end.min(next.start + self.resident_task());
                next.start = rows.end;
                if next.start >= next.end {
                    left.pop_front();
                }
                return self.unit(state, part, Rows::Resident { rows }).map(Some);
            }
            let part = state.next_part;
            let Some(next) = self.parts.get(part) else { return Ok(None) };
            state.next_part += 1;
            if let Some(block) = next.resident() {
                let rows = self.resident_ranges(next, block);
                let n_left: usize = rows.iter().map(Range::len).sum();
                let pruned = (block.n_rows() - n_left) as u64;
                state.pruned.rows += pruned;
                self.progress().skipped_rows.fetch_add(pruned, Relaxed);
                if n_left == 0 {
                    state.pruned_parts += 1;
                    events::count(Event::MergeTreePrunedParts);
                } else {
                    state.units_read += 1;
                    state.resident = Some((part, rows.into()));
                }
                continue;
            }
            let Some(scan) = self.open_part(next, None)? else { continue };
            self.keep_rows(part, &*scan)?;
            state.open = Some((part, scan));
        }
    }

    fn unit(&self, state: &mut State, part: usize, rows: Rows) -> Result<Unit> {
        let task = state.next_task;
        state.next_task += 1;
        let layout = Layout::of(&self.parts[part], &self.places, &self.definition)?;
        Ok(Unit::new(part, task, layout, rows))
    }

    /// Rows of a part in memory that a worker takes at once.
    fn resident_task(&self) -> usize {
        self.request.context.max_block_size.max(1).saturating_mul(RESIDENT_BLOCKS)
    }

    /// Keeps what reads rows of a part by their numbers, where they may be asked for.
    pub fn keep_rows(&self, part: usize, scan: &dyn FileScan) -> Result<()> {
        if self.numbers && self.rows[part].get().is_none() {
            let rows =
                scan.rows_by_number().ok_or_else(|| err!(LOGICAL_ERROR, "A reader does not number rows"))?;
            let _ = self.rows[part].set(rows);
        }
        Ok(())
    }

    pub fn progress(&self) -> &ScanProgress {
        &self.request.context.progress
    }

    /// The first columns of rows that were read of a part; `numbers` are those of the rows, where they are needed.
    pub fn complete(
        &self,
        part: usize,
        layout: &Layout,
        n_columns: usize,
        read: Vec<Column>,
        numbers: Option<Column>,
        n_rows: usize,
    ) -> Result<Vec<Column>> {
        let mut made = Vec::with_capacity(layout.places.len() + 1);
        let columns = &self.definition.columns;
        let (info, is_resident) = (&self.parts[part].info, self.parts[part].resident().is_some());
        let constant =
            |value: Value, ty: &DataType| Ok(Column::constant(Vector::of_value(&value, ty)?, n_rows));
        for (place, read_at) in layout.places.iter().zip(&layout.read) {
            made.push(match place {
                Place::BlockNumber | Place::BlockOffset if read_at.is_some() => {
                    let at = read_at.unwrap_or_default();
                    layout.converted(
                        at,
                        read[at].clone(),
                        is_resident,
                        &DataType::UInt64,
                        &self.definition.cast,
                    )?
                }
                Place::Stored(id, ty) => match read_at {
                    Some(at) => {
                        let cast = &self.definition.cast;
                        layout.converted(*at, read[*at].clone(), is_resident, ty, cast)?
                    }
                    None => {
                        let known = columns.position(*id).map(|at| columns.columns[at].fill.clone());
                        Column::constant(known.unwrap_or_else(|| Vector::defaults(ty, 1)), n_rows)
                    }
                },
                Place::Part => constant(Value::string(info.name()), &DataType::String)?,
                Place::PartitionId => constant(Value::string(&*info.partition.id), &DataType::String)?,
                Place::PartIndex => constant(Value::UInt(part as u64), &DataType::UInt64)?,
                Place::DataVersion => {
                    constant(Value::UInt(info.mutation.max(info.max_block)), &DataType::UInt64)?
                }
                Place::BlockNumber => constant(Value::UInt(info.min_block), &DataType::UInt64)?,
                Place::StartingOffset => {
                    let before: u64 = self.parts[..part].iter().map(|part| part.info.rows).sum();
                    constant(Value::UInt(before), &DataType::UInt64)?
                }
                Place::PartUuid => Column::constant(Vector::defaults(&DataType::Uuid, 1), n_rows),
                Place::DiskName => constant(Value::string("default"), &DataType::String)?,
                Place::RowExists => constant(Value::UInt(1), &DataType::UInt8)?,
                Place::Distance => constant(Value::Float(0.0), &DataType::Float32)?,
                Place::SampleFactor => constant(Value::Float(1.0), &DataType::Float64)?,
                Place::Offset | Place::BlockOffset => numbered(&numbers)?.clone(),
                Place::GranuleOffset => self.granules(numbered(&numbers)?)?,
            });
        }
        // What others are computed from stands behind them.
        for (at, computed) in layout.computed.iter().rev() {
            made[*at] = computed.of(&made, n_rows, &self.definition)?;
        }
        made.truncate(n_columns);
        Ok(made)
    }

    /// The granules of rows of these numbers.
    fn granules(&self, numbers: &Column) -> Result<Column> {
        let numbers = numbers.flat();
        let granularity = self.definition.granularity.max(1) as u64;
        let granules = numbers.values::<u64>()?.iter().map(|number| number / granularity);
        Ok(Column::Flat(Vector::from(granules.collect::<Vec<_>>())))
    }

    /// The requested columns of rows, and their row ids where those are asked for.
    pub fn morsel(
        &self,
        unit: &(usize, &Layout),
        read: Vec<Column>,
        numbers: Option<Column>,
        n_rows: usize,
    ) -> Result<Block> {
        let (part, layout) = *unit;
        let row_ids = numbers.as_ref().filter(|_| self.request.with_row_ids);
        let row_ids = row_ids.map(|numbers| row_ids::row_ids(part, numbers)).transpose()?;
        let mut columns = self.complete(part, layout, self.places.len(), read, numbers, n_rows)?;
        columns.extend(row_ids);
        Ok(Block::new(columns, n_rows))
    }
}

fn numbered(numbers: &Option<Column>) -> Result<&Column> {
    numbers.as_ref().ok_or_else(|| err!(LOGICAL_ERROR, "Rows are not numbered"))
}

/// How parts are read, whatever the settings of the query say of Parquet files.
fn settings() -> Arc<FormatSettings> {
    static SETTINGS: OnceLock<Arc<FormatSettings>> = OnceLock::new();
    SETTINGS.get_or_init(Arc::default).clone()
}

pub(super) fn in_part(part: &Part) -> String {
    format!("(in part {})", part.info.name())
}
