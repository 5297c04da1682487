//! The keys of groups, by number, in the layout in which they are compared.

use super::KeyLayout;
use super::key_layout::{BlockKeys, Kind, Values, double_hash};
use chalet_base::Result;
use chalet_base::hash::hash_u64;
use chalet_columns::strings::NULL_VIEW;
use chalet_columns::wire::{put_bytes, put_len, take_array, take_bytes, take_len};
use chalet_columns::{StringBuilder, Strings};

/// The keys of all groups: group `i` has key `i`.
pub enum Store {
    Words {
        words: Vec<u64>,
        /// The numbers of the keys that are NULL, ascending, where the layout has these apart; their words are 0.
        nulls: Vec<u32>,
    },
    DoubleWords(Vec<u128>),
    /// Their hashes are kept, because they are dear.
    Bytes {
        keys: StringBuilder,
        hashes: Vec<u64>,
    },
    WordText {
        words: Vec<u128>,
        keys: StringBuilder,
        hashes: Vec<u64>,
    },
}

impl Store {
    /// Appends the words that are valid, and NULL if another is and it is not there yet. Tells how many keys it has more.
    pub fn append_beside_null(&mut self, words: &[u64], valid: &[u8]) -> usize {
        let Store::Words { words: store, nulls } = self else { unreachable!("keys of another form") };
        let before = store.len();
        store.resize(before + words.len(), 0);
        // Each word is written where the next belongs, and stays there if it counts: no branch has to be guessed.
        let mut end = before;
        for (&word, &valid) in words.iter().zip(valid) {
            store[end] = word;
            end += usize::from(valid != 0);
        }
        store.truncate(end);
        if end < before + words.len() && nulls.is_empty() {
            nulls.push(end as u32);
            store.push(0);
        }
        store.len() - before
    }

    /// No keys yet.
    pub fn new(layout: &KeyLayout) -> Store {
        Store::with_capacity(layout, 0)
    }

