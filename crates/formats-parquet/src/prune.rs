//! What statistics say without reading rows: which row groups and pages cannot match, counts, minima and maxima.
//!
//! Every answer errs to the side of reading: a missing or strange statistic excludes nothing.

use crate::ParquetFile;
use crate::file::guarded;
use crate::leaf::DATE32;
use crate::parquet_error;
use crate::schema::{Conversion, Leaf, Node};
use bytes::Bytes;
use chalet_formats::input::intersect;
use chalet_types::{DataType, I256, Value};
use parquet::bloom_filter::Sbbf;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use std::cmp::Ordering;
use std::ops::Range;

/// A condition on one column that every wanted row meets; the column is not NULL then.
///
/// Values are of the representation of the column's type in this file.
#[derive(Clone, Debug)]
pub struct RangePredicate {
    /// Position among the file's columns.
    pub column: usize,
    /// Bound and whether it is included.
    pub low: Option<(Value, bool)>,
    pub high: Option<(Value, bool)>,
    /// One of these, when not empty.
    pub among: Vec<Value>,
}

/// Bounds of a column in a row group.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    pub min: Value,
    pub max: Value,
    /// They are values of the column, not merely below and above them.
    pub exact: bool,
}

impl RangePredicate {
    /// Can a value between `min` and `max` meet it?
    fn meets(&self, leaf: &Leaf, min: &Value, max: &Value) -> bool {
        let inside = |value: &Value| {
            let value = padded(leaf, value);
            min.compare(&value) != Ordering::Greater && value.compare(max) != Ordering::Greater
        };
        if !self.among.is_empty() && !self.among.iter().any(inside) {
            return false;
        }
        // The bytes of a UUID are not ordered as the type is.
        if leaf.ty == DataType::Uuid {
            return true;
        }
        let above = self.low.as_ref().is_none_or(|(low, included)| match max.compare(&padded(leaf, low)) {
            Ordering::Greater => true,
            Ordering::Equal => *included,
            Ordering::Less => false,
        });
        let below =
            self.high.as_ref().is_none_or(|(high, included)| match min.compare(&padded(leaf, high)) {
                Ordering::Less => true,
                Ordering::Equal => *included,
                Ordering::Greater => false,
            });
        above && below
    }

    /// The bounds of all values that meet it, as they are stored; `None` where there are none.
    pub(crate) fn outermost(&self, leaf: &Leaf) -> Option<(Option<(Value, bool)>, Option<(Value, bool)>)> {
        let stored = |(value, included): &(Value, bool)| (padded(leaf, value), *included);
        if self.among.is_empty() {
            let (low, high) = (self.low.as_ref().map(stored), self.high.as_ref().map(stored));
            return (low.is_some() || high.is_some()).then_some((low, high));
        }
        let among = || self.among.iter().map(|value| padded(leaf, value));
        let low = among().min_by(Value::compare).map(|value| (value, true));
        Some((low, among().max_by(Value::compare).map(|value| (value, true))))
    }

    /// The only values that can meet it, when they are few.
    fn points(&self) -> Vec<&Value> {
        match (&self.low, &self.high) {
            _ if !self.among.is_empty() => self.among.iter().collect(),
            (Some((low, true)), Some((high, true))) if low == high => vec![low],
            _ => Vec::new(),
        }
    }
}

/// FixedString compares as if filled up with zeros.
fn padded(leaf: &Leaf, value: &Value) -> Value {
    match (leaf.conversion, value) {
        (Conversion::Fixed(width), Value::Bytes(bytes)) if bytes.len() < width => {
            let mut bytes = bytes.to_vec();
            bytes.resize(width, 0);
            Value::Bytes(bytes.into())
        }
        _ => value.clone(),
    }
}

/// More points than this are not looked up in a bloom filter.
const MAX_POINTS: usize = 1000;

impl ParquetFile {
    /// The leaf of a column that is one, outside of lists.
    pub(crate) fn plain_leaf(&self, column: usize) -> Option<&Leaf> {
        match &self.column(column).ok()?.node {
            Node::Leaf(leaf) if leaf.max_repetition == 0 => Some(leaf),
            _ => None,
        }
    }

