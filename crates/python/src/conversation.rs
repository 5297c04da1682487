//! Statements that a server runs, for asyncio: each step goes as far as it can without waiting, and says what to wait for.

use crate::background::{self, Stop};
use crate::connection::{Form, answered};
use crate::engine::Used;
use crate::error::{InterfaceError, to_python};
use crate::given_rows::Raised;
use crate::watch::Order;
use chalet_base::{Result, err};
use chalet_engine::conversation::{Conversation as Steps, Step};
use chalet_engine::{Answer, Rows};
use chalet_memory::guarded;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// A text of statements on its way to a server. One call at a time.
#[pyclass(frozen, module = "chalet")]
pub struct Conversation {
    /// Taken while a call works with it; none when it is over.
    steps: Mutex<Option<Steps>>,
    used: Used,
    form: Form,
    stop: Arc<Stopped>,
    /// What Python raised while rows were looked at.
    raised: Raised,
    started: Instant,
}

/// That nobody waits for it any more.
#[derive(Default)]
struct Stopped(Order);

impl Stop for Stopped {
    fn stop(&self) {
        self.0.stop();
    }
}

/// What a step says: what is to be waited for, and what comes with it. `chalet.aio` knows these numbers.
const DONE: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;
const CONNECT: u8 = 3;
const AGAIN: u8 = 4;
const ROWS: u8 = 5;

impl Conversation {
    pub fn new(used: Used, steps: Steps, form: Form, raised: Raised) -> Conversation {
        Conversation {
            steps: Mutex::new(Some(steps)),
            used,
            form,
            stop: Arc::default(),
            raised,
            started: Instant::now(),
        }
    }

    fn take(&self) -> PyResult<Steps> {
        let taken = self.steps.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| InterfaceError::new_err("The query is over, or another thread is at it"))
    }

    /// Does something with it, without the GIL; it is over where that fails.
    fn with<T: Send>(&self, py: Python<'_>, f: impl FnOnce(&mut Steps) -> Result<T> + Send) -> PyResult<T> {
        let mut steps = self.take()?;
        let (done, steps) = background::away(py, move || {
            let done = guarded(|| f(&mut steps));
            // What a conversation that failed has is given up here.
            (done, Some(steps))
        })?;
        match done {
            Ok(done) => {
                *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = steps;
                Ok(done)
            }
            Err(error) => {
                let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
                Err(raised.unwrap_or_else(|| to_python(py, &error)))
            }
        }
    }
}

#[pymethods]
impl Conversation {
    /// Goes as far as is possible without waiting: what is to be waited for, for how many seconds at least, and rows that came.
    fn step<'py>(&self, py: Python<'py>) -> PyResult<(u8, f64, Option<Bound<'py, PyAny>>)> {
        Ok(match self.with(py, Steps::step)? {
            Step::Done => (DONE, 0.0, None),
            Step::Read(patience) => (READ, patience.as_secs_f64(), None),
            Step::Write => (WRITE, 0.0, None),
            Step::Connect => (CONNECT, 0.0, None),
            Step::Again => (AGAIN, 0.0, None),
            Step::Rows(rows, format) => (ROWS, 0.0, Some(self.chunk(py, rows, format)?)),
        })
    }

    /// Opens a connection, which takes its time: for another thread than that of the event loop.
    fn connect(&self, py: Python<'_>) -> PyResult<()> {
        let stop: Weak<Stopped> = Arc::downgrade(&self.stop);
        let _inside = background::enter(py, stop)?;
        let asked = self.stop.clone();
        let watch: Arc<dyn Fn() -> Result<()> + Send + Sync> = Arc::new(move || match asked.0.is_given() {
            true => Err(err!(QUERY_WAS_CANCELLED, "Query was cancelled")),
            false => Ok(()),
        });
        let opened = py.detach(|| guarded(|| Steps::connect(self.used.session(), Some(&watch))));
        let opened = opened.map_err(|e| to_python(py, &e))?;
        let mut steps = self.take()?;
        steps.give(opened);
        *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = Some(steps);
        Ok(())
    }

    /// Of the socket that is waited for.
    fn fileno(&self) -> Option<i32> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.descriptor()
    }

    /// What the statements gave, when they are done.
    fn answer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = self.take()?;
        answered(py, steps.into_answer(), &self.form)
    }

    /// Ends it: the server is told, and the connection closed, where it is not done. May be called again.
    fn stop(&self, py: Python<'_>) {
        self.stop.stop();
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(steps));
    }
}

impl Conversation {
    /// Rows as the caller wants them.
    fn chunk<'py>(
        &self,
        py: Python<'py>,
        rows: Rows,
        written: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let n_rows = rows.n_rows() as u64;
        let memory = rows.blocks.iter().map(|block| block.memory() as u64).sum();
        let format = written.or_else(|| self.form.format());
        let made = background::away(py, || {
            guarded(|| format.as_ref().map_or(Ok(Vec::new()), |format| rows.to_format(format)))
        })?;
        let answer = Answer {
            bytes: made.map_err(|e| to_python(py, &e))?,
            rows: format.is_none().then_some(rows),
            rows_format: "CSV".into(),
            format: format.unwrap_or_default(),
            rows_read: n_rows,
            bytes_read: memory,
            rows_written: 0,
            bytes_written: 0,
            result_rows: n_rows,
            result_bytes: memory,
            peak_memory: 0,
            elapsed: self.started.elapsed(),
        };
        answered(py, answer, &self.form)
    }
}
