//! `send_query`: a query that runs on a thread of its own while its rows are fetched. At most some megabytes wait.

use crate::arrow;
use crate::background::{self, Stop};
use crate::engine::{Handle, Used};
use crate::error::{InterfaceError, ProgrammingError, raised};
use crate::pipe::{Pipe, Taken};
use crate::result::QueryResult;
use crate::watch::{Order, Watch};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Schema};
use chalet_base::{Error, Result, codes, err, forks};
use chalet_columns::Block;
use chalet_engine::{Answer, Rows, RunOptions, Stream, StreamPart};
use chalet_memory::guarded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Rows that wait to be fetched, in bytes of memory.
const MOST_WAITING: usize = 16 << 20;
/// Small blocks that wait are handed out together, up to so many rows.
const CHUNK_ROWS: usize = 65_536;
/// How long a fetch goes without looking for signals.
const TICK: Duration = Duration::from_millis(20);
/// What a format must be for the rows to be handed out as Arrow.
const ARROW: [&str; 3] = ["Arrow", "ArrowStream", "ArrowTable"];

/// In which form chunks are handed out.
#[derive(Clone)]
enum Form {
    /// Results with rows; totals and extremes are rows too, as clients of servers get them.
    Rows,
    Frame,
    Table,
    Bytes(String),
}

/// What the query's thread and the fetching one share.
struct Shared {
    blocks: Pipe<Block>,
    /// Set before the first block.
    header: Mutex<Option<(Rows, Option<String>)>>,
    failure: Mutex<Option<Error>>,
    /// Knows when the time of the query is over.
    order: Order,
    /// By its user, who is told of no failure any more.
    given_up: AtomicBool,
    /// Of forks: a child has no thread that runs the query, which may have held these locks.
    generation: u32,
}

impl Shared {
    fn is_of_parent(&self) -> bool {
        self.generation != forks::generation()
    }

    /// Nobody waits for it, or its time is over.
    fn is_to_stop(&self) -> bool {
        self.blocks.is_closed() || self.order.is_given()
    }

    fn close(&self) {
        if !self.is_of_parent() {
            self.blocks.close();
        }
    }
}

