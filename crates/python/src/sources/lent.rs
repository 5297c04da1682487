//! Which memory scans share with the caller, who may change it later: what outlives a statement must not point there.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Address ranges.
#[derive(Default)]
pub struct Lent(Mutex<Vec<Range<usize>>>);

impl Lent {
    pub fn add(&self, start: usize, bytes: usize) {
        let range = start..start + bytes;
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    }

    pub fn ranges(&self) -> Vec<Range<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
