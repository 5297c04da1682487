//! Footers of files read before, by the identity of the file. A changed file has another identity.

use crate::file::Footer;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::forks::PerProcess;
use chalet_base::hash::HashMap;
use chalet_formats::FileIdentity;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of footers kept at once; those not used for the longest time go first.
const MAX_BYTES: usize = 64 << 20;

struct Entry {
    footer: Arc<Footer>,
    /// Bytes that it counts for.
    weight: usize,
    used: u64,
}

#[derive(Default)]
struct Cache {
    footers: HashMap<Arc<FileIdentity>, Entry>,
    /// Of all entries.
    weight: usize,
    /// Counts uses.
    clock: u64,
}

static CACHE: PerProcess<Mutex<Cache>> = PerProcess::new(|_| Mutex::default());

fn lock() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(|e| e.into_inner())
}

impl Cache {
    fn find(&mut self, identity: &FileIdentity) -> Option<Arc<Footer>> {
        self.clock += 1;
        let entry = self.footers.get_mut(identity)?;
        entry.used = self.clock;
        // It grows when its page index is read.
        let weight = identity.memory() + entry.footer.memory();
        self.weight = self.weight - entry.weight + weight;
        entry.weight = weight;
        Some(entry.footer.clone())
    }

    fn insert(&mut self, identity: Arc<FileIdentity>, footer: Arc<Footer>) {
        let weight = identity.memory() + footer.memory();
        let entry = Entry { footer, weight, used: self.clock };
        self.weight += weight;
        if let Some(before) = self.footers.insert(identity, entry) {
            self.weight -= before.weight;
        }
        if self.weight > MAX_BYTES {
            self.make_room();
        }
    }

    /// Down to three quarters, so that not every new footer looks at all others.
    fn make_room(&mut self) {
        let mut by_use: Vec<(u64, Arc<FileIdentity>)> =
            self.footers.iter().map(|(identity, entry)| (entry.used, identity.clone())).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, identity) in by_use {
            if self.weight <= MAX_BYTES / 4 * 3 {
                break;
            }
            if let Some(entry) = self.footers.remove(&identity) {
                self.weight -= entry.weight;
                events::add(Event::ParquetMetadataCacheWeightLost, entry.weight as u64);
            }
        }
    }
}

/// The footer of a file, parsed if it is not known.
pub(crate) fn footer(
    identity: Arc<FileIdentity>,
    parse: impl FnOnce() -> Result<Footer>,
) -> Result<Arc<Footer>> {
    let known = lock().find(&identity);
    if let Some(footer) = known {
        events::count(Event::ParquetMetadataCacheHits);
        return Ok(footer);
    }
    events::count(Event::ParquetMetadataCacheMisses);
    let footer = Arc::new(parse()?);
    lock().insert(identity, footer.clone());
    Ok(footer)
}

/// Forgets all footers (SYSTEM DROP PARQUET METADATA CACHE).
pub fn clear() {
    *lock() = Cache::default();
}
