//! The contract of readers. A file is opened once; the opened file hands out units that any thread may read.

use crate::passing_rows::PassingRows;
use crate::statistics::TableStatistics;
use crate::{FileIdentity, FormatSettings};
use arrow_buffer::Buffer;
use chalet_base::{Error, Result, err};
use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_types::{DataType, TimeZone, Value};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

/// Names and types of columns, in order.
pub type Schema = Vec<(String, DataType)>;

/// The bytes of one file: all in memory (or mapped into it), or a stream of them.
pub enum Input {
    Bytes(Buffer),
    /// The bytes of a file in a known state: what readers find out about it holds as long as it is in that state.
    Known(Buffer, Arc<FileIdentity>),
    Stream(Stream),
}

/// A stream whose beginning can be looked at before it is read.
pub struct Stream {
    /// Bytes taken from `rest` that no one has consumed yet.
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
    ended: bool,
}

impl Input {
    pub fn stream(rest: Box<dyn Read + Send>) -> Input {
        Input::Stream(Stream { head: Vec::new(), rest, ended: false })
    }

    /// Up to `limit` bytes from the beginning, and whether they are all there are. Nothing is consumed.
    pub fn head(&mut self, limit: usize) -> Result<(&[u8], bool)> {
        match self {
            Input::Bytes(bytes) | Input::Known(bytes, _) => {
                Ok((&bytes[..limit.min(bytes.len())], bytes.len() <= limit))
            }
            Input::Stream(stream) => {
                stream.fill(limit)?;
                let shown = limit.min(stream.head.len());
                Ok((&stream.head[..shown], stream.ended && stream.head.len() <= limit))
            }
        }
    }

    /// The file that it is, if its state is known.
    pub fn identity(&self) -> Option<Arc<FileIdentity>> {
        match self {
            Input::Known(_, identity) => Some(identity.clone()),
            Input::Bytes(_) | Input::Stream(_) => None,
        }
    }

    /// All bytes; a stream is read to its end.
    pub fn into_bytes(self) -> Result<Buffer> {
        match self {
            Input::Bytes(bytes) | Input::Known(bytes, _) => Ok(bytes),
            Input::Stream(mut stream) => {
                stream.fill(usize::MAX)?;
                Ok(Buffer::from_vec(stream.head))
            }
        }
    }
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Self {
        Input::Bytes(Buffer::from_vec(bytes))
    }
}

impl From<Buffer> for Input {
    fn from(bytes: Buffer) -> Self {
        Input::Bytes(bytes)
    }
}

impl Stream {
    /// Reads until at least `wanted` bytes are held or the stream ends.
    pub fn fill(&mut self, wanted: usize) -> Result<()> {
        // What is announced may be a lie.
        const TRUSTED: usize = 64 << 20;
        if wanted < usize::MAX && !self.ended {
            self.head.reserve(wanted.saturating_sub(self.head.len()).min(TRUSTED));
        }
        while !self.ended && self.head.len() < wanted {
            let step = (wanted - self.head.len()).clamp(64 << 10, 1 << 20) as u64;
            let got = (&mut self.rest).take(step).read_to_end(&mut self.head).map_err(cannot_read)?;
            self.ended = (got as u64) < step;
        }
        Ok(())
    }

    /// What is held now, and whether the stream ends with it.
    pub fn held(&self) -> (&[u8], bool) {
        (&self.head, self.ended)
    }

    /// Gives bytes back that were taken: they are held before the others.
    pub fn put_back(&mut self, bytes: &[u8]) {
        self.head.splice(..0, bytes.iter().copied());
    }

    /// Takes the first `n` held bytes away.
    pub fn consume(&mut self, n: usize) -> Buffer {
        let rest = self.head.split_off(n);
        Buffer::from_vec(std::mem::replace(&mut self.head, rest))
    }
}

