//! The hash table of GROUP BY: from key columns to group numbers, and the keys of the groups back as columns.
//!
//! Keys that pack into 8 or 16 bytes are compared as words, one String is compared as its bytes, anything else as row
//! keys. Open addressing; a slot holds half of the hash beside the group number, so that most misses end in the slot.

use chalet_base::hash::{hash_bytes, hash_u64};
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column, Data, Native, Vector, each_native};
use chalet_types::{DataType, Physical};

/// From key columns to consecutive group numbers.
pub struct GroupTable {
    slots: Vec<Slot>,
    keys: Keys,
    /// The key columns of new groups, block by block.
    columns: Vec<Block>,
    n_groups: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    hash: u32,
    /// Group number + 1; 0 is empty.
    group: u32,
}

/// Keys of the groups in the form that they are compared in.
enum Keys {
    Words(Vec<u64>),
    DoubleWords(Vec<u128>),
    /// Bytes of one String, or row keys.
    Bytes {
        bytes: Vec<u8>,
        offsets: Vec<usize>,
        one_string: bool,
    },
}

const FIRST_SLOTS: usize = 256;

/// In place of a group number: the key is in no group.
pub const NO_GROUP: u32 = u32::MAX;

impl GroupTable {
    /// The types decide the form of the keys, so that it is the same for every block.
    pub fn new(types: &[DataType]) -> Self {
        let keys = match packed_width(types) {
            Some(width) if width <= 8 => Keys::Words(Vec::new()),
            Some(width) if width <= 16 => Keys::DoubleWords(Vec::new()),
            _ => {
                let one_string = matches!(types, [ty] if ty.physical() == Physical::Str && !ty.is_nullable());
                Keys::Bytes { bytes: Vec::new(), offsets: vec![0], one_string }
            }
        };
        GroupTable { slots: vec![Slot::default(); FIRST_SLOTS], keys, columns: Vec::new(), n_groups: 0 }
    }

    pub fn len(&self) -> usize {
        self.n_groups
    }

    pub fn is_empty(&self) -> bool {
        self.n_groups == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let keys = match &self.keys {
            Keys::Words(words) => words.capacity() * 8,
            Keys::DoubleWords(words) => words.capacity() * 16,
            Keys::Bytes { bytes, offsets, .. } => bytes.capacity() + offsets.capacity() * 8,
        };
        self.slots.len() * size_of::<Slot>() + keys + self.columns.iter().map(Block::memory).sum::<usize>()
    }

    /// The group of every row; new keys become new groups in order of appearance.
    pub fn groups(&mut self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        let flat: Vec<Vector> = columns.iter().map(|c| c.flat().into_owned()).collect();
        let mut fresh: Vec<u32> = Vec::new();
        let groups = match &self.keys {
            Keys::Words(_) => self.find_words(&pack(&flat, n_rows), &mut fresh),
            Keys::DoubleWords(_) => self.find_double_words(&pack(&flat, n_rows), &mut fresh),
            Keys::Bytes { .. } => self.find_bytes(&flat, n_rows, &mut fresh),
        };
        if !fresh.is_empty() {
            let columns = flat.into_iter().map(|v| Column::Flat(v.gather(&fresh).compact())).collect();
            self.columns.push(Block::new(columns, fresh.len()));
        }
        groups
    }

    /// The group of every row, [`NO_GROUP`] for keys that are not there.
    pub fn find(&self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        let flat: Vec<Vector> = columns.iter().map(|c| c.flat().into_owned()).collect();
        match &self.keys {
            Keys::Words(_) => {
                let words: Vec<u64> = pack(&flat, n_rows);
                let found = words.iter().map(|&word| self.probe_word(word));
                found.map(|slot| slot.unwrap_or(NO_GROUP)).collect()
            }
            Keys::DoubleWords(_) => {
                let words: Vec<u128> = pack(&flat, n_rows);
                let found = words.iter().map(|&word| self.probe_double_word(word));
                found.map(|slot| slot.unwrap_or(NO_GROUP)).collect()
            }
            Keys::Bytes { one_string, .. } => {
                if let ([Vector { data: Data::Str(strings), .. }], true) = (&flat[..], *one_string) {
                    return strings.iter().map(|key| self.probe_key(key).unwrap_or(NO_GROUP)).collect();
                }
                let columns: Vec<Column> = flat.into_iter().map(Column::Flat).collect();
                let keys = group_keys(&columns.iter().collect::<Vec<_>>(), n_rows);
                (0..n_rows).map(|row| self.probe_key(keys.get(row)).unwrap_or(NO_GROUP)).collect()
            }
        }
    }

    /// The key columns of all groups, in order of their numbers.
    pub fn key_columns(&self) -> Block {
        Block::concat(&self.columns)
    }

    fn find_words(&mut self, words: &[u64], fresh: &mut Vec<u32>) -> Vec<u32> {
        let mut groups = Vec::with_capacity(words.len());
        for (row, &word) in words.iter().enumerate() {
            let hash = hash_u64(word);
            groups.push(self.probe_word(word).unwrap_or_else(|slot| {
                if let Keys::Words(keys) = &mut self.keys {
                    keys.push(word);
                }
                self.add(slot, hash, row, fresh)
            }));
        }
        groups
    }

