//! A call of the engine for somebody who waits elsewhere, such as a coroutine. It is made where the caller is, and keeps the
//! caller's variables for statements that name them; it runs on another thread; it can be stopped as a whole.

use crate::error::to_python;
use crate::watch::Order;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;
use std::sync::Arc;

/// Local and global variables of a frame.
pub struct Variables<'py> {
    pub locals: Bound<'py, PyAny>,
    pub globals: Bound<'py, PyDict>,
    /// The frame holds the dict of local variables that was made for us, and would for as long as its function runs.
    is_made: bool,
}

/// The same, kept.
pub struct Seen {
    pub locals: Py<PyAny>,
    pub globals: Py<PyDict>,
}

impl Drop for Variables<'_> {
    fn drop(&mut self) {
        // Values that the function gives up later are to go then. What else has the dict wants it as it is.
        if self.is_made
            && let Ok(made) = self.locals.cast::<PyDict>()
            // SAFETY: an object that is held, looked at with the GIL.
            && unsafe { pyo3::ffi::Py_REFCNT(made.as_ptr()) } == 2
        {
            made.clear();
        }
    }
}

impl Variables<'_> {
    /// As they are now.
    pub fn keep(&self) -> PyResult<Seen> {
        let py = self.locals.py();
        let locals = if self.is_made {
            py.get_type::<PyDict>().call1((&self.locals,))?.unbind()
        } else {
            self.locals.clone().unbind()
        };
        Ok(Seen { locals, globals: self.globals.clone().unbind() })
    }
}

impl Seen {
    pub fn variables<'py>(&self, py: Python<'py>) -> Variables<'py> {
        let (locals, globals) = (self.locals.bind(py).clone(), self.globals.bind(py).clone());
        Variables { locals, globals, is_made: false }
    }

    fn clone_ref(&self, py: Python<'_>) -> Seen {
        Seen { locals: self.locals.clone_ref(py), globals: self.globals.clone_ref(py) }
    }
}

#[pyclass(frozen, module = "chalet")]
pub struct Call {
    order: Arc<Order>,
    seen: Option<Seen>,
}

/// The call that runs on this thread.
struct Now {
    order: Arc<Order>,
    seen: Option<Seen>,
    /// Where it began: frames further out are not the caller's.
    frame: Py<PyAny>,
}

thread_local! {
    static NOW: RefCell<Option<Now>> = const { RefCell::new(None) };
}

/// What may stop the call that runs on this thread, if one does.
pub fn order() -> Option<Arc<Order>> {
    NOW.with_borrow(|now| now.as_ref().map(|now| now.order.clone()))
}

#[pymethods]
impl Call {
    /// `timeout` in seconds, from now on.
    #[new]
    #[pyo3(signature = (timeout = None))]
    fn new(py: Python<'_>, timeout: Option<f64>) -> PyResult<Call> {
        let order = Arc::new(Order::within(timeout)?);
        let seen = variables(py)?.map(|seen| seen.keep()).transpose()?;
        Ok(Call { order, seen })
    }

    /// Calls a function; what it asks of the engine stops when the call is stopped, or the one that this one is part of.
    #[pyo3(signature = (function, *args, **kwargs))]
    fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let order = order().unwrap_or_else(|| self.order.clone());
        if order.is_given() {
            return Err(to_python(py, &order.error()));
        }
        let frame =
            frame(py)?.ok_or_else(|| crate::error::InterfaceError::new_err("No frame to call from"))?;
        let seen = self.seen.as_ref().map(|seen| seen.clone_ref(py));
        let now = Now { order, seen, frame: frame.unbind() };
        let before = NOW.replace(Some(now));
        let answer = function.call(args, kwargs);
        // Dropped out of the cell: finalisers may run.
        let over = NOW.replace(before);
        drop(over);
        answer
    }

    /// Raises what it raises when its time is over.
    fn expire(&self, py: Python<'_>) -> PyResult<()> {
        Err(to_python(py, &self.order.overdue()))
    }

    /// Stops it, from any thread, whether or not it has begun.
    fn stop(&self) {
        self.order.stop();
    }
}

/// In the flags of code objects.
const CO_OPTIMIZED: u32 = 1;

/// The innermost frame; a thread of the engine has none.
fn frame(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    static GETFRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Ok(GETFRAME.import(py, "sys", "_getframe")?.call0().ok())
}

/// Variables of the innermost frame that is not of this package, or of the one that made the call of this thread.
pub fn variables(py: Python<'_>) -> PyResult<Option<Variables<'_>>> {
    let Some(mut frame) = frame(py)? else { return Ok(None) };
    let kept = NOW.with_borrow(|now| {
        let now = now.as_ref()?;
        Some((now.frame.clone_ref(py), now.seen.as_ref().map(|seen| seen.clone_ref(py))))
    });
    loop {
        if let Some((first, seen)) = &kept
            && frame.is(first)
        {
            return Ok(seen.as_ref().map(|seen| seen.variables(py)));
        }
        if let Some(seen) = variables_of(&frame)? {
            return Ok(Some(seen));
        }
        frame = frame.getattr(intern!(py, "f_back"))?;
        if frame.is_none() {
            return Ok(None);
        }
    }
}

/// Variables of a frame, unless it is one of this package.
fn variables_of<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Option<Variables<'py>>> {
    let py = frame.py();
    let globals = frame.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
    let module = globals.get_item(intern!(py, "__name__"))?;
    let module = module.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
    if module == "chalet" || module.starts_with("chalet.") {
        return Ok(None);
    }
    // Only functions have variables that are not in a dict anyway.
    let flags: u32 = frame.getattr(intern!(py, "f_code"))?.getattr(intern!(py, "co_flags"))?.extract()?;
    let locals = frame.getattr(intern!(py, "f_locals"))?;
    Ok(Some(Variables { locals, globals, is_made: flags & CO_OPTIMIZED != 0 }))
}

/// A variable of the innermost frame that has one of this name: comprehensions, nested functions and helpers see those around.
pub fn variable_of_any_frame<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut next = frame(py)?;
    while let Some(frame) = next {
        if let Some(seen) = variables_of(&frame)? {
            if seen.locals.contains(name)? {
                return Ok(Some(seen.locals.get_item(name)?));
            }
            if let Some(found) = seen.globals.get_item(name)? {
                return Ok(Some(found));
            }
        }
        next = Some(frame.getattr(intern!(py, "f_back"))?).filter(|frame| !frame.is_none());
    }
    Ok(None)
}
