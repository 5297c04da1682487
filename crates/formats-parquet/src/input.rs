//! The Parquet format as a reader of files: row groups are the units.

use crate::by_number::FileRows;
use crate::known::KnownRows;
use crate::{ParquetFile, RangePredicate, RowFilter, RowGroupReader, Selection};
use chalet_base::events::{self, Event};
use chalet_base::{Result, bail};
use chalet_columns::{Block, BooleanBuffer, Vector};
use chalet_formats::by_name::ByName;
use chalet_formats::input::{FilterStage, OnlyLengths, Pruned, RowsByNumber, intersect};
use chalet_formats::passing_rows::PassingRows;
use chalet_formats::{
    BlockReader, Buffer, ColumnStatistics, FileIdentity, FileScan, FormatSettings, Input, InputFormat,
    ReadRequest, Schema, Summary, TableStatistics,
};
use chalet_types::Value;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

pub struct Parquet;

impl InputFormat for Parquet {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        // The schema is at the end.
        let identity = input.identity();
        let bytes = std::mem::replace(input, Input::from(Vec::new())).into_bytes()?;
        *input = match &identity {
            Some(identity) => Input::Known(bytes.clone(), identity.clone()),
            None => Input::Bytes(bytes.clone()),
        };
        let file = open(bytes, identity, settings)?;
        let skip = settings.input_format_parquet_skip_columns_with_unsupported_types_in_schema_inference;
        match settings.input_format_parquet_enable_json_parsing {
            true => file.schema_with_json(skip).map(Some),
            false => file.schema(skip).map(Some),
        }
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let settings = &request.settings;
        let identity = input.identity();
        let bytes = input.into_bytes()?;
        let file = match request.verify.clone() {
            Some(verify) => ParquetFile::open_with(bytes, identity.clone(), Some(verify))?,
            None => open(bytes, identity.clone(), settings)?,
        };
        let file = file.with(settings.input_format_parquet_verify_checksums, request.keep_dictionaries);
        let by_name = by_name(&file, &request)?;
        let own_filter = |filter: &chalet_formats::input::RowFilter| {
            let columns = filter.columns.iter().map(|&c| by_name.as_it_is(c)).collect::<Option<_>>()?;
            let unread = filter.unread.iter().filter_map(|&c| by_name.as_it_is(c));
            let unread = unread.map(|c| Ok((c, Vector::defaults(&file.column(by_name.read[c])?.ty, 1))));
            let unread = unread.collect::<Result<_>>().ok()?;
            let whole = [RowFilter { columns, unread, evaluate: filter.evaluate.clone() }];
            if filter.stages.is_empty() {
                return Some(whole.to_vec());
            }
            let mut stages = Vec::with_capacity(filter.stages.len());
            for stage in &filter.stages {
                let FilterStage { columns, evaluate } = stage.over(|&c| by_name.as_it_is(c))?;
                stages.push(RowFilter { columns, unread: Vec::new(), evaluate });
            }
            // What none but the filter reads, none but its stages do.
            let [whole] = whole;
            stages.last_mut()?.unread = whole.unread;
            Some(stages)
        };
        let filter = request.filter.as_ref().and_then(own_filter);
        let dynamic_filters = request.dynamic_filters.iter().filter_map(own_filter).flatten().collect();
        let predicates = request.ranges.iter().filter_map(|range| {
            let column = by_name.read[by_name.as_it_is(range.column)?];
            let (low, high, among) = (range.low.clone(), range.high.clone(), range.among.clone());
            Some(RangePredicate { column, low, high, among })
        });
        let predicates = match settings.input_format_parquet_filter_push_down {
            true => predicates.collect(),
            false => Vec::new(),
        };
        let selections = selections(&file, &request, &by_name);
        let known = match (&request.remember, &filter, identity) {
            (Some(remember), Some(_), Some(identity)) => Some(remember(&identity, file.n_row_groups())),
            _ => None,
        };
        let candidates = file.candidates(&predicates);
        Ok(Box::new(Scan {
            file,
            known,
            request,
            selections,
            filter,
            dynamic_filters,
            predicates,
            by_name: Arc::new(by_name),
            candidates,
            next_group: 0,
            first_row: 0,
            pieces: VecDeque::new(),
            pruned: Pruned::default(),
        }))
    }

    fn numbers_rows(&self) -> bool {
        true
    }

    fn applies_dynamic_filters(&self) -> bool {
        true
    }
}

