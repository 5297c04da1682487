//! Rows of Python objects for columns that take values of several types (Dynamic, Variant): each goes as a value of the type that its kind
//! has, not as its text.

use crate::classes;
use crate::error::ProgrammingError;
use crate::from_objects::{Converter, Misfit};
use crate::objects::Session;
use chalet_columns::{Builder, Column, variant};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, TimeZone};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};

/// Values of one type.
struct Group {
    ty: DataType,
    converter: Converter,
    values: Builder,
    rows: Vec<u32>,
}

/// A column of type `of`. In a Dynamic, what has no type of its own goes as the text that `text_of` makes of it; none where a value is of no
/// type of a Variant.
pub fn column(
    cells: &[Bound<'_, PyAny>],
    of: &DataType,
    session: &Session,
    text_of: &Bound<'_, PyAny>,
) -> PyResult<Option<Column>> {
    let mut groups: Vec<Group> = Vec::new();
    for (row, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_none()) {
        let (ty, cell) = match (type_of(cell)?, of) {
            (own, DataType::Variant(types)) => match among(types, own, cell, session)? {
                Some(ty) => (ty, cell.clone()),
                None => return Ok(None),
            },
            (Some(ty), _) => (ty, cell.clone()),
            (None, _) => (DataType::String, text_of.call1((cell,))?),
        };
        let at = groups.iter().position(|group| group.ty == ty).unwrap_or_else(|| {
            let (converter, values) = (Converter::new(&ty, session), Builder::new(&ty));
            groups.push(Group { ty, converter, values, rows: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.converter.push(&mut group.values, &cell).map_err(|misfit| match misfit {
            Misfit::Failed(error) => error,
            Misfit::Kind | Misfit::Range => {
                ProgrammingError::new_err(format!("row {row} has a value that is none of type {}", group.ty))
            }
        })?;
        group.rows.push(row as u32);
    }
    let wrapped = groups.into_iter().map(|group| {
        let values = variant::wrap(&group.values.finish(), &group.ty, of);
        let values = values.map_err(|error| ProgrammingError::new_err(error.to_string()))?;
        Ok((group.rows, values))
    });
    let wrapped = wrapped.collect::<PyResult<Vec<_>>>()?;
    Ok(Some(Column::Flat(variant::gather(&wrapped, cells.len(), of))))
}

/// The type of a Variant that an object is a value of: its own, else the first one; an integer is an integer where it can be.
fn among(
    types: &[DataType],
    own: Option<DataType>,
    object: &Bound<'_, PyAny>,
    session: &Session,
) -> PyResult<Option<DataType>> {
    if let Some(own) = own.as_ref().filter(|own| types.iter().any(|ty| ty == *own)) {
        return Ok(Some(own.clone()));
    }
    let is_integer = own.is_some_and(|own| own.is_integer());
    let (first, others): (Vec<_>, Vec<_>) = types.iter().partition(|ty| is_integer == ty.is_integer());
    for ty in first.into_iter().chain(others) {
        match Converter::new(ty, session).push(&mut Builder::new(ty), object) {
            Ok(()) => return Ok(Some(ty.clone())),
            Err(Misfit::Failed(error)) => return Err(error),
            Err(Misfit::Kind | Misfit::Range) => {}
        }
    }
    Ok(None)
}

/// The type that an object is a value of by itself; none where its text has to do.
fn type_of(object: &Bound<'_, PyAny>) -> PyResult<Option<DataType>> {
    let py = object.py();
    let ty = if object.is_instance_of::<PyBool>() {
        DataType::Bool
    } else if object.is_exact_instance_of::<PyInt>() {
        return Ok(match object.extract::<i64>() {
            Ok(_) => Some(DataType::Int64),
            Err(_) => object.extract::<u64>().ok().map(|_| DataType::UInt64),
        });
    } else if object.is_exact_instance_of::<PyFloat>() {
        DataType::Float64
    } else if object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>()
    {
        DataType::String
    } else if object.is_exact_instance_of::<PyDateTime>() {
        let is_aware = !object.getattr("tzinfo")?.is_none();
        DataType::DateTime64(6, is_aware.then(TimeZone::utc))
    } else if object.is_exact_instance_of::<PyDate>() {
        DataType::Date32
    } else if object.is_instance(classes::uuid(py)?)? {
        DataType::Uuid
    } else if object.is_instance(classes::ipv4(py)?)? {
        DataType::IPv4
    } else if object.is_instance(classes::ipv6(py)?)? {
        DataType::IPv6
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let element = type_of_all(object)?;
        return Ok(element.map(|element| DataType::Array(element.into())));
    } else if let Ok(dictionary) = object.cast::<PyDict>() {
        let keys = type_of_all(dictionary.keys().as_any())?;
        let values = type_of_all(dictionary.values().as_any())?;
        return Ok(keys
            .zip(values)
            .filter(|(key, _)| *key == DataType::String)
            .map(|(key, value)| DataType::Map(key.into(), value.into())));
    } else {
        return Ok(None);
    };
    Ok(Some(ty))
}

/// The type that all objects of a list have in common, Nullable where one is None.
fn type_of_all(objects: &Bound<'_, PyAny>) -> PyResult<Option<DataType>> {
    let mut types = Vec::new();
    let mut has_none = false;
    for object in objects.try_iter()? {
        let object = object?;
        if object.is_none() {
            has_none = true;
            continue;
        }
        match type_of(&object)? {
            Some(ty) if types.contains(&ty) => {}
            Some(ty) => types.push(ty),
            None => return Ok(None),
        }
    }
    let common = if types.is_empty() { None } else { common_supertype(&types).ok() };
    Ok(common
        .filter(|ty| !has_none || ty.can_be_nullable())
        .map(|ty| if has_none { ty.nullable() } else { ty }))
}
