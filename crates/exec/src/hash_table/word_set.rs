//! Which words have come. Slots hold the words themselves, so that one look at a slot decides, and a new word costs no
//! more than a known one: both are written down, and only the count of words tells them apart.

use super::empty_slots;
use chalet_base::hash::hash_u64;

/// Slots by hash; the word 0 stands for an empty one and has a place of its own.
pub(super) struct WordSet {
    slots: Vec<u64>,
    has_zero: bool,
    len: usize,
}

const FIRST_SLOTS: usize = 256;

const GROWTH: usize = 4;

/// Words that so many slots may hold: few enough that the processor guesses well how a look at a slot ends.
fn capacity(slots: usize) -> usize {
    slots / 2 + slots / 8
}

/// How many words ahead of the one looked up slots are fetched.
const AHEAD: usize = 16;

impl WordSet {
    /// Room for so many words.
    pub fn with_room(words: usize) -> WordSet {
        let slots = (words * 2).next_power_of_two().max(FIRST_SLOTS);
        WordSet { slots: empty_slots(slots), has_zero: false, len: 0 }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.slots.len() * 8
    }

    /// Removes all words; the memory stays.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.has_zero = false;
        self.len = 0;
    }

    /// Appends the words that have not come yet to `fresh`.
    pub fn insert(&mut self, words: &[u64], fresh: &mut Vec<u64>) {
        let mut rest = words;
        while !rest.is_empty() {
            // As many as find room if all of them are new.
            let room = capacity(self.slots.len()).saturating_sub(self.len);
            if room < rest.len().min(self.slots.len() / 8) {
                self.grow();
                continue;
            }
            let now;
            (now, rest) = rest.split_at(rest.len().min(room));
            self.insert_into_room(now, fresh);
        }
    }

    fn insert_into_room(&mut self, words: &[u64], fresh: &mut Vec<u64>) {
        let before = fresh.len();
        fresh.reserve(words.len() + 1);
        let new = &mut fresh.spare_capacity_mut()[..=words.len()];
        let mut n_new = 0;
        let mask = self.slots.len() - 1;
        let slots = &mut self.slots[..];
        for (row, &word) in words.iter().enumerate() {
            if let Some(&ahead) = words.get(row + AHEAD) {
                super::table::prefetch(slots, hash_u64(ahead));
            }
            if word == 0 {
                new[n_new].write(0);
                n_new += usize::from(!self.has_zero);
                self.has_zero = true;
                continue;
            }
            let mut at = hash_u64(word) as usize & mask;
            // SAFETY: the mask of a power of two keeps places below the number of slots.
            let mut held = unsafe { *slots.get_unchecked(at) };
            // One branch for both ends, not `&&`: which of them it is cannot be guessed.
            while std::hint::black_box((held != 0) & (held != word)) {
                at = (at + 1) & mask;
                // SAFETY: as above.
                held = unsafe { *slots.get_unchecked(at) };
            }
            // Written whether it is new or not, and counted if it is.
            // SAFETY: no more words are new than have come, and there is a place for each; `at` as above.
            unsafe {
                new.get_unchecked_mut(n_new).write(word);
                *slots.get_unchecked_mut(at) = word;
            }
            n_new += usize::from(held == 0);
        }
        self.len += n_new;
        // SAFETY: room for all words was reserved, and so many have been written.
        unsafe { fresh.set_len(before + n_new) };
    }

    #[cold]
    fn grow(&mut self) {
        let slots = empty_slots(self.slots.len() * GROWTH);
        let mask = slots.len() - 1;
        let old = std::mem::replace(&mut self.slots, slots);
        for word in old.into_iter().filter(|&word| word != 0) {
            let mut at = hash_u64(word) as usize & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = word;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word comes out once, when it came first.
    #[test]
    fn first_words() {
        let mut set = WordSet::with_room(0);
        let mut fresh = Vec::new();
        let mut expected: Vec<u64> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for (n, step) in [(1000, 7), (50_000, 3), (10, 1), (60_000, 1)] {
            let words: Vec<u64> = (0..n).map(|i| i / 2 * step).collect();
            expected.extend(words.iter().filter(|word| known.insert(**word)));
            set.insert(&words, &mut fresh);
            assert!(fresh == expected);
        }
        set.clear();
        let mut again = Vec::new();
        set.insert(&expected, &mut again);
        assert!(again == expected);
    }
}
