//! The one exception class, with ClickHouse's code and name as attributes.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};

create_exception!(
    chalet,
    Error,
    PyRuntimeError,
    "A statement failed. `code` and `name` are ClickHouse's, e.g. 47 and 'UNKNOWN_IDENTIFIER'."
);

/// Adds the class to the module; an instance that someone else raises has defaults for the attributes.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<Error>();
    class.setattr("code", 0)?;
    class.setattr("name", "")?;
    module.add("Error", class)
}

pub fn to_python(py: Python<'_>, error: &chalet_base::Error) -> PyErr {
    let raised = Error::new_err(error.to_string());
    let code = error.code();
    let value = raised.value(py);
    let set = value.setattr("code", code.number).and_then(|()| value.setattr("name", code.name));
    set.err().unwrap_or(raised)
}