/// What went wrong in a stream: a decoder says so in an error of ours.
#[cold]
fn cannot_read(error: std::io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(ours) => ours.clone(),
        None => err!(CANNOT_READ_ALL_DATA, "Cannot read data: {error}"),
    }
}

/// Evaluates an expression of the dialect inside data (the Values format allows them).
pub type Evaluate = Arc<dyn Fn(&str, &DataType) -> Result<Value> + Send + Sync>;

/// Converts a column from one type to another as CAST does.
pub type Cast = Arc<dyn Fn(&Column, &DataType, &DataType) -> Result<Column> + Send + Sync>;

/// `low <= column <= high`, either end open; the column is not NULL then.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRange {
    /// Position among the columns that are asked for.
    pub column: usize,
    /// Value and whether it is included.
    pub low: Option<(Value, bool)>,
    pub high: Option<(Value, bool)>,
    /// One of these values (sorted), when not empty.
    pub among: Vec<Value>,
    /// Within one of these intervals, when not empty; `low` and `high` span them all.
    pub any_of: Vec<Interval>,
}

impl ColumnRange {
    /// No bound of a column yet.
    pub fn of(column: usize) -> ColumnRange {
        ColumnRange { column, low: None, high: None, among: Vec::new(), any_of: Vec::new() }
    }
}

/// Values between two bounds, either of which may be missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// Value and whether it is included.
    pub low: Option<(Value, bool)>,
    pub high: Option<(Value, bool)>,
}

impl Interval {
    /// One value alone.
    pub fn point(value: &Value) -> Interval {
        let bound = Some((value.clone(), true));
        Interval { low: bound.clone(), high: bound }
    }
}

/// A condition on rows as code, for readers that decode the other columns only for rows that pass.
#[derive(Clone)]
pub struct RowFilter {
    /// Positions among the columns that are asked for, in the order of the block that `evaluate` gets.
    pub columns: Vec<usize>,
    /// Those of them that nobody else reads: readers that apply the filter may give any values for them.
    pub unread: Vec<usize>,
    /// Which rows of a block of those columns pass.
    pub evaluate: Arc<dyn Fn(&Block) -> Result<BooleanBuffer> + Send + Sync>,
    /// The same as several conditions that are best tested one after the other, each on the rows that those before left; empty where
    /// it is one.
    pub stages: Vec<FilterStage>,
}

/// One of several conditions of a filter.
#[derive(Clone)]
pub struct FilterStage {
    /// Positions as those of the filter, in the order of the block that `evaluate` gets.
    pub columns: Vec<usize>,
    /// Which rows of a block of those columns pass.
    pub evaluate: Arc<dyn Fn(&Block) -> Result<BooleanBuffer> + Send + Sync>,
}

impl FilterStage {
    /// The stage over columns that are elsewhere; none where one of them is not there.
    pub fn over(&self, own: impl Fn(&usize) -> Option<usize>) -> Option<FilterStage> {
        let columns = self.columns.iter().map(own).collect::<Option<_>>()?;
        Some(FilterStage { columns, evaluate: self.evaluate.clone() })
    }
}

/// Of a file with so many units: the rows that are known to pass the filter of the request. Readers add to them.
pub type Remember = Arc<dyn Fn(&Arc<FileIdentity>, usize) -> Arc<PassingRows> + Send + Sync>;

/// Fails where the bytes of a range of the file are not those that were written. Readers call it before they use bytes.
pub type Verify = Arc<dyn Fn(Range<usize>) -> Result<()> + Send + Sync>;

/// A wanted column of strings that may come with any bytes, as long as there are as many.
#[derive(Clone, Debug)]
pub struct OnlyLengths {
    /// Position among the wanted columns.
    pub wanted: usize,
    /// The name of a column behind those of the structure where the file may keep the lengths, as UInt32.
    pub kept_as: String,
}

