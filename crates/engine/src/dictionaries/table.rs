//! A dictionary as a table: loaded when it is first used, and again when its lifetime is over.

use super::definition::Definition;
use super::key_cache::KeyCache;
use super::loaded::Loaded;
use chalet_base::{Result, bail, ensure};
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant, SystemTime};

/// After a failure rows that are there are kept for so long before the source is read again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Reads the source of a dictionary.
pub(crate) type Load<'a> = dyn Fn(&Arc<Definition>) -> Result<Loaded> + 'a;

/// What a dictionary has loaded, and what came of its last attempt.
#[derive(Clone, Default)]
pub(crate) struct Status {
    pub loaded: Option<Arc<Loaded>>,
    /// The last error, if the last attempt failed.
    pub error: Option<String>,
    pub n_errors: u64,
    pub started: Option<SystemTime>,
    pub updated: Option<SystemTime>,
    pub took: Duration,
    /// When the source is to be read again.
    due: Option<Instant>,
    /// Threads that are loading it: a source may use what it is the source of.
    loading: Vec<ThreadId>,
}

/// Keys that were looked up one by one, not in what is loaded.
#[derive(Default)]
pub(crate) struct Lookups {
    pub asked: AtomicU64,
    /// Those for which the source was not read.
    pub hits: AtomicU64,
    /// Those that there are.
    pub found: AtomicU64,
}

/// A dictionary. Clones are the same dictionary.
#[derive(Clone)]
pub(crate) struct Dictionary {
    pub definition: Arc<Definition>,
    status: Arc<Mutex<Status>>,
    cache: Arc<Mutex<KeyCache>>,
    pub lookups: Arc<Lookups>,
}

impl Dictionary {
    pub fn new(definition: Definition) -> Dictionary {
        let cache = Arc::new(Mutex::new(KeyCache::new(definition.most_cells)));
        Dictionary {
            definition: Arc::new(definition),
            status: Arc::default(),
            cache,
            lookups: Arc::default(),
        }
    }

    /// What a dictionary that is a cache keeps.
    pub fn cache(&self) -> MutexGuard<'_, KeyCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what a cache keeps, and what was looked up.
    pub fn forget(&self) {
        *self.cache() = KeyCache::new(self.definition.most_cells);
        let counts = [&self.lookups.asked, &self.lookups.hits, &self.lookups.found];
        counts.into_iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Forgets its rows: they are loaded again when they are asked for.
    pub fn unload(&self) {
        let mut status = self.lock();
        *status = Status { loading: std::mem::take(&mut status.loading), ..Status::default() };
        drop(status);
        self.forget();
    }

    /// Counts keys that were looked up: their rows, and how many the source was not read for.
    pub fn note_lookups(&self, rows: &[u32], n_hits: usize) {
        self.lookups.asked.fetch_add(rows.len() as u64, Relaxed);
        self.lookups.hits.fetch_add(n_hits as u64, Relaxed);
        self.lookups.found.fetch_add(rows.iter().filter(|row| **row > 0).count() as u64, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn status(&self) -> Status {
        self.lock().clone()
    }

    /// The rows, loaded if they are not or are too old.
    pub fn loaded(&self, load: &Load) -> Result<Arc<Loaded>> {
        {
            let status = self.lock();
            let is_due = status.due.is_some_and(|due| due <= Instant::now());
            if let Some(loaded) =
                status.loaded.clone().filter(|_| !is_due && !self.definition.layout.reads_through)
            {
                return Ok(loaded);
            }
        }
        match self.load(load) {
            // What is there is better than nothing.
            Err(error) => {
                self.lock().loaded.clone().filter(|_| !self.definition.layout.reads_through).ok_or(error)
            }
            loaded => loaded,
        }
    }

    /// Reads the source.
    pub fn load(&self, load: &Load) -> Result<Arc<Loaded>> {
        let since = Instant::now();
        let made = self.read(|| load(&self.definition));
        let mut status = self.lock();
        match made {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                // What is read for one statement is not kept.
                status.loaded = Some(loaded.clone()).filter(|_| !self.definition.layout.reads_through);
                status.due = self.lifetime(since).map(|lifetime| Instant::now() + lifetime);
                Ok(loaded)
            }
            Err(error) => {
                status.due = Some(Instant::now() + PAUSE_AFTER_FAILURE);
                Err(error)
            }
        }
    }

    /// Reads the source in any way; what comes of it is noted.
    pub fn read<R>(&self, read: impl FnOnce() -> Result<R>) -> Result<R> {
        let this = thread::current().id();
        {
            let mut status = self.lock();
            ensure!(
                !status.loading.contains(&this),
                INFINITE_LOOP,
                "The source of the dictionary reads the dictionary itself"
            );
            status.loading.push(this);
        }
        let _loading = Loading(self, this);
        let (started, since) = (SystemTime::now(), Instant::now());
        let made = read();
        let mut status = self.lock();
        status.started = Some(started);
        status.took = since.elapsed();
        match &made {
            Ok(_) => {
                status.error = None;
                status.n_errors = 0;
                status.updated = Some(SystemTime::now());
            }
            Err(error) => {
                status.error = Some(error.to_string());
                status.n_errors += 1;
            }
        }
        made
    }

    /// How long rows last: any time between the bounds, so that dictionaries do not all load at once.
    pub fn lifetime(&self, since: Instant) -> Option<Duration> {
        let (least, most) = self.definition.lifetime;
        let spread = most.saturating_sub(least);
        let part = u64::from(since.elapsed().subsec_nanos()) % (spread + 1);
        (most > 0).then(|| Duration::from_secs(least + part))
    }
}

/// A thread is loading until this is dropped.
struct Loading<'a>(&'a Dictionary, ThreadId);

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.lock().loading.retain(|thread| *thread != self.1);
    }
}

impl Table for Dictionary {
    fn engine(&self) -> &str {
        "Dictionary"
    }

    fn schema(&self) -> TableSchema {
        self.definition.shown_schema()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A dictionary is read by statements that can load it")
    }

    fn truncate(&self) -> Result<()> {
        bail!(SYNTAX_ERROR, "Cannot TRUNCATE dictionary")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// ENGINE = Dictionary: a table of columns of a dictionary.
pub(crate) struct OverDictionary {
    pub schema: TableSchema,
    pub database: String,
    pub name: String,
}

impl Table for OverDictionary {
    fn engine(&self) -> &str {
        "Dictionary"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A dictionary is read by statements that can load it")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
