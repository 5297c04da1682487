//! A connection: one session of one database, usable from any thread, one query at a time.

use crate::cursor::Cursor;
use crate::engine::{Handle, Wanted};
use crate::error::{Error, to_python};
use crate::result::QueryResult;
use crate::sources::caller::{Caller, Registered};
use crate::watch::Watch;
use chalet_engine::Answer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// Formats that are objects of other packages.
const DATA_FRAME: &str = "DataFrame";
const ARROW_TABLE: &str = "ArrowTable";

#[pyclass(frozen, module = "chalet")]
pub struct Connection {
    handle: Mutex<Option<Arc<Handle>>>,
    /// What `execute` and `fetch*` of the connection itself use.
    own_cursor: Mutex<Option<Py<Cursor>>>,
    registered: Arc<Registered>,
}

impl Connection {
    fn handle(&self) -> PyResult<Arc<Handle>> {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        handle.clone().ok_or_else(|| Error::new_err("The connection is closed"))
    }

    /// Runs statements and waits for their answer.
    pub fn run(
        &self,
        py: Python<'_>,
        sql: &str,
        wanted: Wanted,
        params: Option<&Bound<'_, PyDict>>,
        tables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Answer> {
        let handle = self.handle()?;
        let params = params.map(texts).transpose()?.unwrap_or_default();
        let watch = Arc::new(Watch::default());
        let tables = tables.map(|tables| tables.clone().unbind());
        let caller = Arc::new(Caller::new(tables, self.registered.clone()));
        let answer = py.detach(|| handle.run(sql, wanted, params, caller, &watch));
        match watch.take_raised() {
            Some(raised) => Err(raised),
            None => answer.map_err(|e| to_python(py, &e)),
        }
    }

    fn cursor_of_own(slf: &Bound<'_, Self>) -> PyResult<Py<Cursor>> {
        let py = slf.py();
        let connection = slf.get();
        let known = connection.own_cursor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cursor) = &*known {
            return Ok(cursor.clone_ref(py));
        }
        drop(known);
        let made = Py::new(py, Cursor::new(slf.clone().unbind()))?;
        *connection.own_cursor.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone_ref(py));
        Ok(made)
    }
}

#[pymethods]
impl Connection {
    #[new]
    #[pyo3(signature = (path = ":memory:"))]
    fn new(py: Python<'_>, path: &str) -> PyResult<Connection> {
        let handle = py.detach(|| Handle::open(path)).map_err(|e| to_python(py, &e))?;
        Ok(Connection {
            handle: Mutex::new(Some(Arc::new(handle))),
            own_cursor: Mutex::new(None),
            registered: Arc::default(),
        })
    }

    /// Runs statements. The result is text of the format; without a format also rows for `df()` and Arrow.
    #[pyo3(
        signature = (sql, fmt = None, params = None, *, tables = None),
        text_signature = "(self, sql, fmt='CSV', params=None, *, tables=None)"
    )]
    fn query<'py>(
        slf: &Bound<'py, Self>,
        sql: &str,
        fmt: Option<&str>,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let is = |name: &str| fmt.is_some_and(|f| f.eq_ignore_ascii_case(name));
        let (frame, table) = (is(DATA_FRAME), is(ARROW_TABLE));
        let wanted = match fmt {
            Some(format) if !frame && !table => Wanted::Bytes(format.to_owned()),
            _ => Wanted::Rows,
        };
        let answer = slf.get().run(py, sql, wanted, params, tables)?;
        let result = Bound::new(py, QueryResult::new(answer))?;
        if frame {
            result.get().df(py)
        } else if table {
            result.get().arrow_table(py)
        } else {
            Ok(result.into_any())
        }
    }

    /// `query` under its other name.
    #[pyo3(
        signature = (sql, fmt = None, params = None, *, tables = None),
        text_signature = "(self, sql, fmt='CSV', params=None, *, tables=None)"
    )]
    fn sql<'py>(
        slf: &Bound<'py, Self>,
        sql: &str,
        fmt: Option<&str>,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Connection::query(slf, sql, fmt, params, tables)
    }

    /// A new cursor, which gives rows as tuples.
    fn cursor(slf: Bound<'_, Self>) -> Cursor {
        Cursor::new(slf.unbind())
    }

    #[pyo3(signature = (sql, params = None, *, tables = None))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        sql: &str,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Connection::cursor_of_own(slf)?.into_bound(slf.py());
        Cursor::execute(&cursor, sql, params, tables)
    }

    fn fetchone<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        Connection::cursor_of_own(slf)?.get().fetchone(slf.py())
    }

    #[pyo3(signature = (size = 1))]
    fn fetchmany<'py>(slf: &Bound<'py, Self>, size: usize) -> PyResult<Bound<'py, PyTuple>> {
        Connection::cursor_of_own(slf)?.get().fetchmany(slf.py(), size)
    }

    fn fetchall<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        Connection::cursor_of_own(slf)?.get().fetchall(slf.py())
    }

    /// Makes an object a table of this name for the statements of this connection, before tables of the database.
    fn register<'py>(slf: Bound<'py, Self>, name: &str, object: Bound<'py, PyAny>) -> Bound<'py, Self> {
        let registered = &slf.get().registered;
        let before = registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), object.unbind());
        // Out of the lock: a finaliser may run.
        drop(before);
        slf
    }

    /// Forgets what was registered under this name, if anything was.
    fn unregister<'py>(slf: Bound<'py, Self>, name: &str) -> Bound<'py, Self> {
        let before = slf.get().registered.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        drop(before);
        slf
    }

    /// Does nothing: every statement stands on its own.
    fn commit(&self) {}

    /// Stops the running query, which then raises QUERY_WAS_CANCELLED in its own thread.
    fn interrupt(&self) -> PyResult<()> {
        self.handle()?.cancel_running();
        Ok(())
    }

    /// Ends the session; an in-memory database ends with it. May be called again.
    fn close(&self, py: Python<'_>) {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        let cursor = self.own_cursor.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(cursor);
        let registered = std::mem::take(&mut *self.registered.lock().unwrap_or_else(PoisonError::into_inner));
        drop(registered);
        py.detach(|| drop(handle));
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

/// Parameter values as text, by name.
fn texts(params: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let made = params.py().import("chalet._params")?.call_method1("texts", (params,))?;
    made.cast::<PyDict>()?.iter().map(|(name, text)| Ok((name.extract()?, text.extract()?))).collect()
}
