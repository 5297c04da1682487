//! What this crate asks of the engine, in one place: opening a database, running statements one at a time, stopping them.

use crate::background::Stop;
use crate::functions::Calling;
use crate::watch::Watch;
use chalet_base::Result;
use chalet_base::switches;
use chalet_engine::conversation::Conversation;
use chalet_engine::replacement_scan::ReplacementScan;
use chalet_engine::settings::{Settings, server};
use chalet_engine::{Answer, Database, InsertData, Outline, Progress, RunOptions, Session, Stream};
use chalet_engine::{formats, functions};
use chalet_memory::allocator;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ops::Deref;
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// How long a query that waits for another one goes without looking for signals.
const TICK: Duration = Duration::from_millis(20);

/// In which form the caller wants the answer.
pub enum Wanted {
    /// The bytes of a format, unless the statement names another one.
    Bytes(String),
    /// Rows where the statement names no format.
    Rows,
    /// The same, which are bytes of this format when bytes are asked for.
    RowsAs(String),
    /// Rows, whatever format the statement names.
    RowsAlone,
}

impl Wanted {
    /// The options that say so.
    pub fn options(self) -> RunOptions {
        let mut options =
            RunOptions { keeps_rows: matches!(self, Wanted::RowsAlone), ..RunOptions::default() };
        match self {
            Wanted::Bytes(format) => options.format = Some(format),
            Wanted::RowsAs(format) => options.rows_format = Some(format),
            Wanted::Rows | Wanted::RowsAlone => {}
        }
        options
    }
}

/// Makes what all databases share, with the GIL: no process is forked meanwhile, to whose child it would be half made.
pub fn set_up(py: Python<'_>) {
    static DONE: PyOnceLock<()> = PyOnceLock::new();
    DONE.get_or_init(py, || {
        let _ = functions::registry();
        LazyLock::force(&formats::FORMATS);
    });
}

/// One session of one database.
pub struct Handle {
    session: Session,
    /// The query that runs now.
    running: Mutex<Option<Arc<Watch>>>,
    finished: Condvar,
    /// Streams that are open, or were.
    streams: Mutex<Vec<Weak<dyn Stop>>>,
    on_progress: Mutex<Option<OnProgress>>,
}

/// A handle in use, which is counted, see [`chalet_engine::fork_guard`].
pub struct Used(Arc<Handle>);

impl Used {
    /// None where its database was in use when this process was forked. With the GIL, without which no process is forked.
    pub fn begin(handle: &Arc<Handle>) -> Option<Used> {
        handle.session.fork_guard().begin().then(|| Used(handle.clone()))
    }

    /// For later uses.
    pub fn handle(&self) -> Arc<Handle> {
        self.0.clone()
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        self.0.session.fork_guard().end();
    }
}

impl Deref for Used {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.0
    }
}

/// An error is one that ends the query: Ctrl-C meets whatever Python code runs.
pub type OnProgress = Arc<dyn Fn(Progress) -> PyResult<()> + Send + Sync>;
/// The same as the engine wants it.
type Tell = Arc<dyn Fn(Progress) + Send + Sync>;

/// Opens a database; where its settings forbid to write, for reading.
pub fn open_database<'a>(
    path: &str,
    mut settings: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Database> {
    let only_reads = settings.any(|(name, value)| name == "readonly" && value != "0");
    if only_reads { Database::open_to_read(path) } else { Database::open(path) }
}

impl Handle {
    /// `settings` hold for all statements. Where they forbid to write, the database is opened for reading. With it comes
    /// what the user should know about what was found.
    pub fn open(path: &str, settings: &[(String, String)]) -> Result<(Handle, Vec<String>)> {
        switches::check()?;
        allocator::release_when_idle();
        let (of_process, settings): (Vec<_>, Vec<_>) =
            settings.iter().cloned().partition(|(name, _)| server::find(name).is_some());
        for (name, value) in &of_process {
            server::find(name).map_or(Ok(()), |setting| (setting.set)(value))?;
        }
        // A wrong one is told before the folder of a database is made.
        let mut checked = Settings::default();
        settings.iter().try_for_each(|(name, value)| checked.set(name, value))?;
        let database = open_database(path, settings.iter().map(|(name, value)| (&**name, &**value)))?;
        let session = database.session();
        settings.iter().try_for_each(|(name, value)| session.set(name, value))?;
        // Of the settings this one says where the session begins.
        if let Some((_, name)) =
            settings.iter().rfind(|(name, value)| name == "database" && !value.is_empty())
        {
            let params = vec![("name".to_owned(), name.clone())];
            session.run("USE {name:Identifier}", RunOptions { params, ..RunOptions::default() })?;
        }
        let handle = Handle {
            session,
            running: Mutex::new(None),
            finished: Condvar::new(),
            streams: Mutex::new(Vec::new()),
            on_progress: Mutex::new(None),
        };
        Ok((handle, database.take_warnings()))
    }

