//! The exception classes: PEP 249's tree, whose `Error` is the class of all errors of this package. Each has
//! ClickHouse's code and name as attributes.

use chalet_base::{ErrorCode, codes};
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::{PyErr, PyTypeInfo, create_exception};
use std::sync::{Mutex, PoisonError};

create_exception!(chalet, StandardError, PyRuntimeError, "The base of errors and warnings.");
create_exception!(chalet, Warning, StandardError, "Something that may be a mistake.");
create_exception!(
    chalet,
    Error,
    StandardError,
    "A statement failed. `code` and `name` are ClickHouse's, e.g. 47 and 'UNKNOWN_IDENTIFIER'."
);
create_exception!(chalet, InterfaceError, Error, "The interface was used wrongly: a closed connection, say.");
create_exception!(chalet, DatabaseError, Error, "The database refused.");
create_exception!(chalet, DataError, DatabaseError, "A value cannot be what it is asked to be.");
create_exception!(chalet, OperationalError, DatabaseError, "Files, memory, time or cancellation.");
create_exception!(chalet, IntegrityError, DatabaseError, "A constraint is violated.");
create_exception!(chalet, InternalError, DatabaseError, "The engine failed inside.");
create_exception!(chalet, ProgrammingError, DatabaseError, "The statement is wrong.");
create_exception!(chalet, NotSupportedError, DatabaseError, "What is asked for is not there.");

/// Adds the classes to the module; an instance that someone else raises has defaults for the attributes.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fn add<T: PyTypeInfo>(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let class = module.py().get_type::<T>();
        module.add(class.name()?, class)
    }
    let class = module.py().get_type::<Error>();
    class.setattr("code", 0)?;
    class.setattr("name", "")?;
    add::<StandardError>(module)?;
    add::<Warning>(module)?;
    add::<Error>(module)?;
    add::<InterfaceError>(module)?;
    add::<DatabaseError>(module)?;
    add::<DataError>(module)?;
    add::<OperationalError>(module)?;
    add::<IntegrityError>(module)?;
    add::<InternalError>(module)?;
    add::<ProgrammingError>(module)?;
    add::<NotSupportedError>(module)
}

/// Runs what makes objects of a result. No panic of it passes on, nor does memory that is not there: both are exceptions.
pub fn caught<T>(py: Python<'_>, f: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // PyO3's constructors panic with this where Python makes no object, and they have then taken Python's exception. They are
    // called with values that are right, so that Python had no memory.
    const NO_OBJECT: &str = "PyObject pointer is null";
    chalet_memory::guard::caught(f).unwrap_or_else(|error| match error.message().ends_with(NO_OBJECT) {
        true => Err(PyMemoryError::new_err(())),
        false => Err(PyErr::take(py).unwrap_or_else(|| to_python(py, &error))),
    })
}

pub fn to_python(py: Python<'_>, error: &chalet_base::Error) -> PyErr {
    raised(py, error, "")
}

/// The exception, with words in front of the message.
pub fn raised(py: Python<'_>, error: &chalet_base::Error, before: &str) -> PyErr {
    let code = error.code();
    let cause = (code == codes::PY_EXCEPTION_OCCURED).then(|| take_cause(error.message())).flatten();
    if let Some(cause) = &cause
        && !cause.is_instance_of::<pyo3::exceptions::PyException>(py)
    {
        // KeyboardInterrupt and SystemExit are no failures of the function.
        return cause.clone_ref(py);
    }
    let made = of_class(code, format!("{before}{error}"));
    let value = made.value(py);
    let set = value.setattr("code", code.number).and_then(|()| value.setattr("name", code.name));
    made.set_cause(py, cause);
    set.err().unwrap_or(made)
}

/// Whether a code is about values, not about the statement or what surrounds it.
pub fn is_of_data(code: ErrorCode) -> bool {
    const PREFIXES: [&str; 5] =
        ["CANNOT_PARSE_", "INCORRECT_DATA", "TOO_LARGE_STRING", "VALUE_IS_OUT_OF", "ARGUMENT_OUT_OF"];
    const CODES: [ErrorCode; 9] = [
        codes::TYPE_MISMATCH,
        codes::DECIMAL_OVERFLOW,
        codes::ILLEGAL_DIVISION,
        codes::CANNOT_CONVERT_TYPE,
        codes::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
        codes::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO,
        codes::PY_EXCEPTION_OCCURED,
        codes::UNKNOWN_ELEMENT_OF_ENUM,
        codes::ATTEMPT_TO_READ_AFTER_EOF,
    ];
    CODES.contains(&code) || PREFIXES.iter().any(|prefix| code.name.starts_with(prefix))
}

/// The class that PEP 249 has for a code.
fn of_class(code: ErrorCode, text: String) -> PyErr {
    let name = code.name;
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let is = |codes: &[ErrorCode]| codes.contains(&code);
    if is(&[codes::NOT_IMPLEMENTED, codes::SUPPORT_IS_DISABLED]) || begins(&["UNSUPPORTED_"]) {
        NotSupportedError::new_err(text)
    } else if is(&[codes::VIOLATED_CONSTRAINT]) {
        IntegrityError::new_err(text)
    } else if is(&[codes::LOGICAL_ERROR]) {
        InternalError::new_err(text)
    } else if is_of_data(code) {
        DataError::new_err(text)
    } else if begins(&[
        "TIMEOUT",
        "MEMORY_",
        "QUERY_WAS",
        "CANNOT_OPEN",
        "CANNOT_READ",
        "CANNOT_WRITE",
        "CANNOT_CREATE_D",
        "CANNOT_FSYNC",
        "CHECKSUM_",
        "CORRUPTED_",
        "FILE_",
    ]) || begins(&["TOO_MANY_ROWS", "TOO_MANY_BYTES", "CANNOT_EXTRACT_TABLE"])
        || is(&[codes::READONLY])
    {
        OperationalError::new_err(text)
    } else if begins(&[
        "UNKNOWN_",
        "SYNTAX_",
        "ILLEGAL_",
        "NUMBER_OF_",
        "BAD_",
        "NO_",
        "NOT_",
        "TABLE_",
        "DATABASE_",
    ]) || begins(&[
        "AMBIGUOUS",
        "MULTIPLE_",
        "FUNCTION_",
        "DUPLICATE_",
        "INVALID_",
        "EMPTY_",
        "TOO_DEEP",
        "TOO_BIG",
    ]) {
        ProgrammingError::new_err(text)
    } else {
        DatabaseError::new_err(text)
    }
}

/// Exceptions of Python functions that a query called, for [`raised`]: the engine's error has only their text.
static CAUSES: Mutex<Vec<(String, PyErr)>> = Mutex::new(Vec::new());
/// Those of queries whose error nobody asked for are forgotten.
const MOST_CAUSES: usize = 16;

/// Keeps an exception until the error with this message reaches Python.
pub fn keep_cause(message: &str, cause: PyErr) {
    let mut causes = CAUSES.lock().unwrap_or_else(PoisonError::into_inner);
    if causes.len() == MOST_CAUSES {
        causes.remove(0);
    }
    causes.push((message.to_owned(), cause));
}

fn take_cause(message: &str) -> Option<PyErr> {
    let mut causes = CAUSES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = causes.iter().position(|(known, _)| message.starts_with(known.as_str()))?;
    Some(causes.remove(found).1)
}
