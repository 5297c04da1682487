//! What a part has of the projections of its table.

use super::super::part::{Part, PartInfo};
use super::super::skip_index::Of;
use super::{ProjectionDefinition, file};
use crate::disk::{TableFolder, fs};
use chalet_base::hash::HashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The projections of one part, by key.
#[derive(Default)]
pub struct PartProjections(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Of those that have a file, which goes with the part.
    files: HashMap<u64, Files>,
    /// Of a part in the journal: which it has, though only its own rows are kept.
    declared: BTreeSet<u64>,
    /// What is in memory or was looked at; none where it is damaged.
    loaded: HashMap<u64, Option<Arc<Part>>>,
}

#[derive(Default)]
struct Files {
    has_record: bool,
    /// Of the files of rows.
    attempts: Vec<u64>,
}

impl PartProjections {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that was found beside the part.
    pub fn found(&self, key: u64) {
        self.lock().files.entry(key).or_default().has_record = true;
    }

    /// A file of rows that was found beside the part.
    pub fn found_rows(&self, key: u64, attempt: u64) {
        self.lock().files.entry(key).or_default().attempts.push(attempt);
    }

    /// Removes files of rows that no file says to be there.
    pub fn remove_unfinished(&self, folder: &TableFolder, part: u64) {
        let known = self.lock();
        let unfinished = known.files.iter().filter(|(_, files)| !files.has_record);
        let keys: Vec<u64> = unfinished.map(|(key, _)| *key).collect();
        drop(known);
        keys.into_iter().for_each(|key| self.remove(Some(folder), part, key));
    }

    /// The part has the projection, though no rows of it are kept.
    pub fn declare(&self, key: u64) {
        self.lock().declared.insert(key);
    }

    /// The opposite of [`declare`](Self::declare).
    pub fn withdraw(&self, key: u64) {
        self.lock().declared.remove(&key);
    }

    /// Those that have no rows, ascending.
    pub fn declared(&self) -> Vec<u64> {
        self.lock().declared.iter().copied().collect()
    }

    /// Is there one of this key, with rows or without?
    pub fn has(&self, key: u64) -> bool {
        let known = self.lock();
        known.files.get(&key).is_some_and(|files| files.has_record)
            || known.declared.contains(&key)
            || known.loaded.get(&key).is_some_and(Option::is_some)
    }

    /// Rows that were made, in memory alone.
    pub fn put(&self, key: u64, rows: Arc<Part>) {
        self.lock().loaded.insert(key, Some(rows));
    }

    /// What is in memory alone.
    pub fn in_memory(&self, key: u64) -> Option<Arc<Part>> {
        self.lock().loaded.get(&key).cloned().flatten()
    }

    /// The rows, of a part that is a file; none where there is no sound file of them.
    pub fn get(
        &self,
        folder: &Arc<TableFolder>,
        of: Of,
        projection: &ProjectionDefinition,
        parent: &PartInfo,
    ) -> Option<Arc<Part>> {
        let key = projection.key();
        if let Some(known) = self.lock().loaded.get(&key) {
            return known.clone();
        }
        // Another process may write it later.
        if !folder.path().join(file::file_name(of.number, key)).exists() {
            return None;
        }
        let rows = file::load(folder, of, projection, parent);
        let mut known = self.lock();
        known.loaded.entry(key).or_insert(rows).clone()
    }

    /// Removes one; who reads it reads on.
    pub fn remove(&self, folder: Option<&TableFolder>, part: u64, key: u64) {
        let mut known = self.lock();
        known.declared.remove(&key);
        let loaded = known.loaded.remove(&key).flatten();
        let (Some(files), Some(folder)) = (known.files.remove(&key), folder) else { return };
        if let Some(rows) = loaded.filter(|rows| Arc::strong_count(rows) > 1) {
            let _ = rows.hold();
        }
        // What stays is right, and goes with the part.
        let _ = fs::remove_file(&folder.path().join(file::file_name(part, key)));
        for attempt in files.attempts {
            let _ = fs::remove_file(&file::rows_path(folder, part, key, attempt));
        }
    }

    /// Removes all.
    pub fn remove_all(&self, folder: &TableFolder, part: u64) {
        let keys: Vec<u64> = self.lock().files.keys().copied().collect();
        keys.into_iter().for_each(|key| self.remove(Some(folder), part, key));
    }
}
