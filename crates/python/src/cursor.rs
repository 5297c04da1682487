//! A cursor: the rows of a statement as Python tuples, made block by block as they are fetched.

use crate::collector;
use crate::connection::{Connection, Given};
use crate::engine::Wanted;
use crate::error::InterfaceError;
use crate::error::caught;
use crate::fast;
use crate::objects::{self, Session};
use chalet_engine::Rows;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::{VecDeque, vec_deque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows made at once; a block may hold many more than are fetched.
const BATCH: usize = 8_192;

#[pyclass(frozen, module = "chalet")]
pub struct Cursor {
    state: Mutex<State>,
}

struct State {
    /// None when closed.
    connection: Option<Py<Connection>>,
    rows: Option<Fetched>,
    rows_read: u64,
    bytes_read: u64,
    /// Of the result, or written; -1 when unknown.
    rowcount: i64,
    elapsed: f64,
}

/// The rows of a result and how far they are fetched.
pub struct Fetched {
    of: Rows,
    block: usize,
    row: usize,
    made: VecDeque<Py<PyTuple>>,
}

impl Fetched {
    pub fn new(of: Rows) -> Fetched {
        Fetched { of, block: 0, row: 0, made: VecDeque::new() }
    }

    /// Makes the next rows; false at the end.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        while let Some(block) = self.of.blocks.get(self.block) {
            let left = block.n_rows() - self.row;
            if left == 0 {
                self.block += 1;
                self.row = 0;
                continue;
            }
            let part = block.slice(self.row, left.min(BATCH));
            let _suspended = collector::Suspended::new(py);
            let session = Session { zone: self.of.zone.clone() };
            let columns: PyResult<Vec<_>> = part
                .columns()
                .iter()
                .zip(&self.of.types)
                .map(|(c, ty)| objects::column(py, c, ty, &session))
                .collect();
            self.made.extend(fast::tuples(py, columns?, part.n_rows())?.into_iter().map(Bound::unbind));
            self.row += part.n_rows();
            return Ok(true);
        }
        Ok(false)
    }

    /// The next rows, at most `n`, as what `collect` makes of them. Where it fails, they are the next ones still.
    pub fn take<T>(
        &mut self,
        py: Python<'_>,
        n: usize,
        collect: impl FnOnce(vec_deque::Iter<'_, Py<PyTuple>>) -> PyResult<T>,
    ) -> PyResult<T> {
        caught(py, || {
            while self.made.len() < n && self.advance(py)? {}
            let n = n.min(self.made.len());
            let collected = collect(self.made.range(..n))?;
            self.made.drain(..n);
            Ok(collected)
        })
    }
}

impl Cursor {
    pub fn new(connection: Py<Connection>) -> Cursor {
        let state = State {
            connection: Some(connection),
            rows: None,
            rows_read: 0,
            bytes_read: 0,
            rowcount: -1,
            elapsed: 0.0,
        };
        Cursor { state: Mutex::new(state) }
    }

    /// Never held while Python code runs that could come back here: making rows calls only constructors.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before the next statement: forgets the last one.
    fn begin(&self, py: Python<'_>) -> PyResult<Py<Connection>> {
        let (connection, rows) = {
            let mut state = self.state();
            let connection = state.connection.as_ref().map(|c| c.clone_ref(py));
            let connection = connection.ok_or_else(|| InterfaceError::new_err("The cursor is closed"))?;
            state.rowcount = -1;
            (connection, state.rows.take())
        };
        // Out of the lock, since a finaliser may ask this cursor.
        drop(rows);
        Ok(connection)
    }