    /// Room for so many keys, though not for the bytes of their strings.
    pub fn with_capacity(layout: &KeyLayout, n: usize) -> Store {
        match layout.kind {
            Kind::Words(_) => Store::Words { words: Vec::with_capacity(n), nulls: Vec::new() },
            Kind::DoubleWords => Store::DoubleWords(Vec::with_capacity(n)),
            Kind::WordText(_) => Store::WordText {
                words: Vec::with_capacity(n),
                keys: StringBuilder::with_capacity(n),
                hashes: Vec::with_capacity(n),
            },
            Kind::Text | Kind::Rows => {
                Store::Bytes { keys: StringBuilder::with_capacity(n), hashes: Vec::with_capacity(n) }
            }
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        match self {
            Store::Words { words, .. } => words.len(),
            Store::DoubleWords(words) => words.len(),
            Store::Bytes { hashes, .. } | Store::WordText { hashes, .. } => hashes.len(),
        }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        match self {
            Store::Words { words, nulls } => words.capacity() * 8 + nulls.capacity() * 4,
            Store::DoubleWords(words) => words.capacity() * 16,
            Store::Bytes { keys, hashes } => keys.memory() + hashes.capacity() * 8,
            Store::WordText { words, keys, hashes } => {
                words.capacity() * 16 + keys.memory() + hashes.capacity() * 8
            }
        }
    }

    /// The hashes of all keys.
    pub fn hashes(&self) -> Vec<u64> {
        match self {
            Store::Words { words, .. } => words.iter().map(|&word| hash_u64(word)).collect(),
            Store::DoubleWords(words) => words.iter().map(|&word| double_hash(word)).collect(),
            Store::Bytes { hashes, .. } | Store::WordText { hashes, .. } => hashes.clone(),
        }
    }

    /// Appends the bytes of all keys, for [`read`](Self::read).
    pub fn write(&self, out: &mut Vec<u8>) {
        put_len(self.len(), out);
        match self {
            Store::Words { words, nulls } => {
                put_words(words, out);
                put_len(nulls.len(), out);
                nulls.iter().for_each(|null| out.extend_from_slice(&null.to_le_bytes()));
            }
            Store::DoubleWords(words) => put_double_words(words, out),
            Store::Bytes { keys, hashes } => {
                put_words(hashes, out);
                put_strings(keys, out);
            }
            Store::WordText { words, keys, hashes } => {
                put_words(hashes, out);
                put_double_words(words, out);
                put_strings(keys, out);
            }
        }
    }

    /// Takes keys of this layout from the front of `bytes`.
    pub fn read(layout: &KeyLayout, bytes: &mut &[u8]) -> Result<Store> {
        let n = take_len(bytes)?;
        let mut store = Store::new(layout);
        match &mut store {
            Store::Words { words, nulls } => {
                *words = take_words(n, bytes)?;
                let n_nulls = take_len(bytes)?;
                *nulls =
                    (0..n_nulls).map(|_| take_array(bytes).map(u32::from_le_bytes)).collect::<Result<_>>()?;
            }
            Store::DoubleWords(words) => *words = take_double_words(n, bytes)?,
            Store::Bytes { keys, hashes } => {
                *hashes = take_words(n, bytes)?;
                *keys = take_strings(n, bytes)?;
            }
            Store::WordText { words, keys, hashes } => {
                *hashes = take_words(n, bytes)?;
                *words = take_double_words(n, bytes)?;
                *keys = take_strings(n, bytes)?;
            }
        }
        Ok(store)
    }

    /// Appends all keys of a block, and keeps its strings alive. Single words are not made into keys for this.
    pub fn append(&mut self, keys: &BlockKeys) {
        match (self, &keys.values) {
            (Store::DoubleWords(to), Values::DoubleWords(words)) => to.extend_from_slice(words),
            (Store::Bytes { keys: to, hashes }, Values::Bytes(strings)) => {
                adopt(to, strings);
                hashes.extend_from_slice(&keys.hashes);
            }
            (Store::WordText { words: to_words, keys: to, hashes }, Values::WordText(words, strings)) => {
                to_words.extend_from_slice(words);
                adopt(to, strings);
                hashes.extend_from_slice(&keys.hashes);
            }
            // The layout decides both.
            _ => unreachable!("keys of another form"),
        }
    }

    /// Appends some keys of another store of the same layout.
    pub fn append_from(&mut self, other: &Store, groups: &[u32]) {
        match (self, other) {
            (Store::Words { words: to, nulls: to_nulls }, Store::Words { words, nulls }) => {
                if !nulls.is_empty() {
                    let is_null =
                        |group: u32| words[group as usize] == 0 && nulls.binary_search(&group).is_ok();
                    let places = (to.len() as u32..).zip(groups).filter(|&(_, &group)| is_null(group));
                    to_nulls.extend(places.map(|(place, _)| place));
                }
                to.extend(groups.iter().map(|&g| words[g as usize]));
            }
            (Store::DoubleWords(to), Store::DoubleWords(from)) => {
                to.extend(groups.iter().map(|&g| from[g as usize]));
            }
            (Store::Bytes { keys: to, hashes }, Store::Bytes { keys, hashes: from }) => {
                copy(to, keys, groups);
                hashes.extend(groups.iter().map(|&g| from[g as usize]));
            }
            (
                Store::WordText { words: to_words, keys: to, hashes },
                Store::WordText { words, keys, hashes: from },
            ) => {
                to_words.extend(groups.iter().map(|&g| words[g as usize]));
                copy(to, keys, groups);
                hashes.extend(groups.iter().map(|&g| from[g as usize]));
            }
            _ => unreachable!("keys of another form"),
        }
    }
}

/// By key of a store, 0 for those that are NULL and 1 for all others.
pub(super) fn valid_of(n_keys: usize, nulls: &[u32]) -> Vec<u8> {
    let mut valid = vec![1; n_keys];
    nulls.iter().for_each(|&null| valid[null as usize] = 0);
    valid
}

fn put_words(words: &[u64], out: &mut Vec<u8>) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_double_words(words: &[u128], out: &mut Vec<u8>) {
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn take_words(n: usize, bytes: &mut &[u8]) -> Result<Vec<u64>> {
    (0..n).map(|_| take_array(bytes).map(u64::from_le_bytes)).collect()
}

fn take_double_words(n: usize, bytes: &mut &[u8]) -> Result<Vec<u128>> {
    (0..n).map(|_| take_array(bytes).map(u128::from_le_bytes)).collect()
}

/// The strings, then the numbers of those that are NULL.
fn put_strings(keys: &StringBuilder, out: &mut Vec<u8>) {
    (0..keys.len()).for_each(|row| put_bytes(keys.get(row), out));
    let nulls: Vec<u64> =
        (0..keys.len()).filter(|&row| keys.view(row) == NULL_VIEW).map(|row| row as u64).collect();
    put_len(nulls.len(), out);
    put_words(&nulls, out);
}

fn take_strings(n: usize, bytes: &mut &[u8]) -> Result<StringBuilder> {
    let strings = (0..n).map(|_| take_bytes(bytes)).collect::<Result<Vec<_>>>()?;
    let n_nulls = take_len(bytes)?;
    let mut nulls = take_words(n_nulls, bytes)?.into_iter().peekable();
    let mut keys = StringBuilder::with_capacity(n);
    for (row, string) in (0..).zip(strings) {
        match nulls.next_if_eq(&row) {
            Some(_) => keys.push_viewed(NULL_VIEW, &[]),
            None => keys.push(string),
        }
    }
    Ok(keys)
}

fn adopt(to: &mut StringBuilder, strings: &Strings) {
    let shift = to.adopt(strings);
    for &view in &strings.views()[..] {
        // SAFETY: the shift of these strings.
        unsafe { to.push_adopted(view, shift) };
    }
}

fn copy(to: &mut StringBuilder, from: &StringBuilder, rows: &[u32]) {
    for &row in rows {
        to.push_viewed(from.view(row as usize), from.get(row as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_appended_once() {
        let mut store = Store::Words { words: vec![5], nulls: Vec::new() };
        assert_eq!(store.append_beside_null(&[1, 2, 3, 4], &[1, 0, 1, 0]), 3);
        assert_eq!(store.append_beside_null(&[7, 8], &[0, 1]), 1);
        assert_eq!(store.append_beside_null(&[9], &[1]), 1);
        assert_eq!(store.append_beside_null(&[9], &[0]), 0);
        let Store::Words { words, nulls } = store else { panic!() };
        assert_eq!((words, nulls), (vec![5, 1, 3, 0, 8, 9], vec![3]));
    }
}
