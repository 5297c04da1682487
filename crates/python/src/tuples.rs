//! Rows as tuples, which take their objects over: no object is counted up and down on its way into a row, or a row into a result.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

type Object<'py> = Bound<'py, PyAny>;

/// Columns of objects as tuples. Where they hold nothing that could be part of a cycle, the collector is told
/// at once, as it would find out itself when it has gone over all of them: 60 ms of 400 for 500,000 rows of six (2026-11-22).
pub fn of_columns<'py>(
    py: Python<'py>,
    columns: Vec<Vec<Object<'py>>>,
    n_rows: usize,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let width = columns.len();
    let is_plain = width > 0 && !columns.iter().any(|column| is_collected(column));
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let mut rows = Vec::with_capacity(n_rows);
    for _ in 0..n_rows {
        let row = filled(py, width, columns.iter_mut().map(Iterator::next))?;
        if is_plain {
            // SAFETY: the GIL is held, and the object is a tuple, which the collector knows until now.
            unsafe { ffi::PyObject_GC_UnTrack(row.as_ptr().cast()) };
        }
        rows.push(row);
    }
    Ok(rows)
}

/// A tuple of objects that are given to it; they are asked for only when nothing can fail any more. Places without one hold None.
pub fn filled<'py>(
    py: Python<'py>,
    len: usize,
    objects: impl Iterator<Item = Option<Object<'py>>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let offset = *OFFSET.get_or_init(py, || find_offset(py));
    // SAFETY: the GIL is held; a new reference or an exception. No other code sees the tuple before it is filled.
    let tuple = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(len as ffi::Py_ssize_t))? };
    let mut objects = objects.chain(std::iter::repeat_with(|| None));
    for at in 0..len {
        let object = objects.next().flatten().map_or_else(|| py.None().into_ptr(), Bound::into_ptr);
        match offset {
            // SAFETY: the offset was found to be that of the first of as many places as the tuple is long. They hold null, so
            // nothing is lost when one is set, once, with a reference that is given away.
            Some(offset) => unsafe {
                tuple.as_ptr().byte_add(offset).cast::<*mut ffi::PyObject>().add(at).write(object);
            },
            // SAFETY: the same by a call, which checks the place and takes the reference in any case.
            None => unsafe {
                if ffi::PyTuple_SetItem(tuple.as_ptr(), at as ffi::Py_ssize_t, object) != 0 {
                    return Err(PyErr::fetch(py));
                }
            },
        }
    }
    // SAFETY: that is what was made.
    Ok(unsafe { tuple.cast_into_unchecked() })
}

/// Where the places of a tuple begin, in bytes; none where they are not found.
static OFFSET: PyOnceLock<Option<usize>> = PyOnceLock::new();

/// What Python says a tuple takes without places, if a tuple of two that is made by the interpreter holds them there. The stable
/// interface has a call for each place alone, which is 3.5 % of the profile of rows of one column (2026-11-27).
fn find_offset(py: Python<'_>) -> Option<usize> {
    const PLACE: usize = size_of::<*mut ffi::PyObject>();
    let class = py.get_type::<PyTuple>();
    let size: usize = class.getattr("__basicsize__").ok()?.extract().ok()?;
    let place: usize = class.getattr("__itemsize__").ok()?.extract().ok()?;
    let objects = [py.None().into_bound(py), class.into_any()];
    let model = PyTuple::new(py, &objects).ok()?;
    let whole: usize = model.call_method0("__sizeof__").ok()?.extract().ok()?;
    if place != PLACE
        || whole != size + 2 * PLACE
        || size < size_of::<ffi::PyVarObject>()
        || size % PLACE != 0
    {
        return None;
    }
    // SAFETY: the tuple is held, and takes so many bytes from where its pointer leads to.
    let found = unsafe { model.as_ptr().byte_add(size).cast::<[*mut ffi::PyObject; 2]>().read() };
    (found == [objects[0].as_ptr(), objects[1].as_ptr()]).then_some(size)
}

/// May one of the objects refer to others? The collector need not look at who holds none such.
fn is_collected(column: &[Object<'_>]) -> bool {
    let mut plain = std::ptr::null_mut();
    column.iter().any(|object| {
        // SAFETY: an object that is held, looked at with the GIL; its class lives as long.
        unsafe {
            let class = ffi::Py_TYPE(object.as_ptr());
            if class == plain {
                return false;
            }
            plain = class;
            ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC != 0
        }
    })
}
