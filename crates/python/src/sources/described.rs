//! Descriptions of objects, as `chalet._sources` gives them, as sources.

use super::arrow::{Chunked, Exporter};
use super::borrowed::BorrowedMemory;
use super::caller::Caller;
use super::codes::Codes;
use super::columns::{Columns, Refused, SharedValues};
use super::objects::{Held, Objects, Types};
use super::plain::{Items, Plain};
use super::raised;
use super::reader::Reader;
use super::relation;
use super::rows::Answered;
use super::typed;
use crate::result::QueryResult;
use chalet_base::{Error, Result, ensure, err};
use chalet_engine::replacement_scan::{ReplacementTable, Source, Table};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;

/// Whether an object is a table.
pub fn is_table(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(!described(object)?.is_none())
}

/// What Python's side says of an object: None if it is no table, else a tuple that begins with its kind.
fn described<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    py.import(intern!(py, "chalet._sources"))?.call_method1(intern!(py, "describe"), (object,))
}

/// The same of a table: the tuple, and whether it is of a query that has not run.
fn table_described<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
) -> Result<Option<(Bound<'py, PyTuple>, bool)>> {
    let described = described(object).map_err(|e| raised(py, &e))?;
    if described.is_none() {
        return Ok(None);
    }
    let source = described.cast_into::<PyTuple>().map_err(|e| raised(py, &e.into()))?;
    let is_relation = part::<String>(&source, 0)? == "relation";
    Ok(Some((source, is_relation)))
}

/// What table an object is.
#[derive(Clone)]
pub enum Made {
    /// A query that has not run, and who resolves the names in it.
    Relation(Arc<dyn Table>, Arc<Caller>),
    /// The rows of a query that has run.
    Answer(Arc<dyn Table>),
    Rows(Arc<ReplacementTable>),
}

impl Made {
    pub fn table(&self) -> Arc<dyn Table> {
        match self {
            Made::Relation(table, _) | Made::Answer(table) => table.clone(),
            Made::Rows(table) => table.clone(),
        }
    }
}

/// The table that an object is to a caller; none if it is no table.
pub fn table(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    caller: &Caller,
    types: Types,
) -> Result<Option<Made>> {
    Ok(match table_described(py, object)? {
        None => None,
        Some((source, true)) => Some(relation::table(py, object, &source, caller)?),
        Some((source, false)) => {
            let source = source_of(py, &source, caller.borrowed(), types)?;
            Some(Made::Rows(Arc::new(match types {
                Types::Certain => ReplacementTable::new(source),
                Types::Assumed => ReplacementTable::with_assumed_types(source),
            })))
        }
    })
}

/// The columns that an object has; none if it is no table, or a query that has not run.
pub fn source(
    py: Python<'_>,
    object: &Bound<'_, PyAny>,
    borrowed: &Arc<BorrowedMemory>,
) -> Result<Option<Arc<dyn Source>>> {
    match table_described(py, object)? {
        Some((source, false)) => source_of(py, &source, borrowed, Types::Certain).map(Some),
        _ => Ok(None),
    }
}

