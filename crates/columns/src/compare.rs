//! Comparison of rows of one type: NaN after the numbers, NULL last, lists and tuples by element.

use crate::keys::Order;
use crate::strings::inline_view;
use crate::{BooleanBuffer, Column, Data, List, Native, Strings, Vector, bits, each_native};
use chalet_base::simd_dispatch::dispatch_simd;
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
    /// A bit for each row that stands before a bound of one row in an order, or beside it, or needs a closer look: NaNs. `None`
    /// where all need one.
    pub fn rows_before(&self, bound: &Vector, order: Order, or_equal: bool) -> Option<BooleanBuffer> {
        let Order { descending, nulls_first, .. } = order;
        if bound.is_null(0) {
            return match self {
                Column::Flat(vector) => Some(vector.rows_before_null(nulls_first, or_equal)),
                _ => None,
            };
        }
        let wanted = |order: Ordering| match order {
            Ordering::Equal => or_equal,
            Ordering::Less => !descending,
            Ordering::Greater => descending,
        };
        match self {
            Column::Flat(vector) => vector.rows_before(bound, nulls_first, &wanted),
            // All or none.
            Column::Const { value, len } => {
                let is_before = value.rows_before(bound, nulls_first, &wanted)?.value(0);
                Some(if is_before { BooleanBuffer::new_set(*len) } else { BooleanBuffer::new_unset(*len) })
            }
            Column::Dict { codes, values } if values.len() <= codes.len() => {
                let is_before = values.rows_before(bound, nulls_first, &wanted)?;
                let bytes: Vec<u8> = is_before.iter().map(u8::from).collect();
                Some(bits::of_bytes(codes.iter().map(|&code| bytes[code as usize])))
            }
            Column::Dict { .. } => None,
        }
    }
}

impl Vector {
    /// The rows before NULL, or beside it.
    fn rows_before_null(&self, nulls_first: bool, or_equal: bool) -> BooleanBuffer {
        match (&self.validity, nulls_first, or_equal) {
            (None, true, _) | (_, true, false) => BooleanBuffer::new_unset(self.len()),
            (None, false, _) | (_, false, true) => BooleanBuffer::new_set(self.len()),
            (Some(validity), false, false) => validity.inner().clone(),
            (Some(validity), true, true) => !validity.inner(),
        }
    }

    fn rows_before(
        &self,
        bound: &Vector,
        nulls_first: bool,
        wanted: &dyn Fn(Ordering) -> bool,
    ) -> Option<BooleanBuffer> {
        let rows = self.values_before(bound, wanted)?;
        // The values under NULLs say nothing.
        Some(match &self.validity {
            None => rows,
            Some(validity) if nulls_first => &rows | &!validity.inner(),
            Some(validity) => &rows & validity.inner(),
        })
    }

    /// The same without regard to NULLs.
    fn values_before(&self, bound: &Vector, wanted: &dyn Fn(Ordering) -> bool) -> Option<BooleanBuffer> {
        /// One loop for each answer, so that the question is not asked per row.
        fn select<T>(
            values: impl Iterator<Item = T>,
            bound: T,
            wanted: &dyn Fn(Ordering) -> bool,
        ) -> BooleanBuffer
        where
            T: PartialOrd + Copy,
        {
            use Ordering::{Equal, Greater, Less};
            // What a NaN is compared with is false: it is never after.
            match (wanted(Less), wanted(Equal), wanted(Greater)) {
                (true, true, _) => bits::of_bytes(values.map(|x| u8::from(x > bound) ^ 1)),
                (true, false, _) => bits::of_bytes(values.map(|x| u8::from(x >= bound) ^ 1)),
                (false, true, _) => bits::of_bytes(values.map(|x| u8::from(x < bound) ^ 1)),
                (false, false, _) => bits::of_bytes(values.map(|x| u8::from(x <= bound) ^ 1)),
            }
        }
        fn natives<T: Native>(
            values: &[T],
            bound: &Data,
            wanted: &dyn Fn(Ordering) -> bool,
        ) -> Option<BooleanBuffer> {
            let bound = T::unwrap(bound)?[0];
            #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
            let is_nan = bound != bound;
            (!is_nan).then(|| dispatch_simd(|| select(values.iter().copied(), bound, wanted)))
        }
        match (&self.data, &bound.data) {
            (Data::Str(texts), Data::Str(bound)) => Some(texts_before(texts, bound.get(0), wanted)),
            (Data::Fixed(values), Data::Fixed(bound)) => Some(select(values.iter(), bound.get(0), wanted)),
            (Data::List(lists), Data::List(bound)) => lists_before(lists, bound, wanted),
            (Data::Struct(rows), Data::Struct(bound)) => {
                rows.fields.first()?.parts_before(bound.fields.first()?, wanted)
            }
            (data, bound) => each_native!(data, values => natives(values, bound, wanted), _ => None),
        }
    }

