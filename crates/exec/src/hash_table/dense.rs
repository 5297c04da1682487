//! Groups of words that lie close together, as numbers of regions, days or enumerations do: an array over their range
//! answers without hash and comparison for each row.

use super::table::NO_GROUP;
use chalet_base::simd_dispatch::dispatch_simd;

/// By word, beginning with `first`: the group, or [`NO_GROUP`] where it has not come yet. May forget: the table knows all.
#[derive(Default)]
pub(super) struct Dense {
    first: u64,
    groups: Vec<u32>,
}

/// The word came in this block for the first time.
const PENDING: u32 = NO_GROUP - 1;

/// Words of a range at most: their groups stay in the cache nearest but one to the processor.
const MAX_RANGE: u64 = 1 << 16;

/// So many words are looked at before all are.
const SAMPLE: usize = 256;

/// A range with more words than this for each row is not worth an array.
const WORDS_PER_ROW: u64 = 4;

impl Dense {
    /// The group of every word; `insert` gives the groups of distinct words.
    pub fn groups(&mut self, words: &[u64], insert: impl FnOnce(&[u64]) -> Vec<u32>) -> Vec<u32> {
        if !self.cover(words) {
            return insert(words);
        }
        let Dense { first, groups } = self;
        let place = |word: u64| (word - *first) as usize;
        // Mostly all have come before.
        let known: Vec<u32> = words.iter().map(|&word| groups[place(word)]).collect();
        if dispatch_simd(|| known.iter().fold(true, |all, &group| all & (group != NO_GROUP))) {
            return known;
        }
        let mut fresh: Vec<u64> = Vec::new();
        for &word in words {
            let group = &mut groups[place(word)];
            if *group == NO_GROUP {
                *group = PENDING;
                fresh.push(word);
            }
        }
        if !fresh.is_empty() {
            for (&word, group) in fresh.iter().zip(insert(&fresh)) {
                groups[place(word)] = group;
            }
        }
        words.iter().map(|&word| groups[place(word)]).collect()
    }

    /// Is there an array over the words?
    pub fn is_used(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.groups.capacity() * 4
    }

    /// Makes the array hold all of these words, if they are close enough.
    fn cover(&mut self, words: &[u64]) -> bool {
        let Some((low, high)) = extremes(&words[..words.len().min(SAMPLE)]) else { return false };
        if high - low >= MAX_RANGE {
            return false;
        }
        let Some((low, high)) = extremes(words) else { return false };
        let last = |dense: &Dense| dense.first + (dense.groups.len() as u64 - 1);
        if !self.groups.is_empty() && self.first <= low && high <= last(self) {
            return true;
        }
        if high - low >= MAX_RANGE.min(words.len() as u64 * WORDS_PER_ROW) {
            return false;
        }
        let (mut from, mut to) = (low, high);
        if !self.groups.is_empty() {
            (from, to) = (low.min(self.first), high.max(last(self)));
        }
        if to - from < MAX_RANGE {
            let mut groups = vec![NO_GROUP; (to - from) as usize + 1];
            let shift = (self.first.max(from) - from) as usize;
            groups[shift..shift + self.groups.len()].copy_from_slice(&self.groups);
            *self = Dense { first: from, groups };
        } else {
            *self = Dense { first: low, groups: vec![NO_GROUP; (high - low) as usize + 1] };
        }
        true
    }
}

fn extremes(words: &[u64]) -> Option<(u64, u64)> {
    let first = *words.first()?;
    Some(dispatch_simd(|| {
        words.iter().fold((first, first), |(low, high), &word| (low.min(word), high.max(word)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words get the groups that a plain table gives, however their range moves, and known ones are not looked up again.
    #[test]
    fn agrees_with_a_table() {
        let mut dense = Dense::default();
        let mut table: Vec<u64> = Vec::new();
        let mut asked = 0;
        for (start, step, n) in [
            (1000, 1, 500),
            (900, 3, 400),
            (1000, 1, 500),
            (1 << 40, 7, 1000),
            (0, 1 << 20, 300),
            (950, 2, 300),
        ] {
            let words: Vec<u64> = (0..n).map(|i| start + i * 31 % n * step).collect();
            let groups = dense.groups(&words, |words| {
                asked += words.len();
                let group = |word: &u64| {
                    let known = table.iter().position(|known| known == word);
                    known.unwrap_or_else(|| {
                        table.push(*word);
                        table.len() - 1
                    }) as u32
                };
                words.iter().map(group).collect()
            });
            for (word, group) in words.iter().zip(groups) {
                assert_eq!(table[group as usize], *word);
            }
        }
        // 500 + 400 - 67 shared, nothing for the third, all of the far and the scattered ones, and of the last those
        // that were forgotten.
        assert!(asked < 500 + 400 + 1000 + 300 + 300, "{asked}");
    }
}
