//! The query condition cache: for a file in a state and a condition, the rows of the units (row groups) in which an earlier
//! query found none or few that meet it. A query with the same condition reads these rows alone, and need not apply it.
//!
//! What is remembered is exact: readers note a unit when they have applied the filter to all its rows, the condition's
//! text holds everything that the filter depends on, and a changed file has another identity.

use crate::ScanRequest;
use chalet_base::events::{self, Event};
use chalet_base::forks::PerProcess;
use chalet_base::hash::HashMap;
use chalet_formats::FileIdentity;
use chalet_formats::input::Remember;
use chalet_formats::passing_rows::PassingRows;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// Bytes kept at once; what was not used for the longest time goes first. The kernel keeps 100 MiB for whole servers.
const MAX_BYTES: usize = 32 << 20;

/// Bytes that an entry takes beside its texts and bits.
const OVERHEAD: usize = 160;

type Key = (Arc<FileIdentity>, Arc<str>);

struct Entry {
    units: Arc<PassingRows>,
    /// By the clock of the cache.
    used: AtomicU64,
}

#[derive(Default)]
struct Cache {
    entries: RwLock<HashMap<Key, Entry>>,
    clock: AtomicU64,
    /// Of the rows of all entries, and of evicted ones that a query still reads.
    rows: Arc<AtomicUsize>,
    /// Of the keys. Changed by who holds the lock for writing.
    keys: AtomicUsize,
}

static CACHE: PerProcess<Cache> = PerProcess::new(|_| Cache::default());

/// What is known of a file of `n_units` under a condition, for reading and for noting more.
fn units(identity: &Arc<FileIdentity>, condition: &Arc<str>, n_units: usize) -> Arc<PassingRows> {
    let units = CACHE.units((identity.clone(), condition.clone()), n_units);
    let hit = !units.is_empty();
    events::count(if hit { Event::QueryConditionCacheHits } else { Event::QueryConditionCacheMisses });
    units
}

/// Forgets everything.
pub fn clear() {
    let mut entries = CACHE.entries.write().unwrap_or_else(PoisonError::into_inner);
    entries.clear();
    CACHE.keys.store(0, Relaxed);
}

/// What is known of files under the filter of a request, where it is one that may be remembered.
pub(crate) fn remember(request: &ScanRequest) -> Option<Remember> {
    let condition = request.filter.as_ref()?.condition.clone()?;
    request
        .context
        .use_query_condition_cache
        .then(|| -> Remember { Arc::new(move |identity, n_units| units(identity, &condition, n_units)) })
}

fn weight(key: &Key) -> usize {
    OVERHEAD + key.0.memory() + key.1.len()
}

impl Cache {
    fn units(&self, key: Key, n_units: usize) -> Arc<PassingRows> {
        let now = self.clock.fetch_add(1, Relaxed);
        if let Some(entry) = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            entry.used.store(now, Relaxed);
            return entry.units.clone();
        }
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        // Another query may have come first.
        if let Some(entry) = entries.get(&key) {
            return entry.units.clone();
        }
        let units = Arc::new(PassingRows::new(n_units, self.rows.clone()));
        self.keys.fetch_add(weight(&key), Relaxed);
        entries.insert(key, Entry { units: units.clone(), used: AtomicU64::new(now) });
        if self.bytes() > MAX_BYTES {
            self.make_room(&mut entries);
        }
        units
    }

    fn bytes(&self) -> usize {
        self.keys.load(Relaxed) + self.rows.load(Relaxed)
    }

    /// Down to three quarters, so that not every new condition looks at all others.
    fn make_room(&self, entries: &mut HashMap<Key, Entry>) {
        let mut by_use: Vec<(u64, Key)> =
            entries.iter().map(|(key, entry)| (entry.used.load(Relaxed), key.clone())).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_use {
            if self.bytes() <= MAX_BYTES / 4 * 3 {
                break;
            }
            if entries.remove(&key).is_some() {
                self.keys.fetch_sub(weight(&key), Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn it_stays_within_its_bytes_and_keeps_what_is_used() {
        let cache = Cache::default();
        let metadata = std::fs::metadata("/").unwrap();
        let identity = Arc::new(FileIdentity::of(Path::new("/"), &metadata).unwrap());
        let key = |n: usize| (identity.clone(), Arc::from(format!("{n}{}", "x".repeat(1 << 16))));
        cache.units(key(0), 8).insert(3, vec![5]);
        for n in 1..1000 {
            cache.units(key(n), 8);
            assert_eq!(cache.units(key(0), 8).of(3), Some(&[5][..]));
            assert!(cache.bytes() <= MAX_BYTES);
        }
        let n = cache.entries.read().unwrap().len();
        assert!((200..600).contains(&n), "{n}");
    }
}