    /// The same of what values begin with, where parts that are equal need a closer look, and NULLs, too.
    fn parts_before(&self, bound: &Vector, wanted: &dyn Fn(Ordering) -> bool) -> Option<BooleanBuffer> {
        if bound.is_null(0) {
            return None;
        }
        let rows = self.values_before(bound, &|order| order.is_eq() || wanted(order))?;
        Some(self.validity.as_ref().map_or(rows.clone(), |validity| &rows | &!validity.inner()))
    }
}

/// Most lists differ from a bound in their first element.
fn lists_before(lists: &List, bound: &List, wanted: &dyn Fn(Ordering) -> bool) -> Option<BooleanBuffer> {
    let ranges = || (0..lists.len()).map(|row| lists.range(row));
    if bound.range(0).is_empty() {
        let wanted = [Ordering::Equal, Ordering::Greater].map(wanted);
        return Some(bits::of_bytes(ranges().map(|range| u8::from(wanted[usize::from(!range.is_empty())]))));
    }
    // That of an empty list is any one: it says nothing.
    let last = lists.values.len().checked_sub(1);
    let Some(last) = last else {
        return Some(BooleanBuffer::collect_bool(lists.len(), |_| wanted(Ordering::Less)));
    };
    let firsts: Vec<u32> = ranges().map(|range| range.start.min(last) as u32).collect();
    let bound = bound.values.slice(bound.range(0).start, 1);
    let before = lists.values.gather(&firsts).parts_before(&bound, wanted)?;
    let of_empty = wanted(Ordering::Less);
    Some(bits::of_bytes(
        ranges()
            .zip(before.iter())
            .map(|(range, before)| u8::from(if range.is_empty() { of_empty } else { before })),
    ))
}