impl Stop for Shared {
    fn stop(&self) {
        lock(&self.failure).get_or_insert(err!(QUERY_WAS_CANCELLED, "Query was cancelled"));
        self.blocks.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows of a query, fetched while it runs.
#[pyclass(frozen, module = "chalet")]
pub struct StreamingResult {
    shared: Arc<Shared>,
    /// Until the first fetch.
    waiting: Mutex<Option<(Stream, Arc<Handle>)>>,
    /// Rows that were looked at for their header.
    held: Mutex<Option<Rows>>,
    form: Form,
    is_arrow: bool,
    /// Handed over to an Arrow stream.
    consumed: AtomicBool,
    started: Instant,
}

// A query whose result nobody holds any more ends.
impl Drop for StreamingResult {
    fn drop(&mut self) {
        if !self.consumed.load(Ordering::Relaxed) {
            self.shared.close();
        }
    }
}

impl StreamingResult {
    /// Without a format rows are handed out.
    pub fn new(
        handle: Used,
        sql: &str,
        format: Option<&str>,
        options: RunOptions,
        order: Order,
    ) -> Result<StreamingResult> {
        let shared = Arc::new(Shared {
            blocks: Pipe::new(MOST_WAITING),
            header: Mutex::new(None),
            failure: Mutex::new(None),
            order,
            given_up: AtomicBool::new(false),
            generation: forks::generation(),
        });
        // The thread is not Python's main one, so signals are none of its business.
        let asked = Arc::downgrade(&shared);
        let closed = move || asked.upgrade().is_none_or(|shared| shared.is_to_stop());
        let options = RunOptions { interrupt: Some(Arc::new(closed)), ..options };
        let stream = handle.stream(sql, options)?;
        let weak: Weak<Shared> = Arc::downgrade(&shared);
        handle.keep_stoppable(weak);
        let is = |name: &str| format.is_some_and(|format| format.eq_ignore_ascii_case(name));
        let form = match format {
            None => Form::Rows,
            Some(_) if is("DataFrame") => Form::Frame,
            Some(_) if is("ArrowTable") => Form::Table,
            Some(format) => Form::Bytes(format.to_owned()),
        };
        Ok(StreamingResult {
            shared,
            waiting: Mutex::new(Some((stream, handle.handle()))),
            held: Mutex::new(None),
            form,
            is_arrow: ARROW.iter().any(|name| is(name)),
            consumed: AtomicBool::new(false),
            started: Instant::now(),
        })
    }

    /// Starts the query, if it has not been.
    fn start(&self) -> Result<()> {
        let Some((stream, handle)) = lock(&self.waiting).take() else { return Ok(()) };
        if self.shared.blocks.is_closed() {
            return Ok(());
        }
        let shared = Arc::downgrade(&self.shared);
        let used = Used::begin(&handle);
        let takes_totals = matches!(self.form, Form::Rows);
        let run = move || {
            let _used = used;
            let target = shared.clone();
            let consumer = Box::new(move |part: StreamPart| {
                let gone = || err!(QUERY_WAS_CANCELLED, "Query was cancelled");
                let shared = target.upgrade().ok_or_else(gone)?;
                match part {
                    StreamPart::Header(rows, format) => *lock(&shared.header) = Some((rows, format)),
                    StreamPart::Totals(_) | StreamPart::Extremes(_) if !takes_totals => {}
                    StreamPart::Block(block) | StreamPart::Totals(block) | StreamPart::Extremes(block) => {
                        let bytes = block.memory();
                        if !shared.blocks.put(block, bytes) {
                            return Err(gone());
                        }
                    }
                }
                Ok(())
            });
            let result = stream.run(consumer);
            if let Some(shared) = shared.upgrade() {
                if let Err(error) = result {
                    let is_stopped = error.code() == codes::QUERY_WAS_CANCELLED && shared.order.is_given();
                    let error = if is_stopped { shared.order.error() } else { error };
                    lock(&shared.failure).get_or_insert(error);
                }
                shared.blocks.end();
            }
        };
        let stop: Weak<Shared> = Arc::downgrade(&self.shared);
        let thread = background::spawn("chalet-stream", stop, run);
        thread.map(drop).map_err(|e| err!(CANNOT_SCHEDULE_TASK, "Cannot start the thread of a query: {e}"))
    }

    fn check_process(&self) -> PyResult<()> {
        if !self.shared.is_of_parent() {
            return Ok(());
        }
        Err(InterfaceError::new_err("The streaming query runs in the process that this one was forked from"))
    }

    /// The next rows with their header; None at the end.
    fn next_rows(&self, py: Python<'_>) -> PyResult<Option<Rows>> {
        self.check_process()?;
        if let Some(held) = lock(&self.held).take() {
            return Ok(Some(held));
        }
        let watch = Watch::begin(None)?;
        let _inside = watch.enter(py)?;
        let take = || {
            self.start()?;
            loop {
                match self.shared.blocks.take(TICK) {
                    Taken::Item(block) => return Ok(Some(self.with_followers(block))),
                    Taken::Ended if self.shared.given_up.load(Ordering::Relaxed) => return Ok(None),
                    Taken::Ended => return lock(&self.shared.failure).take().map_or(Ok(None), Err),
                    Taken::NotYet if watch.should_stop() => {
                        self.shared.blocks.close();
                        return Err(watch.error());
                    }
                    Taken::NotYet => {}
                }
            }
        };
        let taken = py.detach(|| guarded(take));
        if let Some(error) = watch.take_raised() {
            return Err(error);
        }
        let block = taken.map_err(|e| raised(py, &e, "Streaming query failed: "))?;
        let Some(block) = block else { return Ok(None) };
        let header = lock(&self.shared.header).as_ref().map(|(rows, _)| rows.clone());
        Ok(header.map(|rows| Rows { blocks: vec![block], ..rows }))
    }

    /// The block and those that wait behind it, while they are small.
    fn with_followers(&self, first: Block) -> Block {
        let mut rows = first.n_rows();
        let mut blocks = vec![first];
        while rows < CHUNK_ROWS / 2
            && let Taken::Item(block) = self.shared.blocks.take(Duration::ZERO)
        {
            rows += block.n_rows();
            blocks.push(block);
        }
        Block::concat(&blocks)
    }

    fn chunk<'py>(&self, py: Python<'py>, rows: Rows) -> PyResult<Bound<'py, PyAny>> {
        let named = lock(&self.shared.header).as_ref().and_then(|(_, format)| format.clone());
        let form = named.map_or_else(|| self.form.clone(), Form::Bytes);
        let n_rows = rows.n_rows() as u64;
        let result_bytes = rows.blocks.iter().map(|block| block.memory() as u64).sum();
        let (bytes, format) = match &form {
            Form::Bytes(format) => {
                let made = background::away(py, || guarded(|| rows.to_format(format)))?;
                (made.map_err(|e| raised(py, &e, "Streaming query failed: "))?, format.clone())
            }
            _ => (Vec::new(), String::new()),
        };
        let keeps_rows = format.is_empty();
        let answer = Answer {
            bytes,
            rows: keeps_rows.then_some(rows),
            rows_format: "CSV".into(),
            format,
            rows_read: n_rows,
            bytes_read: result_bytes,
            rows_written: 0,
            bytes_written: 0,
            result_rows: n_rows,
            result_bytes,
            peak_memory: 0,
            elapsed: self.started.elapsed(),
        };
        let result = Bound::new(py, QueryResult::new(answer))?;
        match form {
            Form::Frame => result.get().df(py),
            Form::Table => result.get().arrow_table(py),
            Form::Rows | Form::Bytes(_) => Ok(result.into_any()),
        }
    }
}