    /// What it is a session of.
    pub fn database(&self) -> Database {
        self.session.database().clone()
    }

    /// What runs its statements.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Statements for the server of the session, in steps that wait for nothing.
    pub fn converse(&self, sql: &str, options: RunOptions, data: Option<InsertData>) -> Result<Conversation> {
        self.session.converse(sql, RunOptions { on_progress: self.on_progress(None), ..options }, data)
    }

    /// A query whose rows are handed out while it runs. It waits for no other.
    pub fn stream(&self, sql: &str, options: RunOptions) -> Result<Stream> {
        self.session.stream(sql, RunOptions { on_progress: self.on_progress(None), ..options })
    }

    /// An INSERT over data from outside. It waits for no other statement.
    pub fn insert(
        &self,
        sql: &str,
        options: RunOptions,
        data: InsertData,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Answer> {
        if let Some(watch) = watch {
            let stop: Weak<Watch> = Arc::downgrade(watch);
            self.keep_stoppable(stop);
        }
        self.session.insert(sql, RunOptions { on_progress: self.on_progress(watch), ..options }, data)
    }

    /// What one query gives, see [`Session::outline`].
    pub fn outline(&self, sql: &str, options: &RunOptions) -> Result<Option<Outline>> {
        self.session.outline(sql, options)
    }

    /// Fails where the statement is no INSERT that takes data, or its table does not exist.
    pub fn check_insert(&self, sql: &str) -> Result<()> {
        self.session.check_insert(sql)
    }

    /// Lets [`cancel_running`](Self::cancel_running) stop a stream too.
    pub fn keep_stoppable(&self, stream: Weak<dyn Stop>) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(stream);
    }

    pub fn set_on_progress(&self, tell: Option<OnProgress>) {
        *self.on_progress.lock().unwrap_or_else(PoisonError::into_inner) = tell;
    }

    /// What tells the caller's callback, and stops the query that is watched when that raises.
    fn on_progress(&self, watch: Option<&Arc<Watch>>) -> Option<Tell> {
        let tell = self.on_progress.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let watch = watch.cloned();
        Some(Arc::new(move |progress| {
            if let (Err(raised), Some(watch)) = (tell(progress), &watch) {
                watch.raise(raised);
            }
        }))
    }

    /// Runs statements on this thread, which holds no GIL, after those of other threads have finished.
    pub fn run(
        &self,
        sql: &str,
        wanted: Wanted,
        params: Vec<(String, String)>,
        settings: Vec<(String, String)>,
        replacement_scan: Arc<dyn ReplacementScan>,
        watch: &Arc<Watch>,
    ) -> Result<Answer> {
        let _turn = self.turn(watch)?;
        // Code of the host that runs from here on is part of the statement: sources, callbacks, handlers of signals.
        let _calling = Calling::begin();
        let asked = watch.clone();
        let options = RunOptions {
            params,
            settings,
            interrupt: Some(Arc::new(move || asked.should_stop())),
            replacement_scan: Some(replacement_scan),
            on_progress: self.on_progress(Some(watch)),
            ..wanted.options()
        };
        self.session.run(sql, options)
    }

    /// Stops the statement that runs now, if any.
    pub fn cancel_statement(&self) {
        if let Some(watch) = &*self.running() {
            watch.stop();
        }
    }

    /// As [`cancel_statement`](Self::cancel_statement), and streams too.
    pub fn cancel_running(&self) {
        self.cancel_statement();
        // Those that are open are stopped, all are forgotten.
        let streams = std::mem::take(&mut *self.streams.lock().unwrap_or_else(PoisonError::into_inner));
        for stream in streams {
            if let Some(stream) = stream.upgrade() {
                stream.stop();
            }
        }
    }

    /// Does a query run now?
    pub fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Waits until no other query runs.
    fn turn<'a>(&'a self, watch: &Arc<Watch>) -> Result<Turn<'a>> {
        let mut running = self.running();
        while running.is_some() {
            running = self.finished.wait_timeout(running, TICK).unwrap_or_else(PoisonError::into_inner).0;
            if running.is_some() {
                // Asking may take the GIL, whose holder may want the lock.
                drop(running);
                if watch.should_stop() {
                    return Err(watch.error());
                }
                running = self.running();
            }
        }
        *running = Some(watch.clone());
        Ok(Turn(self))
    }

    fn running(&self) -> MutexGuard<'_, Option<Arc<Watch>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to run a query, given back when dropped.
struct Turn<'a>(&'a Handle);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.running() = None;
        self.0.finished.notify_one();
    }
}
