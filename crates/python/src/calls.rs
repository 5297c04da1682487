//! One Python function called for many rows.
//!
//! `map` calls it: it takes the arguments from lists, without a tuple for each row and without looking the way to call up anew, which
//! the stable interface of older Pythons offers nowhere else.

use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

/// Rows whose objects are made at once: few enough that they stay in the cache, and that what one piece frees serves the next.
pub const ROWS_AT_ONCE: usize = 1024;

pub enum Calls<'py> {
    Mapped(Bound<'py, PyIterator>),
    /// A function without arguments.
    Bare(Bound<'py, PyAny>),
}

impl<'py> Calls<'py> {
    /// `columns`: a list of values for each argument, of the rows for which it is to be called.
    pub fn new(function: &Bound<'py, PyAny>, columns: &[Bound<'py, PyList>]) -> PyResult<Calls<'py>> {
        if columns.is_empty() {
            return Ok(Calls::Bare(function.clone()));
        }
        let py = function.py();
        let map = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "map"))?;
        let given = std::iter::once(function).chain(columns.iter().map(Bound::as_any));
        let given = pyo3::types::PyTuple::new(py, given.collect::<Vec<_>>())?;
        Ok(Calls::Mapped(map.call1(given)?.cast_into()?))
    }

    /// What the next call returns or raises. There must be one.
    pub fn call(&mut self) -> PyResult<Bound<'py, PyAny>> {
        match self {
            // A StopIteration of the function itself looks like the end.
            Calls::Mapped(results) => results.next().unwrap_or_else(|| Err(PyStopIteration::new_err(()))),
            Calls::Bare(function) => function.call0(),
        }
    }
}
