//! Bytes of a result exported to Python through the buffer protocol, without a copy.

use arrow_buffer::Buffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};
use pyo3::{ffi, intern};
use std::ffi::c_int;

/// A read-only view; what it shows lives as long as any view of it.
#[pyclass(frozen, module = "chalet")]
pub struct MemoryView {
    bytes: Buffer,
}

impl MemoryView {
    pub fn new(bytes: Buffer) -> MemoryView {
        MemoryView { bytes }
    }
}

#[pymethods]
impl MemoryView {
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    /// A standard memoryview.
    fn view<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyMemoryView>> {
        PyMemoryView::from(slf.as_any())
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    /// Does nothing: the memory is freed when nothing refers to it any more.
    fn release(&self) {}

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<String> {
        let name = slf.get_type().getattr(intern!(slf.py(), "__name__"))?;
        Ok(format!("<{name} of {} bytes>", slf.get().bytes.len()))
    }

    /// # Safety
    /// Called by Python with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().bytes;
        let len = isize::try_from(bytes.len()).map_err(|e| PyBufferError::new_err(e.to_string()))?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the pointer and length are of the buffer that the object, which the view holds a reference to,
        // owns and never changes; the view is marked read-only.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
