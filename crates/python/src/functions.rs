//! Python functions as functions of SQL. A block is handed over with the GIL taken once.

use crate::calls::{Calls, ROWS_AT_ONCE};
use crate::collector;
use crate::error::{Error, NotSupportedError, keep_cause, to_python};
use crate::from_objects::{Converter, Misfit};
use crate::interrupt_throttle::InterruptThrottle;
use crate::objects::{self, Session};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Vector};
use chalet_engine::functions;
use chalet_engine::host::{HostAggregate, HostArgs, HostGroups, HostScalar, HostState};
use chalet_types::{DataType, TimeZone};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyList, PyTuple};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// What a user says of a function.
struct Terms {
    name: String,
    /// As declared; without it anything goes.
    args: Option<Vec<DataType>>,
    /// Of [`Self::args`] when there is none: so many at least and at most.
    arity: (usize, usize),
    result: DataType,
    /// NULL is None for the function; otherwise a row with a NULL is not its business.
    takes_null: bool,
    /// A row whose call fails has no result, instead of the query.
    ignores_errors: bool,
}

thread_local! {
    /// Is what this thread runs part of a query?
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller is itself called by a query: on a thread that runs one, or one that works for such a thread.
pub fn is_called_by_query() -> bool {
    CALLING.get() || std::thread::current().name() == Some("chalet-worker")
}

/// Marks what this thread runs as part of a query, until dropped.
pub struct Calling(bool);

impl Calling {
    pub fn begin() -> Calling {
        Calling(CALLING.replace(true))
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(self.0);
    }
}

impl Terms {
    fn result_type(&self, given: &[DataType]) -> Result<DataType> {
        let (least, most) = self.arity;
        let name = &self.name;
        ensure!(
            (least..=most).contains(&given.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function {name} doesn't match: passed {}, should be {}",
            given.len(),
            if least == most { least.to_string() } else { format!("{least} or more") }
        );
        let declared = self.args.iter().flatten();
        for (number, (given, declared)) in given.iter().zip(declared).enumerate() {
            ensure!(
                takes(declared.bare(), given.bare()),
                BAD_ARGUMENTS,
                "Python UDF '{name}': argument {} type mismatch: expected {declared}, got {given}",
                number + 1
            );
        }
        Ok(self.result.clone())
    }

    /// The error of a call that failed.
    fn failed(&self, py: Python<'_>, row: Option<usize>, error: PyErr) -> chalet_base::Error {
        let kind = error.get_type(py).name().map_or_else(|_| "exception".into(), |name| name.to_string());
        let place = row.map_or(String::new(), |row| format!(" at row {row}"));
        let name = &self.name;
        let made = err!(
            PY_EXCEPTION_OCCURED,
            "Python UDF '{name}' raised an exception{place}: {kind}: {}",
            error.value(py)
        );
        keep_cause(made.message(), error);
        made
    }

    /// Appends what a call returned.
    #[inline]
    fn push(
        &self,
        py: Python<'_>,
        out: &mut Builder,
        converter: &Converter,
        value: &Bound<'_, PyAny>,
    ) -> Result<()> {
        if converter.push_exact(out, value) {
            return Ok(());
        }
        let before = out.len();
        let Err(misfit) = converter.push(out, value) else { return Ok(()) };
        out.truncate(before);
        let ty = self.result.without_nullable();
        match misfit {
            Misfit::Failed(error) => Err(self.failed(py, None, error)),
            Misfit::Range => bail!(
                TYPE_MISMATCH,
                "Python UDF '{}': {} is out of range for type {ty}",
                self.name,
                value.repr().map_or_else(|_| "a value".into(), |text| text.to_string())
            ),
            Misfit::Kind => {
                let kind = value.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
                bail!(TYPE_MISMATCH, "Python UDF '{}': cannot convert Python {kind} to {ty}", self.name)
            }
        }
    }

    /// Columns of objects of some rows, one for each argument.
    fn objects<'py>(&self, py: Python<'py>, args: &HostArgs, rows: Range<usize>) -> Result<Objects<'py>> {
        // Not while the function runs: its garbage is its own.
        let _suspended = collector::Suspended::new(py);
        let session = Session { zone: args.zone.clone() };
        let mut columns = Vec::with_capacity(args.columns.len());
        let mut skipped = vec![false; rows.len()];
        for (at, (column, ty)) in args.columns.iter().zip(args.types).enumerate() {
            let column = column.slice(rows.start, rows.len());
            let made = objects::column(py, &column, ty, &session).map_err(|e| self.failed(py, None, e))?;
            let made = match self.args.as_ref().and_then(|declared| declared.get(at)).map(DataType::bare) {
                // An int where a float was asked for.
                Some(DataType::Float32 | DataType::Float64) if ty.bare().is_integer() => {
                    floats(py, made).map_err(|e| self.failed(py, None, e))?
                }
                _ => made,
            };
            if !self.takes_null {
                for (skip, value) in skipped.iter_mut().zip(&made) {
                    *skip |= value.is_none();
                }
            }
            columns.push(made);
        }
        Ok(Objects { columns, skipped })
    }

    /// As [`Objects::into_lists`] of these rows.
    fn lists<'py>(
        &self,
        py: Python<'py>,
        args: &HostArgs,
        rows: Range<usize>,
    ) -> Result<(Vec<Bound<'py, PyList>>, Vec<bool>)> {
        self.objects(py, args, rows)?.into_lists(py).map_err(|e| self.failed(py, None, e))
    }
}

