//! What statements answer: bytes of a format, or rows.

use chalet_columns::Block;
use chalet_types::{DataType, TimeZone};
use std::time::Duration;

/// The answer to one text of statements.
#[derive(Debug)]
pub struct Answer {
    /// What the statements printed, one after the other.
    pub bytes: Vec<u8>,
    /// The rows of the last statement with a result, when rows were asked for and it named no format.
    pub rows: Option<Rows>,
    /// The format of the bytes.
    pub format: String,
    pub rows_read: u64,
    pub bytes_read: u64,
    pub rows_written: u64,
    pub peak_memory: u64,
    pub elapsed: Duration,
}

/// A result as columns.
#[derive(Clone, Debug)]
pub struct Rows {
    pub names: Vec<String>,
    pub types: Vec<DataType>,
    pub blocks: Vec<Block>,
    /// Zone of date-times whose type names none.
    pub zone: TimeZone,
}
