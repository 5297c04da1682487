//! The statements that run, by their ids, and how they are stopped: by the client's going away, or the server's end.

use chalet_base::{Result, ensure};
use chalet_client::Stream;
use chalet_client::channel::Watch;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// All that run.
#[derive(Default)]
pub struct Queries {
    running: Mutex<HashMap<String, Arc<AtomicBool>>>,
    /// Seeded by the system.
    random: RandomState,
    next: AtomicU64,
}

/// A statement that runs; forgotten when dropped.
pub struct Running<'a> {
    queries: &'a Queries,
    pub id: String,
    pub is_cancelled: Arc<AtomicBool>,
}

impl Queries {
    /// Begins a statement under its id, which is made up where there is none.
    pub fn begin(&self, id: Option<String>) -> Result<Running<'_>> {
        let id = id.filter(|id| !id.is_empty()).unwrap_or_else(|| self.make_id());
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let mut running = self.running();
        ensure!(
            !running.contains_key(&id),
            QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING,
            "Query with id = {id} is already running."
        );
        running.insert(id.clone(), is_cancelled.clone());
        Ok(Running { queries: self, id, is_cancelled })
    }

    pub fn count(&self) -> usize {
        self.running().len()
    }

    /// Stops all.
    pub fn cancel_all(&self) {
        self.running().values().for_each(|is_cancelled| is_cancelled.store(true, Relaxed));
    }

    /// A random UUID.
    pub fn make_id(&self) -> String {
        let n = self.next.fetch_add(2, Relaxed);
        let high = self.random.hash_one(n) & !0xf000 | 0x4000;
        let low = self.random.hash_one(n + 1) & !(3 << 62) | 1 << 63;
        let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        format!("{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", low >> 48, low & 0xffff_ffff_ffff)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.queries.running().remove(&self.id);
    }
}

/// How long a statement that was stopped waits for a client that reads nothing, before the rest of what it was writing is given up.
/// One that reads is told the reason behind it.
pub const GRACE: Duration = Duration::from_secs(1);

impl Running<'_> {
    /// Fails when the statement is not to wait for its client any longer.
    pub fn watch(&self) -> Watch {
        let is_cancelled = self.is_cancelled.clone();
        let noticed = Mutex::new(None);
        Arc::new(move || {
            if is_cancelled.load(Relaxed) {
                let mut noticed = noticed.lock().unwrap_or_else(PoisonError::into_inner);
                let since = noticed.get_or_insert_with(Instant::now);
                ensure!(since.elapsed() < GRACE, QUERY_WAS_CANCELLED, "Query was cancelled");
            }
            Ok(())
        })
    }
}

/// How often a socket is looked at while a statement runs.
const PERIOD: Duration = Duration::from_millis(50);

/// Tells whether a statement should stop: it was cancelled, or its client has hung up.
pub fn interrupt(running: &Running<'_>, client: Stream) -> Arc<dyn Fn() -> bool + Send + Sync> {
    let is_cancelled = running.is_cancelled.clone();
    let last = Mutex::new(Instant::now());
    Arc::new(move || {
        if is_cancelled.load(Relaxed) {
            return true;
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < PERIOD {
            return false;
        }
        *last = Instant::now();
        let gone = client.has_hung_up();
        if gone {
            is_cancelled.store(true, Relaxed);
        }
        gone
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let queries = Queries::default();
        let first = queries.begin(None).unwrap();
        assert_eq!(first.id.len(), 36);
        assert_eq!((&first.id[14..15], "89ab".contains(&first.id[19..20])), ("4", true));
        assert_ne!(first.id, queries.make_id());
        let known = queries.begin(Some("a".into())).unwrap();
        assert_eq!(queries.begin(Some("a".into())).map(drop).unwrap_err().code().number, 216);
        assert_eq!(queries.count(), 2);
        drop(known);
        assert!(queries.begin(Some("a".into())).is_ok());
    }
}
