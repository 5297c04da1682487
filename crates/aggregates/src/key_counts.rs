//! How often keys of 128 bits came: an open table whose places are fetched into the cache for many keys at once.

use chalet_base::hash::{combine, fetch, hash_u64};

/// Keys that are added together.
pub const TOGETHER: usize = 32;

const FIRST_SLOTS: usize = 16;

/// A power of two of slots, or none, at most half of them used; a slot whose count is 0 is free.
#[derive(Default)]
pub struct Counts {
    slots: Vec<(u128, u64)>,
    len: usize,
}

#[inline(always)]
fn hash(key: u128) -> u64 {
    combine(hash_u64(key as u64), (key >> 64) as u64)
}

impl Counts {
    /// The number of different keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Keys with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (u128, u64)> + '_ {
        self.slots.iter().copied().filter(|(_, n)| *n > 0)
    }

    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter().map(|(_, n)| n)
    }

    /// Adds to the count of a key, and gives what it is then.
    pub fn add(&mut self, key: u128, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        self.make_room(1);
        self.add_at(hash(key), key, n)
    }

    /// Adds one to the count of each key, and calls `f` with what it is then. At most [`TOGETHER`] keys.
    #[inline]
    pub fn add_all(&mut self, keys: &[u128], f: &mut impl FnMut(u64)) {
        self.make_room(keys.len());
        let mask = self.slots.len().wrapping_sub(1);
        let mut hashes = [0; TOGETHER];
        for (key, place) in keys.iter().zip(&mut hashes) {
            *place = hash(*key);
            fetch(&raw const self.slots[*place as usize & mask]);
        }
        for (&key, hash) in keys.iter().zip(hashes) {
            f(self.add_at(hash, key, 1));
        }
    }

    #[inline]
    fn add_at(&mut self, hash: u64, key: u128, n: u64) -> u64 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.1 == 0 {
                *slot = (key, n);
                self.len += 1;
                return n;
            }
            if slot.0 == key {
                slot.1 += n;
                return slot.1;
            }
            at = (at + 1) & mask;
        }
    }

    /// Makes the table large enough for so many more keys.
    fn make_room(&mut self, more: usize) {
        let wanted = (self.len + more) * 2;
        if wanted <= self.slots.len() {
            return;
        }
        let n = wanted.next_power_of_two().max(FIRST_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); n]);
        self.len = 0;
        for (key, n) in old.into_iter().filter(|(_, n)| *n > 0) {
            self.add_at(hash(key), key, n);
        }
    }

    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<(u128, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keys_one_by_one_and_together() {
        let mut counts = Counts::default();
        let keys: Vec<u128> = (0..1000).map(|i| u128::from(i % 300u32) << 60).collect();
        keys.chunks(TOGETHER).for_each(|keys| counts.add_all(keys, &mut |n| assert!((1..=4).contains(&n))));
        assert_eq!(counts.add(0, 5), 9);
        assert_eq!(counts.len(), 300);
        assert_eq!(counts.counts().sum::<u64>(), 1005);
    }
}
