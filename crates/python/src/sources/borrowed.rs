//! The memory that scans borrow from the caller, who may change it later: what outlives a statement must not point there.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Ranges are looked at one by one, so there are no more of them than this.
const MOST: usize = 256;

/// Borrowed address ranges, in order and apart from each other.
#[derive(Default)]
pub struct BorrowedMemory(Mutex<Vec<Range<usize>>>);

impl BorrowedMemory {
    pub fn add(&self, start: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut ranges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut range = start..start + bytes;
        let touched = ranges.partition_point(|known| known.end < range.start)
            ..ranges.partition_point(|known| known.start <= range.end);
        if let [first, .., last] | [first @ last] = &ranges[touched.clone()] {
            range = range.start.min(first.start)..range.end.max(last.end);
        }
        ranges.splice(touched, [range]);
        if ranges.len() > MOST {
            join_nearest(&mut ranges);
        }
    }

    pub fn ranges(&self) -> Vec<Range<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// One range less. What lies between the two counts as borrowed as well, which costs a copy of it and no more.
fn join_nearest(ranges: &mut Vec<Range<usize>>) {
    let gap = |&at: &usize| ranges[at + 1].start - ranges[at].end;
    if let Some(at) = (0..ranges.len().saturating_sub(1)).min_by_key(gap) {
        ranges[at].end = ranges.remove(at + 1).end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_one() {
        let borrowed = BorrowedMemory::default();
        for (start, bytes) in [(100, 10), (300, 10), (200, 10), (50, 0), (110, 90), (305, 1)] {
            borrowed.add(start, bytes);
        }
        assert_eq!(borrowed.ranges(), [100..210, 300..310]);
        borrowed.add(0, 1000);
        assert_eq!(
            borrowed.ranges().iter().map(|range| (range.start, range.end)).collect::<Vec<_>>(),
            [(0, 1000)]
        );
    }

    #[test]
    fn ranges_stay_few_and_cover_all() {
        let borrowed = BorrowedMemory::default();
        let starts = (0..10_000).map(|i| 1_000 + (i * 7_919 % 10_000) * 64);
        starts.clone().for_each(|start| borrowed.add(start, 8));
        let ranges = borrowed.ranges();
        assert!(ranges.len() <= MOST);
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        let covered =
            |start| ranges.iter().any(|range| range.contains(&start) && range.contains(&(start + 7)));
        assert!(starts.into_iter().all(covered));
    }
}
