//! The hash table of a join's large right side: from keys to rows, filled by all workers at once. Rows are partitioned by the upper
//! bits of the hashes of their keys first; a partition has slots of its own in one large array, few enough to fit the cache of
//! the core that fills them, so that nobody waits for memory or for others (Balkesen, Teubner, Alonso and Özsu, "Main-Memory Hash Joins on
//! Multi-Core CPUs"). Keys have up to 8 bytes: slots hold them, so that finding one is one access to memory. (Measured with hashes in
//! the slots of strings and of keys of 16 bytes: these were found more slowly than in the table of groups.)

use super::partitioned_rows::{Entry, PartitionedRows};
use super::pieces::Pieces;
use super::{KeyLayout, NO_GROUP};
use crate::tasks::Team;
use chalet_base::hash::fetch;
use chalet_base::hash::hash_u64;
use chalet_base::{Error, Result, err};
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
    /// Rows of group `g`: `order[starts[g]..starts[g + 1]]`.
    Lists { starts: Vec<u32>, order: Vec<u32> },
    /// A group of one row has its number. One of several rows is marked with [`MANY`]: without the mark its number is the place in `lists`
    /// of how many there are, and the rows follow. So many groups.
    Packed { lists: Vec<u32>, n_groups: usize },
}

/// Marks the numbers of groups of several rows.
pub const MANY: u32 = 1 << 31;

/// So many rows can be numbered beside the mark: lists take one and a half numbers for each at most.
pub const MOST_ROWS: usize = 1 << 30;

/// An empty slot.
const EMPTY: Entry = Entry { word: 0, row: NO_GROUP };

/// Rows of a partition, about: their slots take half of a cache of 1 MiB.
const PARTITION_ROWS: usize = 1 << 14;

/// More partitions would be written to in turn than the processor has lines of its first cache for.
const MOST_BITS: u32 = 9;

/// Slots for each key, and of every partition.
const SLOTS_PER_KEY: usize = 2;
const LEAST_SLOTS: usize = 16;

/// Keys that are looked up together: their slots are fetched before the first is looked at.
const AT_ONCE: usize = 64;

/// What became of the rows of a partition.
struct Part {
    /// The first row of each group.
    firsts: Vec<u32>,
    /// The group of each entry; empty where each is a group of its own.
    groups: Vec<u32>,
    /// The rows of each group; likewise.
    counts: Vec<u32>,
}

impl RowTable {
    /// The table of rows with these keys, which the layout makes words, and the rows by groups. Rows that are not `valid` equal
    /// nothing and are left out. Groups are lists where `in_lists` asks for it.
    pub fn new(
        layout: &Arc<KeyLayout>,
        keys: &[Column],
        valid: &BooleanBuffer,
        team: &Team,
        in_lists: bool,
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
        let own_rows = rows.clone();
        let n_keys = team.collect_all(n_partitions, move |at| Ok(estimated_keys(&own_rows, at)))?;
        let filled = |n_slots: &mut dyn Iterator<Item = usize>| {
            let (rows, slots) = (rows.clone(), Arc::new(Pieces::new(n_slots)));
            let own_slots = slots.clone();
            let part = move |at| Ok(Part::new(&mut own_slots.lock(at, EMPTY), &rows, at));
            let parts: Option<Vec<Part>> = team.collect_all(n_partitions, part)?.into_iter().collect();
            Ok::<_, Error>(parts.map(|parts| (parts, slots)))
        };
        let (parts, slots) =
            match filled(&mut n_keys.iter().map(|n_keys| n_keys * SLOTS_PER_KEY + LEAST_SLOTS))? {
                Some(filled) => filled,
                // Keys may be chosen so that their number is underestimated.
                None => filled(&mut lengths.iter().map(|len| len * SLOTS_PER_KEY + LEAST_SLOTS))?
                    .ok_or_else(|| err!(LOGICAL_ERROR, "A partition has more keys than rows"))?,
            };
        let group_rows = if parts.iter().all(|part| part.groups.is_empty()) {
            unique_rows(parts, &slots, team)?
        } else if in_lists {
            lists(parts, &rows, &lengths, &slots, team)?
        } else {
            packed_rows(parts, &rows, &slots, team)?
        };
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

/// About how many different keys a partition has, by linear counting (Whang, Vander-Zanden and Taylor 1990): a bit is set for each key by
/// its hash, and how many bits stay empty tells how many keys there were.
fn estimated_keys(rows: &PartitionedRows, partition: usize) -> usize {
    let n_rows = rows.len(partition);
    let n_words = (n_rows * BITS_PER_ROW).div_ceil(64).max(1);
    let mut bits = vec![0u64; n_words];
    for piece in rows.pieces(partition) {
        for &Entry { word, .. } in piece {
            let at = slot_of(hash_u64(word), n_words * 64);
            bits[at / 64] |= 1 << (at % 64);
        }
    }
    let n_bits = (n_words * 64) as f64;
    let n_empty = bits.iter().map(|word| word.count_zeros()).sum::<u32>();
    let estimate = n_bits * (n_bits / f64::from(n_empty.max(1))).ln();
    (estimate as usize).min(n_rows)
}

/// Bits of linear counting for each row.
const BITS_PER_ROW: usize = 2;

impl Part {
    /// Puts the entries of a partition into its slots, of which each then has the number of its group inside the partition. None where
    /// there are too many keys for the slots.
    fn new(slots: &mut [Entry], rows: &PartitionedRows, partition: usize) -> Option<Part> {
        // Some slots stay empty: they end the search for a key that is not there.
        let most = slots.len() - slots.len() / 8;

        let firsts = Vec::with_capacity(rows.len(partition));
        let mut part = Part { firsts, groups: Vec::new(), counts: Vec::new() };
        let mut n_before = 0;
        for piece in rows.pieces(partition) {
            for &Entry { word, row } in piece {
                let group = part.group_of(word, row, n_before, slots);
                if part.firsts.len() > most {
                    return None;
                }
                if part.firsts.len() <= n_before {
                    part.groups.push(group);
                }
                n_before += 1;
            }
        }
        if !part.groups.is_empty() {
            part.counts = vec![0; part.firsts.len()];
            part.groups.iter().for_each(|&group| part.counts[group as usize] += 1);
        }
        Some(part)
    }

    /// The group of an entry.
    fn group_at(&self, at: usize) -> usize {
        self.groups.get(at).map_or(at, |&group| group as usize)
    }

    /// The rows of a group.
    fn count(&self, group: usize) -> u32 {
        self.counts.get(group).copied().unwrap_or(1)
    }

    /// How long the lists of its groups of several rows are.
    fn packed_len(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 1).map(|&count| count as usize + 1).sum()
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
                    // Room for all entries: there is as much of it for first rows.
                    self.groups.reserve_exact(self.firsts.capacity());
                    self.groups.extend(0..n_before as u32);
                }
                return slot.row;
            }
            at = if at + 1 == slots.len() { 0 } else { at + 1 };
        }
    }
}

