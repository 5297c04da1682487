//! Sets of byte strings for many groups in one hash table: each (group, key) is one numbered entry.

use chalet_base::hash::{combine, fetch, hash_bytes, hash_u64};

/// No entry.
const END: u32 = u32::MAX;

/// 24 bytes and the key per entry, 8 bytes per group, and the table.
#[derive(Default)]
pub struct GroupSets {
    keys: Vec<u8>,
    /// All keys have as many bytes, 8 at most: then they are compared as the words in the entries.
    width: Option<usize>,
    entries: Vec<Entry>,
    /// First and last entry of every group.
    groups: Vec<(u32, u32)>,
    /// Open addressing: half of the hash above, the number of the entry + 1 below; 0 is empty. A power of two of them, or none,
    /// at most two thirds of them used.
    slots: Vec<u64>,
}

const TAG: u64 = !0 << 32;
const FIRST_SLOTS: usize = 64;

/// Keys whose places in the table are fetched together.
pub const TOGETHER: usize = 32;

struct Entry {
    /// The key is `keys[start..next entry's start]`; or the key as a word, where all have one width.
    start: u64,
    group: u32,
    /// The entry of the same group that came after.
    next: u32,
}

impl GroupSets {
    /// Sets of keys that all have so many bytes, if they do.
    pub fn of_width(width: Option<usize>) -> GroupSets {
        GroupSets { width: width.filter(|width| (1..=8).contains(width)), ..GroupSets::default() }
    }

