//! The index files of a part.

use super::definition::{SkipCondition, SkipIndexProgram, key_of};
use super::file::{self, Of};
use super::granules::Granules;
use crate::disk::{TableFolder, fs};
use chalet_base::Result;
use chalet_base::hash::{HashMap, HashSet};
use chalet_formats::Buffer;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The index files of one part, by key.
#[derive(Default)]
pub struct PartIndexes(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Those that go with the part.
    files: HashSet<u64>,
    /// What was read already; none where it is damaged.
    loaded: HashMap<u64, Option<Buffer>>,
}

impl PartIndexes {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that was found beside the part.
    pub fn found(&self, key: u64) {
        self.lock().files.insert(key);
    }

    /// Puts an index on disk.
    pub fn write(
        &self,
        folder: &TableFolder,
        of: Of,
        program: &SkipIndexProgram,
        n_granules: usize,
        granules: &[u8],
    ) -> Result<()> {
        file::write(folder, of, program, n_granules, granules)?;
        let mut known = self.lock();
        known.files.insert(program.key());
        known.loaded.remove(&program.key());
        Ok(())
    }

    /// Is there a file of this key?
    pub fn has(&self, key: u64) -> bool {
        self.lock().files.contains(&key)
    }

    /// Bytes of the file of this key.
    pub fn bytes(&self, folder: &TableFolder, part: u64, key: u64) -> u64 {
        let path = folder.path().join(file::file_name(part, key));
        fs::metadata(&path).map_or(0, |known| known.len())
    }

    /// Removes one file.
    pub fn remove(&self, folder: &TableFolder, part: u64, key: u64) {
        let mut known = self.lock();
        known.loaded.remove(&key);
        if known.files.remove(&key) {
            // What stays is right, and goes with the part.
            let _ = fs::remove_file(&folder.path().join(file::file_name(part, key)));
        }
    }

    /// Removes all.
    pub fn remove_all(&self, folder: &TableFolder, part: u64) {
        let keys: Vec<u64> = self.lock().files.iter().copied().collect();
        keys.into_iter().for_each(|key| self.remove(folder, part, key));
    }

    /// The granules that a condition looks at, and the rows of each; none where the part has no sound file for it.
    pub fn granules(
        &self,
        folder: &TableFolder,
        of: Of,
        condition: &SkipCondition,
    ) -> Option<(Granules, usize)> {
        let key = key_of(&condition.identity);
        let loaded = self.lock().loaded.get(&key).cloned();
        let bytes = match loaded {
            Some(known) => known,
            None => {
                let path = folder.path().join(file::file_name(of.number, key));
                // Another process may write it later.
                if !path.exists() {
                    return None;
                }
                let bytes = file::load(folder, of, key);
                self.lock().loaded.insert(key, bytes.clone());
                bytes
            }
        };
        file::decode(&bytes?, of, condition).ok()
    }
}
