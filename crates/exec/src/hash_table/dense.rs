//! Groups of words that lie close together, as numbers of regions, days or enumerations do: an array over their range
//! answers without hash and comparison for each row.

use super::table::NO_GROUP;
use chalet_base::simd_dispatch::dispatch_simd;

/// By word, beginning with `first`: the group, or [`NO_GROUP`] where it has not come yet. May forget: the table knows all.
///
/// Words are taken as signed integers of the key's width, so that those on both sides of zero lie together.
pub(super) struct Dense {
    /// Brings the sign of a word to the highest bit.
    shift: u32,
    first: Placed,
    groups: Vec<u32>,
}

/// A word whose sign is in the highest bit.
type Placed = i64;

/// The word came in this block for the first time.
const PENDING: u32 = NO_GROUP - 1;

/// Words of a range at most: their groups stay in the cache nearest but one to the processor.
const MAX_RANGE: u64 = 1 << 16;

/// So many words are looked at before all are.
const SAMPLE: usize = 256;

/// A range with more words than this for each row is not worth an array.
const WORDS_PER_ROW: u64 = 4;

impl Dense {
    /// For keys of so many bytes, 1 to 8; other bits of their words are zero.
    pub fn of_width(width: usize) -> Dense {
        Dense { shift: 64 - 8 * width.clamp(1, 8) as u32, first: 0, groups: Vec::new() }
    }

    /// The group of every word; `insert` gives the groups of distinct words.
    pub fn groups(&mut self, words: &[u64], insert: impl FnOnce(&[u64]) -> Vec<u32>) -> Vec<u32> {
        if !self.cover(words) {
            return insert(words);
        }
        let Dense { shift, first, groups } = self;
        let place = |word: u64| distance(*first, (word << *shift) as Placed, *shift) as usize;
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
        let shift = self.shift;
        let Some((low, high)) = extremes(&words[..words.len().min(SAMPLE)], shift) else { return false };
        if distance(low, high, shift) >= MAX_RANGE {
            return false;
        }
        let Some((low, high)) = extremes(words, shift) else { return false };
        let last = |dense: &Dense| dense.first + ((dense.groups.len() as Placed - 1) << shift);
        if !self.groups.is_empty() && self.first <= low && high <= last(self) {
            return true;
        }
        if distance(low, high, shift) >= MAX_RANGE.min(words.len() as u64 * WORDS_PER_ROW) {
            return false;
        }
        let (mut from, mut to) = (low, high);
        if !self.groups.is_empty() {
            (from, to) = (low.min(self.first), high.max(last(self)));
        }
        if distance(from, to, shift) < MAX_RANGE {
            let mut groups = vec![NO_GROUP; distance(from, to, shift) as usize + 1];
            if !self.groups.is_empty() {
                let at = distance(from, self.first, shift) as usize;
                groups[at..at + self.groups.len()].copy_from_slice(&self.groups);
            }
            *self = Dense { shift, first: from, groups };
        } else {
            let groups = vec![NO_GROUP; distance(low, high, shift) as usize + 1];
            *self = Dense { shift, first: low, groups };
        }
        true
    }
}

/// How many words lie between two, the lower one first.
fn distance(low: Placed, high: Placed, shift: u32) -> u64 {
    high.wrapping_sub(low) as u64 >> shift
}

fn extremes(words: &[u64], shift: u32) -> Option<(Placed, Placed)> {
    let first = (*words.first()? << shift) as Placed;
    Some(dispatch_simd(|| {
        words.iter().fold((first, first), |(low, high), &word| {
            let word = (word << shift) as Placed;
            (low.min(word), high.max(word))
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words get the groups that a plain table gives, however their range moves, and known ones are not looked up again.
    #[test]
    fn agrees_with_a_table() {
        let mut dense = Dense::of_width(8);
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

    /// Integers of every width around zero, or around where unsigned ones wrap, find one array.
    #[test]
    fn words_on_both_sides_of_zero_lie_together() {
        for width in [3, 4, 8] {
            let mask = u64::MAX >> (64 - 8 * width);
            let mut dense = Dense::of_width(width);
            let block = |range: std::ops::Range<i64>| range.map(|n| n as u64 & mask).collect::<Vec<_>>();
            let mut n_inserted = 0;
            for words in [block(-300..300), block(-5..700), block(-900..-200), block(-900..700)] {
                let groups = dense.groups(&words, |fresh| {
                    let groups = fresh.iter().map(|&word| (word.wrapping_add(1000) & mask) as u32).collect();
                    n_inserted += fresh.len();
                    groups
                });
                let wanted: Vec<u32> = words.iter().map(|&w| (w.wrapping_add(1000) & mask) as u32).collect();
                assert_eq!(groups, wanted, "{width} bytes");
            }
            assert_eq!(n_inserted, 1600, "{width} bytes");
        }
    }
}
