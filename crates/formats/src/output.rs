//! The contract of writers: blocks, then totals and extremes if the query has them, then the end.

use crate::{FormatSettings, Schema};
use chalet_base::{Result, err};
use chalet_columns::Block;
use chalet_types::TimeZone;
use std::io::{self, Write};
use std::sync::Arc;

/// Where a writer puts its bytes. Closing ends the stream (a compressed one has a trailer) and reports what went wrong.
pub trait Sink: Write + Send {
    fn close(&mut self) -> io::Result<()> {
        self.flush()
    }
}

impl Sink for Vec<u8> {}
impl Sink for std::fs::File {}
impl Sink for io::Stdout {}
impl Sink for Box<dyn Write + Send> {}
impl<W: Write + Send> Sink for io::BufWriter<W> {}

/// A sink in memory whose bytes can be taken after the writer is done.
#[derive(Clone, Default)]
pub struct Memory(Arc<std::sync::Mutex<Vec<u8>>>);

impl Memory {
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Memory {}

/// What a query did, for formats that print it.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    pub elapsed_seconds: f64,
    pub rows_read: u64,
    pub bytes_read: u64,
    /// Rows there would have been without LIMIT; known only when there was one.
    pub rows_before_limit: Option<u64>,
    /// Rows that GROUP BY made, when it is known and asked for.
    pub rows_before_aggregation: Option<u64>,
}

/// How the pages of a column are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCodec {
    /// As the settings say, or not at all where that saves little.
    #[default]
    BySettings,
    None,
    /// The same as by settings, and floats of few digits are encoded by ALP, which not every reader of Parquet knows.
    Alp,
    /// Of this level, 1 to 22.
    Zstd(u8),
}

/// What to write.
#[derive(Clone)]
pub struct WriteRequest {
    pub header: Arc<[(String, chalet_types::DataType)]>,
    /// What columns show in place of their types, by their positions; empty where none shows something else.
    pub shown: Arc<[chalet_types::DataType]>,
    pub settings: Arc<FormatSettings>,
    /// The zone of date-times whose type names none.
    pub time_zone: TimeZone,
    /// Rows of a page at most, for formats that prune page by page; `None` leaves it to the format.
    pub page_rows: Option<usize>,
    /// Of the first columns, for formats with pages of `page_rows`; that of the others is `BySettings`.
    pub codecs: Arc<[PageCodec]>,
    /// Threads that may encode at once, for formats that can.
    pub threads: usize,
    /// The output goes to a terminal: colours and widths follow where they are left to the engine.
    pub terminal: bool,
}

impl WriteRequest {
    /// The name of the type of a column, as the header shows it.
    pub fn type_name(&self, column: usize) -> String {
        self.shown.get(column).unwrap_or(&self.header[column].1).to_string()
    }

    /// The names of the types of all columns.
    pub fn type_names(&self) -> impl Iterator<Item = String> {
        (0..self.header.len()).map(|column| self.type_name(column))
    }

    /// A header under default settings.
    pub fn new(header: Schema) -> WriteRequest {
        WriteRequest {
            header: header.into(),
            shown: Arc::default(),
            settings: Arc::default(),
            time_zone: TimeZone::utc(),
            page_rows: None,
            codecs: Arc::default(),
            threads: 1,
            terminal: false,
        }
    }
}

/// A format that can be written.
pub trait OutputFormat: Send + Sync {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>>;
}

/// Writes one result. Calls come in the order of the methods; `write` any number of times.
pub trait BlockWriter: Send {
    fn write(&mut self, block: &Block) -> Result<()>;

    /// The row of WITH TOTALS.
    fn totals(&mut self, _block: &Block) -> Result<()> {
        Ok(())
    }

    /// Two rows: minima, maxima.
    fn extremes(&mut self, _block: &Block) -> Result<()> {
        Ok(())
    }

    /// Writes what follows the rows, and closes the sink.
    fn finish(&mut self, statistics: &Statistics) -> Result<()>;

    /// Tells of an error behind the rows in the words of the format, and closes the sink. False, and nothing is written, where the
    /// format has none.
    fn exception(&mut self, _message: &str) -> Result<bool> {
        Ok(false)
    }

    /// Does it write one row after the other, so that one row alone makes sense?
    fn writes_rows(&self) -> bool {
        false
    }

    /// Hands buffered rows to the sink: a consumer waits for them.
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Gathers text before it goes to the sink in large pieces.
pub struct Out {
    pub text: Vec<u8>,
    sink: Box<dyn Sink>,
}

/// Text beyond this many bytes goes to the sink.
const PIECE: usize = 1 << 18;

impl Out {
    pub fn new(sink: Box<dyn Sink>) -> Out {
        Out { text: Vec::new(), sink }
    }

    /// Passes the text on when there is enough of it.
    pub fn settle(&mut self) -> Result<()> {
        if self.text.len() >= PIECE { self.pass_on() } else { Ok(()) }
    }

    fn pass_on(&mut self) -> Result<()> {
        self.sink.write_all(&self.text).map_err(cannot_write)?;
        self.text.clear();
        Ok(())
    }

    pub fn flush(&mut self) -> Result<()> {
        self.pass_on()?;
        self.sink.flush().map_err(cannot_write)
    }

    pub fn close(&mut self) -> Result<()> {
        self.pass_on()?;
        self.sink.close().map_err(cannot_write)
    }
}

#[cold]
pub(crate) fn cannot_write(error: io::Error) -> chalet_base::Error {
    err!(CANNOT_WRITE_TO_OSTREAM, "Cannot write to output: {error}")
}
