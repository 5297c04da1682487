//! The result of a query: bytes of a format, or rows that become bytes, a DataFrame or an Arrow stream when asked.

use crate::arrow::{self, Style};
use crate::background;
use crate::cursor::{Fetched, Front};
use crate::error::{caught, to_python};
use crate::frame;
use crate::memory_view::MemoryView;
use arrow_buffer::Buffer;
use chalet_engine::{Answer, Rows};
use chalet_memory::guarded;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyString, PyTuple};
use std::sync::{Mutex, PoisonError};

#[pyclass(frozen, module = "chalet", name = "Result")]
pub struct QueryResult {
    answer: Answer,
    /// Made when first asked for where the answer is rows.
    bytes: PyOnceLock<Buffer>,
    /// How far the rows are fetched.
    fetched: Mutex<Option<Fetched>>,
}

impl QueryResult {
    pub fn new(answer: Answer) -> QueryResult {
        QueryResult { answer, bytes: PyOnceLock::new(), fetched: Mutex::default() }
    }

    /// A pyarrow Table with the types of ClickHouse's Arrow output.
    pub fn arrow_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.is_nothing() {
            return py.import("chalet._frame")?.call_method0("no_table");
        }
        let exporter = Exporter { rows: self.rows()?.clone(), style: Style::ClickHouse };
        py.import("chalet._frame")?.call_method1("table", (exporter,))
    }

    /// The next rows. The lock is not held while they are made.
    fn fetch<'py, T>(
        &self,
        py: Python<'py>,
        n: usize,
        collect: impl FnOnce(Front<'_, 'py>) -> PyResult<T>,
    ) -> PyResult<T> {
        let fetched = self.fetched.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut fetched = match fetched {
            Some(fetched) => fetched,
            None => Fetched::new(self.rows()?.clone()),
        };
        let taken = fetched.take(py, n, collect);
        *self.fetched.lock().unwrap_or_else(PoisonError::into_inner) = Some(fetched);
        taken
    }

    pub fn rows(&self) -> PyResult<&Rows> {
        self.answer.rows.as_ref().ok_or_else(|| {
            if self.is_nothing() {
                return PyValueError::new_err("the statements have no rows");
            }
            let format = &self.answer.format;
            PyValueError::new_err(format!(
                "the result is {format} text: connection.query() and connection.sql() without a format have rows, and so have the formats \
                 Arrow, DataFrame and ArrowTable"
            ))
        })
    }

    /// Is it that of statements without rows and without output?
    fn is_nothing(&self) -> bool {
        self.answer.rows.is_none() && self.answer.bytes.is_empty() && self.answer.format.is_empty()
    }

    fn buffer(&self, py: Python<'_>) -> PyResult<&Buffer> {
        self.bytes.get_or_try_init(py, || {
            let made = background::away(py, || guarded(|| self.answer.to_bytes()))?;
            Ok(Buffer::from_vec(made.map_err(|e| to_python(py, &e))?))
        })
    }
}

