//! The least and the greatest value of a page and of a column chunk, as the format orders values.

use parquet::basic::{ConvertedType, LogicalType, SortOrder, Type as Stored};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescriptor;
use std::cmp::Ordering;

/// Byte strings are cut to so many bytes.
const LONGEST: usize = 64;

/// How values of a column are ordered. Values are as PLAIN has them, without the lengths of strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    stored: Stored,
    /// Integers without a sign, and bytes.
    unsigned: bool,
    /// Big-endian numbers with a sign.
    decimal: bool,
    utf8: bool,
}

/// The least and the greatest value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub least: Vec<u8>,
    pub greatest: Vec<u8>,
}

impl Order {
    pub fn of(column: &ColumnDescriptor) -> Order {
        let logical = column.logical_type_ref();
        Order {
            stored: column.physical_type(),
            unsigned: column.sort_order() == SortOrder::UNSIGNED,
            decimal: column.converted_type() == ConvertedType::DECIMAL
                || matches!(logical, Some(LogicalType::Decimal(_))),
            utf8: logical == Some(&LogicalType::String) || column.converted_type() == ConvertedType::UTF8,
        }
    }

    /// Are integers compared as if they had no sign?
    pub fn is_unsigned(self) -> bool {
        self.unsigned
    }

    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self.stored {
            Stored::INT32 | Stored::INT64 if self.unsigned => {
                integer(a).cast_unsigned().cmp(&integer(b).cast_unsigned())
            }
            Stored::INT32 => (integer(a) as i32).cmp(&(integer(b) as i32)),
            Stored::INT64 => integer(a).cmp(&integer(b)),
            Stored::FLOAT => f32::from_bits(integer(a) as u32).total_cmp(&f32::from_bits(integer(b) as u32)),
            Stored::DOUBLE => f64::from_bits(integer(a) as u64).total_cmp(&f64::from_bits(integer(b) as u64)),
            _ => self.compare_bytes(a, b),
        }
    }

    /// Of byte strings.
    #[inline]
    pub fn compare_bytes(self, a: &[u8], b: &[u8]) -> Ordering {
        match (self.decimal, a.split_first(), b.split_first()) {
            // All have the same length.
            (true, Some((&a, low_a)), Some((&b, low_b))) => {
                a.cast_signed().cmp(&b.cast_signed()).then_with(|| low_a.cmp(low_b))
            }
            _ => a.cmp(b),
        }
    }

    /// Makes bounds wide enough for others.
    pub fn widen(self, bounds: &mut Option<Bounds>, others: &Bounds) {
        let Some(bounds) = bounds else {
            *bounds = Some(others.clone());
            return;
        };
        // Not a number is a bound only where all values are such.
        if self.is_nan(&bounds.least) {
            bounds.clone_from(others);
            return;
        }
        if self.is_nan(&others.least) {
            return;
        }
        if self.compare(&others.least, &bounds.least).is_lt() {
            bounds.least.clone_from(&others.least);
        }
        if self.compare(&others.greatest, &bounds.greatest).is_gt() {
            bounds.greatest.clone_from(&others.greatest);
        }
    }

    fn is_nan(self, value: &[u8]) -> bool {
        match self.stored {
            Stored::FLOAT => f32::from_bits(integer(value) as u32).is_nan(),
            Stored::DOUBLE => f64::from_bits(integer(value) as u64).is_nan(),
            _ => false,
        }
    }

    /// Bounds that are short enough to be kept, and whether the least and the greatest value are what they were.
    pub fn cut(self, bounds: Bounds) -> (Bounds, bool, bool) {
        let is_text = matches!(self.stored, Stored::BYTE_ARRAY | Stored::FIXED_LEN_BYTE_ARRAY);
        if !is_text || self.decimal {
            return (bounds, true, true);
        }
        let (least, greatest) = (self.cut_least(&bounds.least), self.cut_greatest(&bounds.greatest));
        let exact = (least.is_none(), greatest.is_none());
        let cut =
            Bounds { least: least.unwrap_or(bounds.least), greatest: greatest.unwrap_or(bounds.greatest) };
        (cut, exact.0, exact.1)
    }

    fn cut_least(self, value: &[u8]) -> Option<Vec<u8>> {
        let start = value.get(..LONGEST).filter(|_| value.len() > LONGEST)?;
        Some(start[..self.whole_characters(value, start)].to_vec())
    }

    /// The start of a value, made greater; none where that cannot be.
    fn cut_greatest(self, value: &[u8]) -> Option<Vec<u8>> {
        let start = value.get(..LONGEST).filter(|_| value.len() > LONGEST)?;
        let mut start = start[..self.whole_characters(value, start)].to_vec();
        if self.utf8 && std::str::from_utf8(&start).is_ok() {
            // The next character of the last one that has a next one of as many bytes.
            while let Some(last) = std::str::from_utf8(&start).ok().and_then(|text| text.chars().next_back())
            {
                start.truncate(start.len() - last.len_utf8());
                let next = char::from_u32(last as u32 + 1).filter(|next| next.len_utf8() == last.len_utf8());
                if let Some(next) = next {
                    start.extend_from_slice(next.encode_utf8(&mut [0; 4]).as_bytes());
                    return Some(start);
                }
            }
            return None;
        }
        while let Some(last) = start.pop() {
            if let Some(next) = last.checked_add(1) {
                start.push(next);
                return Some(start);
            }
        }
        None
    }

    /// Bytes of the start of a value that cut no character in two.
    fn whole_characters(self, value: &[u8], start: &[u8]) -> usize {
        match std::str::from_utf8(value) {
            Ok(text) if self.utf8 => {
                (0..=start.len()).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default()
            }
            _ => start.len(),
        }
    }

    /// What a footer says of a column chunk; bounds that are cut, with whether they are exact.
    pub fn statistics(
        self,
        bounds: Option<(Bounds, bool, bool)>,
        n_nulls: u64,
        n_nans: Option<u64>,
    ) -> Statistics {
        let (bounds, least_is_exact, greatest_is_exact) = match bounds {
            Some((bounds, least, greatest)) => (Some(bounds), least, greatest),
            None => (None, true, true),
        };
        macro_rules! numbers {
            ($convert:expr) => {{
                let convert = $convert;
                let values = bounds.as_ref().map(|b| (convert(&b.least), convert(&b.greatest)));
                ValueStatistics::new(values.map(|v| v.0), values.map(|v| v.1), None, Some(n_nulls), false)
                    .with_nan_count(n_nans)
                    .with_backwards_compatible_min_max(!self.unsigned)
                    .into()
            }};
        }
        macro_rules! texts {
            ($convert:expr) => {{
                let values = bounds.map(|b| ($convert(b.least.into()), $convert(b.greatest.into()))).unzip();
                ValueStatistics::new(values.0, values.1, None, Some(n_nulls), false)
                    .with_backwards_compatible_min_max(!self.unsigned)
                    .with_min_is_exact(least_is_exact)
                    .with_max_is_exact(greatest_is_exact)
                    .into()
            }};
        }
        match self.stored {
            Stored::INT32 => numbers!(|bytes: &[u8]| integer(bytes) as i32),
            Stored::FLOAT => numbers!(|bytes: &[u8]| f32::from_bits(integer(bytes) as u32)),
            Stored::DOUBLE => numbers!(|bytes: &[u8]| f64::from_bits(integer(bytes) as u64)),
            Stored::BYTE_ARRAY => texts!(|bytes: Vec<u8>| ByteArray::from(bytes)),
            Stored::FIXED_LEN_BYTE_ARRAY => texts!(|bytes: Vec<u8>| FixedLenByteArray::from(bytes)),
            _ => numbers!(integer),
        }
    }
}

