//! The hash table of a join's large right side: from keys to rows, filled by all workers at once. Rows are partitioned by the upper
//! bits of the hashes of their keys first; a partition has slots of its own in one large array, few enough to fit the cache of
//! the core that fills them, so that nobody waits for memory or for others (Balkesen, Teubner, Alonso and Özsu, "Main-Memory Hash Joins on
//! Multi-Core CPUs"). Keys have up to 8 bytes: slots hold them, so that finding one is one access to memory. (Measured with hashes in
//! the slots of strings and of keys of 16 bytes: these were found more slowly than in the table of groups.)

use super::partitioned_rows::{Entry, PartitionedRows};
use super::pieces::Pieces;
use super::{KeyLayout, NO_GROUP};
use crate::tasks::Team;
use chalet_base::Result;
use chalet_base::hash::fetch;
use chalet_base::hash::hash_u64;
use chalet_columns::{BooleanBuffer, Column};
use std::sync::{Arc, Mutex, PoisonError};

/// From keys to groups of rows with equal keys.
pub struct RowTable {
    layout: Arc<KeyLayout>,
    /// Linear probing inside of a partition.
    slots: Vec<Entry>,
    /// Where the slots of the first partition begin, and where those of each one end.
    bounds: Vec<usize>,
    /// A partition is so many upper bits of a hash.
    bits: u32,
}

/// The rows of a table, by groups.
pub enum GroupRows {
    /// Every group is one row: its number is the row's.
    Unique,
    /// The number of a group is where its rows begin in `order`; `ends` has there where they end. Groups of one row are marked with
    /// [`SINGLE`], so that nobody need look.
    Runs { ends: Vec<u32>, order: Vec<u32>, n_groups: usize },
}

/// Marks the numbers of groups of one row.
pub const SINGLE: u32 = 1 << 31;

/// An empty slot.
const EMPTY: Entry = Entry { word: 0, row: NO_GROUP };

/// Rows of a partition, about: their slots take half of a cache of 1 MiB.
const PARTITION_ROWS: usize = 1 << 14;

/// More partitions would be written to in turn than the processor has lines of its first cache for.
const MOST_BITS: u32 = 9;

/// Slots for each row.
const SLOTS_PER_ROW: usize = 2;

/// Keys that are looked up together: their slots are fetched before the first is looked at.
const AT_ONCE: usize = 64;

/// What became of the rows of a partition.
struct Part {
    /// The first row of each group.
    firsts: Vec<u32>,
    /// The group of each entry; empty where each is a group of its own.
    groups: Vec<u32>,
}

impl RowTable {
    /// The table of rows with these keys, which the layout makes words, and the rows by groups. Rows that are not `valid` equal
    /// nothing and are left out.
    pub fn new(
        layout: &Arc<KeyLayout>,
        keys: &[Column],
        valid: &BooleanBuffer,
        team: &Team,
    ) -> Result<(RowTable, GroupRows)> {
        let n_rows = valid.len();
        let bits = (n_rows / PARTITION_ROWS).max(2).next_power_of_two().ilog2().min(MOST_BITS);
        let n_partitions = 1 << bits;
        let (own_layout, keys) = (layout.clone(), keys.to_vec());
        let words = move |rows: std::ops::Range<usize>| {
            let some: Vec<Column> = keys.iter().map(|key| key.slice(rows.start, rows.len())).collect();
            own_layout.words(&some, rows.len()).unwrap_or_default().into_owned()
        };
        let partition = move |word| (hash_u64(word) >> (64 - bits)) as usize;
        let rows = PartitionedRows::new(team, valid, n_partitions, words, partition)?;
        let lengths: Vec<usize> = (0..n_partitions).map(|at| rows.len(at)).collect();
        let slots = Arc::new(Pieces::new(lengths.iter().map(|len| (len * SLOTS_PER_ROW).max(1))));
        let parts = {
            let (rows, slots) = (rows.clone(), slots.clone());
            team.collect_all(n_partitions, move |at| Ok(Part::new(&mut slots.lock(at, EMPTY), &rows, at)))?
        };
        let group_rows = number_groups(parts, &rows, &lengths, &slots, team)?;
        drop(rows);
        let bounds = slots.bounds().to_vec();
        // The tasks that shared them have ended.
        let slots = Arc::into_inner(slots).map_or_else(Vec::new, |slots| slots.into_vec(EMPTY));
        Ok((RowTable { layout: layout.clone(), slots, bounds, bits }, group_rows))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.slots.len() * size_of::<Entry>()
    }

    /// The number of partitions.
    pub fn n_partitions(&self) -> usize {
        1 << self.bits
    }

    /// The hashes of the keys of a partition, as [`KeyLayout::keys`] gives them; their upper bits are its number.
    pub fn hashes(&self, partition: usize) -> impl Iterator<Item = u64> {
        let slots = &self.slots[self.bounds[partition]..self.bounds[partition + 1]];
        slots.iter().filter(|slot| { slot.row } != NO_GROUP).map(|slot| hash_u64(slot.word))
    }

