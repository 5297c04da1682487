//! Which rows of sorted columns differ from the row before, without keys of their bytes where the columns are numbers or strings.

use chalet_columns::keys::{Order, sort_keys};
use chalet_columns::{Column, Data, Vector};
use std::ops::Range;

/// Consecutive rows that are equal in all of some columns, under the orders that they are sorted by.
pub(super) fn equal_neighbours(columns: &[(&Column, Order)], n_rows: usize) -> Vec<Range<usize>> {
    if n_rows == 0 {
        return Vec::new();
    }
    let mut differs = vec![false; n_rows];
    for (column, order) in columns {
        mark(&column.flat(), *order, &mut differs);
    }
    let mut groups = Vec::new();
    let mut start = 0;
    for (row, _) in differs.iter().enumerate().skip(1).filter(|(_, differs)| **differs) {
        groups.push(start..row);
        start = row;
    }
    groups.push(start..n_rows);
    groups
}

/// Marks the rows whose value differs from the one before.
fn mark(vector: &Vector, order: Order, differs: &mut [bool]) {
    macro_rules! pairs {
        ($($ty:ty: $differ:expr),*) => {$(
            if let Ok(values) = vector.values::<$ty>() {
                let differ = $differ;
                return mark_rows(vector, differs, |row| differ(values[row - 1], values[row]));
            }
        )*};
    }
    pairs!(
        u8: |a, b| a != b, u16: |a, b| a != b, u32: |a, b| a != b, u64: |a, b| a != b,
        i8: |a, b| a != b, i16: |a, b| a != b, i32: |a, b| a != b, i64: |a, b| a != b,
        i128: |a, b| a != b, u128: |a, b| a != b,
        // NaN is equal to itself here, and 0 to -0.
        f32: |a: f32, b: f32| a != b && !(a.is_nan() && b.is_nan()),
        f64: |a: f64, b: f64| a != b && !(a.is_nan() && b.is_nan())
    );
    if let Data::Str(strings) = &vector.data {
        return mark_rows(vector, differs, |row| strings.get(row - 1) != strings.get(row));
    }
    let keys = sort_keys(&[(&Column::Flat(vector.clone()), order)], differs.len());
    (1..differs.len()).for_each(|row| differs[row] |= keys.get(row - 1) != keys.get(row));
}

/// The same by what `differ` says of a row that has a value, as the one before has.
#[inline(always)]
fn mark_rows(vector: &Vector, differs: &mut [bool], differ: impl Fn(usize) -> bool) {
    if vector.null_count() == 0 {
        (1..differs.len()).for_each(|row| differs[row] |= differ(row));
        return;
    }
    for (row, differs) in differs.iter_mut().enumerate().skip(1) {
        *differs |= match (vector.is_null(row - 1), vector.is_null(row)) {
            (false, false) => differ(row),
            (before, now) => before != now,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::NullBuffer;

    #[test]
    fn groups_are_those_of_equal_keys() {
        let valid =
            |valid: &[bool], vector: Vector| Vector::new(vector.data, Some(NullBuffer::from(valid.to_vec())));
        let columns = [
            Column::Flat(vec![1u64, 1, 2, 2, 2, 3].into()),
            Column::Flat(vec![-0.0, 0.0, f64::NAN, f64::NAN, 1.0, 1.0].into()),
            Column::Flat(valid(&[true, true, false, false, true, true], vec![5i32, 5, 7, 8, 8, 9].into())),
            Column::constant(vec![1u8].into(), 6),
        ];
        for order in [Order::ASCENDING, Order::new(true, true)] {
            for of in [&columns[..], &columns[..1], &columns[1..2], &columns[2..3], &columns[3..], &[]] {
                let ordered: Vec<(&Column, Order)> = of.iter().map(|column| (column, order)).collect();
                let keys = sort_keys(&ordered, 6);
                let by_keys = |groups: &[Range<usize>]| {
                    (1..6).all(|row| {
                        groups.iter().any(|group| group.start == row) == (keys.get(row - 1) != keys.get(row))
                    })
                };
                let groups = equal_neighbours(&ordered, 6);
                assert!(by_keys(&groups) && groups.iter().map(Range::len).sum::<usize>() == 6, "{groups:?}");
            }
        }
        assert!(equal_neighbours(&[], 0).is_empty());
    }
}