/// A little-endian number of at most 8 bytes, without its sign.
fn integer(bytes: &[u8]) -> i64 {
    let mut wide = [0; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    i64::from_le_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: Order = Order { stored: Stored::BYTE_ARRAY, unsigned: true, decimal: false, utf8: true };
    const DOUBLE: Order = Order { stored: Stored::DOUBLE, unsigned: false, decimal: false, utf8: false };

    fn same(value: &[u8]) -> Bounds {
        Bounds { least: value.to_vec(), greatest: value.to_vec() }
    }

    #[test]
    fn long_texts_are_cut_to_texts_around_them() {
        let long = "ä".repeat(40);
        for (order, text) in [
            (TEXT, long.as_bytes().to_vec()),
            (TEXT, [b"x", long.as_bytes()].concat()),
            (TEXT, "a\u{7f}".repeat(50).into_bytes()),
            (TEXT, vec![0xff; 100]),
            (TEXT, [vec![7; 63], vec![0xff; 100]].concat()),
            (Order { utf8: false, ..TEXT }, long.as_bytes().to_vec()),
        ] {
            let (cut, least_is_exact, greatest_is_exact) = order.cut(same(&text));
            assert!(!least_is_exact && cut.least.len() <= LONGEST && cut.least < text);
            assert!(cut.greatest >= text);
            assert_eq!(greatest_is_exact, cut.greatest == text);
            assert!(greatest_is_exact || cut.greatest.len() <= LONGEST);
            let is_text = std::str::from_utf8(&text).is_ok() && order.utf8;
            assert!(
                !is_text
                    || std::str::from_utf8(&cut.greatest).is_ok() && std::str::from_utf8(&cut.least).is_ok()
            );
        }
        assert_eq!(TEXT.cut(same(b"short")), (same(b"short"), true, true));
    }

    #[test]
    fn not_a_number_is_a_bound_only_alone() {
        let nan = same(&f64::NAN.to_le_bytes());
        let mut bounds = None;
        DOUBLE.widen(&mut bounds, &nan);
        DOUBLE.widen(&mut bounds, &same(&2f64.to_le_bytes()));
        DOUBLE.widen(&mut bounds, &nan);
        DOUBLE.widen(&mut bounds, &same(&(-1f64).to_le_bytes()));
        let expected = Bounds { least: (-1f64).to_le_bytes().into(), greatest: 2f64.to_le_bytes().into() };
        assert_eq!(bounds, Some(expected));
    }

    #[test]
    fn decimals_are_numbers_with_a_sign() {
        let decimal =
            Order { stored: Stored::FIXED_LEN_BYTE_ARRAY, unsigned: false, decimal: true, utf8: false };
        assert!(decimal.compare(&[0xff, 0xfe], &[0, 1]).is_lt());
        assert!(decimal.compare(&[0xff, 0xfe], &[0xff, 0xff]).is_lt());
        let long = Order { stored: Stored::INT64, unsigned: true, ..decimal };
        assert!(long.compare(&(-1i64).to_le_bytes(), &1i64.to_le_bytes()).is_gt());
    }
}