/// Arguments of some rows.
struct Objects<'py> {
    columns: Vec<Vec<Bound<'py, PyAny>>>,
    /// The rows with a NULL that the function does not take.
    skipped: Vec<bool>,
}

impl<'py> Objects<'py> {
    /// Lists of the rows that the function is called for.
    fn into_lists(self, py: Python<'py>) -> PyResult<(Vec<Bound<'py, PyList>>, Vec<bool>)> {
        let Objects { columns, skipped } = self;
        let all = !skipped.contains(&true);
        let list = |column: Vec<Bound<'py, PyAny>>| {
            if all {
                return PyList::new(py, column);
            }
            let kept = column.into_iter().zip(&skipped).filter(|(_, skip)| !**skip);
            PyList::new(py, kept.map(|(value, _)| value).collect::<Vec<_>>())
        };
        let lists = columns.into_iter().map(list).collect::<PyResult<_>>()?;
        Ok((lists, skipped))
    }
}

/// Ranges of at most [`ROWS_AT_ONCE`] rows.
fn pieces(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(ROWS_AT_ONCE).map(move |from| from..end.min(from + ROWS_AT_ONCE))
}

fn floats<'py>(py: Python<'py>, values: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let convert = |value: Bound<'py, PyAny>| {
        if value.is_none() { Ok(value) } else { Ok(value.extract::<f64>()?.into_pyobject(py)?.into_any()) }
    };
    values.into_iter().map(convert).collect()
}

/// Whether values of a type may stand where another is declared: those of one family are the same Python objects.
fn takes(declared: &DataType, given: &DataType) -> bool {
    use DataType as T;
    let is_text = |ty: &T| ty.is_string() || ty.is_enum();
    declared == given
        || matches!(given, T::Nothing)
        || (declared.is_integer() && given.is_integer())
        || (declared.is_float() && (given.is_float() || given.is_integer()))
        || (declared.is_decimal() && given.is_decimal())
        || (is_text(declared) && is_text(given))
        || matches!((declared, given), (T::Date | T::Date32, T::Date | T::Date32))
        || matches!(
            (declared, given),
            (T::DateTime(_) | T::DateTime64(..), T::DateTime(_) | T::DateTime64(..))
        )
        || matches!(
            (declared, given),
            (T::Array(_), T::Array(_)) | (T::Map(..), T::Map(..)) | (T::Tuple(_), T::Tuple(_))
        )
}

/// The GIL, unless the interpreter is going away.
fn with_gil<T>(f: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let run = |py: Python<'_>| {
        let _calling = Calling::begin();
        f(py)
    };
    Python::try_attach(run)
        .unwrap_or_else(|| Err(err!(QUERY_WAS_CANCELLED, "The interpreter is shutting down")))
}

struct Scalar {
    terms: Terms,
    function: Py<PyAny>,
}

