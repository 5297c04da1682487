//! Numbers by key, such as how often a key came: an open table whose places are fetched into the cache for many keys at once.

use chalet_base::hash::{combine, fetch, hash_u64};

/// Keys that are looked up together.
pub const TOGETHER: usize = 32;

const FIRST_SLOTS: usize = 16;

/// What keys are kept as.
pub trait Key: Copy + Default + Eq + Send + Sync + 'static {
    fn hash(self) -> u64;
}

impl Key for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        hash_u64(self)
    }
}

/// A key of 128 bits, low word first: as one number it would take 32 bytes together with its count.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Wide([u64; 2]);

impl From<u128> for Wide {
    #[inline(always)]
    fn from(key: u128) -> Wide {
        Wide([key as u64, (key >> 64) as u64])
    }
}

impl From<Wide> for u128 {
    #[inline(always)]
    fn from(Wide([low, high]): Wide) -> u128 {
        u128::from(low) | u128::from(high) << 64
    }
}

impl Key for Wide {
    #[inline(always)]
    fn hash(self) -> u64 {
        combine(hash_u64(self.0[0]), self.0[1])
    }
}

/// A power of two of slots, or none, at most half of them used; a slot whose number is 0 is free.
pub struct Counts<K> {
    slots: Vec<(K, u64)>,
    len: usize,
}

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Counts { slots: Vec::new(), len: 0 }
    }
}

impl<K: Key> Counts<K> {
    /// The number of different keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Keys with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (K, u64)> + '_ {
        self.slots.iter().copied().filter(|(_, n)| *n > 0)
    }

    pub fn counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter().map(|(_, n)| n)
    }

    /// The number of a key, 0 where the key is new: it must not stay 0.
    #[inline]
    pub fn entry(&mut self, key: K) -> &mut u64 {
        self.make_room(1);
        self.entry_at(key.hash(), key)
    }

    /// Fetches into the cache where a key is looked for first.
    #[inline(always)]
    pub fn fetch(&self, key: K) {
        if !self.slots.is_empty() {
            fetch(&raw const self.slots[key.hash() as usize & (self.slots.len() - 1)]);
        }
    }

    /// Adds to the number of a key.
    pub fn add(&mut self, key: K, n: u64) {
        if n > 0 {
            *self.entry(key) += n;
        }
    }

    /// Calls `f` with the place of each key and its number, as [`entry`](Self::entry) gives it. At most [`TOGETHER`] keys.
    #[inline]
    pub fn entries(&mut self, keys: &[K], mut f: impl FnMut(usize, &mut u64)) {
        self.make_room(keys.len());
        let mask = self.slots.len().wrapping_sub(1);
        let mut hashes = [0; TOGETHER];
        for (key, place) in keys.iter().zip(&mut hashes) {
            *place = key.hash();
            fetch(&raw const self.slots[*place as usize & mask]);
        }
        for (i, (&key, hash)) in keys.iter().zip(hashes).enumerate() {
            f(i, self.entry_at(hash, key));
        }
    }

    /// Adds what another table has counted.
    pub fn merge(&mut self, mut other: Counts<K>) {
        if self.len < other.len {
            std::mem::swap(self, &mut other);
        }
        // At once: in the order of the other table's slots they would crowd together in a smaller one.
        self.make_room(other.len);
        let (mut keys, mut counts, mut n) = ([K::default(); TOGETHER], [0; TOGETHER], 0);
        for (key, count) in other.iter() {
            (keys[n], counts[n]) = (key, count);
            n += 1;
            if n == TOGETHER {
                self.entries(&keys, |i, sum| *sum += counts[i]);
                n = 0;
            }
        }
        self.entries(&keys[..n], |i, sum| *sum += counts[i]);
    }

    #[inline]
    fn entry_at(&mut self, hash: u64, key: K) -> &mut u64 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &self.slots[at];
            if slot.1 == 0 {
                self.slots[at].0 = key;
                self.len += 1;
                break;
            }
            if slot.0 == key {
                break;
            }
            at = (at + 1) & mask;
        }
        &mut self.slots[at].1
    }

    /// Makes the table large enough for so many more keys.
    fn make_room(&mut self, more: usize) {
        let wanted = (self.len + more) * 2;
        if wanted <= self.slots.len() {
            return;
        }
        let n = wanted.next_power_of_two().max(FIRST_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![(K::default(), 0); n]);
        self.len = 0;
        for (key, n) in old.into_iter().filter(|(_, n)| *n > 0) {
            *self.entry_at(key.hash(), key) = n;
        }
    }

    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<(K, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keys_one_by_one_and_together() {
        fn check<K: Key>(key: impl Fn(u64) -> K) {
            let mut counts = Counts::default();
            let keys: Vec<K> = (0..1000).map(|i| key(i % 300)).collect();
            for keys in keys.chunks(TOGETHER) {
                counts.entries(keys, |_, n| {
                    *n += 1;
                    assert!((1..=4).contains(n));
                });
            }
            counts.add(key(0), 5);
            assert_eq!(*counts.entry(key(0)), 9);
            assert_eq!(counts.len(), 300);
            assert_eq!(counts.counts().sum::<u64>(), 1005);
            // Once into the larger table, once into the smaller one.
            for end in [250, 900] {
                let (mut sum, mut other) = (Counts::default(), Counts::default());
                counts.iter().for_each(|(key, n)| sum.add(key, n));
                (200..end).for_each(|i| other.add(key(i), 1));
                sum.merge(other);
                assert_eq!(sum.counts().sum::<u64>(), 1005 + end - 200);
                assert_eq!(*sum.entry(key(220)), *counts.entry(key(220)) + 1);
                assert_eq!(sum.len() as u64, end.max(300));
            }
        }
        check(|i| i << 60 | i);
        check(|i| Wide::from(u128::from(i) << 60));
    }
}
