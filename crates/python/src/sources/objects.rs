//! Python objects: of an object array of numpy, or of a tuple. The GIL is held for one morsel at a time.

use super::columns::Values;
use super::plain::Items;
use super::raised;
use super::shape::Shape;
use super::value::value;
use crate::parallel;
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use chalet_base::events::{self, Event};
use chalet_base::hash::fetch;
use chalet_base::{Result, err};
use chalet_columns::strings::StringBuilder;
use chalet_columns::{Builder, Column, Data, Vector};
use chalet_types::{DataType, Value};
use pyo3::ffi::{
    Py_None, Py_TYPE, PyFloat_AsDouble, PyFloat_CheckExact, PyObject, PyUnicode_AsUTF8AndSize,
    PyUnicode_CheckExact, PyUnicode_Type,
};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

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

    /// The references of an array that lie one behind the other.
    fn addresses(&self) -> Option<&[*mut PyObject]> {
        match self {
            Held::Array(items) => items.pointers(),
            Held::Tuple(_) => None,
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

/// How types are found.
#[derive(Clone, Copy, PartialEq)]
pub enum Types {
    /// From all values.
    Certain,
    /// From a sample of many values, until it is known which columns are read.
    Assumed,
}

/// Columns of no more objects than this are looked at as a whole.
const FEW: usize = 1024;

/// Objects of a sample.
const SAMPLED: usize = 64;

pub struct Objects {
    held: Held,
    /// NaN is NULL.
    missing: bool,
    known: RwLock<Known>,
}

#[derive(Clone)]
struct Known {
    ty: DataType,
    certain: bool,
}

impl Objects {
    /// Looks at objects for the type that they have together.
    pub fn new(py: Python<'_>, held: Held, missing: bool, types: Types) -> PyResult<Objects> {
        let certain = types == Types::Certain || held.len(py) <= FEW;
        let ty = if certain { type_of_all(py, &held, missing)? } else { type_of_some(py, &held, missing)? };
        if !certain {
            events::count(Event::ObjectColumnsAssumed);
        }
        Ok(Objects { held, missing, known: RwLock::new(Known { ty, certain }) })
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The type of all objects.
fn type_of_all(py: Python<'_>, held: &Held, missing: bool) -> PyResult<DataType> {
    let mut shape = Shape::default();
    match held.addresses() {
        Some(objects) => match texts_and_none(py, objects) {
            Some(null) => (shape.text, shape.null) = (true, null),
            None => note(py, objects, missing, &mut shape)?,
        },
        None => (0..held.len(py)).try_for_each(|row| shape.add(&held.get(py, row)?, missing))?,
    }
    Ok(type_of(&shape))
}

/// The type of objects at even distances.
fn type_of_some(py: Python<'_>, held: &Held, missing: bool) -> PyResult<DataType> {
    let (mut shape, n) = (Shape::default(), held.len(py));
    for sampled in 0..SAMPLED {
        shape.add(&held.get(py, sampled * n / SAMPLED)?, missing)?;
    }
    Ok(type_of(&shape))
}

fn type_of(shape: &Shape) -> DataType {
    let ty = shape.ty();
    // A column of NULLs alone is one of texts, as in the kernel.
    if *ty.bare() == DataType::Nothing { DataType::String.nullable() } else { ty }
}

/// Whether None is among objects that are texts else; nothing where they are not, or are None all of them. Several threads
/// look while this one holds the GIL: nothing changes meanwhile.
fn texts_and_none(_: Python<'_>, objects: &[*mut PyObject]) -> Option<bool> {
    const PIECE: usize = 1 << 16;
    /// Bytes that a look at an object costs, about.
    const LOOK: usize = 64;
    let (null, text, other) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
    let pieces: Vec<Addresses> = objects.chunks(PIECE).map(Addresses).collect();
    let look = |piece: usize| {
        let Addresses(objects) = &pieces[piece];
        if other.load(Relaxed) {
            return Ok(());
        }
        // SAFETY: the objects are there, as said above; their types and None are as long as the interpreter is.
        let (none, str) = unsafe { (Py_None(), &raw mut PyUnicode_Type) };
        let (mut nulls, mut texts) = (0, 0);
        for (at, &object) in objects.iter().enumerate() {
            if let Some(&ahead) = objects.get(at + AHEAD) {
                fetch(ahead);
            }
            let is_null = object.is_null() || object == none;
            nulls += usize::from(is_null);
            // SAFETY: as above.
            texts += usize::from(!is_null && unsafe { Py_TYPE(object) } == str);
        }
        null.fetch_or(nulls > 0, Relaxed);
        text.fetch_or(texts > 0, Relaxed);
        other.fetch_or(nulls + texts < objects.len(), Relaxed);
        Ok(())
    };
    let looked = parallel::each(pieces.len(), objects.len() * LOOK, look);
    (looked.is_ok() && text.into_inner() && !other.into_inner()).then(|| null.into_inner())
}

/// Addresses of objects that several threads look at.
struct Addresses<'a>(&'a [*mut PyObject]);

// SAFETY: nobody writes to the objects while they are looked at.
unsafe impl Sync for Addresses<'_> {}

/// Notes objects of an array. Texts and None are told by addresses: that is most of what such arrays hold, and counting
/// references to each object takes longer than all else.
fn note(py: Python<'_>, objects: &[*mut PyObject], missing: bool, shape: &mut Shape) -> PyResult<()> {
    let mut last = null_mut();
    for (at, &object) in objects.iter().enumerate() {
        // Equal words of a column often are one object.
        if object == last && at > 0 {
            continue;
        }
        last = object;
        if let Some(&ahead) = objects.get(at + AHEAD) {
            fetch(ahead);
        }
        if is_null(py, object, missing) {
            shape.null = true;
        } else if is_text(py, object) {
            shape.text = true;
        } else {
            // SAFETY: the array holds references to objects; the GIL is held, so none of them goes away before it is
            // counted here.
            shape.add(&unsafe { Bound::from_borrowed_ptr(py, object) }, missing)?;
        }
    }
    Ok(())
}

/// Objects are fetched into the cache so many ahead.
const AHEAD: usize = 16;

/// Whether an entry of an object array is None, or nothing, which stands for it, or NaN where that is `missing`.
fn is_null(_: Python<'_>, object: *mut PyObject, missing: bool) -> bool {
    // SAFETY: None is there as long as the interpreter is; of other objects the array holds references, and the GIL is held.
    unsafe {
        let is_nan = || PyFloat_CheckExact(object) != 0 && PyFloat_AsDouble(object).is_nan();
        object.is_null() || object == Py_None() || missing && is_nan()
    }
}

/// Whether an entry of an object array, which is not None, is a str, and not of a class derived from it.
fn is_text(_: Python<'_>, object: *mut PyObject) -> bool {
    // SAFETY: the array holds a reference to the object, and the GIL is held, so that it is there.
    unsafe { PyUnicode_CheckExact(object) != 0 }
}

impl Values for Objects {
    fn ty(&self) -> DataType {
        self.known().ty
    }

    fn settle(&self) -> Result<bool> {
        let known = self.known();
        if known.certain {
            return Ok(false);
        }
        let ty = Python::attach(|py| type_of_all(py, &self.held, self.missing).map_err(|e| raised(py, &e)))?;
        events::count(Event::ObjectColumnsSettled);
        let is_another = ty != known.ty;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known { ty, certain: true };
        Ok(is_another)
    }

    fn read(&self, rows: Range<usize>) -> Result<Column> {
        let ty = self.known().ty;
        Python::attach(|py| {
            if *ty.bare() == DataType::String
                && let Some(objects) = self.held.addresses()
                && let Some(vector) = texts_of(py, &objects[rows.clone()], ty.is_nullable(), self.missing)
                    .map_err(|e| raised(py, &e))?
            {
                return Ok(Column::Flat(vector));
            }
            let objects = rows.map(|row| self.held.get(py, row));
            let vector = vector(objects, &ty, self.missing).map_err(|e| raised(py, &e))??;
            Ok(Column::Flat(vector))
        })
    }
}

/// Texts of an array; none where other objects than str and NULL are among them, or NULL that has no place.
fn texts_of(
    py: Python<'_>,
    objects: &[*mut PyObject],
    nullable: bool,
    missing: bool,
) -> PyResult<Option<Vector>> {
    let mut builder = StringBuilder::with_capacity(objects.len());
    let mut valid = nullable.then(|| BooleanBufferBuilder::new(objects.len()));
    for (at, &object) in objects.iter().enumerate() {
        if let Some(&ahead) = objects.get(at + AHEAD) {
            fetch(ahead);
        }
        let is_null = is_null(py, object, missing);
        match &mut valid {
            Some(valid) => valid.append(!is_null),
            None if is_null => return Ok(None),
            None => {}
        }
        if is_null {
            builder.push(&[]);
            continue;
        }
        if !is_text(py, object) {
            return Ok(None);
        }
        let mut len = 0;
        // SAFETY: this is a str that the array keeps; its UTF-8 form lives as long as it does, and the GIL is held while
        // it is copied.
        unsafe {
            let bytes = PyUnicode_AsUTF8AndSize(object, &raw mut len);
            if bytes.is_null() {
                return Err(PyErr::fetch(py));
            }
            builder.push(std::slice::from_raw_parts(bytes.cast(), len as usize));
        }
    }
    let validity = valid.map(|mut bits| NullBuffer::new(bits.finish())).filter(|v| v.null_count() > 0);
    Ok(Some(Vector::new(Data::Str(builder.finish()), validity)))
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