    fn find_double_words(&mut self, words: &[u128], fresh: &mut Vec<u32>) -> Vec<u32> {
        let mut groups = Vec::with_capacity(words.len());
        for (row, &word) in words.iter().enumerate() {
            let hash = double_hash(word);
            let found =
                self.probe(hash, |keys, group| matches!(keys, Keys::DoubleWords(w) if w[group] == word));
            groups.push(found.unwrap_or_else(|slot| {
                if let Keys::DoubleWords(keys) = &mut self.keys {
                    keys.push(word);
                }
                self.add(slot, hash, row, fresh)
            }));
        }
        groups
    }

    fn find_bytes(&mut self, flat: &[Vector], n_rows: usize, fresh: &mut Vec<u32>) -> Vec<u32> {
        let one_string = matches!(self.keys, Keys::Bytes { one_string: true, .. });
        if let ([Vector { data: Data::Str(strings), .. }], true) = (flat, one_string) {
            return (0..n_rows).map(|row| self.find_key(strings.get(row), row, fresh)).collect();
        }
        let columns: Vec<Column> = flat.iter().cloned().map(Column::Flat).collect();
        let keys = group_keys(&columns.iter().collect::<Vec<_>>(), n_rows);
        (0..n_rows).map(|row| self.find_key(keys.get(row), row, fresh)).collect()
    }

    fn find_key(&mut self, key: &[u8], row: usize, fresh: &mut Vec<u32>) -> u32 {
        let hash = hash_bytes(key);
        let found = self.probe_key(key);
        found.unwrap_or_else(|slot| {
            if let Keys::Bytes { bytes, offsets, .. } = &mut self.keys {
                bytes.extend_from_slice(key);
                offsets.push(bytes.len());
            }
            self.add(slot, hash, row, fresh)
        })
    }

    #[inline(always)]
    fn probe_word(&self, word: u64) -> Result<u32, usize> {
        self.probe(hash_u64(word), |keys, group| matches!(keys, Keys::Words(w) if w[group] == word))
    }

    #[inline(always)]
    fn probe_double_word(&self, word: u128) -> Result<u32, usize> {
        self.probe(double_hash(word), |keys, group| matches!(keys, Keys::DoubleWords(w) if w[group] == word))
    }

    #[inline]
    fn probe_key(&self, key: &[u8]) -> Result<u32, usize> {
        self.probe(hash_bytes(key), |keys, group| match keys {
            Keys::Bytes { bytes, offsets, .. } => &bytes[offsets[group]..offsets[group + 1]] == key,
            _ => false,
        })
    }

    /// The group with the key, or the slot for it.
    #[inline(always)]
    fn probe(&self, hash: u64, equal: impl Fn(&Keys, usize) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.group == 0 {
                return Err(at);
            }
            if slot.hash == (hash >> 32) as u32 && equal(&self.keys, slot.group as usize - 1) {
                return Ok(slot.group - 1);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn add(&mut self, slot: usize, hash: u64, row: usize, fresh: &mut Vec<u32>) -> u32 {
        let group = self.n_groups as u32;
        self.slots[slot] = Slot { hash: (hash >> 32) as u32, group: group + 1 };
        self.n_groups += 1;
        fresh.push(row as u32);
        if self.n_groups * 2 > self.slots.len() {
            self.grow();
        }
        group
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![Slot::default(); self.slots.len() * 4];
        let mask = slots.len() - 1;
        for group in 0..self.n_groups {
            let hash = match &self.keys {
                Keys::Words(words) => hash_u64(words[group]),
                Keys::DoubleWords(words) => double_hash(words[group]),
                Keys::Bytes { bytes, offsets, .. } => hash_bytes(&bytes[offsets[group]..offsets[group + 1]]),
            };
            let mut at = hash as usize & mask;
            while slots[at].group != 0 {
                at = (at + 1) & mask;
            }
            slots[at] = Slot { hash: (hash >> 32) as u32, group: group as u32 + 1 };
        }
        self.slots = slots;
    }
}

fn double_hash(word: u128) -> u64 {
    chalet_base::hash::combine(hash_u64(word as u64), (word >> 64) as u64)
}

/// Bytes of all keys together when each has a fixed width and no NULLs. Floats do not count: equal floats may differ
/// in bits.
fn packed_width(types: &[DataType]) -> Option<usize> {
    let packs = |ty: &DataType| !ty.is_nullable() && !ty.bare().is_float();
    types.iter().map(|ty| if packs(ty) { ty.physical().width() } else { None }).sum()
}

/// A packed key.
trait Word: Copy + Default {
    fn append(self, bytes: &[u8], shift: u32) -> Self;
}

impl Word for u64 {
    #[inline(always)]
    fn append(self, bytes: &[u8], shift: u32) -> Self {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        self | u64::from_le_bytes(word) << shift
    }
}

impl Word for u128 {
    #[inline(always)]
    fn append(self, bytes: &[u8], shift: u32) -> Self {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        self | u128::from_le_bytes(word) << shift
    }
}

fn pack<W: Word>(keys: &[Vector], n_rows: usize) -> Vec<W> {
    fn natives<T: Native, W: Word>(values: &[T], words: &mut [W], shift: u32) {
        for (word, value) in words.iter_mut().zip(values) {
            // SAFETY: `Native` promises plain data without padding, so its bytes may be read.
            let bytes =
                unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) };
            *word = word.append(bytes, shift);
        }
    }
    let mut words = vec![W::default(); n_rows];
    let mut shift = 0;
    for key in keys {
        each_native!(&key.data, values => natives(values, &mut words, shift),
            Data::Fixed(f) => words.iter_mut().zip(f.iter()).for_each(|(w, bytes)| *w = w.append(bytes, shift)),
            _ => {});
        shift += 8 * key.data.physical().width().unwrap_or(0) as u32;
    }
    words
}