impl HostScalar for Scalar {
    fn result_type(&self, args: &[DataType]) -> Result<DataType> {
        self.terms.result_type(args)
    }

    fn call(&self, args: &HostArgs, result: &DataType) -> Result<Vector> {
        with_gil(|py| {
            let Scalar { terms, function } = self;
            let function = function.bind(py);
            let converter = Converter::new(result, &Session { zone: args.zone.clone() });
            let mut out = Builder::new(result);
            let mut throttle = InterruptThrottle::new(args.interrupt);
            for rows in pieces(0..args.n_rows) {
                let (lists, skipped) = terms.lists(py, args, rows.clone())?;
                let mut calls = Calls::new(function, &lists).map_err(|e| terms.failed(py, None, e))?;
                for (row, skip) in rows.zip(skipped) {
                    throttle.step()?;
                    if skip {
                        out.push_default();
                        continue;
                    }
                    match calls.call() {
                        Ok(value) if value.is_none() => out.push_default(),
                        Ok(value) => match terms.push(py, &mut out, &converter, &value) {
                            Err(_) if terms.ignores_errors => out.push_default(),
                            done => done?,
                        },
                        Err(error) if terms.ignores_errors && is_ordinary(py, &error) => out.push_default(),
                        Err(error) => return Err(terms.failed(py, Some(row), error)),
                    }
                }
            }
            Ok(out.finish())
        })
    }
}

/// Not KeyboardInterrupt and its like.
fn is_ordinary(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<pyo3::exceptions::PyException>(py)
}

struct Accumulator {
    terms: Terms,
    factory: Py<PyAny>,
    /// It takes whole columns for one group.
    takes_batches: bool,
    /// Copies of states that cannot be pickled, by number, between [`save`](HostAggregate::save) and
    /// [`load`](HostAggregate::load).
    copies: Mutex<Copies>,
}

#[derive(Default)]
struct Copies {
    by_number: HashMap<u64, Py<PyAny>>,
    last: u64,
}

/// What the bytes of a state that is among the copies begin with; a pickle begins with another byte.
const COPIED: u8 = 0;

impl Accumulator {
    fn state<'a, 'py>(&self, py: Python<'py>, state: &'a mut HostState) -> Result<&'a Bound<'py, PyAny>> {
        if state.is_none() {
            let made = self.factory.bind(py).call0().map_err(|e| self.terms.failed(py, None, e))?;
            *state = Some(Box::new(made.unbind()));
        }
        let object = state.as_ref().and_then(|state| state.downcast_ref::<Py<PyAny>>());
        let object = object.ok_or_else(|| err!(LOGICAL_ERROR, "The state is not an accumulator"))?;
        Ok(object.bind(py))
    }
}

impl Accumulator {
    /// All rows at once, as whole columns.
    fn add_batch(
        &self,
        py: Python<'_>,
        state: &mut HostState,
        rows: Range<usize>,
        args: &HostArgs,
    ) -> Result<()> {
        let (lists, skipped) = self.terms.lists(py, args, rows)?;
        if !skipped.contains(&false) {
            return Ok(());
        }
        let accumulator = self.state(py, state)?;
        let called = PyTuple::new(py, lists)
            .and_then(|lists| accumulator.call_method1(intern!(py, "update_batch"), lists));
        called.map(drop).map_err(|e| self.terms.failed(py, None, e))
    }

    /// Row by row for one group.
    fn add_rows(
        &self,
        py: Python<'_>,
        state: &mut HostState,
        rows: Range<usize>,
        args: &HostArgs,
    ) -> Result<()> {
        let mut throttle = InterruptThrottle::new(args.interrupt);
        for rows in pieces(rows) {
            let (lists, skipped) = self.terms.lists(py, args, rows.clone())?;
            if !skipped.contains(&false) {
                continue;
            }
            let update = self.state(py, state)?.getattr(intern!(py, "update"));
            let calls = update.and_then(|update| Calls::new(&update, &lists));
            let mut calls = calls.map_err(|e| self.terms.failed(py, None, e))?;
            for (row, _) in rows.zip(skipped).filter(|(_, skip)| !skip) {
                throttle.step()?;
                calls.call().map(drop).or_else(|error| self.not_updated(py, row, error))?;
            }
        }
        Ok(())
    }

