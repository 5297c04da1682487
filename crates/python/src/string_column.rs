//! A string column of a result as one Arrow array of large strings, which is how pandas holds strings.

use crate::error::to_python;
use crate::{arrow_types, parallel};
use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::ffi::to_ffi;
use arrow_array::{Array, LargeStringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use chalet_base::{Result, bail};
use chalet_columns::{Data, Vector};
use chalet_engine::Rows;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A string column, which becomes Python objects or is exported as Arrow, as its user chooses.
#[pyclass(frozen, module = "chalet")]
pub struct StringColumn {
    array: LargeStringArray,
}

impl StringColumn {
    /// None if the column (of String, FixedString or Enum) holds bytes that are no text.
    pub fn of(py: Python<'_>, rows: &Rows, idx: usize) -> PyResult<Option<StringColumn>> {
        let joined = crate::background::away(py, || joined(rows, idx))?.map_err(|e| to_python(py, &e))?;
        Ok(joined.map(|array| StringColumn { array }))
    }
}

#[pymethods]
impl StringColumn {
    /// A list of str and None.
    fn objects<'py>(&self, py: Python<'py>) -> Vec<Option<Bound<'py, PyString>>> {
        self.array.iter().map(|text| text.map(|text| PyString::new(py, text))).collect()
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let (array, schema) =
            to_ffi(&self.array.to_data()).map_err(|e| PyValueError::new_err(e.to_string()))?;
        // The capsules own the structs and release what nobody has taken out of them.
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// Where the strings of one block go.
struct Part<'a> {
    vector: &'a Vector,
    /// Of the first byte in the whole.
    start: i64,
    offsets: &'a mut [i64],
    bytes: &'a mut [u8],
}

fn joined(rows: &Rows, idx: usize) -> Result<Option<LargeStringArray>> {
    let ty = &rows.types[idx];
    let converted = |column| Ok(arrow_types::column(column, ty)?.into_flat());
    let vectors: Vec<Vector> = rows.blocks.iter().map(|b| converted(b.column(idx))).collect::<Result<_>>()?;
    let sizes: Vec<usize> = vectors.iter().map(size_of_texts).collect::<Result<_>>()?;
    let total: usize = sizes.iter().sum();
    let n_rows = rows.n_rows();
    let (mut bytes, mut offsets) = (vec![0u8; total], vec![0i64; n_rows + 1]);
    let mut parts = Vec::with_capacity(vectors.len());
    let (mut bytes_left, mut offsets_left, mut start) = (&mut bytes[..], &mut offsets[1..], 0);
    for (vector, &size) in vectors.iter().zip(&sizes) {
        let (part, rest) = bytes_left.split_at_mut(size);
        let (ends, others) = offsets_left.split_at_mut(vector.len());
        parts.push(Mutex::new(Part { vector, start, offsets: ends, bytes: part }));
        (bytes_left, offsets_left, start) = (rest, others, start + size as i64);
    }
    let all_text = AtomicBool::new(true);
    parallel::each(parts.len(), total + 24 * n_rows, |task| {
        let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
        if all_text.load(Relaxed) && !put(&mut part)? {
            all_text.store(false, Relaxed);
        }
        Ok(())
    })?;
    drop(parts);
    if !all_text.into_inner() {
        return Ok(None);
    }
    // SAFETY: the offsets begin at 0 and grow by the lengths of the strings, whose sum is the length of the bytes; `put`
    // has found that the bytes are UTF-8 and that every string begins and ends at a character's boundary.
    Ok(Some(unsafe {
        let offsets = OffsetBuffer::new_unchecked(offsets.into());
        LargeStringArray::new_unchecked(offsets, Buffer::from_vec(bytes), nulls(&vectors, n_rows))
    }))
}

fn size_of_texts(vector: &Vector) -> Result<usize> {
    Ok(match &vector.data {
        Data::Str(strings) => strings.total_bytes(),
        Data::Fixed(fixed) => fixed.bytes.len(),
        other => bail!(LOGICAL_ERROR, "Texts are held as {:?}", other.physical()),
    })
}

/// Copies the strings; false if they are no text.
fn put(part: &mut Part) -> Result<bool> {
    let mut at = 0;
    let mut copy = |row: usize, text: &[u8]| {
        part.bytes[at..at + text.len()].copy_from_slice(text);
        at += text.len();
        part.offsets[row] = part.start + at as i64;
    };
    match &part.vector.data {
        Data::Str(strings) => strings.iter().enumerate().for_each(|(row, text)| copy(row, text)),
        Data::Fixed(fixed) => fixed.iter().enumerate().for_each(|(row, text)| copy(row, text)),
        other => bail!(LOGICAL_ERROR, "Texts are held as {:?}", other.physical()),
    }
    // All at once is many times as fast as one by one.
    let Ok(text) = std::str::from_utf8(part.bytes) else { return Ok(false) };
    let begins = |&end: &i64| text.is_char_boundary((end - part.start) as usize);
    Ok(text.is_ascii() || part.offsets.iter().all(begins))
}

fn nulls(vectors: &[Vector], n_rows: usize) -> Option<NullBuffer> {
    if vectors.iter().all(|vector| vector.null_count() == 0) {
        return None;
    }
    let mut bits = BooleanBufferBuilder::new(n_rows);
    for vector in vectors {
        match &vector.validity {
            Some(validity) => bits.append_buffer(validity.inner()),
            None => bits.append_n(vector.len(), true),
        }
    }
    Some(NullBuffer::new(bits.finish()))
}
