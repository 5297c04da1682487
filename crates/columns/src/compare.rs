//! Comparison of rows of one type: NaN after the numbers, NULL last, lists and tuples by element.

use crate::{Column, Data, Native, NullBuffer, Vector, each_native};
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
    /// Rows that stand before a bound of one row in ascending or descending order, or beside it, and those that need a
    /// closer look: NULLs and NaNs. `None` where all need one.
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
            let pick = |(row, is_after): (usize, bool)| (!is_after).then_some(row as u32);
            // What a NaN is compared with is false: it is never after.
            match (wanted(Less), wanted(Equal), wanted(Greater)) {
                (true, true, _) => rows.map(|(row, x)| (row, x > bound)).filter_map(pick).collect(),
                (true, false, _) => rows.map(|(row, x)| (row, x >= bound)).filter_map(pick).collect(),
                (false, true, _) => rows.map(|(row, x)| (row, x < bound)).filter_map(pick).collect(),
                (false, false, _) => rows.map(|(row, x)| (row, x <= bound)).filter_map(pick).collect(),
            }
        }
        fn natives<T: Native>(
            values: &[T],
            bound: &Data,
            wanted: &dyn Fn(Ordering) -> bool,
        ) -> Option<Vec<u32>> {
            let bound = T::unwrap(bound)?[0];
            #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
            let is_nan = bound != bound;
            (!is_nan).then(|| select(values.iter().copied(), bound, wanted))
        }
        let rows = match (&self.data, &bound.data) {
            (Data::Str(texts), Data::Str(bound)) => Some(select(texts.iter(), bound.get(0), wanted)),
            (Data::Fixed(values), Data::Fixed(bound)) => Some(select(values.iter(), bound.get(0), wanted)),
            (data, bound) => each_native!(data, values => natives(values, bound, wanted), _ => None),
        };
        match &self.validity {
            None => rows,
            // The values under NULLs say nothing.
            Some(validity) => rows.map(|rows| with_nulls(&rows, validity)),
        }
    }
}

/// Ascending rows, and those that are NULL.
fn with_nulls(rows: &[u32], validity: &NullBuffer) -> Vec<u32> {
    let mut all = Vec::with_capacity(rows.len() + validity.null_count());
    let mut rows = rows.iter().copied().filter(|&row| validity.is_valid(row as usize)).peekable();
    for null in (!validity.inner()).set_indices().map(|row| row as u32) {
        while let Some(row) = rows.next_if(|&row| row < null) {
            all.push(row);
        }
        all.push(null);
    }
    all.extend(rows);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_before_a_bound_are_all_that_might_be() {
        let floats = vec![1.0, f64::NAN, 3.0, 2.0, -0.0, f64::INFINITY];
        let column = Column::Flat(Vector::from(floats.clone()));
        let two = Vector::from(vec![2.0]);
        assert_eq!(column.rows_before(&two, false, false), Some(vec![0, 1, 4]));
        assert_eq!(column.rows_before(&two, false, true), Some(vec![0, 1, 3, 4]));
        assert_eq!(column.rows_before(&two, true, false), Some(vec![1, 2, 5]));
        assert_eq!(column.rows_before(&two, true, true), Some(vec![1, 2, 3, 5]));
        assert_eq!(column.rows_before(&Vector::from(vec![f64::NAN]), true, true), None);
        let validity = NullBuffer::from(vec![false, true, true, true, true, false]);
        let nullable = Column::Flat(Vector::new(Vector::from(floats).data, Some(validity)));
        assert_eq!(nullable.rows_before(&two, false, false), Some(vec![0, 1, 4, 5]));
        assert_eq!(nullable.rows_before(&two, true, false), Some(vec![0, 1, 2, 5]));
    }
}
