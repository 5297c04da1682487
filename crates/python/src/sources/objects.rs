//! Python objects: of an object array of numpy, or of a tuple. The GIL is held for one morsel at a time.

use super::columns::Values;
use super::plain::Items;
use super::raised;
use super::shape::Shape;
use super::value::value;
use chalet_base::{Result, err};
use chalet_columns::strings::StringBuilder;
use chalet_columns::{Builder, Column, Data, Vector};
use chalet_types::{DataType, Value};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::ops::Range;

/// Where the objects are.
pub enum Held {
    Array(Items),
    Tuple(Py<PyTuple>),
}

impl Held {
    pub fn len(&self, py: Python<'_>) -> usize {
        match self {
            Held::Array(items) => items.len,
            Held::Tuple(tuple) => tuple.bind(py).len(),
        }
    }

    fn get<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Held::Tuple(tuple) => tuple.bind(py).get_item(row),
            Held::Array(items) => {
                let mut address = [0; size_of::<usize>()];
                address.copy_from_slice(items.item(row));
                let object = usize::from_ne_bytes(address) as *mut pyo3::ffi::PyObject;
                // SAFETY: an object array holds references to objects, or nothing, which means None; the GIL is held,
                // so none of them goes away before it is counted here.
                let object = unsafe { Bound::from_borrowed_ptr_or_opt(py, object) };
                Ok(object.unwrap_or_else(|| py.None().into_bound(py)))
            }
        }
    }
}

pub struct Objects {
    held: Held,
    ty: DataType,
    /// NaN is NULL.
    missing: bool,
}

impl Objects {
    /// Looks at all objects for the type that they have together.
    pub fn new(py: Python<'_>, held: Held, missing: bool) -> PyResult<Objects> {
        let mut shape = Shape::default();
        for row in 0..held.len(py) {
            shape.add(&held.get(py, row)?, missing)?;
        }
        let mut ty = shape.ty();
        if *ty.bare() == DataType::Nothing {
            // A column of NULLs alone is one of texts, as in the kernel.
            ty = DataType::String.nullable();
        }
        Ok(Objects { held, ty, missing })
    }
}

impl Values for Objects {
    fn ty(&self) -> DataType {
        self.ty.clone()
    }

    fn read(&self, rows: Range<usize>) -> Result<Column> {
        Python::attach(|py| {
            let objects = rows.map(|row| self.held.get(py, row));
            let vector = vector(objects, &self.ty, self.missing).map_err(|e| raised(py, &e))??;
            Ok(Column::Flat(vector))
        })
    }
}

/// Objects as a vector of a type. The inner error is of the engine.
pub fn vector<'py>(
    objects: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
    ty: &DataType,
    missing: bool,
) -> PyResult<Result<Vector>> {
    if *ty == DataType::String {
        return texts(objects, missing);
    }
    let mut builder = Builder::new(ty);
    for object in objects {
        let value = value(&object?, ty, missing)?;
        let pushed = match value {
            // A list, a tuple and a dict are never NULL here; Arrow's are read so too.
            Value::Null if !builder.is_nullable() && !ty.can_be_nullable() => {
                builder.push_default();
                Ok(())
            }
            Value::Null if !builder.is_nullable() => Err(none_in(ty)),
            value => builder.push_value(&value),
        };
        if let Err(error) = pushed {
            return Ok(Err(error));
        }
    }
    Ok(Ok(builder.finish()))
}

fn none_in(ty: &DataType) -> chalet_base::Error {
    err!(CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, "None has no place among values of type {ty}")
}

/// The common case: texts and no NULL.
fn texts<'py>(
    objects: impl ExactSizeIterator<Item = PyResult<Bound<'py, PyAny>>>,
    missing: bool,
) -> PyResult<Result<Vector>> {
    let mut builder = StringBuilder::with_capacity(objects.len());
    for object in objects {
        let object = object?;
        match object.cast::<PyString>() {
            Ok(text) => builder.push(text.to_cow()?.as_bytes()),
            Err(_) => match value(&object, &DataType::String, missing)? {
                Value::Bytes(bytes) => builder.push(&bytes),
                _ => return Ok(Err(none_in(&DataType::String))),
            },
        }
    }
    Ok(Ok(Vector::from(Data::Str(builder.finish()))))
}
