//! What a worker has put aside of its groups, divided by the hash of their keys, so that later every division can be
//! merged on its own: in parallel, and in a table that fits into a processor's cache.

use super::Call;
use super::groups::Groups;
use crate::hash_table::{KeyForm, Store};
use chalet_base::Result;
use chalet_function_api::States;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many keys of the partitions merged so far were different. The hash deals keys out evenly, so that it is much the
/// same in all partitions, and a table can be made of the right size: one too large would not stay in the cache.
#[derive(Default)]
pub(super) struct Sharing {
    keys: AtomicUsize,
    groups: AtomicUsize,
}

/// Of this many keys one is taken to be different as long as nothing is known.
const KEYS_PER_GROUP: usize = 8;

impl Sharing {
    pub fn groups_of(&self, keys: usize) -> usize {
        match self.keys.load(Relaxed) {
            0 => keys / KEYS_PER_GROUP,
            // A little more, because growing is dear.
            merged => (keys as f64 * 1.05 * self.groups.load(Relaxed) as f64 / merged as f64) as usize,
        }
    }

    pub fn learn(&self, keys: usize, groups: usize) {
        self.groups.fetch_add(groups, Relaxed);
        self.keys.fetch_add(keys, Relaxed);
    }
}

/// Divisions by the top bits of the hash.
pub(super) const PARTITIONS: usize = 256;

fn partition_of(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// Keys and states of groups of one partition; a key may come more than once.
pub(super) struct Part {
    pub keys: Store,
    pub states: Vec<Box<dyn States>>,
}

impl Part {
    /// Of a size that is known, so that its columns are allocated once.
    fn with_room(form: &KeyForm, calls: &[Call], n: usize) -> Part {
        let mut states = super::groups::states(calls);
        states.iter_mut().for_each(|states| states.grow(n));
        Part { keys: Store::with_capacity(form, n), states }
    }

    /// Takes some groups over.
    fn append(&mut self, keys: &Store, states: &mut [Box<dyn States>], from: &[u32]) -> Result<()> {
        let before = self.keys.len() as u32;
        self.keys.append_from(keys, from);
        let into: Vec<u32> = (before..self.keys.len() as u32).collect();
        for (to, states) in self.states.iter_mut().zip(states) {
            to.merge(&mut **states, from, &into)?;
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        self.keys.memory() + self.states.iter().map(|s| s.memory()).sum::<usize>()
    }
}

pub(super) struct Partitions {
    form: Arc<KeyForm>,
    calls: Arc<[Call]>,
    /// By partition; all but the last part of each are full.
    pub parts: Vec<Vec<Part>>,
    /// Bytes of memory that the full ones hold.
    full: usize,
    /// Groups in all parts, and how many there may be before they are merged with each other.
    n_groups: usize,
    merge_at: usize,
}

/// Groups of a part: allocated at once, so few enough that the last part of each partition may stay nearly empty.
const PART_GROUPS: usize = 1024;

/// A worker that holds more groups than this sees whether they have keys in common.
const FIRST_MERGE: usize = 4 << 20;

impl Partitions {
    pub fn new(form: &Arc<KeyForm>, calls: &Arc<[Call]>) -> Partitions {
        Partitions {
            form: form.clone(),
            calls: calls.clone(),
            parts: std::iter::repeat_with(Vec::new).take(PARTITIONS).collect(),
            full: 0,
            n_groups: 0,
            merge_at: FIRST_MERGE,
        }
    }

    /// Takes all groups over.
    pub fn put(&mut self, groups: &mut Groups) -> Result<()> {
        let (keys, mut states) = groups.take();
        let (order, starts) = by_partition(&keys.hashes());
        for (parts, range) in self.parts.iter_mut().zip(starts.windows(2)) {
            let mut from = &order[range[0] as usize..range[1] as usize];
            while !from.is_empty() {
                if parts.last().is_none_or(|part| part.keys.len() >= PART_GROUPS) {
                    self.full += parts.last().map_or(0, Part::memory);
                    parts.push(Part::with_room(&self.form, &self.calls, PART_GROUPS));
                }
                let Some(part) = parts.last_mut() else { break };
                let (now, later) = from.split_at(from.len().min(PART_GROUPS - part.keys.len()));
                part.append(&keys, &mut states, now)?;
                from = later;
            }
        }
        self.n_groups += order.len();
        if self.n_groups > self.merge_at {
            self.merge_equal()?;
            let all_but_last = self.parts.iter().filter_map(|parts| parts.split_last());
            self.full = all_but_last.flat_map(|(_, full)| full).map(Part::memory).sum();
        }
        Ok(())
    }

    /// Makes one group of those with equal keys, if the first partition shows that it is worth it.
    fn merge_equal(&mut self) -> Result<()> {
        let mut left = 0;
        let sharing = Sharing::default();
        for i in 0..PARTITIONS {
            let parts = std::mem::take(&mut self.parts[i]);
            let before = parts.iter().map(|part| part.keys.len()).sum::<usize>();
            let mut groups = Groups::with_room(&self.form, &self.calls, sharing.groups_of(before));
            for mut part in parts {
                groups.merge_states(&part.keys, &mut part.states)?;
            }
            let (keys, states) = groups.take();
            left += keys.len();
            sharing.learn(before, keys.len());
            let few = keys.len() * 4 > before * 3;
            self.parts[i] = vec![Part { keys, states }];
            if few && i == 0 {
                self.merge_at *= 4;
                return Ok(());
            }
        }
        self.n_groups = left;
        self.merge_at = FIRST_MERGE.max(left * 2);
        Ok(())
    }

    /// Gives all parts away, by partition.
    pub fn take_all(&mut self) -> Vec<Vec<Part>> {
        self.full = 0;
        self.n_groups = 0;
        self.parts.iter_mut().map(std::mem::take).collect()
    }

    pub fn memory(&self) -> usize {
        self.full + self.parts.iter().filter_map(|parts| parts.last()).map(Part::memory).sum::<usize>()
    }
}

/// Numbers of hashes sorted by partition, and where each partition begins.
fn by_partition(hashes: &[u64]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; PARTITIONS + 1];
    hashes.iter().for_each(|&hash| starts[partition_of(hash) + 1] += 1);
    for i in 0..PARTITIONS {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut order = vec![0u32; hashes.len()];
    for (i, &hash) in hashes.iter().enumerate() {
        let place = &mut next[partition_of(hash)];
        order[*place as usize] = i as u32;
        *place += 1;
    }
    (order, starts)
}
