//! Copies of integers as their distances from the least of them, in a fraction of their width. Rows that are picked at random
//! are bound by the caches that their column fits in: of a column a quarter or an eighth as large, many more are found there.

use crate::{Buf, Data, Native, Vector, bits};
use arrow_buffer::NullBuffer;

/// A column of integers, at half of its width at most.
#[derive(Debug)]
pub struct Narrow {
    integers: Integers,
    validity: Option<NullBuffer>,
}

#[derive(Debug)]
enum Distances {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// An integer that may be one of few that lie close together.
trait Integer: Native {
    /// How far it lies above another one that is not greater.
    fn distance(self, least: Self) -> u128;

    /// What lies so far above; the distance was told by [`distance`](Self::distance).
    fn above(self, distance: u32) -> Self;
}

macro_rules! integers {
    ($($ty:ident: $unsigned:ty => $variant:ident),*) => {
        /// The least of the integers, and how far each lies above it.
        #[derive(Debug)]
        enum Integers {
            $($variant($ty, Distances),)*
        }

        $(impl Integer for $ty {
            #[inline(always)]
            fn distance(self, least: Self) -> u128 {
                self.wrapping_sub(least) as $unsigned as u128
            }

            #[inline(always)]
            fn above(self, distance: u32) -> Self {
                self.wrapping_add(distance as $ty)
            }
        })*

        impl Narrow {
            /// The narrow copy of a column; none where it holds no integers, or some are too far from others.
            pub fn of(vector: &Vector) -> Option<Narrow> {
                let integers = match &vector.data {
                    $(Data::$variant(values) => {
                        let (least, distances) = distances(values)?;
                        Integers::$variant(least, distances)
                    })*
                    _ => return None,
                };
                let validity = vector.validity.clone().filter(|validity| validity.null_count() > 0);
                Some(Narrow { integers, validity })
            }

            /// The rows of the given numbers, in that order, at full width.
            pub fn gather(&self, rows: &[u32]) -> Vector {
                let data = match &self.integers {
                    $(Integers::$variant(least, distances) => widen(*least, distances, rows),)*
                };
                let validity = self.validity.as_ref();
                Vector::new(data, validity.map(|validity| NullBuffer::new(bits::gather(validity.inner(), rows))))
            }

            /// Bytes that its distances take.
            pub fn memory(&self) -> usize {
                match &self.integers {
                    $(Integers::$variant(_, distances) => distances.memory(),)*
                }
            }
        }
    };
}

integers!(
    u16: u16 => U16, u32: u32 => U32, u64: u64 => U64, u128: u128 => U128,
    i16: u16 => I16, i32: u32 => I32, i64: u64 => I64, i128: u128 => I128
);

impl Distances {
    fn memory(&self) -> usize {
        match self {
            Distances::U8(distances) => distances.len(),
            Distances::U16(distances) => distances.len() * 2,
            Distances::U32(distances) => distances.len() * 4,
        }
    }
}

/// The least value and how far each lies above it, if half the width is enough for that.
fn distances<T: Integer>(values: &Buf<T>) -> Option<(T, Distances)> {
    let mut rest = values.iter().copied();
    let first = rest.next()?;
    let (least, most) = rest.fold((first, first), |(least, most), value| {
        (if value < least { value } else { least }, if value > most { value } else { most })
    });
    let each = |value: &T| value.distance(least);
    let distances = match most.distance(least) {
        0..=0xff => Distances::U8(values.iter().map(|value| each(value) as u8).collect()),
        0x100..=0xffff if size_of::<T>() >= 4 => {
            Distances::U16(values.iter().map(|value| each(value) as u16).collect())
        }
        0x1_0000..=0xffff_ffff if size_of::<T>() >= 8 => {
            Distances::U32(values.iter().map(|value| each(value) as u32).collect())
        }
        _ => return None,
    };
    Some((least, distances))
}

fn widen<T: Integer>(least: T, distances: &Distances, rows: &[u32]) -> Data {
    fn pick<T: Integer, D: Copy + Into<u32>>(least: T, distances: &[D], rows: &[u32]) -> Data {
        T::wrap(rows.iter().map(|&row| least.above(distances[row as usize].into())).collect())
    }
    match distances {
        Distances::U8(distances) => pick(least, distances, rows),
        Distances::U16(distances) => pick(least, distances, rows),
        Distances::U32(distances) => pick(least, distances, rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gathered from the narrow copy as from the column itself; so many bytes a row.
    fn bytes<T: Native>(values: Vec<T>, valid: Option<Vec<bool>>) -> Option<usize>
    where
        Vector: From<Vec<T>>,
    {
        let n_rows = values.len();
        let mut vector = Vector::from(values);
        vector.validity = valid.map(NullBuffer::from);
        let narrow = Narrow::of(&vector)?;
        let rows: Vec<u32> = (0..n_rows as u32).rev().chain([0, 0]).collect();
        let (ours, plain) = (narrow.gather(&rows), vector.gather(&rows));
        assert_eq!(ours.validity, plain.validity);
        assert!((0..rows.len()).all(|row| ours.compare(row, &plain, row).is_eq()));
        Some(narrow.memory() / n_rows)
    }

    #[test]
    fn values_come_back_from_half_the_width_at_most() {
        assert_eq!(bytes(vec![i64::MIN, i64::MIN + 255], None), Some(1));
        assert_eq!(bytes(vec![-128i64, 128], None), Some(2));
        assert_eq!(bytes(vec![0u64, 0xffff_ffff], None), Some(4));
        assert_eq!(bytes(vec![0u64, 0x1_0000_0000], None), None);
        assert_eq!(bytes(vec![i64::MIN, i64::MAX], None), None);
        assert_eq!(bytes(vec![7u32, 0xffff + 7], None), Some(2));
        assert_eq!(bytes(vec![i32::MIN, i32::MAX], None), None);
        assert_eq!(bytes(vec![-1i16, 254], None), Some(1));
        assert_eq!(bytes(vec![-1i16, 255], None), None);
        assert_eq!(bytes(vec![i128::MAX - 70_000, i128::MAX], None), Some(4));
        assert_eq!(bytes(vec![u128::MAX, u128::MAX], None), Some(1));
        assert_eq!(bytes(vec![1.5f64, 2.5], None), None);
        assert_eq!(bytes(vec![3u8, 4], None), None);
        assert_eq!(bytes(vec![0i64, 5, 0], Some(vec![false, true, false])), Some(1));
        assert!(Narrow::of(&Vector::from(Vec::<i64>::new())).is_none());
    }
}
