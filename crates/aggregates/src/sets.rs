//! Sets of byte strings for many groups in one hash table: each (group, key) is one numbered entry.

use chalet_base::hash::{combine, hash_bytes, hash_u64};
use hashbrown::HashTable;

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
    table: HashTable<u32>,
}

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

    pub fn group(&self, entry: u32) -> u32 {
        self.entries[entry as usize].group
    }

    /// The entry of a key in a group, and whether it is new.
    pub fn insert(&mut self, group: u32, new: &[u8]) -> (u32, bool) {
        if let Some(width) = self.width {
            let mut word = [0; 8];
            word[..width].copy_from_slice(new);
            return self.insert_word(group, u64::from_le_bytes(word), width);
        }
        let GroupSets { keys, entries, table, .. } = self;
        let hash = combine(hash_bytes(new), group.into());
        let found = table.find(hash, |&e| entries[e as usize].group == group && key(keys, entries, e) == new);
        if let Some(&entry) = found {
            return (entry, false);
        }
        let entry = entries.len() as u32;
        entries.push(Entry { start: keys.len() as u64, group, next: END });
        keys.extend_from_slice(new);
        table.insert_unique(hash, entry, |&e| {
            combine(hash_bytes(key(keys, entries, e)), entries[e as usize].group.into())
        });
        self.link(entry);
        (entry, true)
    }

    /// The same of a key of the width that all have.
    #[inline]
    pub fn insert_word(&mut self, group: u32, word: u64, width: usize) -> (u32, bool) {
        let GroupSets { keys, entries, table, .. } = self;
        let hash = combine(hash_u64(word), group.into());
        let found = table.find(hash, |&e| {
            let entry = &entries[e as usize];
            entry.start == word && entry.group == group
        });
        if let Some(&entry) = found {
            return (entry, false);
        }
        let entry = entries.len() as u32;
        entries.push(Entry { start: word, group, next: END });
        keys.extend_from_slice(&word.to_le_bytes()[..width]);
        table.insert_unique(hash, entry, |&e| {
            let entry = &entries[e as usize];
            combine(hash_u64(entry.start), entry.group.into())
        });
        self.link(entry);
        (entry, true)
    }

    /// Puts a new entry behind the others of its group.
    fn link(&mut self, entry: u32) {
        let (first, last) = &mut self.groups[self.entries[entry as usize].group as usize];
        match *last {
            END => *first = entry,
            before => self.entries[before as usize].next = entry,
        }
        *last = entry;
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
            + self.table.capacity() * 5
    }
}

fn key<'a>(keys: &'a [u8], entries: &[Entry], entry: u32) -> &'a [u8] {
    let entry = entry as usize;
    let end = entries.get(entry + 1).map_or(keys.len(), |next| next.start as usize);
    &keys[entries[entry].start as usize..end]
}