fn source_of(
    py: Python<'_>,
    described: &Bound<'_, PyTuple>,
    borrowed: &Arc<BorrowedMemory>,
    types: Types,
) -> Result<Arc<dyn Source>> {
    let kind: String = part(described, 0)?;
    Ok(match kind.as_str() {
        "columns" => {
            let n_rows: usize = part(described, 1)?;
            let list: Bound<'_, PyList> = part(described, 2)?;
            let mut columns = Vec::with_capacity(list.len());
            for column in &list {
                let column = column.cast_into::<PyTuple>().map_err(|e| raised(py, &e.into()))?;
                let name: String = part(&column, 0)?;
                let (values, n) = values(py, &column, borrowed, types)
                    .map_err(|e| e.context(format!("in column '{name}'")))?;
                ensure!(
                    n.is_none_or(|n| n == n_rows),
                    INCORRECT_DATA,
                    "Column '{name}' has {} rows where the table has {n_rows}",
                    n.unwrap_or_default()
                );
                columns.push((Arc::from(name), values));
            }
            Arc::new(Columns { n_rows, columns })
        }
        "arrow" => {
            let open: Option<Bound<'_, PyAny>> = part(described, 2)?;
            let open = open.map(Bound::unbind);
            let (held, n_rows) = (part(described, 3)?, part(described, 4)?);
            Arc::new(Exporter::new(&part(described, 1)?, open, held, n_rows, borrowed.clone())?)
        }
        "reader" => {
            let object: Bound<'_, PyAny> = part(described, 1)?;
            Arc::new(Reader::new(object.unbind(), part(described, 2)?)?)
        }
        "typed" => {
            let (rows, columns): (Bound<'_, PyList>, Vec<(String, String)>) =
                (part(described, 1)?, part(described, 2)?);
            Arc::new(typed::rows(py, &rows, &columns)?)
        }
        "result" => {
            let result: Bound<'_, PyAny> = part(described, 1)?;
            Arc::new(answered(&result).map_err(|e| raised(py, &e))?)
        }
        other => return Err(err!(LOGICAL_ERROR, "Unknown description {other}")),
    })
}

/// The answer of a query.
pub fn answered(result: &Bound<'_, PyAny>) -> PyResult<Answered> {
    Ok(Answered(result.cast::<QueryResult>()?.get().rows()?.clone()))
}

/// The column fails where a statement reads it, and nowhere else.
fn refused(error: Error) -> SharedValues {
    Arc::new(Refused(error.message().to_owned()))
}

/// The values of a described column, and how many where that is known.
fn values(
    py: Python<'_>,
    column: &Bound<'_, PyTuple>,
    borrowed: &Arc<BorrowedMemory>,
    types: Types,
) -> Result<(SharedValues, Option<usize>)> {
    let kind: String = part(column, 1)?;
    let items =
        |place: usize| Items::of(&part::<Bound<'_, PyAny>>(column, place)?).map_err(|e| raised(py, &e));
    Ok(match kind.as_str() {
        "plain" => {
            let dtype: String = part(column, 3)?;
            let mask: Option<Bound<'_, PyAny>> = part(column, 5)?;
            let mask = mask.map(|mask| Items::of(&mask).map_err(|e| raised(py, &e))).transpose()?;
            let zone: Option<String> = part(column, 6)?;
            let items = items(2)?;
            let n = items.len;
            match Plain::new(items, &dtype, part(column, 4)?, mask, zone.as_deref(), borrowed.clone()) {
                Ok(plain) => (Arc::new(plain), Some(n)),
                Err(error) => (refused(error), Some(n)),
            }
        }
        "objects" => {
            let given: Bound<'_, PyAny> = part(column, 2)?;
            let held = match given.cast_into::<PyTuple>() {
                Ok(tuple) => Held::Tuple(tuple.unbind()),
                Err(_) => Held::Array(items(2)?),
            };
            let n = held.len(py);
            let objects = Objects::new(py, held, part(column, 3)?, types).map_err(|e| raised(py, &e))?;
            (Arc::new(objects), Some(n))
        }
        "codes" => {
            let categories: Bound<'_, PyTuple> = part(column, 4)?;
            let (categories, n_categories) = values(py, &categories, borrowed, Types::Certain)?;
            let codes = items(2)?;
            let n = codes.len;
            // Only a column of refused values has no known number of them, and opening it says why.
            let made = categories
                .open()
                .and_then(|()| Codes::new(codes, n_categories.unwrap_or_default(), &categories));
            (made.map_or_else(refused, |codes| Arc::new(codes)), Some(n))
        }
        "arrow" => {
            let producer: Bound<'_, PyAny> = part(column, 2)?;
            match Chunked::new(&producer, borrowed.clone()) {
                Ok(chunked) => {
                    let n = chunked.len();
                    (Arc::new(chunked), Some(n))
                }
                Err(error) => (refused(error), None),
            }
        }
        "refused" => (Arc::new(Refused(part(column, 2)?)), None),
        other => return Err(err!(LOGICAL_ERROR, "Unknown kind of column {other}")),
    })
}

pub fn part<'py, T>(tuple: &Bound<'py, PyTuple>, place: usize) -> Result<T>
where
    T: pyo3::conversion::FromPyObjectOwned<'py>,
{
    let item = tuple.get_item(place).map_err(|e| raised(tuple.py(), &e))?;
    item.extract::<T>().map_err(|e| raised(tuple.py(), &e.into()))
}
