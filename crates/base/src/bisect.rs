//! Bisection.

use std::ops::Range;

/// The first index of a range that is not before something, or its end; those before it come first.
pub fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
