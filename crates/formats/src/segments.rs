//! Cutting a text file at row ends into units, so that several threads parse one file.

use crate::input::{BlockReader, FileScan, Input};
use arrow_buffer::Buffer;
use chalet_base::Result;
use std::sync::Arc;

/// A unit is at least this many bytes, if the file is.
pub const UNIT: usize = 1 << 21;

/// A text file after its header was read: knows where rows end and how to read a run of them.
pub trait Rows: Send + Sync + 'static {
    /// The end of the first row that ends at or after `at_least` (> 0); `None` when none does inside `bytes`.
    /// `bytes` begin where a row begins.
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize>;

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader>;
}

/// Whole rows of a file.
pub struct Unit {
    pub bytes: Buffer,
    before: Before,
    /// Nothing follows in the file.
    pub last: bool,
}

/// The rows before a unit: counted, or the bytes to count them in if an error ever asks.
enum Before {
    Rows(u64),
    Bytes(Buffer),
}

impl Unit {
    /// A file in one unit.
    pub fn whole(bytes: Buffer) -> Unit {
        Unit { bytes, before: Before::Rows(0), last: true }
    }

    /// How many rows of the file stand before this unit.
    #[cold]
    pub fn rows_before(&self, rows: &dyn Rows) -> u64 {
        match &self.before {
            Before::Rows(n) => *n,
            Before::Bytes(bytes) => count(rows, bytes),
        }
    }
}

fn count(rows: &dyn Rows, mut bytes: &[u8]) -> u64 {
    let mut n = 0;
    while !bytes.is_empty() {
        let end = rows.row_end(bytes, 1).unwrap_or(bytes.len());
        bytes = &bytes[end.max(1)..];
        n += 1;
    }
    n
}

/// The scan of a splittable text file.
pub struct SegmentScan<R: Rows> {
    rows: Arc<R>,
    input: Input,
    /// Where the rows begin, and where the next unit does, in an input held in memory.
    start: usize,
    at: usize,
    /// Rows handed out so far, counted for streams only.
    handed_out: u64,
}

impl<R: Rows> SegmentScan<R> {
    /// `start`: bytes of the header.
    pub fn new(rows: R, mut input: Input, start: usize) -> Result<Self> {
        if let Input::Stream(stream) = &mut input {
            stream.fill(start)?;
            let n = start.min(stream.held().0.len());
            stream.consume(n);
        }
        Ok(SegmentScan { rows: Arc::new(rows), input, start, at: start, handed_out: 0 })
    }

    fn next(&mut self) -> Result<Option<Unit>> {
        match &mut self.input {
            Input::Bytes(bytes) | Input::Known(bytes, _) => {
                let rest = &bytes[self.at.min(bytes.len())..];
                if rest.is_empty() {
                    return Ok(None);
                }
                let len = if rest.len() <= UNIT {
                    rest.len()
                } else {
                    self.rows.row_end(rest, UNIT).unwrap_or(rest.len()).clamp(1, rest.len())
                };
                let unit = Unit {
                    bytes: bytes.slice_with_length(self.at, len),
                    before: Before::Bytes(bytes.slice_with_length(self.start, self.at - self.start)),
                    last: len == rest.len(),
                };
                self.at += len;
                Ok(Some(unit))
            }
            Input::Stream(stream) => {
                let mut wanted = UNIT + (UNIT >> 2);
                loop {
                    stream.fill(wanted)?;
                    let (held, ended) = stream.held();
                    if held.is_empty() {
                        return Ok(None);
                    }
                    let end = if held.len() <= UNIT { None } else { self.rows.row_end(held, UNIT) };
                    let len = match end {
                        Some(end) => end.clamp(1, held.len()),
                        None if ended => held.len(),
                        None => {
                            wanted *= 2;
                            continue;
                        }
                    };
                    let last = ended && len == held.len();
                    let bytes = stream.consume(len);
                    let before = Before::Rows(self.handed_out);
                    self.handed_out += count(&*self.rows, &bytes);
                    return Ok(Some(Unit { bytes, before, last }));
                }
            }
        }
    }
}

impl<R: Rows> FileScan for SegmentScan<R> {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        Ok(self.next()?.map(|unit| self.rows.clone().reader(unit)))
    }
}

/// The end of the first line that ends at or after `at_least`.
pub fn line_end(bytes: &[u8], at_least: usize) -> Option<usize> {
    let from = at_least.saturating_sub(1).min(bytes.len());
    Some(from + memchr::memchr(b'\n', &bytes[from..])? + 1)
}