    /// `false`: no row of the row group meets all the conditions.
    pub fn can_match(&self, group: usize, predicates: &[RangePredicate], use_bloom_filter: bool) -> bool {
        predicates.iter().all(|predicate| {
            let Some(leaf) = self.plain_leaf(predicate.column) else { return true };
            if self.null_count(group, predicate.column) == Some(self.row_group_rows(group) as u64) {
                return false;
            }
            let outside = self
                .bounds(group, predicate.column)
                .is_some_and(|bounds| !predicate.meets(leaf, &bounds.min, &bounds.max));
            let excluded = outside || use_bloom_filter && self.bloom_excludes(group, leaf, predicate);
            !excluded
        })
    }

    fn bloom_excludes(&self, group: usize, leaf: &Leaf, predicate: &RangePredicate) -> bool {
        let points = predicate.points();
        let chunk = self.chunk(group, leaf.index);
        let in_file = chunk.bloom_filter_offset().is_some_and(|at| self.range(at, 1).is_some());
        if points.is_empty() || points.len() > MAX_POINTS || !in_file {
            return false;
        }
        let stored: Option<Vec<Vec<u8>>> =
            points.into_iter().map(|point| stored_bytes(leaf, point)).collect();
        let Some(stored) = stored else { return false };
        let whole = Bytes::from(self.bytes().clone());
        let filter = guarded(|| Sbbf::read_from_column_chunk(chunk, &whole).map_err(parquet_error));
        let Ok(Some(filter)) = filter else { return false };
        !stored.iter().any(|bytes| filter.check(&bytes[..]))
    }

    /// Smallest and largest value of a column in a row group, NULL and NaN aside.
    pub fn bounds(&self, group: usize, column: usize) -> Option<Bounds> {
        let leaf = self.plain_leaf(column)?;
        let chunk = self.chunk(group, leaf.index);
        let statistics = chunk.statistics()?;
        if statistics.is_min_max_deprecated() && !orders_as_signed(leaf) {
            return None;
        }
        let min = value_of(leaf, statistics.min_bytes_opt()?)?;
        let max = value_of(leaf, statistics.max_bytes_opt()?)?;
        let ordered = min.compare(&max) != Ordering::Greater;
        let exact = statistics.min_is_exact() && statistics.max_is_exact() && is_exact_type(leaf);
        ordered.then_some(Bounds { min, max, exact })
    }

    /// Smallest and largest value of a column in the whole file, as reading it would give them; inside `None` when it
    /// holds nothing but NULLs. Only for numbers and days, whose statistics no writer cuts, and for text whose
    /// statistics say that they are not cut.
    pub fn extremes(&self, column: usize) -> Option<Option<(Value, Value)>> {
        let leaf = self.plain_leaf(column)?;
        let mut found: Option<(Value, Value)> = None;
        for group in 0..self.n_row_groups() {
            if self.null_count(group, column) == Some(self.row_group_rows(group) as u64) {
                continue;
            }
            let bounds = self.bounds(group, column)?;
            let whole = match leaf.conversion {
                Conversion::Text => bounds.exact,
                Conversion::Int32 | Conversion::Int64 | Conversion::Days => {
                    fits(&leaf.ty, &bounds.min) && fits(&leaf.ty, &bounds.max)
                }
                _ => false,
            };
            if !whole {
                return None;
            }
            found = Some(match found {
                Some((min, max)) => (
                    if bounds.min.compare(&min) == Ordering::Less { bounds.min } else { min },
                    if bounds.max.compare(&max) == Ordering::Greater { bounds.max } else { max },
                ),
                None => (bounds.min, bounds.max),
            });
        }
        Some(found)
    }

    /// NULLs of a column in a row group.
    pub fn null_count(&self, group: usize, column: usize) -> Option<u64> {
        let leaf = self.plain_leaf(column)?;
        if !leaf.nullable {
            return Some(0);
        }
        let chunk: &ColumnChunkMetaData = self.chunk(group, leaf.index);
        chunk.statistics()?.null_count_opt()
    }