/// Has each part worked on by one of the team, beside its slots, in whose place of a number `number` then puts that of a group.
fn number_groups<N: Fn(usize) -> u32>(
    parts: Vec<Part>,
    slots: &Arc<Pieces<Entry>>,
    team: &Team,
    numbers: impl Fn(usize, &Part) -> N + Send + Sync + 'static,
) -> Result<()> {
    let n_partitions = parts.len();
    let parts: Vec<Mutex<Option<Part>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let slots = slots.clone();
    team.collect_all(n_partitions, move |at| {
        let Some(part) = parts[at].lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        let number = numbers(at, &part);
        let mut slots = slots.lock(at, EMPTY);
        let filled = slots.iter_mut().filter(|slot| { slot.row } != NO_GROUP);
        filled.for_each(|slot| slot.row = number(slot.row as usize));
        Ok(())
    })?;
    Ok(())
}

/// Groups of one row each.
fn unique_rows(parts: Vec<Part>, slots: &Arc<Pieces<Entry>>, team: &Team) -> Result<GroupRows> {
    number_groups(parts, slots, team, |_, part| {
        let firsts = part.firsts.clone();
        move |group| firsts[group]
    })?;
    Ok(GroupRows::Unique)
}

/// Groups by [`GroupRows::Lists`]: a counting sort of each partition.
fn lists(
    parts: Vec<Part>,
    rows: &Arc<PartitionedRows>,
    lengths: &[usize],
    slots: &Arc<Pieces<Entry>>,
    team: &Team,
) -> Result<GroupRows> {
    let order = Arc::new(Pieces::new(lengths.iter().copied()));
    let starts = Arc::new(Pieces::new(parts.iter().map(|part| part.firsts.len()).chain([1])));
    let n_partitions = parts.len();
    starts.lock(n_partitions, 0)[0] = order.bounds()[n_partitions] as u32;
    let (own_order, own_starts, rows) = (order.clone(), starts.clone(), rows.clone());
    number_groups(parts, slots, team, move |at, part| {
        let (mut order, mut starts) = (own_order.lock(at, 0), own_starts.lock(at, 0));
        let base = own_order.bounds()[at] as u32;
        let mut next: Vec<u32> = Vec::with_capacity(starts.len());
        let mut end = 0;
        for (group, start) in starts.iter_mut().enumerate() {
            next.push(end);
            *start = base + end;
            end += part.count(group);
        }
        for (at, entry) in rows.pieces(at).flatten().enumerate() {
            let place = &mut next[part.group_at(at)];
            order[*place as usize] = entry.row;
            *place += 1;
        }
        let first_group = own_starts.bounds()[at] as u32;
        move |group| first_group + group as u32
    })?;
    Ok(GroupRows::Lists { starts: whole(starts), order: whole(order) })
}

/// Groups by [`GroupRows::Packed`].
fn packed_rows(
    parts: Vec<Part>,
    rows: &Arc<PartitionedRows>,
    slots: &Arc<Pieces<Entry>>,
    team: &Team,
) -> Result<GroupRows> {
    let n_groups = parts.iter().map(|part| part.firsts.len()).sum();
    let packed = Arc::new(Pieces::new(parts.iter().map(Part::packed_len)));
    let (own_packed, rows) = (packed.clone(), rows.clone());
    number_groups(parts, slots, team, move |at, part| {
        let mut packed = own_packed.lock(at, 0);
        let base = own_packed.bounds()[at] as u32;
        // What becomes the number of each group, and where its next row goes.
        let mut numbers = part.firsts.clone();
        let mut next = vec![0; if part.counts.is_empty() { 0 } else { numbers.len() }];
        let mut end = 0;
        for (group, &count) in part.counts.iter().enumerate().filter(|(_, count)| **count > 1) {
            packed[end] = count;
            numbers[group] = MANY | (base + end as u32);
            next[group] = end + 1;
            end += count as usize + 1;
        }
        for (entry, &group) in rows.pieces(at).flatten().zip(&part.groups) {
            let place = &mut next[group as usize];
            if *place > 0 {
                packed[*place] = entry.row;
                *place += 1;
            }
        }
        move |group| numbers[group]
    })?;
    Ok(GroupRows::Packed { lists: whole(packed), n_groups })
}

/// What was filled in pieces; who shared them has ended.
fn whole(pieces: Arc<Pieces<u32>>) -> Vec<u32> {
    Arc::into_inner(pieces).map_or_else(Vec::new, |pieces| pieces.into_vec(0))
}
