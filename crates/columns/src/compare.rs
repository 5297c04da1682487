//! Comparison of rows of one type: NaN after the numbers, NULL last, lists and tuples by element.

use crate::{Column, Data, Native, Vector, each_native};
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

impl Column {
    /// Rows that stand before a bound of one row in ascending or descending order, or beside it; `None` where NULLs,
    /// NaNs or the representation need a closer look.
    pub fn rows_before(&self, bound: &Vector, descending: bool, or_equal: bool) -> Option<Vec<u32>> {
        if bound.validity.is_some() {
            return None;
        }
        let wanted = |order: Ordering| match order {
            Ordering::Equal => or_equal,
            Ordering::Less => !descending,
            Ordering::Greater => descending,
        };
        match self {
            Column::Flat(vector) => vector.rows_before(bound, &wanted),
            // All or none.
            Column::Const { value, len } => {
                let rows = value.rows_before(bound, &wanted)?;
                Some(if rows.is_empty() { Vec::new() } else { (0..*len as u32).collect() })
            }
            Column::Dict { codes, values } if values.len() <= codes.len() => {
                let mut is_before = vec![false; values.len()];
                values
                    .rows_before(bound, &wanted)?
                    .into_iter()
                    .for_each(|row| is_before[row as usize] = true);
                Some((0..codes.len() as u32).filter(|&row| is_before[codes[row as usize] as usize]).collect())
            }
            Column::Dict { .. } => None,
        }
    }
}

impl Vector {
    fn rows_before(&self, bound: &Vector, wanted: &dyn Fn(Ordering) -> bool) -> Option<Vec<u32>> {
        /// One loop for each answer, so that the question is not asked per row.
        fn select<T>(values: impl Iterator<Item = T>, bound: T, wanted: &dyn Fn(Ordering) -> bool) -> Vec<u32>
        where
            T: PartialOrd + Copy,
        {
            use Ordering::{Equal, Greater, Less};
            let rows = values.enumerate();
            let pick = |(row, is): (usize, bool)| is.then_some(row as u32);
            match (wanted(Less), wanted(Equal), wanted(Greater)) {
                (true, true, _) => rows.map(|(row, x)| (row, x <= bound)).filter_map(pick).collect(),
                (true, false, _) => rows.map(|(row, x)| (row, x < bound)).filter_map(pick).collect(),
                (false, true, _) => rows.map(|(row, x)| (row, x >= bound)).filter_map(pick).collect(),
                (false, false, _) => rows.map(|(row, x)| (row, x > bound)).filter_map(pick).collect(),
            }
        }
        fn natives<T: Native>(
            values: &[T],
            bound: &Data,
            wanted: &dyn Fn(Ordering) -> bool,
        ) -> Option<Vec<u32>> {
            let bound = T::unwrap(bound)?[0];
            Some(select(values.iter().copied(), bound, wanted))
        }
        if self.validity.is_some() {
            return None;
        }
        match (&self.data, &bound.data) {
            (Data::F32(_) | Data::F64(_) | Data::BF16(_), _) => None,
            (Data::Str(texts), Data::Str(bound)) => Some(select(texts.iter(), bound.get(0), wanted)),
            (Data::Fixed(values), Data::Fixed(bound)) => Some(select(values.iter(), bound.get(0), wanted)),
            (data, bound) => each_native!(data, values => natives(values, bound, wanted), _ => None),
        }
    }
}