/// A file whose footer may be known from before.
fn open(
    bytes: Buffer,
    identity: Option<Arc<FileIdentity>>,
    settings: &FormatSettings,
) -> Result<Arc<ParquetFile>> {
    match identity.filter(|_| settings.use_parquet_metadata_cache) {
        Some(identity) => ParquetFile::open_known(bytes, identity),
        None => ParquetFile::open(bytes),
    }
}

pub(crate) struct Scan {
    pub file: Arc<ParquetFile>,
    /// The rows that pass the filter, as far as it is known.
    known: Option<Arc<PassingRows>>,
    pub request: ReadRequest,
    pub selections: Arc<[Selection]>,
    /// In stages. Absent where the filter reads columns that the file has in another type: it must see them converted.
    pub filter: Option<Vec<RowFilter>>,
    /// First, as they are cheap and leave few rows.
    dynamic_filters: Vec<RowFilter>,
    predicates: Vec<RangePredicate>,
    pub by_name: Arc<ByName>,
    /// Row groups outside of which no row meets the predicates.
    candidates: Range<usize>,
    next_group: usize,
    /// Of that group, in the file.
    first_row: u64,
    /// Of the group before it, what was not given out yet.
    pieces: VecDeque<Piece>,
    pruned: Pruned,
}

/// Rows of a row group that are a unit.
struct Piece {
    group: usize,
    /// Of the row group, in the file.
    first_row: u64,
    /// Of the row group; `None` for all.
    rows: Option<Vec<Range<usize>>>,
    found: Option<Arc<Found>>,
}

/// Rows of a piece of a row group, at least.
const PIECE_ROWS: usize = 1 << 14;

impl Scan {
    /// The rows of a row group, from that row of the file on, that the request asks for; `None` for all.
    fn wanted_rows(&self, group: usize, first_row: u64) -> Option<Vec<Range<usize>>> {
        let wanted = self.request.rows.as_ref()?;
        let first = usize::try_from(first_row).ok()?;
        let end = first + self.file.row_group_rows(group);
        let from = wanted.partition_point(|range| range.end <= first);
        let to = wanted.partition_point(|range| range.start < end);
        let own = wanted.get(from..to).unwrap_or(&[]).iter();
        Some(own.map(|range| range.start.max(first) - first..range.end.min(end) - first).collect())
    }

    /// Goes on to the next row group that is a candidate, or behind the last one.
    fn pass_by(&mut self) {
        let Range { start, end } = self.candidates;
        let next = match self.next_group {
            group if group < start => start,
            group if group >= end => self.file.n_row_groups(),
            group => group,
        };
        let passed = self.next_group..next;
        if passed.is_empty() {
            return;
        }
        let rows: u64 = passed.clone().map(|group| self.file.row_group_rows(group) as u64).sum();
        events::add(Event::ParquetPrunedRowGroups, passed.len() as u64);
        self.pruned.units += passed.len() as u64;
        self.pruned.rows += rows;
        self.first_row += rows;
        self.next_group = next;
    }

    fn known_rows(&self, group: usize) -> Option<&[u32]> {
        self.known.as_ref()?.of(group)
    }

    /// Cuts rows of a row group into as many pieces as it takes for there to be enough units.
    fn cut(&mut self, group: usize, first_row: u64, rows: Option<Vec<Range<usize>>>) {
        let n_rows = self.file.row_group_rows(group);
        let kept = rows.as_ref().map_or(n_rows, |rows| rows.iter().map(ExactSizeIterator::len).sum());
        let n_groups = self.candidates.len().max(1);
        let n = self.request.units.div_ceil(n_groups).min(kept / PIECE_ROWS).max(1);
        // What passes a bound, too, is not all that passes the filter.
        let known = self.known.clone().filter(|_| self.dynamic_filters.is_empty());
        let found = known.map(|known| Arc::new(Found::new(known, group, n_rows, n)));
        let pieces: Vec<Option<Vec<Range<usize>>>> = match (n, &rows) {
            (1, _) => vec![rows],
            (_, Some(rows)) => cut_evenly(rows, n).into_iter().map(Some).collect(),
            (_, None) => cut_evenly(std::slice::from_ref(&(0..n_rows)), n).into_iter().map(Some).collect(),
        };
        let piece = |rows| Piece { group, first_row, rows, found: found.clone() };
        self.pieces.extend(pieces.into_iter().map(piece));
    }

