//! Objects of the calling program as tables: found by name, described by `chalet._sources`, read without a copy where
//! their memory is laid out as ours.
//!
//! - [`caller`]: names in the caller's frames, and what was given on purpose
//! - [`described`]: a description as a source
//! - [`columns`]: columns that are read each for itself
//! - [`plain`]: memory of numpy arrays
//! - [`objects`]: Python objects
//! - [`shape`]: the type that Python objects have together
//! - [`value`]: a Python object as a value of a type
//! - [`codes`]: places in categories
//! - [`arrow`]: the Arrow C interface
//! - [`reader`]: objects that give rows when asked
//! - [`rows`]: answers of other queries
//! - [`typed`]: rows of declared types
//! - [`relation`]: queries that have not run
//! - [`borrowed`]: the memory that is borrowed from the caller

pub mod arrow;
pub mod borrowed;
pub mod caller;
pub mod codes;
pub mod columns;
pub mod described;
pub mod objects;
pub mod plain;
pub mod reader;
pub mod relation;
pub mod rows;
pub mod shape;
pub mod typed;
pub mod value;

use chalet_base::{Error, err};
use pyo3::prelude::*;

/// What Python raised, as an error of the statement.
pub fn raised(py: Python<'_>, error: &PyErr) -> Error {
    let kind = error.get_type(py).name().map_or_else(|_| "Exception".into(), |name| name.to_string());
    let text = error.value(py).to_string();
    err!(PY_EXCEPTION_OCCURED, "{kind}: {}", text.trim_end_matches('.'))
}
