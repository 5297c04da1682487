//! Units of a file that hold no row that passes a filter, as those who read them have found.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One bit per unit; shared by all who read the file with the filter.
pub struct EmptyUnits(Box<[AtomicU64]>);

impl EmptyUnits {
    /// Nothing is known yet.
    pub fn new(n_units: usize) -> EmptyUnits {
        EmptyUnits((0..n_units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn contains(&self, unit: usize) -> bool {
        self.0.get(unit / 64).is_some_and(|word| word.load(Relaxed) >> (unit % 64) & 1 == 1)
    }

    /// The unit was read to its end and no row passed.
    pub fn insert(&self, unit: usize) {
        // Who finds nothing to change must not take the line from the other readers.
        if !self.contains(unit)
            && let Some(word) = self.0.get(unit / 64)
        {
            word.fetch_or(1 << (unit % 64), Relaxed);
        }
    }

    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| word.load(Relaxed) == 0)
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.0.len() * 8
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn units_are_bits() {
        let units = super::EmptyUnits::new(65);
        assert!(units.is_empty());
        units.insert(64);
        units.insert(1000);
        assert!(units.contains(64) && !units.contains(0) && !units.contains(1000) && !units.is_empty());
    }
}
