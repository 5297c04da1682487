//! A connection: one session of one database, usable from any thread, one query at a time.

use crate::background;
use crate::conversation::Conversation;
use crate::cursor::Cursor;
use crate::engine::{self, Handle, Used, Wanted};
use crate::error::{InterfaceError, NotSupportedError, ProgrammingError, to_python};
use crate::functions;
use crate::given_frame::GivenFrame;
use crate::given_rows::{GivenRows, Raised};
use crate::inserter::StreamingInserter;
use crate::result::QueryResult;
use crate::sources::caller::{Caller, Registered, Sight};
use crate::sources::described;
use crate::stream::StreamingResult;
use crate::watch::{Order, Watch};
use chalet_engine::{Answer, InsertData, Progress, RunOptions};
use pyo3::exceptions::{PyException, PyRuntimeWarning, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Formats that are objects of other packages.
const DATA_FRAME: &str = "DataFrame";
const ARROW_TABLE: &str = "ArrowTable";

#[pyclass(frozen, module = "chalet")]
pub struct Connection {
    handle: Mutex<Option<Arc<Handle>>>,
    /// What `execute` and `fetch*` of the connection itself use.
    own_cursor: Mutex<Option<Py<Cursor>>>,
    registered: Arc<Registered>,
}

impl Connection {
    pub fn handle(&self) -> PyResult<Used> {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = handle.as_ref().ok_or_else(|| InterfaceError::new_err("The connection is closed"))?;
        Used::begin(handle).ok_or_else(|| {
            InterfaceError::new_err(
                "The connection was in use by another thread when this process was forked: open one here",
            )
        })
    }

    /// Objects that it knows by name.
    pub fn registered(&self) -> &Arc<Registered> {
        &self.registered
    }

    /// Runs statements and waits for their answer.
    pub fn run(&self, py: Python<'_>, sql: &str, wanted: Wanted, given: &Given<'_, '_>) -> PyResult<Answer> {
        let handle = self.handle()?;
        if handle.is_running() {
            functions::check_not_called()?;
        }
        let params = given.params.map(texts).transpose()?.unwrap_or_default();
        let watch = Watch::begin(given.timeout)?;
        let caller = Arc::new(self.caller(given));
        let _inside = watch.enter(py)?;
        let settings = given.settings.map(setting_texts).transpose()?.unwrap_or_default();
        let answer = py.detach(|| handle.run(sql, wanted, params, settings, caller, &watch));
        watch.outcome(py, answer)
    }

    fn caller(&self, given: &Given<'_, '_>) -> Caller {
        let tables = given.tables.map(|tables| tables.clone().unbind());
        let sight = if given.sealed { Sight::Nothing } else { Sight::Frames };
        Caller::new(tables, self.registered.clone(), Arc::default(), sight)
    }

    /// How a statement runs that sees none of the caller's variables; `base` says what it answers with.
    fn sealed_options(
        &self,
        params: Option<&Bound<'_, PyDict>>,
        settings: Option<&Bound<'_, PyDict>>,
        query_id: Option<String>,
        tables: Option<&Bound<'_, PyDict>>,
        base: RunOptions,
    ) -> PyResult<RunOptions> {
        let caller = self.caller(&Given { tables, sealed: true, ..Given::default() });
        Ok(RunOptions {
            params: params.map(texts).transpose()?.unwrap_or_default(),
            settings: settings.map(setting_texts).transpose()?.unwrap_or_default(),
            query_id,
            replacement_scan: Some(Arc::new(caller)),
            ..base
        })
    }

    fn answer<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        format: Option<&str>,
        given: &Given<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let form = Form::of(format);
        let answer = self.run(py, query, form.wanted(), given)?;
        answered(py, answer, &form)
    }

    /// The document of an EXPLAIN, as what a function of the package makes of it.
    fn explained<'py>(
        &self,
        py: Python<'py>,
        kind: &str,
        query: &str,
        given: &Given<'_, 'py>,
        module: &str,
        function: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let several = chalet_engine::split::split_statements(query).len();
        if several != 1 {
            return Err(ProgrammingError::new_err(format!(
                "One query is explained at a time, not {several}"
            )));
        }
        let explain = format!("EXPLAIN {kind} json = 1 {query}");
        let document = self.answer(py, &explain, Some("TSVRaw"), given)?.call_method0("data")?;
        py.import(module)?.getattr(function)?.call1((query, document))
    }

    /// Lets everything go, of which the session is returned.
    fn close_now(&self) -> Option<Arc<Handle>> {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = &handle {
            handle.cancel_statement();
        }
        let cursor = self.own_cursor.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(cursor);
        let registered = std::mem::take(&mut *self.registered.lock().unwrap_or_else(PoisonError::into_inner));
        drop(registered);
        handle
    }

    fn cursor_of_own(slf: &Bound<'_, Self>) -> PyResult<Py<Cursor>> {
        let py = slf.py();
        let connection = slf.get();
        let known = connection.own_cursor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cursor) = &*known {
            return Ok(cursor.clone_ref(py));
        }
        drop(known);
        let made = Py::new(py, Cursor::new(slf.clone().unbind()))?;
        *connection.own_cursor.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.clone_ref(py));
        Ok(made)
    }
}

