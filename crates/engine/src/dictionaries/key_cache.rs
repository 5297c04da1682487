//! Rows of single keys that were read from the source of a dictionary: those of a cache for their lifetime, those of a statement while
//! it runs. Of keys that the source has not, this is kept.

use super::loaded::Loaded;
use chalet_base::hash::{HashMap, HashSet};
use chalet_columns::Block;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// A row of a key: which rows have it, and its number among them as [`Loaded::find`] gives it.
pub(crate) type KnownRow = (Arc<Loaded>, u32);

struct Entry {
    row: KnownRow,
    until: Option<Instant>,
}

/// Keys, as the bytes of their values, with their rows.
pub(crate) struct KeyCache {
    entries: HashMap<Box<[u8]>, Entry>,
    /// From the oldest: these go first.
    order: VecDeque<Box<[u8]>>,
    most: usize,
}

impl KeyCache {
    /// For so many keys at most.
    pub fn new(most: usize) -> KeyCache {
        KeyCache { entries: HashMap::default(), order: VecDeque::new(), most: most.max(1) }
    }

    /// The row of a key, unless its time is over.
    pub fn get(&self, key: &[u8], now: Instant) -> Option<KnownRow> {
        let entry = self.entries.get(key).filter(|entry| entry.until.is_none_or(|until| now < until))?;
        Some(entry.row.clone())
    }

    pub fn insert(&mut self, key: &[u8], row: KnownRow, until: Option<Instant>) {
        if self.entries.insert(key.into(), Entry { row, until }).is_none() {
            self.order.push_back(key.into());
        }
        while self.entries.len() > self.most {
            let Some(oldest) = self.order.pop_front() else { break };
            self.entries.remove(&oldest);
        }
    }

    /// The rows whose time is not over, from the oldest.
    pub fn rows(&self, now: Instant) -> Vec<KnownRow> {
        self.order.iter().filter_map(|key| self.get(key, now)).filter(|(_, row)| *row > 0).collect()
    }

    /// The number of keys, also of those that the source has not.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The share of the places that are taken.
    pub fn load_factor(&self) -> f64 {
        self.entries.len() as f64 / self.most as f64
    }

    /// Bytes that keys and rows occupy.
    pub fn memory(&self) -> usize {
        let of_keys: usize = self.order.iter().map(|key| 2 * key.len() + size_of::<Entry>()).sum();
        let mut seen = HashSet::default();
        let places = self.entries.values().filter(|entry| seen.insert(Arc::as_ptr(&entry.row.0)));
        of_keys + places.map(|entry| entry.row.0.memory()).sum::<usize>()
    }
}

/// The rows one behind the other, those that follow each other in one place as one block.
pub(crate) fn gathered(rows: impl Iterator<Item = KnownRow>) -> Vec<Block> {
    let mut runs: Vec<(Arc<Loaded>, Vec<u32>)> = Vec::new();
    for (of, row) in rows {
        match runs.last_mut() {
            Some((last, rows)) if Arc::ptr_eq(last, &of) => rows.push(row - 1),
            _ => runs.push((of, vec![row - 1])),
        }
    }
    runs.into_iter().map(|(of, rows)| of.rows.gather(&rows)).collect()
}