#[pymethods]
impl StreamingResult {
    /// The next rows as a result in the format, or as a DataFrame or pyarrow Table; None at the end.
    fn fetch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.consumed.load(Ordering::Relaxed) {
            return Err(already_consumed());
        }
        match self.next_rows(py)? {
            Some(rows) => self.chunk(py, rows).map(Some),
            None => Ok(None),
        }
    }

    /// Names and types of the columns, for which the first rows are waited; None where there are none.
    fn _columns(&self, py: Python<'_>) -> PyResult<Option<Vec<(String, String)>>> {
        if lock(&self.shared.header).is_none() {
            let rows = self.next_rows(py)?;
            *lock(&self.held) = rows;
        }
        let header = lock(&self.shared.header);
        let Some((rows, None)) = &*header else { return Ok(None) };
        let types = rows.types.iter().map(ToString::to_string);
        Ok(Some(rows.names.iter().cloned().zip(types).collect()))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.fetch(py)
    }

    /// Ends the query; what was not fetched is gone. May be called again.
    fn close(&self) {
        if self.shared.is_of_parent() {
            return;
        }
        self.shared.given_up.store(true, Ordering::Relaxed);
        lock(&self.waiting).take();
        lock(&self.held).take();
        self.shared.blocks.close();
    }

    fn cancel(&self) {
        self.close();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    /// A `pyarrow.RecordBatchReader` of the rows that are left, at most `rows_per_batch` in a batch.
    #[pyo3(signature = (rows_per_batch = 1_000_000))]
    fn record_batch<'py>(slf: &Bound<'py, Self>, rows_per_batch: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if rows_per_batch == 0 {
            return Err(PyValueError::new_err("rows_per_batch must be positive"));
        }
        let capsule = slf.get().arrow_stream(py, "record_batch()", rows_per_batch)?;
        py.import("chalet._frame")?.call_method1("batches", (capsule,))
    }

    /// The rows that are left through the Arrow C stream interface; once.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        self.arrow_stream(py, "__arrow_c_stream__", usize::MAX)
    }
}

fn already_consumed() -> PyErr {
    ProgrammingError::new_err(
        "The streaming result is already consumed: its rows went to an Arrow stream. Send the query again to read them again",
    )
}

impl StreamingResult {
    fn arrow_stream<'py>(
        &self,
        py: Python<'py>,
        what: &str,
        batch: usize,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        if !self.is_arrow {
            let text = format!("{what} needs an arrow format: send the query with format='Arrow'");
            return Err(PyValueError::new_err(text));
        }
        if self.consumed.swap(true, Ordering::Relaxed) {
            return Err(already_consumed());
        }
        self.check_process()?;
        // The schema is known when the first rows are there, or the end.
        let first = self.next_rows(py)?;
        let header = lock(&self.shared.header).as_ref().map(|(rows, _)| rows.clone());
        let Some(header) = header else {
            return Err(InterfaceError::new_err("The streaming result is closed"));
        };
        let exported = exported(&header, first, self.shared.clone(), batch);
        let stream = exported.map_err(|e| raised(py, &e, "Streaming query failed: "))?;
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn exported(
    header: &Rows,
    first: Option<Rows>,
    shared: Arc<Shared>,
    batch: usize,
) -> Result<FFI_ArrowArrayStream> {
    let export = arrow::Export::new(header, arrow::Style::ClickHouse, |_| true)?;
    let schema: Arc<Schema> = export.schema();
    let held = first.into_iter().flat_map(|rows| rows.blocks).collect();
    let batches = Batches { shared, export, held, batch, failed: false };
    Ok(FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new(batches, schema))))
}

/// Blocks as record batches of so many rows at most.
struct Batches {
    shared: Arc<Shared>,
    export: arrow::Export,
    held: Vec<Block>,
    batch: usize,
    failed: bool,
}

impl Batches {
    fn next_block(&mut self) -> Result<Option<Block>> {
        let mut rows: usize = self.held.iter().map(Block::n_rows).sum();
        // As they come where no size was asked for.
        let wanted = if self.batch == usize::MAX { 1 } else { self.batch };
        while rows < wanted {
            match self.shared.blocks.take(TICK) {
                Taken::Item(block) => {
                    rows += block.n_rows();
                    self.held.push(block);
                }
                Taken::NotYet => {}
                Taken::Ended => {
                    if let Some(error) = lock(&self.shared.failure).take() {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let whole = Block::concat(&std::mem::take(&mut self.held));
        if rows > self.batch {
            self.held.push(whole.slice(self.batch, rows - self.batch));
            return Ok(Some(whole.slice(0, self.batch)));
        }
        Ok(Some(whole))
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        // The consumer may hold the GIL, which the query's thread may want.
        let block = Python::attach(|py| py.detach(|| guarded(|| self.next_block())));
        match block {
            Ok(block) => block.map(|block| self.export.batch(&block)),
            Err(error) => {
                self.failed = true;
                self.shared.blocks.close();
                Some(Err(ArrowError::ExternalError(Box::new(error))))
            }
        }
    }
}
