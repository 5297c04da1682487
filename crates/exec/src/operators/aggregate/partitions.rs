//! The partitioned groups of one worker: radix-partitioned by the hash of their keys, so that later every partition can be
//! merged on its own: in parallel, and in a table that fits into a processor's cache.

use super::Call;
use super::groups::{Groups, Held};
use crate::hash_table::{KeyLayout, Store};
use chalet_base::Result;
use chalet_base::hash::hash_u64;
use chalet_columns::{Builder, Vector};
use chalet_function_api::States;
use chalet_types::DataType;
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
    /// How many groups so many keys will probably make.
    pub fn groups_of(&self, keys: usize) -> usize {
        match self.keys.load(Relaxed) {
            0 => keys / KEYS_PER_GROUP,
            // A little more, because growing is dear.
            merged => (keys as f64 * 1.05 * self.groups.load(Relaxed) as f64 / merged as f64) as usize,
        }
    }

    /// So many keys of a partition made so many groups.
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

/// Keys of groups of one partition and what belongs to them; a key may come more than once.
pub(super) struct Part {
    pub keys: Store,
    pub held: Held<Builder>,
}

impl Part {
    /// Of a size that is known, so that its columns are allocated once.
    fn with_room(layout: &KeyLayout, calls: &[Call], n: usize, of: &Held<Vector>) -> Part {
        let held = match of {
            Held::States(_) => {
                let mut states = super::groups::states(calls);
                states.iter_mut().for_each(|states| states.grow(n));
                Held::States(states)
            }
            Held::Rows(_) => {
                let builder = |ty: &DataType| {
                    let mut builder = Builder::new(ty);
                    builder.reserve(n);
                    builder
                };
                Held::Rows(calls.iter().map(|call| call.args.iter().map(builder).collect()).collect())
            }
        };
        Part { keys: Store::with_capacity(layout, n), held }
    }

    /// Keys and their states, one state per key and call.
    pub fn of_states(keys: Store, states: Vec<Box<dyn States>>) -> Part {
        Part { keys, held: Held::States(states) }
    }

    /// Takes some groups over.
    fn append(&mut self, keys: &Store, held: &mut Held<Vector>, from: &[u32]) -> Result<()> {
        let before = self.keys.len() as u32;
        self.keys.append_from(keys, from);
        match (&mut self.held, held) {
            (Held::States(into), Held::States(states)) => {
                let places: Vec<u32> = (before..self.keys.len() as u32).collect();
                for (into, states) in into.iter_mut().zip(states) {
                    // A part that equal groups were merged in has no room beyond them.
                    into.grow(self.keys.len());
                    into.merge(&mut **states, from, &places)?;
                }
            }
            (Held::Rows(into), Held::Rows(args)) => {
                let args = args.iter().flatten();
                into.iter_mut().flatten().zip(args).for_each(|(into, args)| into.push_rows(args, from));
            }
            _ => unreachable!("what is held is told apart before"),
        }
        Ok(())
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let held = match &self.held {
            Held::States(states) => states.iter().map(|s| s.memory()).sum::<usize>(),
            Held::Rows(args) => args.iter().flatten().map(Builder::memory).sum(),
        };
        self.keys.memory() + held
    }

    /// Adds all of it to groups.
    pub fn merge_into(self, groups: &mut Groups) -> Result<()> {
        match self.held {
            Held::States(mut states) => groups.merge_states(&self.keys, &mut states),
            Held::Rows(args) => groups.merge_rows(&self.keys, &finished(args)),
        }
    }

    /// The states of all keys.
    pub fn into_states(self, calls: &[Call]) -> Result<Vec<Box<dyn States>>> {
        let args = match self.held {
            Held::States(states) => return Ok(states),
            Held::Rows(args) => finished(args),
        };
        let all: Vec<u32> = (0..self.keys.len() as u32).collect();
        let mut states = super::groups::states(calls);
        for (states, args) in states.iter_mut().zip(&args) {
            states.grow(all.len());
            states.add_groups(&all, args)?;
        }
        Ok(states)
    }
}

fn finished(args: Vec<Vec<Builder>>) -> Vec<Vec<Vector>> {
    args.into_iter().map(|args| args.into_iter().map(Builder::finish).collect()).collect()
}

pub(super) struct Partitions {
    layout: Arc<KeyLayout>,
    pub calls: Arc<[Call]>,
    /// By partition; all but the last part of each are full.
    with_states: Vec<Vec<Part>>,
    with_rows: Vec<Vec<Part>>,
    /// Bytes of memory that the full ones hold.
    full: usize,
    /// Groups in all parts, and how many there may be before they are merged with each other.
    n_groups: usize,
    merge_at: usize,
    /// What a new part has room for, at least.
    room: usize,
}

/// Groups of a part: allocated at once, so few enough that the last part of each partition may stay nearly empty.
const PART_GROUPS: usize = 1024;

/// A worker that holds more groups than this sees whether they have keys in common, and one that holds keys alone, which take
/// half the room, twice as many: merging costs as much as a second look at every key.
const FIRST_MERGE: usize = 4 << 20;

fn first_merge(calls: &[Call]) -> usize {
    if calls.is_empty() { 2 * FIRST_MERGE } else { FIRST_MERGE }
}

impl Partitions {
    /// Empty partitions.
    pub fn new(layout: &Arc<KeyLayout>, calls: &Arc<[Call]>) -> Partitions {
        let none = || std::iter::repeat_with(Vec::new).take(PARTITIONS).collect();
        Partitions {
            layout: layout.clone(),
            calls: calls.clone(),
            with_states: none(),
            with_rows: none(),
            full: 0,
            n_groups: 0,
            merge_at: first_merge(calls),
            room: PART_GROUPS,
        }
    }

