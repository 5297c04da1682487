//! Looking words up in slots of group numbers without guessing whether they are new: each is written down as if it were,
//! and only the count of groups tells. On data where a third of the words are new the processor would else guess wrong for
//! most of these.

use super::table::{AHEAD, Slot, TAG, grow, prefetch};
use chalet_base::hash::hash_u64;

/// A key of one word or two.
pub(super) trait Word: Copy + Eq + Default {
    fn hash(self) -> u64;
}

impl Word for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u64(self)
    }
}

impl Word for u128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        super::form::double_hash(self)
    }
}

/// The group of every word; new ones are appended to the store. Slots stay half empty at least.
pub(super) fn insert<W: Word>(slots: &mut Vec<Slot>, store: &mut Vec<W>, words: &[W]) -> Vec<u32> {
    let mut groups = Vec::with_capacity(words.len());
    let mut rest = words;
    while !rest.is_empty() {
        // As many as find room if all of them are new.
        let room = (slots.len() / 2).saturating_sub(store.len());
        if room < rest.len().min(slots.len() / 8) {
            grow(slots, store.iter().map(|word| word.hash()));
            continue;
        }
        let now;
        (now, rest) = rest.split_at(rest.len().min(room));
        insert_into_room(slots, store, now, &mut groups);
    }
    groups
}

fn insert_into_room<W: Word>(slots: &mut [Slot], store: &mut Vec<W>, words: &[W], groups: &mut Vec<u32>) {
    let mut n = store.len();
    store.reserve(words.len() + 1);
    let mask = slots.len() - 1;
    let held = store.as_mut_ptr();
    for (row, &word) in words.iter().enumerate() {
        if let Some(&ahead) = words.get(row + AHEAD) {
            prefetch(slots, ahead.hash());
        }
        // SAFETY: one place more than there are words was reserved, and no more words are new than have come.
        unsafe { *held.add(n) = word };
        let hash = word.hash();
        let mut at = hash as usize & mask;
        let group = loop {
            // SAFETY: the mask of a power of two keeps places below the number of slots.
            let slot = unsafe { *slots.get_unchecked(at) };
            let is_empty = slot == 0;
            // One branch for both ends, which cannot be told apart beforehand.
            if std::hint::black_box(is_empty | ((slot ^ hash) & TAG == 0)) {
                let group = if is_empty { n } else { slot as u32 as usize - 1 };
                // SAFETY: slots hold numbers of groups below `n`, and the word was written at `n`.
                if unsafe { *held.add(group) } == word {
                    // SAFETY: as for reading it.
                    unsafe { *slots.get_unchecked_mut(at) = hash & TAG | (group as u64 + 1) };
                    n += usize::from(is_empty);
                    break group;
                }
            }
            at = (at + 1) & mask;
        };
        groups.push(group as u32);
    }
    // SAFETY: so many have been written.
    unsafe { store.set_len(n) };
}