#[pymethods]
impl QueryResult {
    /// The output as bytes.
    fn bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.buffer(py)?;
        caught(py, || Ok(PyBytes::new(py, bytes)))
    }

    /// The output as text; bytes that are not UTF-8 are replaced.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let bytes = self.buffer(py)?;
        caught(py, || Ok(PyString::new(py, &String::from_utf8_lossy(bytes))))
    }

    fn __str__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.data(py)
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        self.data(py)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.buffer(py)?.len())
    }

    /// An answer is an answer, also without a row.
    fn __bool__(&self) -> bool {
        true
    }

    fn size(&self, py: Python<'_>) -> PyResult<usize> {
        self.__len__(py)
    }

    /// The same with totals and extremes as further rows, as clients of servers get them.
    fn _with_totals(&self) -> QueryResult {
        let mut answer = self.answer.clone();
        if let Some(rows) = &mut answer.rows {
            let further = [rows.totals.take(), rows.extremes.take()];
            rows.blocks.extend(further.into_iter().flatten());
        }
        QueryResult::new(answer)
    }

    /// Prints the output.
    fn show(&self, py: Python<'_>) -> PyResult<()> {
        let stdout = py.import("sys")?.getattr("stdout")?;
        stdout.call_method1("write", (self.data(py)?,))?;
        // As `print` of the result does.
        stdout.call_method1("write", ("\n",))?;
        Ok(())
    }

    /// The output through the buffer protocol, without a copy.
    fn get_memview(&self, py: Python<'_>) -> PyResult<MemoryView> {
        Ok(MemoryView::new(self.buffer(py)?.clone()))
    }

    /// Rows of the result. What was read from tables is `storage_rows_read`.
    #[pyo3(name = "rows_read")]
    fn result_rows(&self) -> u64 {
        self.answer.result_rows
    }

    /// Bytes of memory of the result as columns.
    #[pyo3(name = "bytes_read")]
    fn result_bytes(&self) -> u64 {
        self.answer.result_bytes
    }

    /// Rows read from tables and files.
    fn storage_rows_read(&self) -> u64 {
        self.answer.rows_read
    }

    /// Bytes read from tables and files.
    fn storage_bytes_read(&self) -> u64 {
        self.answer.bytes_read
    }

    /// Bytes of memory of the inserted rows as columns.
    fn bytes_written(&self) -> u64 {
        self.answer.bytes_written
    }

    /// Rows written by an INSERT.
    fn rows_written(&self) -> u64 {
        self.answer.rows_written
    }

    /// Seconds that the statements took.
    fn elapsed(&self) -> f64 {
        self.answer.elapsed.as_secs_f64()
    }

    /// Always false: a query that fails raises.
    fn has_error(&self) -> bool {
        false
    }

    /// Always empty: a query that fails raises.
    fn error_message(&self) -> &'static str {
        ""
    }

    /// A pandas DataFrame of the last statement's rows.
    pub fn df<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let module = py.import("chalet._frame")?;
        module.call_method0("needs_pandas")?;
        if self.is_nothing() {
            return module.call_method1("frame", (PyList::empty(py), 0));
        }
        let rows = self.rows()?;
        let columns = frame::columns(py, rows)?;
        module.call_method1("frame", (columns, rows.n_rows()))
    }

    /// A pyarrow Table of the last statement's rows.
    fn arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("chalet._frame")?.call_method1("table", (slf,))
    }

    /// A pyarrow RecordBatchReader, which makes a batch when it is asked for one.
    fn arrow_reader<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("chalet._frame")?.call_method1("reader", (slf,))
    }

    /// A polars DataFrame, or a LazyFrame over it.
    #[pyo3(signature = (lazy = false))]
    fn pl<'py>(slf: &Bound<'py, Self>, lazy: bool) -> PyResult<Bound<'py, PyAny>> {
        let exporter = Exporter { rows: slf.get().rows()?.clone(), style: Style::Views };
        slf.py().import("chalet._frame")?.call_method1("polars", (exporter, lazy))
    }

    /// A dict of numpy arrays; those with NULLs that the type has no value for are masked arrays.
    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows()?;
        let module = py.import("chalet._frame")?;
        module.call_method0("needs_numpy")?;
        module.call_method1("arrays", (frame::columns(py, rows)?,))
    }

    /// The rows that are left, as tuples.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.fetch(py, usize::MAX, |rows| PyList::new(py, rows))
    }

    /// The next rows, at most `size`.
    #[pyo3(signature = (size = 1))]
    fn fetchmany<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyList>> {
        self.fetch(py, size, |rows| PyList::new(py, rows))
    }

    /// The next row, None at the end.
    fn fetchone<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.fetch(py, 1, |mut rows| Ok(rows.next()))
    }

    /// All rows as dicts by name, whatever was fetched.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let of = self.rows()?;
        Fetched::new(of.clone()).take(py, usize::MAX, |rows| {
            let names: Vec<_> = of.names.iter().map(|name| PyString::new(py, name)).collect();
            let list = PyList::empty(py);
            for row in rows {
                let dict = PyDict::new(py);
                for (name, value) in names.iter().zip(&row) {
                    dict.set_item(name, value)?;
                }
                list.append(dict)?;
            }
            Ok(list)
        })
    }

    /// The rows as bytes of a format.
    fn to_format<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let rows = self.rows()?;
        let made = py.detach(|| guarded(|| rows.to_format(format))).map_err(|e| to_python(py, &e))?;
        caught(py, || Ok(PyBytes::new(py, &made)))
    }

    /// How a notebook shows rows: a table. Text of a format is shown as it is.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        const SHOWN: usize = 20;
        let py = slf.py();
        let Some(rows) = slf.get().answer.rows.as_ref() else { return Ok(None) };
        let types: Vec<String> = rows.types.iter().map(|ty| ty.to_string()).collect();
        let head = Fetched::new(rows.clone()).take(py, SHOWN, |rows| PyList::new(py, rows))?;
        caught(py, || {
            let made = py.import("chalet._show")?;
            made.call_method1("values_as_html", (&rows.names, types, head, rows.n_rows())).map(Some)
        })
    }

    /// How IPython shows rows in a terminal.
    fn _repr_pretty_(&self, py: Python<'_>, printer: &Bound<'_, PyAny>, cycle: bool) -> PyResult<()> {
        let _ = cycle;
        let text = match &self.answer.rows {
            Some(rows) => {
                py.detach(|| guarded(|| rows.to_format("PrettyCompact"))).map_err(|e| to_python(py, &e))?
            }
            None => self.buffer(py)?.to_vec(),
        };
        printer.call_method1("text", (String::from_utf8_lossy(&text).trim_end(),)).map(drop)
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        Ok(self.rows()?.names.clone())
    }

    /// Types of the columns, as SQL text.
    #[getter]
    fn types(&self) -> PyResult<Vec<String>> {
        Ok(self.rows()?.types.iter().map(|ty| ty.to_string()).collect())
    }

    /// The last statement's rows through the Arrow C stream interface; may be called again.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The protocol lets a producer that cannot cast answer with its own schema.
        let _ = requested_schema;
        arrow::stream(py, self.rows()?, Style::Meaning)
    }
}

/// Rows in one style of Arrow.
#[pyclass(frozen, module = "chalet")]
pub struct Exporter {
    rows: Rows,
    style: Style,
}

#[pymethods]
impl Exporter {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        arrow::stream(py, &self.rows, self.style)
    }
}
