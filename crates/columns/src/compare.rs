//! Comparison of rows of one type: NaN after the numbers, NULL last, lists and tuples by element.

use crate::{Data, Native, Vector, each_native};
use std::cmp::Ordering;

/// Orders values of one representation; NaN is greater than every number and equal to itself.
#[inline(always)]
pub fn compare_natives<T: Native>(a: T, b: T) -> Ordering {
    // `x != x` only for NaN.
    #[allow(clippy::eq_op)]
    a.partial_cmp(&b).unwrap_or_else(|| (a != a).cmp(&(b != b)))
}

impl Vector {
    /// Orders a row of this vector against a row of another one of the same type; NULL is greatest.
    pub fn compare(&self, row: usize, other: &Vector, other_row: usize) -> Ordering {
        match (self.is_null(row), other.is_null(other_row)) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        fn natives<T: Native>(a: &[T], row: usize, other: &Data, other_row: usize) -> Ordering {
            T::unwrap(other).map_or(Ordering::Equal, |b| compare_natives(a[row], b[other_row]))
        }
        each_native!(&self.data, values => natives(values, row, &other.data, other_row),
        Data::Nothing(_) => Ordering::Equal,
        Data::Str(a) => match &other.data {
            Data::Str(b) => a.get(row).cmp(b.get(other_row)),
            _ => Ordering::Equal,
        },
        Data::Fixed(a) => match &other.data {
            Data::Fixed(b) => a.get(row).cmp(b.get(other_row)),
            _ => Ordering::Equal,
        },
        Data::List(a) => match &other.data {
            Data::List(b) => {
                let (left, right) = (a.range(row), b.range(other_row));
                let lengths = left.len().cmp(&right.len());
                let unequal = left.zip(right).map(|(i, j)| a.values.compare(i, &b.values, j)).find(|o| o.is_ne());
                unequal.unwrap_or(lengths)
            }
            _ => Ordering::Equal,
        },
        Data::Struct(a) => match &other.data {
            Data::Struct(b) => {
                let mut fields = a.fields.iter().zip(&b.fields);
                let unequal = fields.find_map(|(x, y)| Some(x.compare(row, y, other_row)).filter(|o| o.is_ne()));
                unequal.unwrap_or(Ordering::Equal)
            }
            _ => Ordering::Equal,
        })
    }
}
