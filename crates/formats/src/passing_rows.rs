//! The rows of a file that pass a filter, as those who read it have found: unit by unit, where they are few.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Shared by all who read the file with the filter.
pub struct PassingRows {
    units: Box<[OnceLock<Box<[u32]>>]>,
    /// Bytes held by this and by others that were made with the same meter.
    meter: Arc<AtomicUsize>,
}

/// One row in so many, at most, is remembered: reading single rows must be worth it, and they take memory.
const MIN_ROWS_PER_PASSING: usize = 64;

impl PassingRows {
    /// Nothing is known yet.
    pub fn new(n_units: usize, meter: Arc<AtomicUsize>) -> PassingRows {
        let units: Box<[OnceLock<Box<[u32]>>]> = (0..n_units).map(|_| OnceLock::new()).collect();
        meter.fetch_add(size_of_val(&*units), Relaxed);
        PassingRows { units, meter }
    }

    /// The rows of a unit that pass, ascending, where that is known.
    pub fn of(&self, unit: usize) -> Option<&[u32]> {
        self.units.get(unit)?.get().map(|rows| &**rows)
    }

    /// How many rows of a unit of `n_rows` are remembered at most.
    pub fn most(n_rows: usize) -> usize {
        n_rows / MIN_ROWS_PER_PASSING
    }

    /// The unit was read to its end, and these rows passed, in ascending order.
    pub fn insert(&self, unit: usize, rows: Vec<u32>) {
        let Some(known) = self.units.get(unit) else { return };
        let bytes = size_of_val(&*rows);
        // Another reader may have come first, with the same rows.
        if known.set(rows.into()).is_ok() {
            self.meter.fetch_add(bytes, Relaxed);
        }
    }

    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.units.iter().all(|rows| rows.get().is_none())
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.units)
            + self.units.iter().filter_map(OnceLock::get).map(|r| size_of_val(&**r)).sum::<usize>()
    }
}

impl Drop for PassingRows {
    fn drop(&mut self) {
        self.meter.fetch_sub(self.memory(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_known_by_unit_and_counted() {
        let meter = Arc::new(AtomicUsize::new(7));
        let rows = PassingRows::new(3, meter.clone());
        assert!(rows.is_empty() && rows.of(0).is_none());
        rows.insert(2, vec![5, 9]);
        rows.insert(2, vec![5, 9]);
        rows.insert(1, Vec::new());
        rows.insert(1000, vec![1]);
        assert_eq!(
            (rows.of(0), rows.of(1), rows.of(2), rows.of(1000)),
            (None, Some(&[][..]), Some(&[5, 9][..]), None)
        );
        assert!(!rows.is_empty());
        assert_eq!(meter.load(Relaxed), 7 + rows.memory());
        drop(rows);
        assert_eq!(meter.load(Relaxed), 7);
    }
}
