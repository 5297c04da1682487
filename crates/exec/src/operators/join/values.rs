//! Values of one column that are compared again and again: integers as words that order as they do.

use crate::hash_table::{KeyLayout, integer_bias};
use chalet_columns::{Column, Vector};
use chalet_types::DataType;
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::Range;

/// Values without NULL.
pub(super) enum Values {
    /// Integers of up to 8 bytes, as words that order as they do.
    Words(Vec<u64>),
    Vector(Vector),
}

impl Values {
    /// The values of a column of this type, which holds no NULL.
    pub fn new(values: Column, ty: &DataType) -> Values {
        let n_rows = values.len();
        let layout = KeyLayout::new(std::slice::from_ref(ty));
        match integer_bias(ty).zip(layout.words(std::slice::from_ref(&values), n_rows)) {
            Some((bias, words)) => Values::Words(words.iter().map(|word| word ^ bias).collect()),
            None => Values::Vector(values.into_flat()),
        }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        match self {
            Values::Words(words) => words.len() * 8,
            Values::Vector(vector) => vector.memory(),
        }
    }

    /// The values of these rows.
    pub fn gather(&self, rows: &[u32]) -> Values {
        match self {
            Values::Words(words) => Values::Words(rows.iter().map(|&row| words[row as usize]).collect()),
            Values::Vector(vector) => Values::Vector(vector.gather(rows)),
        }
    }

    /// How a value lies to one of the same type.
    #[inline]
    pub fn compare(&self, row: usize, other: &Values, other_row: usize) -> Ordering {
        match (self, other) {
            (Values::Words(a), Values::Words(b)) => a[row].cmp(&b[other_row]),
            (Values::Vector(a), Values::Vector(b)) => a.compare(row, b, other_row),
            // Values of one type are of one kind.
            _ => Ordering::Equal,
        }
    }

    /// The first of sorted values that lies above another one, or at it unless `passes_equal`; `near` is where it may be.
    #[inline]
    pub fn first_beyond(
        &self,
        places: Range<usize>,
        other: &Values,
        row: usize,
        passes_equal: bool,
        near: usize,
    ) -> usize {
        match (self, other) {
            (Values::Words(words), Values::Words(other)) => {
                let other = other[row];
                if passes_equal {
                    first_not(places, near, |place| words[place] <= other)
                } else {
                    first_not(places, near, |place| words[place] < other)
                }
            }
            _ => first_not(places, near, |place| match self.compare(place, other, row) {
                Ordering::Less => true,
                Ordering::Equal => passes_equal,
                Ordering::Greater => false,
            }),
        }
    }

    /// Is their order that of the comparisons of SQL, NaN included?
    pub fn is_exact(&self) -> bool {
        matches!(self, Values::Words(_))
    }
}

/// The first place of a range for which it does not hold; behind one of those it holds for none. `near` is tried first.
#[inline(always)]
fn first_not(places: Range<usize>, near: usize, holds: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, end } = places;
    let near = near.clamp(start, end.max(start));
    if (near == start || holds(near - 1)) && (near >= end || !holds(near)) {
        return near;
    }
    // Binary search without a branch to guess.
    let mut len = end - start;
    while len > 0 {
        let half = len / 2;
        let is_behind = holds(start + half);
        start = select_unpredictable(is_behind, start + half + 1, start);
        len = select_unpredictable(is_behind, len - half - 1, half);
    }
    start
}