/// What the answer is handed out as.
pub enum Form {
    /// Objects of other packages.
    Frame,
    Table,
    Result(Option<String>),
}

impl Form {
    pub fn of(format: Option<&str>) -> Form {
        match format {
            Some(name) if name.eq_ignore_ascii_case(DATA_FRAME) => Form::Frame,
            Some(name) if name.eq_ignore_ascii_case(ARROW_TABLE) => Form::Table,
            // chDB's name for CSV with the engine's log, of which there is none.
            Some(name) if name.eq_ignore_ascii_case("Debug") => Form::Result(Some("CSV".to_owned())),
            format => Form::Result(format.map(str::to_owned)),
        }
    }

    pub fn wanted(&self) -> Wanted {
        match self {
            Form::Frame | Form::Table => Wanted::RowsAlone,
            // Lent as Arrow too, and bytes when somebody asks for them.
            Form::Result(Some(format))
                if ["Arrow", "ArrowStream"].iter().any(|name| format.eq_ignore_ascii_case(name)) =>
            {
                Wanted::RowsAs(format.clone())
            }
            Form::Result(Some(format)) => Wanted::Bytes(format.clone()),
            Form::Result(None) => Wanted::Rows,
        }
    }

    /// The format of chunks, where they are bytes.
    pub fn format(&self) -> Option<String> {
        match self {
            Form::Result(format) => format.clone(),
            Form::Frame | Form::Table => None,
        }
    }
}

/// An answer as it is handed out.
pub fn answered<'py>(py: Python<'py>, answer: Answer, form: &Form) -> PyResult<Bound<'py, PyAny>> {
    let result = Bound::new(py, QueryResult::new(answer))?;
    match form {
        Form::Frame => result.get().df(py),
        Form::Table => result.get().arrow_table(py),
        Form::Result(_) => Ok(result.into_any()),
    }
}

/// What comes with the text of statements.
#[derive(Default)]
pub struct Given<'a, 'py> {
    pub params: Option<&'a Bound<'py, PyDict>>,
    pub tables: Option<&'a Bound<'py, PyDict>>,
    /// Seconds.
    pub timeout: Option<f64>,
    /// Of ClickHouse, for these statements.
    pub settings: Option<&'a Bound<'py, PyDict>>,
    /// The caller's variables are no tables.
    pub sealed: bool,
}