/// Most strings differ from a bound in their first bytes, which stand in their views.
fn texts_before(texts: &Strings, bound: &[u8], wanted: &dyn Fn(Ordering) -> bool) -> BooleanBuffer {
    let wanted = [Ordering::Less, Ordering::Equal, Ordering::Greater].map(wanted);
    let start = |view: u128| ((view >> 32) as u32).swap_bytes();
    let bound_start = start(inline_view(&bound[..bound.len().min(4)]));
    bits::of_bytes(texts.views().iter().enumerate().map(|(row, &view)| {
        let order = start(view).cmp(&bound_start).then_with(|| texts.get(row).cmp(bound));
        u8::from(wanted[(order as i8 + 1) as usize])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NullBuffer, StringBuilder};

    #[test]
    fn rows_before_a_bound_are_all_that_might_be() {
        let before = |column: &Column, bound: &Vector, descending, or_equal| {
            let rows = column.rows_before(bound, Order::new(descending, false), or_equal)?;
            Some(rows.set_indices().collect::<Vec<_>>())
        };
        let floats = vec![1.0, f64::NAN, 3.0, 2.0, -0.0, f64::INFINITY];
        let column = Column::Flat(Vector::from(floats.clone()));
        let two = Vector::from(vec![2.0]);
        assert_eq!(before(&column, &two, false, false), Some(vec![0, 1, 4]));
        assert_eq!(before(&column, &two, false, true), Some(vec![0, 1, 3, 4]));
        assert_eq!(before(&column, &two, true, false), Some(vec![1, 2, 5]));
        assert_eq!(before(&column, &two, true, true), Some(vec![1, 2, 3, 5]));
        assert_eq!(before(&column, &Vector::from(vec![f64::NAN]), true, true), None);
        let validity = NullBuffer::from(vec![false, true, true, true, true, false]);
        let nullable = Column::Flat(Vector::new(Vector::from(floats).data, Some(validity)));
        assert_eq!(before(&nullable, &two, false, false), Some(vec![1, 4]));
        assert_eq!(before(&nullable, &two, true, false), Some(vec![1, 2]));
        let null = Vector::new(two.data.clone(), Some(NullBuffer::from(vec![false])));
        for (nulls_first, or_equal, rows, of_flat) in [
            (false, false, vec![1, 2, 3, 4], (0..6).collect()),
            (false, true, (0..6).collect(), (0..6).collect()),
            (true, false, vec![], vec![]),
            (true, true, vec![0, 5], vec![]),
        ] {
            let before = |column: &Column, bound: &Vector| {
                let rows = column.rows_before(bound, Order::new(false, nulls_first), or_equal);
                rows.unwrap().set_indices().collect::<Vec<_>>()
            };
            assert_eq!(before(&nullable, &null), rows);
            assert_eq!(before(&column, &null), of_flat);
            let with_nulls = if nulls_first { vec![0, 1, 4, 5] } else { vec![1, 4] };
            let with_nulls = if or_equal { [with_nulls, vec![3]].concat() } else { with_nulls };
            let mut found = before(&nullable, &two);
            found.sort_by_key(|row| (*row == 3, *row));
            assert_eq!(found, with_nulls);
        }
    }

    /// No row that stands before a bound is left out, and no row whose first element tells is left in.
    #[test]
    fn lists_before_a_bound() {
        let rows: [&[i64]; 8] = [&[], &[1], &[1, 5], &[2], &[2, 0], &[-3, 9], &[7], &[]];
        let offsets: Vec<i64> = rows
            .iter()
            .scan(0, |end, row| Some(std::mem::replace(end, *end + row.len() as i64)))
            .chain([rows.iter().map(|row| row.len() as i64).sum()])
            .collect();
        let validity = NullBuffer::from(rows.concat().iter().map(|x| *x != 7).collect::<Vec<_>>());
        for elements in
            [Vector::from(rows.concat()), Vector::new(Vector::from(rows.concat()).data, Some(validity))]
        {
            let is_nullable = elements.validity.is_some();
            let lists =
                Vector::from(Data::List(List { offsets: offsets.clone().into(), values: elements.into() }));
            for (number, bound) in
                rows.iter().enumerate().filter(|(_, bound)| !is_nullable || bound.first() != Some(&7))
            {
                let one = lists.slice(number, 1);
                for (descending, or_equal) in [(false, false), (false, true), (true, false), (true, true)] {
                    let order = Order::new(descending, false);
                    let before = Column::Flat(lists.clone()).rows_before(&one, order, or_equal).unwrap();
                    for (row, list) in rows.iter().enumerate() {
                        let order = if descending { bound.cmp(list) } else { list.cmp(bound) };
                        let tells =
                            list.first() != bound.first() && !(is_nullable && list.first() == Some(&7));
                        if tells || order.is_lt() || or_equal && order.is_eq() {
                            let expected = order.is_lt() || or_equal && order.is_eq();
                            assert_eq!(
                                before.value(row),
                                expected,
                                "{list:?} {bound:?} {descending} {or_equal}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strings_before_a_bound() {
        let texts: [&[u8]; 10] =
            [b"", b"\0", b"a", b"a\0", b"ab", b"abcd", b"abcd\0", b"abcde", b"abcdefghijklmno", b"\xff"];
        let mut builder = StringBuilder::with_capacity(texts.len());
        texts.iter().for_each(|text| builder.push(text));
        let strings = builder.finish();
        for (number, bound) in texts.iter().enumerate() {
            let one = Vector::from(strings.slice(number, 1));
            for (descending, or_equal) in [(false, false), (false, true), (true, false), (true, true)] {
                let rows = Column::Flat(strings.clone().into())
                    .rows_before(&one, Order::new(descending, false), or_equal)
                    .unwrap();
                for (row, text) in texts.iter().enumerate() {
                    let order = if descending { bound.cmp(text) } else { text.cmp(bound) };
                    assert_eq!(
                        rows.value(row),
                        order.is_lt() || or_equal && order.is_eq(),
                        "{text:?} {bound:?}"
                    );
                }
            }
        }
    }
}