    /// The group of every key, [`NO_GROUP`] where there is none.
    pub fn find(&self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        let words = self.layout.words(columns, n_rows).unwrap_or_default();
        let mut groups = Vec::with_capacity(words.len());
        let mut places = [(0, 0); AT_ONCE];
        for some in words.chunks(AT_ONCE) {
            for (place, &word) in places.iter_mut().zip(some) {
                let hash = hash_u64(word);
                let partition = (hash >> (64 - self.bits)) as usize;
                let first = self.bounds[partition];
                let at = first + slot_of(hash, self.bounds[partition + 1] - first);
                fetch(&raw const self.slots[at]);
                *place = (at, partition);
            }
            for (&word, &(mut at, partition)) in some.iter().zip(&places) {
                let group = loop {
                    let slot = self.slots[at];
                    let group = slot.row;
                    // One branch for both ends, not `||`: which of them it is cannot be guessed.
                    if (group == NO_GROUP) | ({ slot.word } == word) {
                        break group;
                    }
                    at += 1;
                    if at == self.bounds[partition + 1] {
                        at = self.bounds[partition];
                    }
                };
                groups.push(group);
            }
        }
        groups
    }
}

/// Where a key is looked for first among so many slots: by the lower half of its hash, since the upper one is the partition.
#[inline(always)]
fn slot_of(hash: u64, n_slots: usize) -> usize {
    ((hash & 0xffff_ffff) as usize * n_slots) >> 32
}

impl Part {
    /// Puts the entries of a partition into its slots, of which each then has the number of its group inside the partition.
    fn new(slots: &mut [Entry], rows: &PartitionedRows, partition: usize) -> Part {
        let mut part = Part { firsts: Vec::with_capacity(rows.len(partition)), groups: Vec::new() };
        let mut n_before = 0;
        for piece in rows.pieces(partition) {
            for &Entry { word, row } in piece {
                let group = part.group_of(word, row, n_before, slots);
                if part.firsts.len() <= n_before {
                    part.groups.push(group);
                }
                n_before += 1;
            }
        }
        part
    }

    /// The group of a key inside of the partition, a new one where the key is new.
    #[inline(always)]
    fn group_of(&mut self, word: u64, row: u32, n_before: usize, slots: &mut [Entry]) -> u32 {
        let mut at = slot_of(hash_u64(word), slots.len());
        loop {
            let slot = slots[at];
            if slot.row == NO_GROUP {
                let group = self.firsts.len() as u32;
                slots[at] = Entry { word, row: group };
                self.firsts.push(row);
                return group;
            }
            if { slot.word } == word {
                if self.groups.is_empty() {
                    self.groups.extend(0..n_before as u32);
                }
                return slot.row;
            }
            at = if at + 1 == slots.len() { 0 } else { at + 1 };
        }
    }
}

/// Gives groups their final numbers in the slots, and the rows of each.
fn number_groups(
    parts: Vec<Part>,
    rows: &Arc<PartitionedRows>,
    lengths: &[usize],
    slots: &Arc<Pieces<Entry>>,
    team: &Team,
) -> Result<GroupRows> {
    let n_partitions = parts.len();
    let is_unique = parts.iter().all(|part| part.groups.is_empty());
    let n_groups = parts.iter().map(|part| part.firsts.len()).sum();
    let parts: Vec<Mutex<Option<Part>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let take = move |at: usize| parts[at].lock().unwrap_or_else(PoisonError::into_inner).take();
    let slots = slots.clone();
    if is_unique {
        team.collect_all(n_partitions, move |at| {
            let Some(part) = take(at) else { return Ok(()) };
            let mut slots = slots.lock(at, EMPTY);
            slots.iter_mut().filter(|slot| { slot.row } != NO_GROUP).for_each(|slot| {
                slot.row = part.firsts[slot.row as usize];
            });
            Ok(())
        })?;
        return Ok(GroupRows::Unique);
    }
    let order = Arc::new(Pieces::new(lengths.iter().copied()));
    let n_rows: usize = lengths.iter().sum();
    let single = if n_rows < SINGLE as usize { SINGLE } else { 0 };
    let ends = Arc::new(Pieces::new(lengths.iter().copied()));
    let (own_order, own_ends, rows) = (order.clone(), ends.clone(), rows.clone());
    team.collect_all(n_partitions, move |at| {
        let Some(part) = take(at) else { return Ok(()) };
        let base = own_order.bounds()[at] as u32;
        let (mut order, mut ends) = (own_order.lock(at, 0), own_ends.lock(at, 0));
        let starts = part.sort(&rows, at, base, &mut order, &mut ends);
        let mut slots = slots.lock(at, EMPTY);
        slots.iter_mut().filter(|slot| { slot.row } != NO_GROUP).for_each(|slot| {
            let (start, end) = (starts[slot.row as usize], starts[slot.row as usize + 1]);
            slot.row = (base + start) | if end - start == 1 { single } else { 0 };
        });
        Ok(())
    })?;
    let whole =
        |pieces| Arc::into_inner(pieces).map_or_else(Vec::new, |pieces: Pieces<u32>| pieces.into_vec(0));
    Ok(GroupRows::Runs { ends: whole(ends), order: whole(order), n_groups })
}

impl Part {
    /// Sorts the rows of a partition by their groups: a counting sort. Where the rows of each group begin.
    fn sort(
        &self,
        rows: &PartitionedRows,
        partition: usize,
        base: u32,
        order: &mut [u32],
        ends: &mut [u32],
    ) -> Vec<u32> {
        let mut starts = vec![0u32; self.firsts.len() + 1];
        let group_of = |at: usize| if self.groups.is_empty() { at } else { self.groups[at] as usize };
        (0..order.len()).for_each(|at| starts[group_of(at) + 1] += 1);
        for group in 0..self.firsts.len() {
            starts[group + 1] += starts[group];
            ends[starts[group] as usize] = base + starts[group + 1];
        }
        let mut next = starts.clone();
        let mut at = 0;
        for piece in rows.pieces(partition) {
            for entry in piece {
                let place = &mut next[group_of(at)];
                order[*place as usize] = entry.row;
                *place += 1;
                at += 1;
            }
        }
        starts
    }
}