#[pymethods]
impl Connection {
    /// Its own cursor has it, and so may what is registered.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Ok(cursor) = self.own_cursor.try_lock() {
            cursor.iter().try_for_each(|cursor| visit.call(cursor))?;
        }
        match self.registered.try_lock() {
            // A statement that runs has them too, unknown to the collector.
            Ok(registered) => registered.values().try_for_each(|object| visit.call(object)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.close_now();
    }

    #[new]
    #[pyo3(
        signature = (connection_string = PathBuf::from(":memory:")),
        text_signature = "(connection_string=':memory:')"
    )]
    fn new(py: Python<'_>, connection_string: PathBuf) -> PyResult<Connection> {
        let Some(connection_string) = connection_string.to_str() else {
            return Err(PyValueError::new_err("The path of a database is not valid UTF-8"));
        };
        let open = |path: &str, settings: &[(String, String)]| {
            engine::set_up(py);
            let opened = background::away(py, || Handle::open(path, settings))?;
            let (handle, warnings) = opened.map_err(|e| to_python(py, &e))?;
            let category = py.get_type::<PyRuntimeWarning>();
            for warning in warnings.into_iter().filter_map(|text| CString::new(text).ok()) {
                PyErr::warn(py, &category, &warning, 1)?;
            }
            Ok(Connection {
                handle: Mutex::new(Some(Arc::new(handle))),
                own_cursor: Mutex::new(None),
                registered: Arc::default(),
            })
        };
        if connection_string == ":memory:" {
            return open(connection_string, &[]);
        }
        let parsed = py.import("chalet._location")?.call_method1("parse", (connection_string,))?;
        let (path, settings, progress): (String, Vec<(String, String)>, Option<Bound<'_, PyAny>>) =
            parsed.extract()?;
        let connection: Connection = open(&path, &settings)?;
        if let Some(progress) = progress {
            connection.set_progress_callback(Some(progress))?;
        }
        Ok(connection)
    }

    /// Runs statements. The result is text of the format; without a format also rows for `df()` and Arrow.
    #[pyo3(
        signature = (query, format = None, params = None, *, tables = None, timeout = None, settings = None),
        text_signature = "(self, query, format='CSV', params=None, *, tables=None, timeout=None, settings=None)"
    )]
    fn query<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        format: Option<&str>,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given { params, tables, timeout, settings, sealed: false };
        slf.get().answer(slf.py(), query, format, &given)
    }

    /// A query as a relation, which runs when its rows are asked for. With a format, and for statements that are no query, as
    /// `query`.
    #[pyo3(signature = (query, format = None, params = None, *, tables = None, timeout = None))]
    fn sql<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        format: Option<&str>,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if format.is_some() {
            return Connection::query(slf, query, format, params, tables, timeout, None);
        }
        let relate = slf.py().import("chalet._relation")?.getattr("relate")?;
        relate.call1((slf, query, params, tables, timeout))
    }

    /// What one query gives, without running it: names and types of its columns, and the objects of the caller that it
    /// reads, by name. None for other statements and for a query that names a format.
    #[pyo3(signature = (query, params = None, tables = None))]
    fn _outline<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Outlined<'py>>> {
        let handle = self.handle()?;
        let caller = Arc::new(self.caller(&Given { tables, ..Given::default() }));
        let params = params.map(texts).transpose()?.unwrap_or_default();
        let watch = Watch::begin(None)?;
        let asked = watch.clone();
        let options = RunOptions {
            params,
            replacement_scan: Some(caller.clone()),
            interrupt: Some(Arc::new(move || asked.should_stop())),
            ..RunOptions::default()
        };
        let _inside = watch.enter(py)?;
        let outline = py.detach(|| handle.outline(query, &options));
        let Some(columns) = watch.outcome(py, outline)? else { return Ok(None) };
        let (names, types) = columns.into_iter().map(|(name, ty)| (name, ty.to_string())).unzip();
        Ok(Some((names, types, caller.used(py)?)))
    }

    /// `query` that sees none of the caller's variables.
    #[pyo3(signature = (query, format = None, params = None, tables = None, timeout = None, settings = None))]
    fn _read<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        format: Option<&str>,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer(py, query, format, &Given { params, tables, timeout, settings, sealed: true })
    }

    /// Sends one query; its rows are fetched from the result while it runs. It sees the session as it is now, and other
    /// queries may run meanwhile. `timeout` is that of the whole query, in seconds from now.
    #[pyo3(signature = (query, format = "CSV", params = None, *, tables = None, timeout = None, settings = None))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn send_query(
        &self,
        py: Python<'_>,
        query: &str,
        format: &str,
        params: Option<&Bound<'_, PyDict>>,
        tables: Option<&Bound<'_, PyDict>>,
        timeout: Option<f64>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<StreamingResult> {
        let handle = self.handle()?;
        let params = params.map(texts).transpose()?.unwrap_or_default();
        let tables = tables.map(|tables| tables.clone().unbind());
        let caller = Caller::new(tables, self.registered.clone(), Arc::default(), Sight::kept(py)?);
        let settings = settings.map(setting_texts).transpose()?.unwrap_or_default();
        let options = RunOptions {
            params,
            settings,
            replacement_scan: Some(Arc::new(caller)),
            ..RunOptions::default()
        };
        let order = Order::within(timeout)?;
        StreamingResult::new(handle, query, Some(format), options, order).map_err(|e| to_python(py, &e))
    }

    /// Sends one query; its rows are fetched as results with rows while it runs. It sees none of the caller's variables.
    #[pyo3(signature = (query, params = None, tables = None, settings = None, query_id = None))]
    fn _stream(
        &self,
        py: Python<'_>,
        query: &str,
        params: Option<&Bound<'_, PyDict>>,
        tables: Option<&Bound<'_, PyDict>>,
        settings: Option<&Bound<'_, PyDict>>,
        query_id: Option<String>,
    ) -> PyResult<StreamingResult> {
        let handle = self.handle()?;
        let options = self.sealed_options(params, settings, query_id, tables, RunOptions::default())?;
        let order = Order::within(None)?;
        StreamingResult::new(handle, query, None, options, order).map_err(|e| to_python(py, &e))
    }

    /// Runs a query and tells what it spent its time and memory on; its rows are dropped.
    #[pyo3(signature = (query, params = None, *, tables = None, timeout = None, settings = None))]
    fn profile<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        params: Option<&Bound<'py, PyDict>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given { params, tables, timeout, settings, sealed: false };
        slf.get().explained(slf.py(), "PROFILE", query, &given, "chalet._profile", "profile_of")
    }

    /// The pipeline of a query, with what each operator did where it is to run; its rows are dropped.
    #[pyo3(signature = (query, params = None, *, run = true, tables = None, timeout = None, settings = None))]
    fn pipeline<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        params: Option<&Bound<'py, PyDict>>,
        run: bool,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given { params, tables, timeout, settings, sealed: false };
        let kind = if run { "ANALYZE" } else { "PIPELINE" };
        slf.get().explained(slf.py(), kind, query, &given, "chalet._pipeline", "pipeline_of")
    }

    /// Queries that `chalet.aio` may run side by side on the server that runs them.
    #[getter]
    fn _pool_size(&self) -> PyResult<Option<usize>> {
        Ok(self.handle()?.session().pool_size())
    }

    /// Statements as a conversation with the server that runs them; `rows` are those of an INSERT.
    #[pyo3(signature = (query, format, params, settings, query_id, streams, rows = None, keys = None, tables = None))]
    #[expect(clippy::too_many_arguments, reason = "those of Python")]
    fn _converse(
        &self,
        py: Python<'_>,
        query: &str,
        format: Option<&str>,
        params: Option<&Bound<'_, PyDict>>,
        settings: Option<&Bound<'_, PyDict>>,
        query_id: Option<String>,
        streams: bool,
        rows: Option<Bound<'_, PyAny>>,
        keys: Option<Vec<Py<PyAny>>>,
        tables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Conversation> {
        let handle = self.handle()?;
        let form = Form::of(format);
        let options = self.sealed_options(params, settings, query_id, tables, form.wanted().options())?;
        let raised = Raised::default();
        let data = rows.map(|rows| given(rows, keys, &raised));
        let steps = handle.converse(query, options, data).map_err(|e| to_python(py, &e))?;
        let steps = if streams { steps.streaming() } else { steps };
        Ok(Conversation::new(handle, steps, form, raised))
    }

    /// Begins an INSERT, `INSERT INTO t [(columns)] [FORMAT f]`, whose data are appended in pieces.
    #[pyo3(signature = (query, format = "CSV", *, settings = None))]
    fn send_insert(
        &self,
        py: Python<'_>,
        query: &str,
        format: &str,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<StreamingInserter> {
        let handle = self.handle()?;
        let completed = py.import("chalet._location")?.call_method1("insert_statement", (query, format))?;
        let sql: String = completed.extract()?;
        background::away(py, || handle.check_insert(&sql))?.map_err(|e| to_python(py, &e))?;
        let settings = settings.map(setting_texts).transpose()?.unwrap_or_default();
        StreamingInserter::new(handle, sql, RunOptions { settings, ..RunOptions::default() })
            .map_err(|e| to_python(py, &e))
    }

    /// Inserts a list of rows, column by column: `INSERT INTO t [(columns)] VALUES`. Rows are sequences, or dicts whose
    /// `keys` are the columns in order. In their place a DataFrame, an Arrow table or a dict of arrays, whose columns are taken by
    /// name. Returns how many rows were written.
    #[pyo3(signature = (query, rows, keys = None, *, timeout = None))]
    fn insert_rows(
        &self,
        py: Python<'_>,
        query: &str,
        rows: Bound<'_, PyAny>,
        keys: Option<Vec<Py<PyAny>>>,
        timeout: Option<f64>,
    ) -> PyResult<u64> {
        let handle = self.handle()?;
        if rows.cast::<PyList>().is_ok_and(|rows| rows.is_empty()) {
            return Ok(0);
        }
        if handle.is_running() {
            functions::check_not_called()?;
        }
        let raised = Raised::default();
        let data = given(rows, keys, &raised);
        let watch = Watch::begin(timeout)?;
        let asked = watch.clone();
        let options =
            RunOptions { interrupt: Some(Arc::new(move || asked.should_stop())), ..RunOptions::default() };
        let _inside = watch.enter(py)?;
        let answer = py.detach(|| handle.insert(query, options, data, Some(&watch)));
        match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(raised) => Err(watch.take_raised().unwrap_or(raised)),
            None => watch.outcome(py, answer.map(|answer| answer.rows_written)),
        }
    }

    /// Calls back with a dict of `read_rows`, `read_bytes`, `total_rows_to_read`, `elapsed_ns` and the like, ten times a
    /// second at most and when a statement ends, then with `is_over`. None ends it. What the callback raises is reported and ignored.
    fn set_progress_callback(&self, callback: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        let handle = self.handle()?;
        let Some(callback) = callback else {
            handle.set_on_progress(None);
            return Ok(());
        };
        if !callback.is_callable() {
            return Err(ProgrammingError::new_err("The progress callback must be callable"));
        }
        let callback = callback.unbind();
        handle.set_on_progress(Some(Arc::new(move |progress: Progress| {
            // During the interpreter's end there is nobody to tell.
            Python::try_attach(|py| tell(py, &callback, progress)).unwrap_or(Ok(()))
        })));
        Ok(())
    }

    /// A new cursor, which gives rows as tuples.
    fn cursor(slf: Bound<'_, Self>) -> PyResult<Cursor> {
        slf.get().handle()?;
        Ok(Cursor::new(slf.unbind()))
    }

    #[pyo3(signature = (query, params = None, *, tables = None, timeout = None))]
    fn execute<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        params: Option<&Bound<'py, PyAny>>,
        tables: Option<&Bound<'py, PyDict>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Connection::cursor_of_own(slf)?.into_bound(slf.py());
        Cursor::execute(&cursor, query, params, tables, timeout)
    }

    #[pyo3(signature = (query, rows, *, timeout = None))]
    fn executemany<'py>(
        slf: &Bound<'py, Self>,
        query: &str,
        rows: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, Cursor>> {
        let cursor = Connection::cursor_of_own(slf)?.into_bound(slf.py());
        Cursor::executemany(&cursor, query, rows, timeout)
    }

    fn fetchone<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        Connection::cursor_of_own(slf)?.get().fetchone(slf.py())
    }

    #[pyo3(signature = (size = 1))]
    fn fetchmany<'py>(slf: &Bound<'py, Self>, size: isize) -> PyResult<Bound<'py, PyTuple>> {
        Connection::cursor_of_own(slf)?.get().fetchmany(slf.py(), size)
    }

    fn fetchall<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        Connection::cursor_of_own(slf)?.get().fetchall(slf.py())
    }

    /// Makes an object a table of this name for the statements of this connection, before tables of the database.
    fn register<'py>(slf: Bound<'py, Self>, name: &str, object: Bound<'py, PyAny>) -> Bound<'py, Self> {
        let registered = &slf.get().registered;
        let before = registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned(), object.unbind());
        // Out of the lock: a finaliser may run.
        drop(before);
        slf
    }

    /// Forgets what was registered under this name, if anything was.
    fn unregister<'py>(slf: Bound<'py, Self>, name: &str) -> Bound<'py, Self> {
        let before = slf.get().registered.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        drop(before);
        slf
    }

    /// Does nothing: every statement stands on its own.
    fn commit(&self) {}

    /// Stops what runs: a query, which then raises QUERY_WAS_CANCELLED in its own thread, and streams.
    fn interrupt(&self) -> PyResult<()> {
        self.handle()?.cancel_running();
        Ok(())
    }

    #[getter]
    fn closed(&self) -> bool {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// SQL from words needs a language model, which is not part of this package.
    fn generate_sql(&self, prompt: &str) -> PyResult<String> {
        let _ = (self.handle()?, prompt);
        Err(no_language_model("generate_sql"))
    }

    #[pyo3(signature = (prompt, **_options))]
    fn ask(&self, prompt: &str, _options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let _ = (self.handle()?, prompt);
        Err(no_language_model("ask"))
    }

    /// Ends the session; an in-memory database ends with it. A statement that runs on another thread is stopped, and raises
    /// QUERY_WAS_CANCELLED there. May be called again.
    fn close(&self, py: Python<'_>) {
        let handle = self.close_now();
        // Also at the interpreter's end, where it is quick.
        if let Ok(inside) = background::enter(py, Weak::<Watch>::new()) {
            py.detach(|| drop(handle));
            drop(inside);
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

fn no_language_model(what: &str) -> PyErr {
    NotSupportedError::new_err(format!("{what}() needs a language model, which is not part of chalet"))
}

/// What the callback raises is reported and ignored, but for what is no Exception, as a KeyboardInterrupt.
fn tell(py: Python<'_>, callback: &Py<PyAny>, progress: Progress) -> PyResult<()> {
    let told = PyDict::new(py);
    let elapsed = u64::try_from(progress.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let entries = [
        ("read_rows", progress.read_rows),
        ("read_bytes", progress.read_bytes),
        ("total_rows_to_read", progress.total_rows),
        ("total_bytes_to_read", progress.total_bytes),
        ("elapsed_ns", elapsed),
        ("written_rows", progress.written_rows),
        ("written_bytes", progress.written_bytes),
        ("result_rows", 0),
        ("result_bytes", 0),
    ];
    let mut filled = entries.iter().try_for_each(|(name, number)| told.set_item(name, number));
    filled = filled.and_then(|()| told.set_item("is_over", progress.is_over));
    let called = filled.and_then(|()| callback.call1(py, (told,)));
    match called {
        Err(error) if error.is_instance_of::<PyException>(py) => {
            error.write_unraisable(py, Some(callback.bind(py)));
            Ok(())
        }
        other => other.map(drop),
    }
}

/// Names and types of columns, and objects by name.
type Outlined<'py> = (Vec<String>, Vec<String>, Bound<'py, PyDict>);

/// Settings as text, by name; True is 1.
fn setting_texts(settings: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let text = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let text = match value.cast::<PyBool>() {
            Ok(flag) => u8::from(flag.is_true()).to_string(),
            Err(_) => value.str()?.extract()?,
        };
        Ok((name.extract()?, text))
    };
    settings.iter().map(text).collect()
}

/// Parameter values as text, by name.
pub fn texts(params: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let made = params.py().import("chalet._params")?.call_method1("texts", (params,))?;
    made.cast::<PyDict>()?.iter().map(|(name, text)| Ok((name.extract()?, text.extract()?))).collect()
}

/// Rows of an INSERT: a list of them, or an object with columns.
fn given(rows: Bound<'_, PyAny>, keys: Option<Vec<Py<PyAny>>>, raised: &Raised) -> InsertData {
    let raised = raised.clone();
    match rows.cast_into::<PyList>() {
        Ok(rows) => GivenRows { rows: rows.unbind(), keys, raised }.into_data(),
        Err(other) => {
            let frame = other.into_inner().unbind();
            GivenFrame { frame, describe: described::source, raised }.into_data()
        }
    }
}
