//! What is kept of files up to a number of bytes; what was not used for the longest time goes first.

use chalet_base::hash::HashMap;
use std::hash::Hash;

/// Values by keys, each of some bytes.
pub struct Lru<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Of all entries.
    weight: usize,
    /// Counts uses.
    clock: u64,
    max_weight: usize,
}

struct Entry<V> {
    value: V,
    /// Bytes that it counts for.
    weight: usize,
    used: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Lru<K, V> {
    pub fn new(max_weight: usize) -> Lru<K, V> {
        Lru { entries: HashMap::default(), weight: 0, clock: 0, max_weight }
    }

    /// The value of a key, which is weighed again: it may have grown.
    pub fn find(&mut self, key: &K, weigh: impl FnOnce(&V) -> usize) -> Option<V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        let weight = weigh(&entry.value);
        self.weight = self.weight - entry.weight + weight;
        entry.weight = weight;
        Some(entry.value.clone())
    }

    /// Keeps a value; returns the bytes of others that made room.
    pub fn insert(&mut self, key: K, value: V, weight: usize) -> usize {
        self.clock += 1;
        self.weight += weight;
        if let Some(before) = self.entries.insert(key, Entry { value, weight, used: self.clock }) {
            self.weight -= before.weight;
        }
        if self.weight > self.max_weight { self.make_room() } else { 0 }
    }

    /// Down to three quarters, so that not every new value looks at all others.
    fn make_room(&mut self) -> usize {
        let mut by_use: Vec<(u64, K)> =
            self.entries.iter().map(|(key, entry)| (entry.used, key.clone())).collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        let before = self.weight;
        for (_, key) in by_use {
            if self.weight <= self.max_weight / 4 * 3 {
                break;
            }
            if let Some(entry) = self.entries.remove(&key) {
                self.weight -= entry.weight;
            }
        }
        before - self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_makes_room() {
        let mut lru = Lru::new(100);
        for key in 0..4 {
            assert_eq!(lru.insert(key, key * 10, 25), 0);
        }
        assert_eq!(lru.find(&0, |_| 25), Some(0));
        assert_eq!(lru.insert(4, 40, 25), 50);
        let kept: Vec<i32> = (0..5).filter(|key| lru.find(key, |_| 25).is_some()).collect();
        assert_eq!(kept, [0, 3, 4]);
        assert_eq!(lru.insert(5, 50, 1000), 1075, "too large to be kept");
    }
}