/// What to read from a file.
#[derive(Clone)]
pub struct ReadRequest {
    /// All columns of the table: positional formats find them in each row, in this order.
    pub structure: Arc<[(String, DataType)]>,
    /// Which of them the blocks hold, in this order.
    pub wanted: Arc<[usize]>,
    pub settings: Arc<FormatSettings>,
    /// The zone of date-times whose type names none.
    pub time_zone: TimeZone,
    /// Absent where no engine is at hand; expressions inside data are then refused.
    pub evaluate: Option<Evaluate>,
    /// For files that carry their own types; absent where no engine is at hand.
    pub cast: Option<Cast>,
    /// Rows that do not pass may be left out; [`BlockReader::applies_filter`] says whether they are.
    pub filter: Option<RowFilter>,
    /// Rows that do not pass them are not needed. They may get stricter from block to block. Hints: the reader may ignore them.
    pub dynamic_filters: Vec<RowFilter>,
    /// Wanted strings of which only the lengths are needed.
    pub only_lengths: Vec<OnlyLengths>,
    /// Conditions that every needed row meets, for leaving out units and rows that cannot; all hold together.
    pub ranges: Arc<[ColumnRange]>,
    /// Only these rows of the file may be needed, ascending and apart; `None` for all. A hint: the reader may ignore it.
    pub rows: Option<Arc<[Range<usize>]>>,
    /// Blocks have one more column, the last: UInt64, the number of the row in the file. Only of formats that number rows.
    pub row_numbers: bool,
    /// As many units are best for who reads the file: one of fewer may cut them. A hint.
    pub units: usize,
    /// May dictionaries of which few values are needed be kept for others who read the file?
    pub keep_dictionaries: bool,
    /// Given where the filter is one that may be remembered.
    pub remember: Option<Remember>,
    /// Given where the bytes of the file have checksums.
    pub verify: Option<Verify>,
}

impl ReadRequest {
    /// All columns of a structure under default settings.
    pub fn all(structure: Schema) -> ReadRequest {
        ReadRequest {
            wanted: (0..structure.len()).collect(),
            structure: structure.into(),
            settings: Arc::default(),
            time_zone: TimeZone::utc(),
            evaluate: None,
            cast: None,
            filter: None,
            dynamic_filters: Vec::new(),
            only_lengths: Vec::new(),
            ranges: Arc::new([]),
            rows: None,
            row_numbers: false,
            units: 1,
            keep_dictionaries: true,
            remember: None,
            verify: None,
        }
    }

    pub fn with_settings(mut self, settings: Arc<FormatSettings>) -> ReadRequest {
        self.settings = settings;
        self
    }
}

/// A format that can be read.
pub trait InputFormat: Send + Sync {
    /// Finds names and types in the data. `None`: this format cannot, the structure must be given.
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>>;

    /// Reads what stands before the rows (a header, a footer) and prepares the reading of rows.
    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>>;

    /// Can it say the number of each row, and read rows by their numbers?
    fn numbers_rows(&self) -> bool {
        false
    }

    /// Does it use the dynamic filters of a request?
    fn applies_dynamic_filters(&self) -> bool {
        false
    }
}

/// An opened file. Units come in file order; each may be read by any thread, several at once.
pub trait FileScan: Send {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>>;

    /// What the ranges of the request excluded so far.
    fn pruned(&self) -> Pruned {
        Pruned::default()
    }

    /// The rows of this very file by their numbers, when the format numbers rows.
    fn rows_by_number(&self) -> Option<Arc<dyn RowsByNumber>> {
        None
    }

    /// The first row of each page of a column, a position among the wanted ones, with a value that none of its rows is below; ascending
    /// rows, the first one 0. `None` where that is not known of every page.
    fn page_minima(&self, column: usize) -> Option<Vec<(usize, Value)>> {
        let _ = column;
        None
    }

