//! Blocked Bloom filters of keys (Putze, Sanders and Singler, "Cache-, hash- and space-efficient Bloom filters"): a word of 64 bits for
//! each key, in which a few are set.

use super::table::JoinTable;
use chalet_base::events::{self, Event};
use chalet_base::hash::fetch;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::switches::{self, Switch};
use chalet_columns::{BooleanBuffer, Column};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bits of a Bloom filter for each key: about one in a hundred other keys passes.
const BITS_PER_KEY: usize = 12;

/// The words of a filter.
#[derive(Clone)]
pub struct Bloom(Vec<u64>);

impl Bloom {
    /// The filter of the keys with these hashes, those that are valid, of which so many differ.
    pub fn of(hashes: &[u64], valid: &BooleanBuffer, n_keys: usize) -> Bloom {
        let mut words = vec![0; n_words(n_keys)];
        for row in valid.set_indices() {
            let at = word_of(hashes[row], words.len());
            words[at] |= bits_of(hashes[row]);
        }
        Bloom(words)
    }

    /// Whether each of so many hashes may be that of a key. Where a cache does not hold the filter, the words of a few are asked for before
    /// the first is looked at.
    pub fn mask(&self, n_hashes: usize, hash_of: impl Fn(usize) -> u64) -> BooleanBuffer {
        let words = &self.0;
        let mut masks: Vec<u64> = Vec::with_capacity(n_hashes.div_ceil(AT_ONCE));
        dispatch_simd(|| {
            for start in (0..n_hashes).step_by(AT_ONCE) {
                let n_some = AT_ONCE.min(n_hashes - start);
                let (mut wanted, mut places) = ([0; AT_ONCE], [0; AT_ONCE]);
                for at in 0..n_some {
                    let hash = hash_of(start + at);
                    (wanted[at], places[at]) = (bits_of(hash), word_of(hash, words.len()));
                }
                if words.len() > CACHED_WORDS {
                    places[..n_some].iter().for_each(|&place| fetch(&raw const words[place]));
                }
                let mut mask = 0;
                for at in 0..n_some {
                    mask |= u64::from(words[places[at]] & wanted[at] == wanted[at]) << at;
                }
                masks.push(mask);
            }
        });
        BooleanBuffer::new(masks.into(), 0, n_hashes)
    }
}

/// Hashes that are looked at together: a word of the mask.
const AT_ONCE: usize = 64;
/// Words that a second-level cache holds beside what else is in it.
const CACHED_WORDS: usize = 1 << 15;

/// Words of the filter of so many keys.
fn n_words(n_keys: usize) -> usize {
    (n_keys * BITS_PER_KEY).div_ceil(64).max(1)
}

/// By the upper bits, so that each partition of a [`RowTable`](crate::hash_table::row_table::RowTable) has words of its own.
#[inline(always)]
fn word_of(hash: u64, n_words: usize) -> usize {
    ((u128::from(hash) * n_words as u128) >> 64) as usize
}

/// Four of 64 bits.
#[inline(always)]
fn bits_of(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63)
}

/// The filter of an index with partitions, which has very many keys: making it takes as long as looking that many rows up. It is not made
/// before rows of the left side, looked up in the index, have shown that it would drop many. Then those who ask make it together, a
/// partition at a time; blocks pass it untested meanwhile.
pub struct LateBloom {
    slot: Arc<OnceLock<JoinTable>>,
    n_partitions: usize,
    /// Words of each partition.
    n_own: usize,
    is_wanted: AtomicBool,
    /// The next partition that nobody has taken.
    next: AtomicUsize,
    /// Words of the partitions that are made.
    parts: Mutex<Vec<(usize, Vec<u64>)>>,
    whole: OnceLock<Bloom>,
}

/// Rows of a block that are looked up to see whether the filter pays, and in how many places of it: neighbours may be alike.
const TRIED_ROWS: usize = 1 << 10;
const TRIED_PLACES: usize = 8;

impl LateBloom {
    /// The filter of the table in the slot, of so many different keys; none where its index has no partitions.
    pub fn of(slot: &Arc<OnceLock<JoinTable>>, n_keys: usize) -> Option<LateBloom> {
        let n_partitions = slot.get()?.index.as_partitioned()?.n_partitions();
        Some(LateBloom {
            slot: slot.clone(),
            n_partitions,
            n_own: n_words(n_keys).div_ceil(n_partitions),
            is_wanted: AtomicBool::new(!switches::is_on(Switch::LateBlooms)),
            next: AtomicUsize::new(0),
            parts: Mutex::default(),
            whole: OnceLock::new(),
        })
    }

    /// The filter, once it is made.
    pub fn get(&self) -> Option<&Bloom> {
        self.whole.get()
    }

    /// Would it drop so many of these rows that it pays? Once it would, it will be made.
    pub fn pays(&self, keys: &[Column], valid: &BooleanBuffer, most_passing: f64) -> bool {
        if self.is_wanted.load(Relaxed) {
            return true;
        }
        let Some(table) = self.slot.get() else { return false };
        events::count(Event::RuntimeFilterTrials);
        let (mut n_tried, mut n_found) = (0, 0);
        for start in (0..valid.len()).step_by(valid.len().div_ceil(TRIED_PLACES).max(1)) {
            let n = (TRIED_ROWS / TRIED_PLACES).min(valid.len() - start);
            let some: Vec<Column> = keys.iter().map(|key| key.slice(start, n)).collect();
            n_tried += n;
            n_found += table.index.count_found(&some, &valid.slice(start, n));
        }
        let pays = n_found as f64 <= n_tried as f64 * most_passing;
        self.is_wanted.fetch_or(pays, Relaxed);
        pays
    }

    /// Makes partitions until others have taken all that are left; who makes the last one gives the filter to all.
    pub fn make(&self) {
        let Some(table) = self.slot.get().and_then(|table| table.index.as_partitioned()) else { return };
        loop {
            let partition = self.next.fetch_add(1, Relaxed);
            if partition >= self.n_partitions {
                return;
            }
            let mut words = vec![0; self.n_own];
            for hash in table.hashes(partition) {
                words[word_of(hash, self.n_own * self.n_partitions) - partition * self.n_own] |=
                    bits_of(hash);
            }
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.push((partition, words));
            if parts.len() == self.n_partitions {
                let mut parts = std::mem::take(&mut *parts);
                parts.sort_unstable_by_key(|(partition, _)| *partition);
                let words: Vec<Vec<u64>> = parts.into_iter().map(|(_, words)| words).collect();
                events::count(Event::RuntimeFiltersCreated);
                let _ = self.whole.set(Bloom(words.concat()));
            }
        }
    }
}
