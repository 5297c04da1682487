//! Footers of files read before, by the identity of the file. A changed file has another identity.

use crate::file::Footer;
use crate::lru::Lru;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::forks::PerProcess;
use chalet_formats::FileIdentity;
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of footers kept at once; those not used for the longest time go first.
const MAX_BYTES: usize = 64 << 20;

type Cache = Lru<Arc<FileIdentity>, Arc<Footer>>;

static CACHE: PerProcess<Mutex<Cache>> = PerProcess::new(|_| Mutex::new(Lru::new(MAX_BYTES)));

fn lock() -> MutexGuard<'static, Cache> {
    CACHE.lock().unwrap_or_else(|e| e.into_inner())
}

/// The footer of a file, parsed if it is not known.
pub(crate) fn footer(
    identity: Arc<FileIdentity>,
    parse: impl FnOnce() -> Result<Footer>,
) -> Result<Arc<Footer>> {
    // A footer grows when its page index is read.
    let weigh = |footer: &Arc<Footer>| identity.memory() + footer.memory();
    let known = lock().find(&identity, weigh);
    if let Some(footer) = known {
        events::count(Event::ParquetMetadataCacheHits);
        return Ok(footer);
    }
    events::count(Event::ParquetMetadataCacheMisses);
    let footer = Arc::new(parse()?);
    let weight = weigh(&footer);
    let lost = lock().insert(identity, footer.clone(), weight);
    events::add(Event::ParquetMetadataCacheWeightLost, lost as u64);
    Ok(footer)
}

/// Forgets all footers (SYSTEM DROP PARQUET METADATA CACHE).
pub fn clear() {
    *lock() = Lru::new(MAX_BYTES);
}