    /// NULLs of a column in the whole file.
    pub fn nulls(&self, column: usize) -> Option<u64> {
        (0..self.n_row_groups()).map(|group| self.null_count(group, column)).sum()
    }

    /// The rows of a row group whose pages can match, ascending and apart; `None`: the page index excludes nothing.
    pub fn matching_rows(&self, group: usize, predicates: &[RangePredicate]) -> Option<Vec<Range<usize>>> {
        let n_rows = self.row_group_rows(group);
        let whole = std::iter::once(0..n_rows).collect::<Vec<_>>();
        let mut rows = whole.clone();
        for predicate in predicates {
            if let Some(found) = self.matching_pages(group, predicate) {
                rows = intersect(&rows, &found);
            }
        }
        (rows != whole).then_some(rows)
    }

    /// The rows of each page of a column in a row group; `None` where the offset index is missing or strange.
    fn page_rows(&self, group: usize, leaf: &Leaf) -> Option<Vec<Range<usize>>> {
        let indexed = self.page_index()?.page_index_for_row_group(group);
        let offsets = indexed.offset_index(leaf.index)?;
        let n_rows = self.row_group_rows(group);
        let starts = offsets.page_locations().iter().map(|page| usize::try_from(page.first_row_index).ok());
        let mut bounds: Vec<usize> = starts.collect::<Option<_>>()?;
        bounds.push(n_rows);
        let is_whole = bounds[0] == 0 && bounds.is_sorted();
        is_whole.then(|| bounds.windows(2).map(|pair| pair[0]..pair[1]).collect())
    }

    /// The first row of each page of a column without NULL, by its number in the file, and a value that none of its rows is below.
    pub fn page_minima(&self, column: usize) -> Option<Vec<(usize, Value)>> {
        let leaf = self.plain_leaf(column).filter(|leaf| !leaf.nullable && leaf.ty != DataType::Uuid)?;
        let (mut minima, mut first_row) = (Vec::new(), 0);
        for group in 0..self.n_row_groups() {
            let pages = self.page_rows(group, leaf)?;
            let indexed = self.page_index()?.page_index_for_row_group(group);
            let index = indexed.column_index(leaf.index).filter(|i| i.num_pages() as usize == pages.len())?;
            for (page, rows) in pages.iter().enumerate() {
                minima.push((first_row + rows.start, page_value(leaf, index, page, false)?));
            }
            first_row += self.row_group_rows(group);
        }
        Some(minima)
    }

    fn matching_pages(&self, group: usize, predicate: &RangePredicate) -> Option<Vec<Range<usize>>> {
        let leaf = self.plain_leaf(predicate.column)?;
        let pages = self.page_rows(group, leaf)?;
        let indexed = self.page_index()?.page_index_for_row_group(group);
        let index = indexed.column_index(leaf.index).filter(|i| i.num_pages() as usize == pages.len())?;
        let mut rows: Vec<Range<usize>> = Vec::new();
        for (page, range) in pages.into_iter().enumerate() {
            let excluded = index.is_null_page(page)
                || page_value(leaf, index, page, false)
                    .zip(page_value(leaf, index, page, true))
                    .is_some_and(|(min, max)| !predicate.meets(leaf, &min, &max));
            if excluded {
                continue;
            }
            match rows.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => rows.push(range),
            }
        }
        Some(rows)
    }
}

fn page_value(leaf: &Leaf, index: &ColumnIndexMetaData, page: usize, max: bool) -> Option<Value> {
    macro_rules! number {
        ($index:expr) => {
            value_of(
                leaf,
                &(if max { $index.max_value(page) } else { $index.min_value(page) })?.to_le_bytes(),
            )
        };
    }
    match index {
        ColumnIndexMetaData::INT32(index) => number!(index),
        ColumnIndexMetaData::INT64(index) => number!(index),
        ColumnIndexMetaData::FLOAT(index) => number!(index),
        ColumnIndexMetaData::DOUBLE(index) => number!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
            value_of(leaf, if max { index.max_value(page) } else { index.min_value(page) }?)
        }
        ColumnIndexMetaData::BOOLEAN(_) | ColumnIndexMetaData::INT96(_) => None,
    }
}