    /// Of one run of rows, which will be small: with no more room than it needs.
    pub fn of_run(layout: &Arc<KeyLayout>, calls: &Arc<[Call]>) -> Partitions {
        Partitions { room: 0, ..Partitions::new(layout, calls) }
    }

    /// Takes all groups over.
    pub fn put(&mut self, groups: &mut Groups) -> Result<()> {
        let (keys, mut held) = groups.take();
        self.n_groups += keys.len();
        match &keys {
            Store::Words { words, nulls } if self.calls.is_empty() => self.deal_words(words, nulls),
            _ => self.deal(&keys, &mut held)?,
        }
        if self.n_groups > self.merge_at {
            self.merge_equal()?;
            let all_but_last = self.lists().filter_map(|parts| parts.split_last());
            self.full = all_but_last.flat_map(|(_, full)| full).map(Part::memory).sum();
        }
        Ok(())
    }

    fn lists(&self) -> impl Iterator<Item = &Vec<Part>> {
        self.with_states.iter().chain(&self.with_rows)
    }

    fn deal(&mut self, keys: &Store, held: &mut Held<Vector>) -> Result<()> {
        let (order, starts) = by_partition(&keys.hashes());
        let lists = match held {
            Held::States(_) => &mut self.with_states,
            Held::Rows(_) => &mut self.with_rows,
        };
        for (parts, range) in lists.iter_mut().zip(starts.windows(2)) {
            let mut from = &order[range[0] as usize..range[1] as usize];
            while !from.is_empty() {
                if parts.last().is_none_or(|part| part.keys.len() >= PART_GROUPS) {
                    self.full += parts.last().map_or(0, Part::memory);
                    let room = self.room.max(from.len().min(PART_GROUPS));
                    parts.push(Part::with_room(&self.layout, &self.calls, room, held));
                }
                let Some(part) = parts.last_mut() else { break };
                let (now, later) = from.split_at(from.len().min(PART_GROUPS - part.keys.len()));
                part.append(keys, held, now)?;
                from = later;
            }
        }
        Ok(())
    }

    /// As [`deal`](Self::deal), of words and nothing else: each goes to its place as it comes.
    fn deal_words(&mut self, words: &[u64], nulls: &[u32]) {
        let is_open = |part: &mut Part| match &part.keys {
            Store::Words { words, nulls } => words.len() < PART_GROUPS && nulls.is_empty(),
            _ => unreachable!("keys of another form"),
        };
        let open = |parts: &mut Vec<Part>| match parts.pop_if(is_open) {
            Some(Part { keys: Store::Words { words, .. }, .. }) => words,
            _ => Vec::new(),
        };
        let of_words = |words| Part::of_states(Store::Words { words, nulls: Vec::new() }, Vec::new());
        let mut open: Vec<Vec<u64>> = self.with_states.iter_mut().map(open).collect();
        let mut nulls = nulls.iter().peekable();
        for (key, &word) in (0..).zip(words) {
            let partition = partition_of(hash_u64(word));
            // NULL, which comes once mostly, has a part of its own.
            if nulls.next_if_eq(&&key).is_some() {
                let null = Part::of_states(Store::Words { words: vec![0], nulls: vec![0] }, Vec::new());
                self.full += null.memory();
                self.with_states[partition].push(null);
                continue;
            }
            let open = &mut open[partition];
            if open.len() == open.capacity() {
                let full = std::mem::replace(open, Vec::with_capacity(PART_GROUPS));
                let parts = &mut self.with_states[partition];
                if !full.is_empty() {
                    parts.push(of_words(full));
                }
                self.full += parts.last().map_or(0, Part::memory);
            }
            open.push(word);
        }
        for (parts, open) in self.with_states.iter_mut().zip(open).filter(|(_, open)| !open.is_empty()) {
            parts.push(of_words(open));
        }
    }

    /// Makes one group of those with equal keys, if the first partition shows that it is worth it.
    fn merge_equal(&mut self) -> Result<()> {
        let mut left = 0;
        let sharing = Sharing::default();
        for i in 0..PARTITIONS {
            let parts = self.take(i);
            let before = parts.iter().map(|part| part.keys.len()).sum::<usize>();
            let mut groups = Groups::with_room(&self.layout, &self.calls, sharing.groups_of(before));
            for part in parts {
                part.merge_into(&mut groups)?;
            }
            let (keys, Held::States(states)) = groups.take() else {
                unreachable!("keys that are looked up have states");
            };
            left += keys.len();
            sharing.learn(before, keys.len());
            let few = keys.len() * 4 > before * 3;
            self.with_states[i] = vec![Part::of_states(keys, states)];
            if few && i == 0 {
                self.merge_at *= 4;
                return Ok(());
            }
        }
        self.n_groups = left;
        self.merge_at = first_merge(&self.calls).max(left * 2);
        Ok(())
    }

    /// Gives the parts of a partition away.
    fn take(&mut self, partition: usize) -> Vec<Part> {
        let mut parts = std::mem::take(&mut self.with_states[partition]);
        parts.append(&mut self.with_rows[partition]);
        parts
    }

    /// Gives all parts away, by partition.
    pub fn take_all(&mut self) -> Vec<Vec<Part>> {
        self.full = 0;
        self.n_groups = 0;
        (0..PARTITIONS).map(|partition| self.take(partition)).collect()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.full + self.lists().filter_map(|parts| parts.last()).map(Part::memory).sum::<usize>()
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
