//! Footers of files read before, by the identity of the file. A changed file has another identity.

use crate::file::Footer;
use chalet_base::Result;
use chalet_base::hash::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::SystemTime;

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub path: PathBuf,
    pub size: u64,
    pub modified: SystemTime,
}

impl Identity {
    /// `None` where the system does not tell when a file was modified.
    pub fn of(path: &Path, file: &File) -> Option<Identity> {
        let metadata = file.metadata().ok()?;
        Some(Identity { path: path.to_owned(), size: metadata.len(), modified: metadata.modified().ok()? })
    }
}

/// Footers kept at once; the one not used for the longest time goes first.
const MAX_FOOTERS: usize = 1024;

#[derive(Default)]
struct Cache {
    footers: HashMap<Identity, (Arc<Footer>, u64)>,
    /// Counts uses.
    clock: u64,
}

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Default::default);

/// The footer of a file, parsed if it is not known.
pub(crate) fn footer(identity: Identity, parse: impl FnOnce() -> Result<Footer>) -> Result<Arc<Footer>> {
    let lock = || CACHE.lock().unwrap_or_else(|e| e.into_inner());
    {
        let mut cache = lock();
        cache.clock += 1;
        let now = cache.clock;
        if let Some((footer, used)) = cache.footers.get_mut(&identity) {
            *used = now;
            return Ok(footer.clone());
        }
    }
    let footer = Arc::new(parse()?);
    let mut cache = lock();
    if cache.footers.len() >= MAX_FOOTERS {
        let oldest =
            cache.footers.iter().min_by_key(|(_, (_, used))| *used).map(|(identity, _)| identity.clone());
        oldest.and_then(|oldest| cache.footers.remove(&oldest));
    }
    let now = cache.clock;
    cache.footers.insert(identity, (footer.clone(), now));
    Ok(footer)
}

/// Forgets all footers (SYSTEM DROP PARQUET METADATA CACHE).
pub fn clear() {
    CACHE.lock().unwrap_or_else(|e| e.into_inner()).footers.clear();
}