    fn unit(&self, piece: Piece) -> Result<Box<dyn BlockReader>> {
        let Piece { group, first_row, rows, found } = piece;
        let filters = self.dynamic_filters.iter().chain(self.filter.iter().flatten()).cloned().collect();
        let kept: usize = rows.iter().flatten().map(ExactSizeIterator::len).sum();
        let n_rows = if rows.is_some() { kept } else { self.file.row_group_rows(group) };
        let reader = self.file.read_row_group(group, &self.selections, filters, rows)?;
        events::count(Event::ParquetReadRowGroups);
        let bytes: u64 = self.selections.iter().map(|s| self.file.compressed_bytes(group, s.column)).sum();
        Ok(Box::new(Group {
            reader,
            has_filter: self.filter.is_some(),
            request: self.request.clone(),
            by_name: self.by_name.clone(),
            first_row,
            n_rows: n_rows as u64,
            rows_read: 0,
            bytes: bytes * n_rows as u64 / (self.file.row_group_rows(group) as u64).max(1),
            omitted: Vec::new(),
            found: found.map(|all| (all, Vec::new())),
        }))
    }
}

/// Divides rows into `n` runs of about as many, in order.
fn cut_evenly(rows: &[Range<usize>], n: usize) -> Vec<Vec<Range<usize>>> {
    let kept: usize = rows.iter().map(ExactSizeIterator::len).sum();
    let mut pieces = vec![Vec::new(); n];
    let mut at = 0;
    for range in rows {
        let mut rest = range.clone();
        while !rest.is_empty() {
            // The first row of the next piece, counted in kept rows.
            let piece = (at * n / kept).min(n - 1);
            let end = ((piece + 1) * kept).div_ceil(n);
            let taken = rest.len().min(end - at);
            pieces[piece].push(rest.start..rest.start + taken);
            rest.start += taken;
            at += taken;
        }
    }
    pieces
}

impl FileScan for Scan {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        if let Some(piece) = self.pieces.pop_front() {
            return self.unit(piece).map(Some);
        }
        let settings = &self.request.settings;
        let use_bloom_filter = settings.input_format_parquet_bloom_filter_push_down;
        let filters_pages =
            settings.input_format_parquet_page_filter_push_down && !self.predicates.is_empty();
        let (group, first_row) = loop {
            self.pass_by();
            let group = self.next_group;
            if group == self.file.n_row_groups() {
                return Ok(None);
            }
            let first_row = self.first_row;
            self.next_group += 1;
            self.first_row += self.file.row_group_rows(group) as u64;
            let has_wanted = self.wanted_rows(group, first_row).is_none_or(|rows| !rows.is_empty());
            if self.known_rows(group).is_some_and(<[u32]>::is_empty) {
                self.pruned.remembered += 1;
            } else if has_wanted
                && (self.predicates.is_empty()
                    || self.file.can_match(group, &self.predicates, use_bloom_filter))
            {
                break (group, first_row);
            }
            events::count(Event::ParquetPrunedRowGroups);
            self.pruned.units += 1;
            self.pruned.rows += self.file.row_group_rows(group) as u64;
        };
        if let Some(rows) = self.known_rows(group) {
            let rows: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
            self.pruned.known += 1;
            self.pruned.rows += (self.file.row_group_rows(group) - rows.len()) as u64;
            return Ok(Some(Box::new(KnownRows::new(self, group, first_row, rows)?)));
        }
        let rows = match filters_pages {
            true => self.file.matching_rows(group, &self.predicates),
            false => None,
        };
        let rows = match (rows, self.wanted_rows(group, first_row)) {
            (Some(found), Some(wanted)) => Some(intersect(&found, &wanted)),
            (found, wanted) => found.or(wanted),
        };
        if let Some(rows) = &rows {
            let kept: usize = rows.iter().map(|range| range.len()).sum();
            self.pruned.rows += (self.file.row_group_rows(group) - kept) as u64;
        }
        self.cut(group, first_row, rows);
        match self.pieces.pop_front() {
            Some(piece) => self.unit(piece).map(Some),
            None => bail!(LOGICAL_ERROR, "A Parquet row group has no piece"),
        }
    }

    fn pruned(&self) -> Pruned {
        self.pruned
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let positions = columns.iter().map(|&c| Some(self.by_name.read[self.by_name.as_it_is(c)?]));
        let positions: Vec<usize> = positions.collect::<Option<_>>()?;
        let mut extremes = Vec::with_capacity(positions.len());
        for position in positions {
            extremes.push(self.file.extremes(position)?);
        }
        Some(Summary { rows: self.file.n_rows(), extremes })
    }

    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        let of = |&column: &usize| self.file.nulls(self.by_name.read[self.by_name.with_its_nulls(column)?]);
        columns.iter().map(of).collect()
    }

    fn page_minima(&self, column: usize) -> Option<Vec<(usize, Value)>> {
        self.file.page_minima(self.by_name.read[self.by_name.as_it_is(column)?])
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let of = |&column: &usize| match self.by_name.as_it_is(column) {
            Some(read) => self.file.column_statistics(self.by_name.read[read]),
            None => ColumnStatistics::default(),
        };
        Some(TableStatistics { rows: self.file.n_rows() as f64, columns: columns.iter().map(of).collect() })
    }

    fn rows_by_number(&self) -> Option<Arc<dyn RowsByNumber>> {
        Some(Arc::new(FileRows::new(self.file.clone(), self.request.clone())))
    }
}

