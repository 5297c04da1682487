//! What statements answer: bytes of a format, rows, or blocks as they come.

use crate::formats::FORMATS;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_formats::output::Memory;
use chalet_formats::{FormatSettings, Schema, Statistics, WriteRequest};
use chalet_types::{DataType, TimeZone};
use std::sync::Arc;
use std::time::Duration;

/// What rows are printed as when neither caller nor statement named a format.
pub const DEFAULT_FORMAT: &str = "CSV";

/// The answer to one text of statements.
#[derive(Clone)]
pub struct Answer {
    /// What the statements printed, one after the other.
    pub bytes: Vec<u8>,
    /// The rows of the last statement with a result, when rows were asked for and it named no format.
    pub rows: Option<Rows>,
    /// What the rows are printed as.
    pub rows_format: String,
    /// The format of the bytes.
    pub format: String,
    pub rows_read: u64,
    pub bytes_read: u64,
    pub rows_written: u64,
    pub bytes_written: u64,
    /// Rows of the results, and bytes of memory that they take as columns.
    pub result_rows: u64,
    pub result_bytes: u64,
    pub peak_memory: u64,
    pub elapsed: Duration,
}

impl Answer {
    /// All that was printed, with the rows after the bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.bytes.clone();
        if let Some(rows) = &self.rows {
            bytes.extend(rows.to_format(&self.rows_format)?);
        }
        Ok(bytes)
    }
}

/// A result as columns.
#[derive(Clone)]
pub struct Rows {
    pub names: Vec<String>,
    pub types: Vec<DataType>,
    /// What columns show in place of their types, by their positions; empty where none shows something else.
    pub shown: Arc<[DataType]>,
    pub blocks: Vec<Block>,
    /// One row, of WITH TOTALS.
    pub totals: Option<Block>,
    /// Two rows, by the setting `extremes`.
    pub extremes: Option<Block>,
    /// At least so many rows there were before LIMIT.
    pub rows_before_limit: Option<u64>,
    /// Zone of date-times whose type names none.
    pub zone: TimeZone,
    /// The format settings of the statement.
    pub formats: Arc<FormatSettings>,
}

impl Rows {
    pub fn n_rows(&self) -> usize {
        self.blocks.iter().map(Block::n_rows).sum()
    }

    /// The rows as bytes of a format.
    pub fn to_format(&self, format: &str) -> Result<Vec<u8>> {
        let schema: Schema = self.names.iter().cloned().zip(self.types.iter().cloned()).collect();
        let request = WriteRequest {
            shown: self.shown.clone(),
            settings: self.formats.clone(),
            time_zone: self.zone.clone(),
            ..WriteRequest::new(schema)
        };
        let memory = Memory::default();
        let mut writer = FORMATS.get(format)?.writer(request, Box::new(memory.clone()))?;
        for block in self.blocks.iter().filter(|block| !block.is_empty()) {
            writer.write(block)?;
        }
        if let Some(totals) = &self.totals {
            writer.totals(totals)?;
        }
        if let Some(extremes) = &self.extremes {
            writer.extremes(extremes)?;
        }
        writer.finish(&Statistics { rows_before_limit: self.rows_before_limit, ..Statistics::default() })?;
        Ok(memory.take())
    }
}

/// Names and types of the columns of a query.
pub type Outline = Vec<(String, DataType)>;

/// What a stream hands out.
pub enum StreamPart {
    /// First: the columns, without a row, and the format that the statement names.
    Header(Rows, Option<String>),
    Block(Block),
    /// Behind all blocks: one row, of WITH TOTALS.
    Totals(Block),
    /// Last: two rows, by the setting `extremes`.
    Extremes(Block),
}

/// What a statement did whose rows were handed out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub rows_read: u64,
    pub bytes_read: u64,
    pub rows_written: u64,
    pub bytes_written: u64,
    pub peak_memory: u64,
    pub elapsed: Duration,
    /// Rows there were before LIMIT, when there was one.
    pub rows_before_limit: Option<u64>,
}

/// Takes what a stream hands out; one call at a time, in order. An error ends the query.
pub type StreamConsumer = Box<dyn FnMut(StreamPart) -> Result<()> + Send>;