    pub fn grow(&mut self, n: usize) {
        if self.groups.len() < n {
            self.groups.resize(n, (END, END));
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn key(&self, entry: u32) -> &[u8] {
        match self.width {
            Some(width) => &self.keys[entry as usize * width..(entry as usize + 1) * width],
            None => key(&self.keys, &self.entries, entry),
        }
    }

    /// The keys of all entries, one after the other.
    pub fn keys(&self) -> &[u8] {
        &self.keys
    }

    pub fn group(&self, entry: u32) -> u32 {
        self.entries[entry as usize].group
    }

    /// Have keys any width?
    pub fn is_of_any_width(&self) -> bool {
        self.width.is_none()
    }

    /// The entry of a key in a group, and whether it is new.
    pub fn insert(&mut self, group: u32, new: &[u8]) -> (u32, bool) {
        if let Some(width) = self.width {
            let mut word = [0; 8];
            word[..width].copy_from_slice(new);
            return self.insert_word(group, u64::from_le_bytes(word), width);
        }
        self.insert_bytes(bytes_hash(group, new), group, new)
    }

    /// Adds several keys of any width, of which `ends` says where each ends: what is looked at of the table for one is on its way while
    /// others are looked for. Calls `added` with the number of each that is new.
    pub fn insert_together(
        &mut self,
        keys: &[u8],
        ends: &[usize],
        groups: &[u32],
        mut added: impl FnMut(usize),
    ) {
        let key = |at: usize| &keys[if at == 0 { 0 } else { ends[at - 1] }..ends[at]];
        let hashes: Vec<u64> =
            groups.iter().enumerate().map(|(at, &group)| bytes_hash(group, key(at))).collect();
        hashes.iter().for_each(|&hash| self.fetch(hash));
        let mask = self.slots.len().wrapping_sub(1);
        let entry_of = |hash: u64| {
            let slot = *self.slots.get(hash as usize & mask)?;
            ((slot ^ hash) & TAG == 0).then(|| (slot as u32).wrapping_sub(1) as usize)
        };
        let entries = hashes.iter().filter_map(|&hash| self.entries.get(entry_of(hash)?));
        entries.clone().for_each(|entry| fetch(&raw const *entry));
        entries.for_each(|entry| fetch(self.keys.as_ptr().wrapping_add(entry.start as usize)));
        for (at, (&hash, &group)) in hashes.iter().zip(groups).enumerate() {
            if self.insert_bytes(hash, group, key(at)).1 {
                added(at);
            }
        }
    }

    fn insert_bytes(&mut self, hash: u64, group: u32, new: &[u8]) -> (u32, bool) {
        let GroupSets { keys, entries, .. } = &*self;
        let is = |e: u32| entries[e as usize].group == group && key(keys, entries, e) == new;
        if let Some(entry) = find(&self.slots, hash, is) {
            return (entry, false);
        }
        let entry = Entry { start: self.keys.len() as u64, group, next: END };
        self.keys.extend_from_slice(new);
        (self.push(hash, entry), true)
    }

    /// The same of a key of the width that all have.
    #[inline]
    pub fn insert_word(&mut self, group: u32, word: u64, width: usize) -> (u32, bool) {
        self.insert_hashed(word_hash(group, word), group, word, width)
    }

    /// The same with its [`word_hash`].
    #[inline]
    fn insert_hashed(&mut self, hash: u64, group: u32, word: u64, width: usize) -> (u32, bool) {
        let is = |e: u32| {
            let entry = &self.entries[e as usize];
            entry.start == word && entry.group == group
        };
        if let Some(entry) = find(&self.slots, hash, is) {
            return (entry, false);
        }
        self.keys.extend_from_slice(&word.to_le_bytes()[..width]);
        (self.push(hash, Entry { start: word, group, next: END }), true)
    }

    /// Fetches into the cache where a key of this hash is looked for first.
    #[inline]
    fn fetch(&self, hash: u64) {
        if !self.slots.is_empty() {
            fetch(&raw const self.slots[hash as usize & (self.slots.len() - 1)]);
        }
    }

    fn push(&mut self, hash: u64, entry: Entry) -> u32 {
        let number = self.entries.len() as u32;
        let (first, last) = &mut self.groups[entry.group as usize];
        match *last {
            END => *first = number,
            before => self.entries[before as usize].next = number,
        }
        *last = number;
        self.entries.push(entry);
        if self.entries.len() * 3 > self.slots.len() * 2 {
            self.rehash();
        } else {
            place(&mut self.slots, hash, number);
        }
        number
    }

    /// Makes twice as many slots, for all entries.
    #[cold]
    fn rehash(&mut self) {
        self.make_slots((self.slots.len() * 2).max(FIRST_SLOTS));
    }

    /// Makes room for so many more keys, which are expected to be mostly new.
    pub fn reserve(&mut self, more: usize) {
        let wanted = ((self.entries.len() + more) * 3 / 2 + 1).next_power_of_two();
        if wanted > self.slots.len().max(FIRST_SLOTS) {
            self.entries.reserve(more);
            self.make_slots(wanted);
        }
    }

    /// A table of so many slots, for all entries.
    fn make_slots(&mut self, n: usize) {
        self.slots = vec![0; n];
        let mut hashes = [0; TOGETHER];
        for first in (0..self.entries.len()).step_by(TOGETHER) {
            let some = first..self.entries.len().min(first + TOGETHER);
            for (number, hash) in some.clone().zip(&mut hashes) {
                *hash = self.hash_of(number as u32);
                self.fetch(*hash);
            }
            for (number, hash) in some.zip(hashes) {
                place(&mut self.slots, hash, number as u32);
            }
        }
    }

    fn hash_of(&self, number: u32) -> u64 {
        let entry = &self.entries[number as usize];
        match self.width {
            Some(_) => word_hash(entry.group, entry.start),
            None => bytes_hash(entry.group, key(&self.keys, &self.entries, number)),
        }
    }

    /// The key of an entry as a word, where all have one width.
    pub fn word(&self, entry: u32) -> u64 {
        self.entries[entry as usize].start
    }

    /// The keys of all entries, which have one width, group by group: those of a group from its offset on.
    pub fn keys_by_group(&self, offsets: &[i64], width: usize) -> Vec<u8> {
        let mut places: Vec<usize> = offsets.iter().map(|&offset| offset as usize * width).collect();
        let mut keys = vec![0; self.keys.len()];
        for (entry, key) in self.entries.iter().zip(self.keys.chunks_exact(width)) {
            let place = &mut places[entry.group as usize];
            keys[*place..*place + width].copy_from_slice(key);
            *place += width;
        }
        keys
    }

    /// The entries of a group, in the order of insertion.
    pub fn entries_of(&self, group: usize) -> impl Iterator<Item = u32> + '_ {
        let first = self.groups.get(group).map_or(END, |g| g.0);
        std::iter::successors((first != END).then_some(first), |&e| {
            Some(self.entries[e as usize].next).filter(|&next| next != END)
        })
    }

    pub fn memory(&self) -> usize {
        self.keys.capacity()
            + self.entries.capacity() * size_of::<Entry>()
            + self.groups.capacity() * 8
            + self.slots.capacity() * 8
    }
}

/// The hash of a key of any width in a group.
#[inline]
fn bytes_hash(group: u32, key: &[u8]) -> u64 {
    combine(hash_bytes(key), group.into())
}

/// The hash of a key of at most 8 bytes in a group.
#[inline]
fn word_hash(group: u32, word: u64) -> u64 {
    combine(hash_u64(word), group.into())
}

#[inline]
fn find(slots: &[u64], hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
    let mask = slots.len().checked_sub(1)?;
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        if slot == 0 {
            return None;
        }
        let entry = (slot as u32) - 1;
        if (slot ^ hash) & TAG == 0 && is(entry) {
            return Some(entry);
        }
        at = (at + 1) & mask;
    }
}

/// Puts an entry that is not there into the first free slot.
#[inline]
fn place(slots: &mut [u64], hash: u64, entry: u32) {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = (hash & TAG) | u64::from(entry + 1);
}

fn key<'a>(keys: &'a [u8], entries: &[Entry], entry: u32) -> &'a [u8] {
    let entry = entry as usize;
    let end = entries.get(entry + 1).map_or(keys.len(), |next| next.start as usize);
    &keys[entries[entry].start as usize..end]
}