/// Old writers compared everything as signed numbers.
fn orders_as_signed(leaf: &Leaf) -> bool {
    let number = matches!(
        leaf.conversion,
        Conversion::Int32 | Conversion::Int64 | Conversion::Days | Conversion::Float32 | Conversion::Float64
    );
    number && !leaf.ty.is_unsigned()
}

/// Bounds of floats may leave out NaN or the sign of zero; those of bytes may be cut.
fn is_exact_type(leaf: &Leaf) -> bool {
    matches!(leaf.conversion, Conversion::Int32 | Conversion::Int64 | Conversion::Days | Conversion::Text)
}

/// Would reading give this very value? What the type cannot hold is cut, or refused.
fn fits(ty: &DataType, value: &Value) -> bool {
    let (signed, unsigned) = (value.as_i64(), value.as_u64());
    match ty {
        DataType::Int8 => signed.is_some_and(|x| i8::try_from(x).is_ok()),
        DataType::Int16 => signed.is_some_and(|x| i16::try_from(x).is_ok()),
        DataType::UInt8 => unsigned.is_some_and(|x| u8::try_from(x).is_ok()),
        DataType::UInt16 => unsigned.is_some_and(|x| u16::try_from(x).is_ok()),
        DataType::Int32 | DataType::Int64 | DataType::UInt32 | DataType::UInt64 => true,
        DataType::DateTime64(..) => true,
        DataType::Date32 => signed.is_some_and(|x| i32::try_from(x).is_ok_and(|x| DATE32.contains(&x))),
        _ => false,
    }
}

/// The value that plain bytes of a statistic stand for.
fn value_of(leaf: &Leaf, bytes: &[u8]) -> Option<Value> {
    Some(match leaf.conversion {
        Conversion::Int32 | Conversion::Days => {
            let stored = i32::from_le_bytes(bytes.try_into().ok()?);
            match &leaf.ty {
                DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => {
                    Value::UInt(u64::from(stored as u32))
                }
                _ => Value::Int(stored.into()),
            }
        }
        Conversion::Int64 => {
            let stored = i64::from_le_bytes(bytes.try_into().ok()?);
            if leaf.ty == DataType::UInt64 { Value::UInt(stored as u64) } else { Value::Int(stored) }
        }
        Conversion::Float32 => not_nan(f32::from_le_bytes(bytes.try_into().ok()?).into())?,
        Conversion::Float64 => not_nan(f64::from_le_bytes(bytes.try_into().ok()?))?,
        Conversion::BigEndian(_) | Conversion::BigEndianText if !bytes.is_empty() && bytes.len() <= 32 => {
            let mut wide = [if bytes[0] >= 0x80 { 0xff } else { 0 }; 32];
            wide[32 - bytes.len()..].copy_from_slice(bytes);
            Value::Int256(I256::from_be_bytes(wide))
        }
        Conversion::Fixed(_) | Conversion::Text => Value::Bytes(bytes.into()),
        _ => return None,
    })
}

fn not_nan(value: f64) -> Option<Value> {
    (!value.is_nan()).then_some(Value::Float(value))
}

/// The plain bytes of a value, as a bloom filter has hashed them; `None` where that is not clear.
fn stored_bytes(leaf: &Leaf, value: &Value) -> Option<Vec<u8>> {
    Some(match leaf.conversion {
        Conversion::Int32 | Conversion::Days => match value.as_i64() {
            Some(value) => (value as i32).to_le_bytes().to_vec(),
            None => return None,
        },
        Conversion::Int64 => match (value.as_i64(), value.as_u64()) {
            (Some(value), _) => value.to_le_bytes().to_vec(),
            (None, Some(value)) => value.to_le_bytes().to_vec(),
            _ => return None,
        },
        Conversion::Text => value.as_bytes()?.to_vec(),
        Conversion::Fixed(_) => padded(leaf, value).as_bytes()?.to_vec(),
        _ => return None,
    })
}
