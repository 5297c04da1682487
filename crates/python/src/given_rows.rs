//! Rows of Python objects as a block, column by column, for `executemany`.
//!
//! A column whose objects are not all values of its type goes as text, which the engine casts: what a literal in the
//! statement would do.

use crate::collector;
use crate::error::ProgrammingError;
use crate::from_objects::{Converter, Misfit};
use crate::given_kinds;
use crate::objects::Session;
use chalet_base::{Result, err};
use chalet_columns::{Block, Builder, Column};
use chalet_engine::InsertData;
use chalet_types::{DataType, TimeZone};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that are sequences, or dicts where `keys` names the columns of each.
pub struct GivenRows {
    pub rows: Py<PyList>,
    pub keys: Option<Vec<Py<PyAny>>>,
    /// What Python raised while the rows were looked at, for the caller to raise.
    pub raised: Raised,
}

pub type Raised = Arc<Mutex<Option<PyErr>>>;

impl GivenRows {
    pub fn into_data(self) -> InsertData {
        InsertData::Rows(Box::new(move |wanted, zone| {
            Python::attach(|py| {
                let _suspended = collector::Suspended::new(py);
                self.block(py, wanted, zone)
            })
        }))
    }

    /// A column for each that is wanted: of its type, or of another that is to be cast to it.
    pub fn block(
        &self,
        py: Python<'_>,
        wanted: &[(String, DataType)],
        zone: &TimeZone,
    ) -> Result<(Vec<DataType>, Block)> {
        let rows = self.rows.bind(py);
        let n_columns = match &self.keys {
            Some(keys) => keys.len(),
            None => rows.iter().next().and_then(|row| row.len().ok()).unwrap_or(wanted.len()),
        };
        if n_columns != wanted.len() {
            return Err(err!(
                NUMBER_OF_COLUMNS_DOESNT_MATCH,
                "The rows have {n_columns} values, the table takes {} columns",
                wanted.len()
            ));
        }
        let session = Session { zone: zone.clone() };
        let (mut types, mut columns) = (Vec::new(), Vec::new());
        for (at, (name, ty)) in wanted.iter().enumerate() {
            let key = self.keys.as_ref().map(|keys| keys[at].bind(py));
            let (ty, column) = one(rows, key, at, n_columns, ty, &session).map_err(|error| {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                err!(PY_EXCEPTION_OCCURED, "Cannot take the values of column {name}")
            })?;
            types.push(ty);
            columns.push(column);
        }
        Ok((types, Block::new(columns, rows.len())))
    }
}

fn one(
    rows: &Bound<'_, PyList>,
    key: Option<&Bound<'_, PyAny>>,
    at: usize,
    n_columns: usize,
    ty: &DataType,
    session: &Session,
) -> PyResult<(DataType, Column)> {
    let plain = ty.without_low_cardinality();
    // NULL is for the engine to judge: it may stand for the column's default.
    let open = if plain.can_be_nullable() { plain.clone().nullable() } else { plain.clone() };
    if plain.is_of_several_types() {
        let cells = rows.iter().enumerate().map(|(number, row)| cell_of(&row, key, at, n_columns, number));
        let cells = cells.collect::<PyResult<Vec<_>>>()?;
        let text_of = rows.py().import("chalet._params")?.getattr("plain")?;
        if let Some(column) = given_kinds::column(&cells, plain, session, &text_of)? {
            return Ok((plain.clone(), column));
        }
    }
    let converter = Converter::of_rows(&open, session);
    let mut out = Builder::new(&open);
    for (number, row) in rows.iter().enumerate() {
        let cell = cell_of(&row, key, at, n_columns, number)?;
        let pushed = if cell.is_none() {
            out.push_default();
            Ok(())
        } else {
            converter.push(&mut out, &cell)
        };
        match pushed {
            Ok(()) => {}
            Err(Misfit::Failed(error)) => return Err(error),
            Err(Misfit::Kind | Misfit::Range) => return texts(rows, key, at, n_columns, &converter, &open),
        }
    }
    let vector = out.finish();
    let ty = if vector.null_count() > 0 { open } else { plain.clone() };
    Ok((ty, Column::Flat(vector)))
}

/// The column as text. Integers out of the range of the type fail here as there.
fn texts(
    rows: &Bound<'_, PyList>,
    key: Option<&Bound<'_, PyAny>>,
    at: usize,
    n_columns: usize,
    typed: &Converter,
    typed_as: &DataType,
) -> PyResult<(DataType, Column)> {
    let py = rows.py();
    let words = py.import("chalet._params")?;
    // Objects of JSON are written as such; in arrays of them as texts.
    let depth = depth_of_json(typed_as);
    let text_of = words.getattr(if depth.is_some() { "json_text" } else { "plain" })?;
    let ty = DataType::String.nullable();
    let mut out = Builder::new(&ty);
    let session = Session { zone: TimeZone::utc() };
    let converter = Converter::new(&ty, &session);
    for (number, row) in rows.iter().enumerate() {
        let cell = cell_of(&row, key, at, n_columns, number)?;
        let text = if cell.is_instance_of::<PyString>() || cell.is_instance_of::<PyBytes>() {
            cell
        } else if let Err(Misfit::Failed(error)) = typed.push(&mut Builder::new(typed_as), &cell) {
            return Err(error);
        } else if let Some(depth) = depth {
            text_of.call1((cell, depth))?
        } else {
            text_of.call1((cell,))?
        };
        if let Err(Misfit::Failed(error)) = converter.push(&mut out, &text) {
            return Err(error);
        }
    }
    Ok((ty, Column::Flat(out.finish())))
}

/// In how many arrays JSON is, if it is that.
fn depth_of_json(ty: &DataType) -> Option<usize> {
    match ty.bare() {
        DataType::Json(_) => Some(0),
        DataType::Array(element) => depth_of_json(element).map(|depth| depth + 1),
        _ => None,
    }
}

fn cell_of<'py>(
    row: &Bound<'py, PyAny>,
    key: Option<&Bound<'py, PyAny>>,
    at: usize,
    n_columns: usize,
    number: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(key) = key {
        return match row.cast::<PyDict>() {
            Ok(dictionary) => match dictionary.get_item(key)? {
                Some(cell) => Ok(cell),
                None => Err(ProgrammingError::new_err(format!("row {number} has no value for {key}"))),
            },
            Err(_) => row.get_item(key).map_err(|_| no_row(row, number)),
        };
    }
    if let Ok(tuple) = row.cast::<PyTuple>() {
        check_len(number, tuple.len(), n_columns)?;
        return tuple.get_item(at);
    }
    if row.is_instance_of::<PyDict>() {
        let text = format!("row {number} is a dict, and the statement has no names for its values");
        return Err(ProgrammingError::new_err(text));
    }
    let len = row.len().map_err(|_| no_row(row, number))?;
    check_len(number, len, n_columns)?;
    row.get_item(at)
}

fn check_len(number: usize, len: usize, n_columns: usize) -> PyResult<()> {
    if len == n_columns {
        return Ok(());
    }
    Err(ProgrammingError::new_err(format!("row {number} has {len} values, the first one {n_columns}")))
}

#[cold]
fn no_row(row: &Bound<'_, PyAny>, number: usize) -> PyErr {
    let kind = row.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    ProgrammingError::new_err(format!("row {number} is a {kind}, not a row of values"))
}
