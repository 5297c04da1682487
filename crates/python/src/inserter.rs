//! `send_insert`: an INSERT whose data come in pieces. It runs on a thread of its own and nothing of it is seen before
//! `finish`.

use crate::background::{self, Stop};
use crate::engine::Used;
use crate::error::{InterfaceError, ProgrammingError, raised};
use crate::pipe::{Pipe, Taken};
use crate::watch::Watch;
use chalet_base::{Result, err, forks};
use chalet_engine::{Answer, InsertData, RunOptions};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString, PyTuple};
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

/// Data that wait to be read, in bytes.
const MOST_WAITING: usize = 16 << 20;
const TICK: Duration = Duration::from_millis(20);

type Job = JoinHandle<Result<Answer>>;

/// Data of one call. A bytes object never changes, so it is borrowed; what may change is copied.
enum Piece {
    Owned(Vec<u8>),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        match self {
            Piece::Owned(bytes) => bytes,
            Piece::Bytes(bytes) => bytes,
        }
    }
}

/// Takes the data of an INSERT.
#[pyclass(frozen, module = "chalet")]
pub struct StreamingInserter {
    data: Arc<Pipe<Piece>>,
    /// None when finished or cancelled.
    job: Mutex<Option<Job>>,
    /// A child that was forked has no thread that inserts.
    generation: u32,
}

impl Stop for Pipe<Piece> {
    fn stop(&self) {
        self.close();
    }
}

/// What an INSERT wrote.
#[pyclass(frozen, module = "chalet", get_all)]
pub struct InsertResult {
    rows_written: u64,
    /// Of memory, as columns.
    bytes_written: u64,
    /// Seconds.
    elapsed: f64,
}

#[pymethods]
impl InsertResult {
    #[new]
    fn new(rows_written: u64, bytes_written: u64, elapsed: f64) -> InsertResult {
        InsertResult { rows_written, bytes_written, elapsed }
    }

    fn __repr__(&self) -> String {
        let InsertResult { rows_written, bytes_written, elapsed } = self;
        format!("InsertResult(rows_written={rows_written}, bytes_written={bytes_written}, elapsed={elapsed})")
    }
}

/// The other end of the pipe.
struct Source {
    data: Arc<Pipe<Piece>>,
    piece: std::io::Cursor<Piece>,
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let n = self.piece.read(out)?;
            if n > 0 || out.is_empty() {
                return Ok(n);
            }
            match self.data.take(TICK) {
                Taken::Item(piece) => self.piece = std::io::Cursor::new(piece),
                Taken::Ended if self.data.is_closed() => {
                    return Err(std::io::Error::other(err!(QUERY_WAS_CANCELLED, "The insert was cancelled")));
                }
                Taken::Ended => return Ok(0),
                Taken::NotYet => {}
            }
        }
    }
}

impl StreamingInserter {
    pub fn new(handle: Used, sql: String, options: RunOptions) -> Result<StreamingInserter> {
        let data = Arc::new(Pipe::new(MOST_WAITING));
        let none = std::io::Cursor::new(Piece::Owned(Vec::new()));
        let source = Source { data: data.clone(), piece: none };
        let ended = data.clone();
        let run = move || {
            let answer = handle.insert(&sql, options, InsertData::Bytes(Box::new(source)), None);
            // What is appended after a failure goes nowhere.
            ended.close();
            answer
        };
        let stop: Weak<Pipe<Piece>> = Arc::downgrade(&data);
        let thread = background::spawn("chalet-insert", stop, run);
        let job =
            thread.map_err(|e| err!(CANNOT_SCHEDULE_TASK, "Cannot start the thread of an insert: {e}"))?;
        Ok(StreamingInserter { data, job: Mutex::new(Some(job)), generation: forks::generation() })
    }

    fn check_process(&self) -> PyResult<()> {
        if self.generation == forks::generation() {
            return Ok(());
        }
        Err(InterfaceError::new_err("The insert runs in the process that this one was forked from"))
    }

    fn job(&self) -> MutexGuard<'_, Option<Job>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn over() -> PyErr {
    ProgrammingError::new_err("The insert stream is already finished or cancelled")
}

/// Waits for the thread, looking for signals meanwhile.
fn wait(py: Python<'_>, job: Job, data: &Pipe<Piece>) -> PyResult<Answer> {
    let watch = Watch::begin(None)?;
    let _inside = watch.enter(py)?;
    let answer = py.detach(|| {
        while !job.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
            if watch.should_stop() {
                data.close();
            }
        }
        job.join()
    });
    if let Some(error) = watch.take_raised() {
        return Err(error);
    }
    match answer {
        Ok(answer) => answer.map_err(|e| raised(py, &e, "Streaming insert failed: ")),
        Err(_) => Err(crate::error::InternalError::new_err("Streaming insert failed: its thread panicked")),
    }
}

#[pymethods]
impl StreamingInserter {
    /// Adds data in the format. A piece may end anywhere, also inside of a row.
    fn append(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let piece = if let Ok(text) = data.cast::<PyString>() {
            Piece::Owned(text.to_str()?.as_bytes().to_vec())
        } else if let Ok(bytes) = data.cast::<PyBytes>() {
            Piece::Bytes(bytes.clone().into())
        } else if let Ok(bytes) = data.cast::<PyByteArray>() {
            Piece::Owned(bytes.to_vec())
        } else if data.is_instance_of::<PyMemoryView>() {
            Piece::Bytes(data.call_method0("tobytes")?.cast_into::<PyBytes>()?.into())
        } else {
            let name = data.get_type().name()?;
            let text = format!("append() expects bytes, bytearray, memoryview, or str, got {name}");
            return Err(PyTypeError::new_err(text));
        };
        self.check_process()?;
        let failed = {
            let mut job = self.job();
            let Some(running) = &*job else { return Err(over()) };
            if running.is_finished() { job.take() } else { None }
        };
        if let Some(job) = failed {
            wait(py, job, &self.data)?;
            return Err(over());
        }
        let len = piece.as_ref().len();
        if len > 0 {
            let stop: Weak<Pipe<Piece>> = Arc::downgrade(&self.data);
            let _inside = background::enter(py, stop)?;
            py.detach(|| self.data.put(piece, len));
        }
        Ok(())
    }

    /// Ends the data and waits until the rows are in the table.
    fn finish(&self, py: Python<'_>) -> PyResult<InsertResult> {
        self.check_process()?;
        let job = self.job().take().ok_or_else(over)?;
        self.data.end();
        let answer = wait(py, job, &self.data)?;
        Ok(InsertResult {
            rows_written: answer.rows_written,
            bytes_written: answer.bytes_written,
            elapsed: answer.elapsed.as_secs_f64(),
        })
    }

    /// Gives the insert up: nothing of it is in the table. May be called again.
    fn cancel(&self, py: Python<'_>) {
        if self.generation != forks::generation() {
            return;
        }
        let job = self.job().take();
        self.data.close();
        // Nobody needs to wait at the interpreter's end, which itself does.
        if let (Some(job), Ok(inside)) = (job, background::enter(py, Weak::<Watch>::new())) {
            py.detach(|| drop(job.join()));
            drop(inside);
        }
    }

    fn close(&self, py: Python<'_>) {
        self.cancel(py);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.cancel(py);
    }
}

impl Drop for StreamingInserter {
    fn drop(&mut self) {
        if self.generation == forks::generation() {
            self.data.close();
        }
    }
}