/// What is read of a file: of strings of which only the lengths are needed, the column of the lengths where it has one.
fn selections(file: &ParquetFile, request: &ReadRequest, by_name: &ByName) -> Arc<[Selection]> {
    let mut selections: Vec<Selection> = by_name.read.iter().map(|&column| Selection::new(column)).collect();
    for OnlyLengths { wanted, kept_as } in &request.only_lengths {
        let mut behind = request.structure.len()..file.n_columns();
        let lengths = behind.find(|&column| file.column_name(column) == kept_as);
        if let (Some(position), Some(column)) = (by_name.as_it_is(*wanted), lengths) {
            events::count(Event::StringsReadByLength);
            selections[position] = Selection { is_length: true, ..Selection::new(column) };
        }
    }
    selections.into()
}

/// How the wanted columns are made from those of a file.
pub(crate) fn by_name(file: &ParquetFile, request: &ReadRequest) -> Result<ByName> {
    let settings = &request.settings;
    ByName::new(
        request,
        (0..file.n_columns()).map(|column| file.column_name(column)),
        |column| Ok(file.column(column)?.ty.clone()),
        settings.input_format_parquet_case_insensitive_column_matching,
        settings.input_format_parquet_allow_missing_columns,
    )
}

struct Group {
    reader: RowGroupReader,
    has_filter: bool,
    request: ReadRequest,
    by_name: Arc<ByName>,
    /// Of the row group, in the file.
    first_row: u64,
    n_rows: u64,
    rows_read: u64,
    /// Of the columns that are read, compressed.
    bytes: u64,
    omitted: Vec<Option<BooleanBuffer>>,
    /// Rows that passed the filter; gone when there are too many to be remembered.
    found: Option<(Arc<Found>, Vec<u32>)>,
}

/// Rows of a row group that passed the filter, to be remembered once all its pieces were read.
struct Found {
    known: Arc<PassingRows>,
    group: usize,
    most: usize,
    /// How many pieces are still to come, and the rows of the others; none when there are too many.
    rows: Mutex<Option<(usize, Vec<u32>)>>,
}

impl Found {
    fn new(known: Arc<PassingRows>, group: usize, n_rows: usize, pieces: usize) -> Found {
        Found { known, group, most: PassingRows::most(n_rows), rows: Mutex::new(Some((pieces, Vec::new()))) }
    }

    /// Adds those of a piece.
    fn add(&self, rows: Vec<u32>) {
        let mut all = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((pieces, found)) = all.as_mut() else { return };
        *pieces -= 1;
        found.extend(rows);
        if found.len() > self.most {
            *all = None;
        } else if *pieces == 0 {
            found.sort_unstable();
            self.known.insert(self.group, std::mem::take(found));
            *all = None;
        }
    }
}

impl BlockReader for Group {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let limit = self.request.settings.input_format_parquet_max_block_size.max(1) as usize;
        let Some(block) = self.reader.next_block(max_rows.min(limit))? else {
            if let Some((found, rows)) = self.found.take() {
                found.add(rows);
            }
            return Ok(None);
        };
        let n = block.n_rows();
        if let Some((found, rows)) = &mut self.found {
            if rows.len() + n <= found.most {
                rows.extend(self.reader.row_numbers().into_iter().map(|row| row as u32));
            } else {
                self.found = None;
            }
        }
        self.rows_read += n as u64;
        self.omitted = self.by_name.omitted(n);
        let block = self.by_name.block(&block, &self.request)?;
        if !self.request.row_numbers {
            return Ok(Some(block));
        }
        let numbers: Vec<u64> =
            self.reader.row_numbers().into_iter().map(|row| self.first_row + row).collect();
        let mut columns = block.into_columns();
        columns.push(Vector::from(numbers).into());
        Ok(Some(Block::new(columns, n)))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn applies_filter(&self) -> bool {
        self.has_filter
    }

    fn rows_passed_by(&self) -> u64 {
        self.reader.filtered() as u64
    }

    fn bytes_read(&self) -> u64 {
        let rows = self.rows_read + self.reader.filtered() as u64;
        self.bytes * rows / self.n_rows.max(1)
    }
}