    /// What is known of the rows without reading them, exact or not; `columns` are positions among the wanted ones.
    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let rows = self.summary(&[])?.rows;
        Some(TableStatistics::of_rows(rows as f64, columns.len()))
    }

    /// What the file says of all its rows without their being read; `columns` are positions among the wanted ones.
    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let _ = columns;
        None
    }

    /// The same of the number of NULLs of each column.
    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        let _ = columns;
        None
    }
}

/// Rows of an opened file by their numbers.
pub trait RowsByNumber: Send + Sync {
    /// Cuts ascending numbers into the runs that are best read each for itself.
    fn runs(&self, numbers: &[u64]) -> Vec<Range<usize>>;

    /// Columns (positions in the structure of the request) of the rows of ascending numbers.
    fn read(&self, numbers: &[u64], wanted: Arc<[usize]>) -> Result<Block>;
}

/// What is known of rows without reading them; all of it is exact.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub rows: u64,
    /// For each column that was asked about, the smallest and the largest value; none when all are NULL.
    pub extremes: Vec<Option<(Value, Value)>>,
}

impl Summary {
    /// Of no rows.
    pub fn empty(n_columns: usize) -> Summary {
        Summary { rows: 0, extremes: vec![None; n_columns] }
    }

    /// Adds what is known of other rows.
    pub fn merge(&mut self, other: Summary) {
        self.rows += other.rows;
        for (mine, other) in self.extremes.iter_mut().zip(other.extremes) {
            *mine = match (mine.take(), other) {
                (Some((min, max)), Some((other_min, other_max))) => {
                    let min = if other_min.compare(&min).is_lt() { other_min } else { min };
                    let max = if other_max.compare(&max).is_gt() { other_max } else { max };
                    Some((min, max))
                }
                (mine, other) => mine.or(other),
            };
        }
    }
}

/// Units of a file, and rows in them, that were not given out because no row of them can be needed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pruned {
    pub units: u64,
    /// Those of `units` that an earlier query with the same condition found empty.
    pub remembered: u64,
    /// Units of which only the rows were read that an earlier query with the same condition found.
    pub known: u64,
    pub rows: u64,
}

/// Rows that are in both lists of ranges, each of which is ascending and apart.
pub fn intersect(a: &[Range<usize>], b: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        let both = a[i].start.max(b[j].start)..a[i].end.min(b[j].end);
        if !both.is_empty() {
            out.push(both);
        }
        if a[i].end < b[j].end { i += 1 } else { j += 1 }
    }
    out
}

/// Reads the rows of one unit.
pub trait BlockReader: Send {
    /// At most `max_rows` rows (at least 1) of the wanted columns; `None` at the end.
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>>;

    /// For each wanted column the rows of the last block that the data left out, so that the table's DEFAULT
    /// expression applies; empty when there are none.
    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &[]
    }

    /// The blocks hold exactly the rows that pass the filter of the request.
    fn applies_filter(&self) -> bool {
        false
    }

    /// Rows that were looked at so far and are in no block.
    fn rows_passed_by(&self) -> u64 {
        0
    }

    /// Bytes of the file consumed so far, for progress.
    fn bytes_read(&self) -> u64 {
        0
    }
}

/// A file of one unit, for formats that cannot be split.
pub struct Whole(Option<Box<dyn BlockReader>>);

impl Whole {
    pub fn scan(reader: impl BlockReader + 'static) -> Box<dyn FileScan> {
        Whole::boxed(Box::new(reader))
    }

    pub fn boxed(reader: Box<dyn BlockReader>) -> Box<dyn FileScan> {
        Box::new(Whole(Some(reader)))
    }
}

impl FileScan for Whole {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        Ok(self.0.take())
    }
}

/// All blocks of a scan, one after the other.
pub fn read_all(scan: &mut dyn FileScan, max_rows: usize) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    while let Some(mut unit) = scan.next_unit()? {
        while let Some(block) = unit.next_block(max_rows)? {
            blocks.push(block);
        }
    }
    Ok(blocks)
}
