//! Objects that give rows when asked: chDB's PyReader. `read(names, count)` returns a list of columns, each a list of as
//! many values, and no list or empty ones at the end.

use super::objects::vector;
use super::raised;
use super::rows::Blocks;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Block, Column};
use chalet_engine::replacement_scan::{ColumnRange, HeldRows, Opened, RowStream, Source};
use chalet_types::DataType;
use pyo3::intern;
use pyo3::prelude::*;
use std::sync::Arc;

/// Rows asked for at once.
const BATCH: usize = 65_536;

pub struct Reader {
    object: Arc<Py<PyAny>>,
    columns: Vec<(Arc<str>, DataType)>,
}

impl Reader {
    pub fn new(object: Py<PyAny>, schema: Vec<(String, String)>) -> Result<Reader> {
        let typed = |(name, ty): (String, String)| {
            let ty =
                type_of(&ty).map_err(|e| e.context(format!("in the schema of a reader, column '{name}'")))?;
            Ok((Arc::from(name), ty))
        };
        Ok(Reader {
            object: Arc::new(object),
            columns: schema.into_iter().map(typed).collect::<Result<_>>()?,
        })
    }
}

/// A type by its name in SQL, or the name of a Python or numpy type; those may be NULL.
fn type_of(name: &str) -> Result<DataType> {
    let bare = match name {
        "int" | "int64" => DataType::Int64,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "uint64" => DataType::UInt64,
        "float" | "float64" | "double" => DataType::Float64,
        "float32" => DataType::Float32,
        "bool" => DataType::Bool,
        "str" | "string" | "object" | "bytes" => DataType::String,
        "date" | "date32" => DataType::Date32,
        "datetime" | "datetime64" | "datetime64[us]" => DataType::DateTime64(6, None),
        "datetime64[s]" => DataType::DateTime64(0, None),
        "datetime64[ms]" => DataType::DateTime64(3, None),
        "datetime64[ns]" => DataType::DateTime64(9, None),
        sql => return sql.parse(),
    };
    Ok(bare.nullable())
}

impl Source for Reader {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        self.columns.clone()
    }

    fn open(&self, columns: &[usize], _: &[ColumnRange]) -> Result<Opened> {
        // A reader that is asked for no column cannot say how many rows it has.
        let first = [0];
        let asked = if columns.is_empty() && !self.columns.is_empty() { &first[..] } else { columns };
        Ok(Opened::Stream(Box::new(Stream {
            object: self.object.clone(),
            columns: asked.iter().map(|&c| self.columns[c].clone()).collect(),
        })))
    }
}

struct Stream {
    object: Arc<Py<PyAny>>,
    columns: Vec<(Arc<str>, DataType)>,
}

impl RowStream for Stream {
    fn next(&mut self) -> Result<Option<Arc<dyn HeldRows>>> {
        Python::attach(|py| {
            let names: Vec<&str> = self.columns.iter().map(|(name, _)| &**name).collect();
            let read = self.object.bind(py).call_method1(intern!(py, "read"), (names, BATCH));
            let given: Vec<Bound<'_, PyAny>> =
                read.and_then(|read| read.extract()).map_err(|e| raised(py, &e))?;
            let mut n_rows = None;
            let mut columns = Vec::with_capacity(given.len());
            for (object, (name, ty)) in given.iter().zip(&self.columns) {
                let objects: Vec<Bound<'_, PyAny>> =
                    object.try_iter().and_then(Iterator::collect).map_err(|e| raised(py, &e))?;
                let n = *n_rows.get_or_insert(objects.len());
                ensure!(
                    n == objects.len(),
                    INCORRECT_DATA,
                    "A reader gave {} values of column '{name}' where it gave {n} of others",
                    objects.len()
                );
                let read = vector(objects.into_iter().map(Ok), ty, true);
                let read = read.map_err(|e| raised(py, &e)).flatten();
                columns.push(Column::Flat(read.map_err(|e| e.context(format!("in column '{name}'")))?));
            }
            let Some(n_rows) = n_rows.filter(|&n| n > 0) else { return Ok(None) };
            if columns.len() != self.columns.len() {
                return Err(err!(
                    INCORRECT_DATA,
                    "A reader gave {} columns where {} were asked for",
                    columns.len(),
                    self.columns.len()
                ));
            }
            let rows: Arc<dyn HeldRows> = Arc::new(Blocks::new(vec![Block::new(columns, n_rows)]));
            Ok(Some(rows))
        })
    }
}