    /// Row by row, each for its group.
    fn add_each(
        &self,
        py: Python<'_>,
        states: &mut [HostState],
        groups: &[u32],
        args: &HostArgs,
    ) -> Result<()> {
        let mut throttle = InterruptThrottle::new(args.interrupt);
        for rows in pieces(0..groups.len()) {
            let Objects { columns, skipped } = self.terms.objects(py, args, rows.clone())?;
            for (at, row) in rows.enumerate().filter(|(at, _)| !skipped[*at]) {
                throttle.step()?;
                let accumulator = self.state(py, &mut states[groups[row] as usize])?;
                let cells = PyTuple::new(py, columns.iter().map(|column| &column[at]));
                let called = cells.and_then(|cells| accumulator.call_method1(intern!(py, "update"), cells));
                called.map(drop).or_else(|error| self.not_updated(py, row, error))?;
            }
        }
        Ok(())
    }

    #[cold]
    fn not_updated(&self, py: Python<'_>, row: usize, error: PyErr) -> Result<()> {
        if self.terms.ignores_errors && is_ordinary(py, &error) {
            return Ok(());
        }
        Err(self.terms.failed(py, Some(row), error))
    }
}

impl HostAggregate for Accumulator {
    fn result_type(&self, args: &[DataType]) -> Result<DataType> {
        self.terms.result_type(args)
    }

    fn add(&self, states: &mut [HostState], groups: HostGroups, args: &HostArgs) -> Result<()> {
        with_gil(|py| match groups {
            HostGroups::One(group, rows) if self.takes_batches => {
                self.add_batch(py, &mut states[group], rows, args)
            }
            HostGroups::One(group, rows) => self.add_rows(py, &mut states[group], rows, args),
            HostGroups::Each(groups) => self.add_each(py, states, groups, args),
        })
    }

    fn merge(&self, into: &mut HostState, from: HostState) -> Result<()> {
        let Some(from) = from else { return Ok(()) };
        if into.is_none() {
            *into = Some(from);
            return Ok(());
        }
        with_gil(|py| {
            let mut from = Some(from);
            let from = self.state(py, &mut from)?.clone();
            let into = self.state(py, into)?;
            let called = into.call_method1(intern!(py, "merge"), (from,));
            called.map(drop).map_err(|e| self.terms.failed(py, None, e))
        })
    }

    fn save(&self, state: &HostState) -> Result<Vec<u8>> {
        let Some(object) = state.as_ref().and_then(|state| state.downcast_ref::<Py<PyAny>>()) else {
            return Ok(Vec::new());
        };
        with_gil(|py| {
            let pickled = py.import("pickle").and_then(|pickle| pickle.call_method1("dumps", (object,)));
            let failed = match pickled {
                Ok(pickled) => {
                    let bytes =
                        pickled.cast::<PyBytes>().map_err(|e| self.terms.failed(py, None, e.into()))?;
                    return Ok(bytes.as_bytes().to_vec());
                }
                Err(failed) if is_ordinary(py, &failed) => failed,
                Err(failed) => return Err(self.terms.failed(py, None, failed)),
            };
            // A class that is defined in a function has no name to pickle it by. Its objects can be copied.
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (object,)));
            let copied = copied.map_err(|_| self.terms.failed(py, None, failed))?;
            let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
            copies.last += 1;
            let number = copies.last;
            copies.by_number.insert(number, copied.unbind());
            Ok(std::iter::once(COPIED).chain(number.to_le_bytes()).collect())
        })
    }

    fn load(&self, bytes: &[u8]) -> Result<HostState> {
        if bytes.is_empty() {
            return Ok(None);
        }
        if let [COPIED, number @ ..] = bytes {
            let number = number.try_into().map(u64::from_le_bytes).unwrap_or_default();
            let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
            let object = copies.by_number.remove(&number);
            let object = object.ok_or_else(|| err!(LOGICAL_ERROR, "The state was taken before"))?;
            return Ok(Some(Box::new(object) as Box<dyn std::any::Any + Send>));
        }
        with_gil(|py| {
            let bytes = PyBytes::new(py, bytes);
            let object = py.import("pickle").and_then(|pickle| pickle.call_method1("loads", (bytes,)));
            let object = object.map_err(|e| self.terms.failed(py, None, e))?;
            Ok(Some(Box::new(object.unbind()) as Box<dyn std::any::Any + Send>))
        })
    }

    fn finish(&self, states: &mut [HostState], result: &DataType, zone: &TimeZone) -> Result<Vector> {
        with_gil(|py| {
            let converter = Converter::new(result, &Session { zone: zone.clone() });
            let mut out = Builder::new(result);
            for state in states {
                let value = self.state(py, state)?.call_method0(intern!(py, "evaluate"));
                let value = value.map_err(|e| self.terms.failed(py, None, e))?;
                if value.is_none() {
                    out.push_default();
                } else {
                    self.terms.push(py, &mut out, &converter, &value)?;
                }
            }
            Ok(out.finish())
        })
    }
}

