//! Values of one column that are compared again and again: integers as words that order as they do.

use crate::hash_table::{KeyLayout, integer_bias};
use chalet_columns::{Column, Vector};
use chalet_types::DataType;
use std::cmp::Ordering;

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

    /// Is their order that of the comparisons of SQL, NaN included?
    pub fn is_exact(&self) -> bool {
        matches!(self, Values::Words(_))
    }
}
