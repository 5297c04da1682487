//! What this crate asks of the engine, in one place: opening a database, running statements one at a time, stopping them.

use crate::watch::Watch;
use chalet_base::{Result, bail};
use chalet_engine::outside::Outside;
use chalet_engine::{Answer, Database, RunOptions, Session};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a query that waits for another one goes without looking for signals.
const TICK: Duration = Duration::from_millis(20);

/// In which form the caller wants the answer.
pub enum Wanted {
    /// The bytes of a format, unless the statement names another one.
    Bytes(String),
    /// Rows where the statement names no format.
    Rows,
}

/// One session of one database.
pub struct Handle {
    session: Session,
    /// The query that runs now.
    running: Mutex<Option<Arc<Watch>>>,
    finished: Condvar,
}

impl Handle {
    pub fn open(path: &str) -> Result<Handle> {
        let session = Database::open(path)?.session();
        Ok(Handle { session, running: Mutex::new(None), finished: Condvar::new() })
    }

    /// Runs statements on this thread, which holds no GIL, after those of other threads have finished.
    pub fn run(
        &self,
        sql: &str,
        wanted: Wanted,
        params: Vec<(String, String)>,
        outside: Arc<dyn Outside>,
        watch: &Arc<Watch>,
    ) -> Result<Answer> {
        let _turn = self.turn(watch)?;
        let asked = watch.clone();
        let format = match wanted {
            Wanted::Bytes(format) => Some(format),
            Wanted::Rows => None,
        };
        let options = RunOptions {
            format,
            params,
            interrupt: Some(Arc::new(move || asked.should_stop())),
            outside: Some(outside),
            ..RunOptions::default()
        };
        self.session.run(sql, options)
    }

    /// Stops the query that runs now, if any.
    pub fn cancel_running(&self) {
        if let Some(watch) = &*self.running() {
            watch.stop();
        }
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
                    bail!(QUERY_WAS_CANCELLED, "Query was cancelled");
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
