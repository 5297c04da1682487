//! A cursor: the rows of a statement as Python tuples, made block by block as they are fetched.

use crate::collector;
use crate::connection::{Connection, Given};
use crate::engine::Wanted;
use crate::error::InterfaceError;
use crate::error::caught;
use crate::objects::{self, Session};
use crate::tuples;
use chalet_engine::Rows;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rows made at once; a block may hold many more than are fetched.
const BATCH: usize = 8_192;
/// Objects made at once where more are wanted: what is found out about a column then serves more of its rows.
const OBJECTS: usize = 1 << 18;

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

    /// Makes the next rows, more than a batch only where so many are wanted; false at the end.
    fn advance(&mut self, py: Python<'_>, wanted: usize) -> PyResult<bool> {
        let batch = wanted.min(OBJECTS / self.of.types.len().max(1)).max(BATCH);
        while let Some(block) = self.of.blocks.get(self.block) {
            let left = block.n_rows() - self.row;
            if left == 0 {
                self.block += 1;
                self.row = 0;
                continue;
            }
            let part = block.slice(self.row, left.min(batch));
            let _suspended = collector::Suspended::new(py);
            let session = Session { zone: self.of.zone.clone() };
            let columns: PyResult<Vec<_>> = part
                .columns()
                .iter()
                .zip(&self.of.types)
                .map(|(c, ty)| objects::column(py, c, ty, &session))
                .collect();
            let rows = tuples::of_columns(py, columns?, part.n_rows())?;
            self.made.extend(rows.into_iter().map(Bound::unbind));
            self.row += part.n_rows();
            return Ok(true);
        }
        Ok(false)
    }

    /// The next rows, at most `n`, as what `collect` makes of them. Those that it has not taken when it fails are the next ones
    /// still.
    pub fn take<'py, T>(
        &mut self,
        py: Python<'py>,
        n: usize,
        collect: impl FnOnce(Front<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        caught(py, || {
            while self.made.len() < n && self.advance(py, n - self.made.len())? {}
            let left = n.min(self.made.len());
            collect(Front { py, made: &mut self.made, left })
        })
    }
}

/// Rows at the front, which are given away one by one.
pub struct Front<'a, 'py> {
    py: Python<'py>,
    made: &'a mut VecDeque<Py<PyTuple>>,
    left: usize,
}

impl<'py> Iterator for Front<'_, 'py> {
    type Item = Bound<'py, PyTuple>;

    fn next(&mut self) -> Option<Bound<'py, PyTuple>> {
        self.left = self.left.checked_sub(1)?;
        self.made.pop_front().map(|row| row.into_bound(self.py))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Front<'_, '_> {}

/// Rows as one tuple.
fn together<'py>(rows: Front<'_, 'py>) -> PyResult<Bound<'py, PyTuple>> {
    tuples::filled(rows.py, rows.len(), rows.map(|row| Some(row.into_any())))
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

    fn take<'py, T>(
        &self,
        py: Python<'py>,
        n: usize,
        collect: impl FnOnce(Front<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        // Out of the lock, since a finaliser or another thread may ask this cursor meanwhile.
        let Some(mut rows) = self.state().rows.take() else {
            return collect(Front { py, made: &mut VecDeque::new(), left: 0 });
        };
        let taken = rows.take(py, n, collect);
        self.state().rows.get_or_insert(rows);
        taken
    }
}

/// A statement and the values of its parameters, by name.
fn placed<'py>(
    query: &str,
    params: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyString>, Bound<'py, PyDict>)> {
    let py = params.py();
    if let Ok(named) = params.cast::<PyDict>() {
        return Ok((PyString::new(py, query), named.clone()));
    }
    if !(params.is_instance_of::<PyList>() || params.is_instance_of::<PyTuple>()) {
        let kind = params.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "params must be a dict for {{name:Type}}, or a list or tuple for %s or ?, not {kind}"
        )));
    }
    let place = py.import(intern!(py, "chalet._bind"))?.getattr(intern!(py, "placed"))?;
    place.call1((query, params))?.extract()
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

    /// Runs statements; the rows of the last one are then fetched. `params` is a dict for `{name:Type}`, or a list or tuple for `%s`
    /// or `?`.
    #[pyo3(signature = (query, params = None, *, tables = None, timeout = None))]
    pub fn execute<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        params: Option<&Bound<'py, PyAny>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let cursor = slf.get();
        let connection = cursor.begin(py)?;
        let placed = params.map(|params| placed(query, params)).transpose()?;
        let (query, params) = match &placed {
            Some((query, params)) => (query.to_str()?, Some(params)),
            None => (query, None),
        };
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
        self.take(py, 1, |mut rows| Ok(rows.next()))
    }

    /// The next rows, at most `size`; none where it is negative.
    #[pyo3(signature = (size = 1))]
    pub fn fetchmany<'py>(&self, py: Python<'py>, size: isize) -> PyResult<Bound<'py, PyTuple>> {
        self.take(py, usize::try_from(size).unwrap_or(0), together)
    }

    /// All rows that are left.
    pub fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.take(py, usize::MAX, together)
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
