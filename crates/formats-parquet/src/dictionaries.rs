//! Dictionaries of strings of which a query needed few values: the next one, which often needs others of the same row group, finds
//! them decompressed. Those of whole scans are not kept, since a scan that reads all its rows does not wait for the dictionary, and
//! would drive out what is of use.

use crate::lru::Lru;
use chalet_base::events::{self, Event};
use chalet_base::forks::PerProcess;
use chalet_formats::FileIdentity;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of dictionaries kept at once.
const MAX_BYTES: usize = 64 << 20;
/// A smaller one is made in tens of microseconds.
const LEAST_BYTES: usize = 1 << 16;

/// A column chunk: the file, the row group, the leaf.
pub type Key = (Arc<FileIdentity>, usize, usize);
type Dictionary = Arc<dyn Any + Send + Sync>;
type Cache = Lru<Key, (Dictionary, usize)>;

static CACHE: PerProcess<Mutex<Cache>> = PerProcess::new(|_| Mutex::new(Lru::new(MAX_BYTES)));

fn lock() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The dictionary of a column chunk, if it is kept.
pub fn find<D: Any + Send + Sync>(key: &Key) -> Option<Arc<D>> {
    let (found, _) = lock().find(key, |(_, weight)| *weight)?;
    let found = found.downcast().ok()?;
    events::count(Event::ParquetDictionaryCacheHits);
    Some(found)
}

/// Keeps a dictionary of so many bytes, if it is worth it.
pub fn insert<D: Any + Send + Sync>(key: Key, dictionary: Arc<D>, weight: usize) {
    if (LEAST_BYTES..MAX_BYTES / 4).contains(&weight) {
        events::count(Event::ParquetDictionaryCacheInserts);
        lock().insert(key, (dictionary, weight), weight);
    }
}

/// Forgets all (SYSTEM DROP UNCOMPRESSED CACHE).
pub fn clear() {
    *lock() = Lru::new(MAX_BYTES);
}