fn parsed(py: Python<'_>, text: &str) -> PyResult<DataType> {
    text.parse::<DataType>().map_err(|e| to_python(py, &e))
}

fn terms(
    py: Python<'_>,
    name: String,
    args: Option<Vec<String>>,
    arity: (usize, usize),
    result: &str,
    takes_null: bool,
    ignores_errors: bool,
) -> PyResult<Terms> {
    let args = args
        .map(|args| args.iter().map(|text| parsed(py, text)).collect::<PyResult<Vec<_>>>())
        .transpose()?;
    let result = parsed(py, result)?;
    let result = if result.can_be_nullable() { result.nullable() } else { result };
    if matches!(result.bare(), DataType::Interval(_) | DataType::Nothing) {
        return Err(NotSupportedError::new_err(format!(
            "Python UDF '{name}': unsupported return type '{result}'"
        )));
    }
    if name.is_empty() {
        return Err(PyValueError::new_err("a function needs a name"));
    }
    Ok(Terms { name, args, arity, result, takes_null, ignores_errors })
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn add_scalar(
    py: Python<'_>,
    name: String,
    function: Py<PyAny>,
    args: Option<Vec<String>>,
    arity: (usize, usize),
    result: &str,
    takes_null: bool,
    ignores_errors: bool,
) -> PyResult<()> {
    let terms = terms(py, name.clone(), args, arity, result, takes_null, ignores_errors)?;
    let scalar = Arc::new(Scalar { terms, function });
    py.detach(|| functions::add_scalar(&name, scalar)).map_err(|e| to_python(py, &e))
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn add_aggregate(
    py: Python<'_>,
    name: String,
    factory: Py<PyAny>,
    args: Option<Vec<String>>,
    arity: (usize, usize),
    result: &str,
    takes_null: bool,
    ignores_errors: bool,
    takes_batches: bool,
) -> PyResult<()> {
    let terms = terms(py, name.clone(), args, arity, result, takes_null, ignores_errors)?;
    let accumulator = Arc::new(Accumulator { terms, factory, takes_batches, copies: Mutex::default() });
    py.detach(|| functions::add_aggregate(&name, accumulator)).map_err(|e| to_python(py, &e))
}

/// Takes a function away; False when there is none of this name.
#[pyfunction]
fn remove_function(py: Python<'_>, name: &str) -> bool {
    py.detach(|| functions::remove(name))
}

/// The type as it is written out.
#[pyfunction]
fn normalised_type(py: Python<'_>, text: &str) -> PyResult<String> {
    Ok(parsed(py, text)?.to_string())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let add = |function: PyResult<Bound<'_, PyCFunction>>| module.add_function(function?);
    add(wrap_pyfunction!(add_scalar, module))?;
    add(wrap_pyfunction!(add_aggregate, module))?;
    add(wrap_pyfunction!(remove_function, module))?;
    add(wrap_pyfunction!(normalised_type, module))
}

/// Fails where a Python function that a query calls asks the same connection: the query would wait for itself.
pub fn check_not_called() -> PyResult<()> {
    if !is_called_by_query() {
        return Ok(());
    }
    let text = "The connection runs the query that called this function: use another connection here";
    Err(Error::new_err(text))
}