    fn take<T>(
        &self,
        py: Python<'_>,
        n: usize,
        collect: impl FnOnce(vec_deque::Iter<'_, Py<PyTuple>>) -> PyResult<T>,
    ) -> PyResult<T> {
        // Out of the lock, since a finaliser or another thread may ask this cursor meanwhile.
        let Some(mut rows) = self.state().rows.take() else { return collect(vec_deque::Iter::default()) };
        let taken = rows.take(py, n, collect);
        self.state().rows.get_or_insert(rows);
        taken
    }
}

#[pymethods]
impl Cursor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Who holds the lock has a reference that the collector does not know, so that nothing is collected.
        match self.state.try_lock() {
            Ok(state) => state.connection.iter().try_for_each(|connection| visit.call(connection)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.close();
    }

    /// Runs statements; the rows of the last one are then fetched.
    #[pyo3(signature = (query, params = None, *, tables = None, timeout = None))]
    pub fn execute<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let cursor = slf.get();
        let connection = cursor.begin(py)?;
        let given = Given { params, tables, timeout, ..Given::default() };
        let answer = connection.get().run(py, query, Wanted::Rows, &given)?;
        let mut state = cursor.state();
        state.rows_read = answer.result_rows;
        state.bytes_read = answer.result_bytes;
        state.rowcount = match &answer.rows {
            Some(rows) => rows.n_rows() as i64,
            None if answer.rows_written > 0 => answer.rows_written as i64,
            None => -1,
        };
        state.elapsed = answer.elapsed.as_secs_f64();
        state.rows = answer.rows.map(Fetched::new);
        drop(state);
        Ok(slf.clone())
    }

    /// Runs a statement for each of many rows of values, `%s`, `?` or `%(name)s`. `INSERT INTO t (...) VALUES (%s, ...)` goes
    /// column by column, all rows or none. `rowcount` is then that of all of them.
    #[pyo3(signature = (query, rows, *, timeout = None))]
    pub fn executemany<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        rows: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let cursor = slf.get();
        let connection = cursor.begin(py)?;
        let run_many = py.import(intern!(py, "chalet._bind"))?.getattr(intern!(py, "run_many"))?;
        let rowcount = run_many.call1((slf, connection, query, rows, timeout))?.extract()?;
        cursor.state().rowcount = rowcount;
        Ok(slf.clone())
    }

    /// The next row, None at the end.
    pub fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.take(py, 1, |mut rows| Ok(rows.next().map(|row| row.bind(py).clone())))
    }

    /// The next rows, at most `size`; none where it is negative.
    #[pyo3(signature = (size = 1))]
    pub fn fetchmany<'py>(&self, py: Python<'py>, size: isize) -> PyResult<Bound<'py, PyTuple>> {
        self.take(py, usize::try_from(size).unwrap_or(0), |rows| {
            PyTuple::new(py, rows.map(|row| row.bind(py)))
        })
    }

    /// All rows that are left.
    pub fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.take(py, usize::MAX, |rows| PyTuple::new(py, rows.map(|row| row.bind(py))))
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.fetchone(py)
    }

    /// Seven values a column, as DB-API 2.0 has them: name, type and five unknown ones. None before `execute`.
    #[getter]
    fn description<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        if self.state().rows.is_none() {
            return Ok(None);
        }
        let list = PyList::empty(py);
        for (name, ty) in self.column_names().into_iter().zip(self.column_types()) {
            let none = || py.None();
            list.append((name, ty, none(), none(), none(), none(), none()))?;
        }
        Ok(Some(list))
    }

    fn column_names(&self) -> Vec<String> {
        self.state().rows.as_ref().map(|rows| rows.of.names.clone()).unwrap_or_default()
    }

    fn column_types(&self) -> Vec<String> {
        let state = self.state();
        let types = state.rows.iter().flat_map(|rows| &rows.of.types);
        types.map(|ty| ty.to_string()).collect()
    }

    /// How many rows the result has, or were written; -1 when that is not known.
    #[getter]
    fn rowcount(&self) -> i64 {
        self.state().rowcount
    }

    #[getter]
    fn connection(&self, py: Python<'_>) -> Option<Py<Connection>> {
        self.state().connection.as_ref().map(|connection| connection.clone_ref(py))
    }

    #[getter]
    fn closed(&self) -> bool {
        self.state().connection.is_none()
    }

    /// Where chDB keeps the counts of a query: here they are the cursor's own.
    #[getter(_cursor)]
    fn counts(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn rows_read(&self) -> u64 {
        self.state().rows_read
    }

    fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    fn elapsed(&self) -> f64 {
        self.state().elapsed
    }

    /// Does nothing: every statement stands on its own.
    fn commit(&self) {}

    fn close(&self) {
        let (connection, rows) = {
            let mut state = self.state();
            (state.connection.take(), state.rows.take())
        };
        drop(connection);
        drop(rows);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }
}
