//! Values of Variant, Dynamic and JSON columns as Python objects: each as one of its own type, JSON as nested dicts.

use crate::objects::{self, Session};
use chalet_columns::{Data, StringBuilder, Vector, json, variant};
use chalet_types::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNone};

type Object<'py> = Bound<'py, PyAny>;

fn failed(e: chalet_base::Error) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// The values of a Variant or Dynamic; None for NULL.
pub fn objects<'py>(
    py: Python<'py>,
    vector: &Vector,
    ty: &DataType,
    session: &Session,
) -> PyResult<Vec<Object<'py>>> {
    let mut out = vec![PyNone::get(py).to_owned().into_any(); vector.len()];
    for group in variant::groups(vector, ty).map_err(failed)? {
        let made = objects::objects(py, &group.values, &group.ty, session)?;
        for (row, object) in group.rows.iter().zip(made) {
            out[*row as usize] = object;
        }
    }
    Ok(out)
}

/// The objects of a JSON column.
pub fn dictionaries<'py>(py: Python<'py>, vector: &Vector, session: &Session) -> PyResult<Vec<Object<'py>>> {
    let mut places = Vec::new();
    let mut values = StringBuilder::default();
    for (row, object) in vector.strings().map_err(failed)?.iter().enumerate() {
        if vector.is_null(row) {
            continue;
        }
        for (path, value) in json::entries(object).map_err(failed)? {
            places.push((row, path));
            values.push(&value);
        }
    }
    let values = Vector::from(Data::Str(values.finish()));
    let values = objects(py, &values, &DataType::DYNAMIC, session)?;
    let rows: Vec<Bound<'py, PyDict>> = (0..vector.len()).map(|_| PyDict::new(py)).collect();
    for ((row, path), value) in places.iter().zip(values) {
        let path = String::from_utf8_lossy(path);
        let mut names = path.split('.');
        let last = names.next_back().unwrap_or_default();
        let mut at = rows[*row].clone();
        for name in names {
            let inner = match at.get_item(name)?.map(|known| known.cast_into::<PyDict>()) {
                Some(Ok(known)) => known,
                // A value stands at the path itself: of the two a dict can hold one, the object.
                _ => PyDict::new(py),
            };
            at.set_item(name, &inner)?;
            at = inner;
        }
        at.set_item(last, value)?;
    }
    Ok(rows.into_iter().map(Bound::into_any).collect())
}
