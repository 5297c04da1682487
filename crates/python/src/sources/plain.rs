//! Memory of numpy arrays. Contiguous numbers in the machine's byte order are shared; what is strided, swapped or of a
//! type that we lack is copied, morsel by morsel.

use super::borrowed::BorrowedMemory;
use super::columns::Values;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::bits;
use chalet_columns::strings::StringBuilder;
use chalet_columns::{Buf, Column, Data, Native, Vector};
use chalet_types::calendar::Civil;
use chalet_types::{DataType, IntervalUnit, TimeZone};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use std::ops::Range;
use std::panic::RefUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

/// numpy's "not a time".
const NOT_A_TIME: i64 = i64::MIN;

/// Days that Date32 can hold: 0000-01-01 to 9999-12-31.
const DATE32: Range<i64> = -719_528..2_932_897;

/// An array's memory, kept alive and in place by Python's buffer protocol.
struct Lease(PyUntypedBuffer);

// A panic leaves the memory as it was: nobody here writes to it.
impl RefUnwindSafe for Lease {}

/// Items of one size at equal distances.
pub struct Items {
    lease: Arc<Lease>,
    /// Bytes from one item to the next; negative when the array runs backwards.
    stride: isize,
    size: usize,
    pub len: usize,
}

impl Items {
    /// Of a one-dimensional array.
    pub fn of(array: &Bound<'_, PyAny>) -> PyResult<Items> {
        let buffer = PyUntypedBuffer::get(array)?;
        let (stride, len) = match (buffer.strides(), buffer.shape()) {
            ([stride], [len]) => (*stride, *len),
            _ => return Err(pyo3::exceptions::PyValueError::new_err("an array must have one dimension")),
        };
        if buffer.suboffsets().is_some() {
            return Err(pyo3::exceptions::PyValueError::new_err("an array of pointers is not supported"));
        }
        Ok(Items { size: buffer.item_size(), stride, len, lease: Arc::new(Lease(buffer)) })
    }

    fn start(&self) -> *const u8 {
        self.lease.0.buf_ptr().cast_const().cast()
    }

    /// The bytes of an item.
    pub fn item(&self, row: usize) -> &[u8] {
        assert!(row < self.len, "row {row} of {}", self.len);
        // SAFETY: the lease keeps the array's memory, in which the items lie `stride` bytes apart, `size` bytes each;
        // the row is inside. Its owner may write meanwhile, as it may while numpy itself reads without the GIL: then
        // any bytes are read, and every byte is valid.
        unsafe { std::slice::from_raw_parts(self.start().offset(row as isize * self.stride), self.size) }
    }

    /// The items when they are addresses that lie one behind the other.
    pub fn pointers<T>(&self) -> Option<&[*mut T]> {
        let size = size_of::<*mut T>();
        let start = self.start().cast::<*mut T>();
        if self.size != size || self.stride != size as isize || !start.is_aligned() || start.is_null() {
            return None;
        }
        // SAFETY: the lease keeps the array's memory, in which `len` items lie without gaps. On writes by its owner see `item`.
        Some(unsafe { std::slice::from_raw_parts(start, self.len) })
    }

    /// The bytes of all items of one byte that lie one behind the other.
    fn bytes(&self) -> Option<&[u8]> {
        let is_plain = self.size == 1 && self.stride == 1 && !self.start().is_null();
        // SAFETY: as above.
        is_plain.then(|| unsafe { std::slice::from_raw_parts(self.start(), self.len) })
    }

    /// The whole memory when the items lie one behind the other.
    fn contiguous(&self) -> Option<Buffer> {
        if self.stride != self.size as isize && self.len > 1 {
            return None;
        }
        let start = NonNull::new(self.start().cast_mut()).filter(|_| self.len > 0)?;
        // SAFETY: `len` items of `size` bytes lie there without gaps, and live as long as the lease, which the buffer
        // owns. On writes by the owner of the array see `item`.
        Some(unsafe { Buffer::from_custom_allocation(start, self.len * self.size, self.lease.clone()) })
    }

    /// Numbers of a range, copied; `swapped`: of the other byte order.
    fn numbers<T: Bits>(&self, rows: Range<usize>, swapped: bool) -> Vec<T> {
        debug_assert_eq!(size_of::<T>(), self.size);
        rows.map(|row| T::of(self.item(row), swapped)).collect()
    }
}

/// Numbers that are made of bytes.
trait Bits: Native {
    fn of(bytes: &[u8], swapped: bool) -> Self;
}

macro_rules! bits {
    ($($ty:ty,)*) => {$(
        impl Bits for $ty {
            #[inline]
            fn of(bytes: &[u8], swapped: bool) -> Self {
                let mut array = [0; size_of::<$ty>()];
                array.copy_from_slice(bytes);
                if swapped {
                    array.reverse();
                }
                <$ty>::from_ne_bytes(array)
            }
        }
    )*};
}

bits!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64,);

/// What the items of an array are.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Bool,
    /// Integers and floats: signed, size in bytes.
    UInt(usize),
    Int(usize),
    /// Where NaN stands for NULL.
    Float {
        size: usize,
        missing: bool,
    },
    /// Ticks, with digits of a second's fraction and a factor to get there.
    Timestamp {
        scale: u8,
        factor: i64,
        zone: Option<TimeZone>,
    },
    /// Days, with a factor; or months since 1970.
    Days(i64),
    Months(i64),
    Duration(IntervalUnit),
    /// UTF-32, or bytes, padded with zeros.
    Text,
    Bytes,
}

/// A numpy array as a column.
pub struct Plain {
    kind: Kind,
    swapped: bool,
    items: Items,
    /// The memory when it can be shared as it is.
    shared: Option<Buffer>,
    /// True where the value is NULL.
    mask: Option<Items>,
    borrowed: Arc<BorrowedMemory>,
}

impl Plain {
    /// `dtype` is numpy's text of it (`<f8`, `M8[ns]`); `missing`: NaN is NULL.
    pub fn new(
        items: Items,
        dtype: &str,
        missing: bool,
        mask: Option<Items>,
        zone: Option<&str>,
        borrowed: Arc<BorrowedMemory>,
    ) -> Result<Plain> {
        let (order, rest) = match dtype.split_at_checked(1) {
            Some((order @ ("<" | ">" | "=" | "|"), rest)) => (order, rest),
            _ => ("=", dtype),
        };
        let swapped = order == if cfg!(target_endian = "little") { ">" } else { "<" };
        let kind = kind(rest, missing, zone)?;
        let size = match &kind {
            Kind::Bool => 1,
            Kind::UInt(size) | Kind::Int(size) | Kind::Float { size, .. } => *size,
            Kind::Text | Kind::Bytes => items.size,
            _ => 8,
        };
        ensure!(items.size == size, INCORRECT_DATA, "Items of {dtype} have {} bytes", items.size);
        if let Some(mask) = &mask {
            ensure!(mask.size == 1 && mask.len == items.len, INCORRECT_DATA, "A mask does not fit its array");
        }
        let may_share = match &kind {
            Kind::UInt(_) | Kind::Int(_) | Kind::Duration(_) => true,
            Kind::Float { size, .. } => *size > 2,
            Kind::Timestamp { factor, .. } => *factor == 1,
            _ => false,
        };
        let aligned = (items.start() as usize).is_multiple_of(size.max(1));
        let shared = if may_share && aligned && !swapped { items.contiguous() } else { None };
        Ok(Plain { kind, swapped, items, shared, mask, borrowed })
    }

    fn bare(&self) -> DataType {
        match &self.kind {
            Kind::Bool => DataType::Bool,
            Kind::UInt(1) => DataType::UInt8,
            Kind::UInt(2) => DataType::UInt16,
            Kind::UInt(4) => DataType::UInt32,
            Kind::UInt(_) => DataType::UInt64,
            Kind::Int(1) => DataType::Int8,
            Kind::Int(2) => DataType::Int16,
            Kind::Int(4) => DataType::Int32,
            Kind::Int(_) => DataType::Int64,
            Kind::Float { size: 8, .. } => DataType::Float64,
            Kind::Float { .. } => DataType::Float32,
            Kind::Timestamp { scale, zone, .. } => DataType::DateTime64(*scale, zone.clone()),
            Kind::Days(_) | Kind::Months(_) => DataType::Date32,
            Kind::Duration(unit) => DataType::Interval(*unit),
            Kind::Text | Kind::Bytes => DataType::String,
        }
    }

    fn may_be_null(&self) -> bool {
        let missing = match self.kind {
            Kind::Float { missing, .. } => missing,
            Kind::Timestamp { .. } | Kind::Days(_) | Kind::Months(_) | Kind::Duration(_) => true,
            _ => false,
        };
        missing || self.mask.is_some()
    }

    fn numbers<T: Bits>(&self, rows: Range<usize>) -> Buf<T> {
        match &self.shared {
            Some(bytes) => {
                let width = size_of::<T>();
                Buf::from_arrow(bytes.slice_with_length(rows.start * width, rows.len() * width))
            }
            None => Buf::from_vec(self.items.numbers(rows, self.swapped)),
        }
    }

    /// Numbers of a range as they are.
    fn whole<T: Bits>(&self, rows: Range<usize>) -> (Data, Option<NullBuffer>) {
        (T::wrap(self.numbers::<T>(rows)), None)
    }

    fn floats<T: Bits>(&self, rows: Range<usize>, missing: bool) -> (Data, Option<NullBuffer>) {
        let values = self.numbers::<T>(rows);
        #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
        let nulls = if missing { nulls_where(&values, |x| x != x) } else { None };
        (T::wrap(values), nulls)
    }

    /// Ticks; "not a time" is NULL.
    fn ticks(&self, rows: Range<usize>) -> (Buf<i64>, Option<NullBuffer>) {
        let values = self.numbers::<i64>(rows);
        let nulls = nulls_where(&values, |x| x == NOT_A_TIME);
        (values, nulls)
    }

    /// Ticks made into something else, 0 where NULL.
    fn converted<T: Native>(
        &self,
        rows: Range<usize>,
        convert: impl Fn(i64) -> Result<T>,
    ) -> Result<(Data, Option<NullBuffer>)> {
        let (ticks, nulls) = self.ticks(rows);
        let one = |&x: &i64| if x == NOT_A_TIME { Ok(T::default()) } else { convert(x) };
        let values: Result<Vec<T>> = ticks.iter().map(one).collect();
        Ok((T::wrap(values?.into()), nulls))
    }
}

impl Values for Plain {
    fn ty(&self) -> DataType {
        if self.may_be_null() { self.bare().nullable() } else { self.bare() }
    }

    fn open(&self) -> Result<()> {
        if let Some(bytes) = &self.shared {
            self.borrowed.add(bytes.as_ptr() as usize, bytes.len());
        }
        Ok(())
    }

    fn read(&self, rows: Range<usize>) -> Result<Column> {
        let masked = self.mask.as_ref().and_then(|mask| unmasked(mask, rows.clone()));
        let r = rows.clone();
        let (data, nulls) = match &self.kind {
            Kind::Bool => {
                let values = match self.items.bytes() {
                    Some(bytes) => bytes[rows].iter().map(|&byte| u8::from(byte != 0)).collect(),
                    None => rows.map(|row| u8::from(self.items.item(row)[0] != 0)).collect(),
                };
                (u8::wrap(values), None)
            }
            Kind::UInt(1) => self.whole::<u8>(r),
            Kind::UInt(2) => self.whole::<u16>(r),
            Kind::UInt(4) => self.whole::<u32>(r),
            Kind::UInt(_) => self.whole::<u64>(r),
            Kind::Int(1) => self.whole::<i8>(r),
            Kind::Int(2) => self.whole::<i16>(r),
            Kind::Int(4) => self.whole::<i32>(r),
            Kind::Int(_) => self.whole::<i64>(r),
            Kind::Float { size: 8, missing } => self.floats::<f64>(r, *missing),
            Kind::Float { size: 4, missing } => self.floats::<f32>(r, *missing),
            Kind::Float { missing, .. } => {
                let bits: Vec<u16> = self.items.numbers(r, self.swapped);
                let values: Vec<f32> = bits.into_iter().map(of_half).collect();
                let nulls = if *missing { nulls_where(&values, f32::is_nan) } else { None };
                (f32::wrap(values.into()), nulls)
            }
            Kind::Timestamp { factor: 1, .. } | Kind::Duration(_) => {
                let (ticks, nulls) = self.ticks(r);
                (i64::wrap(ticks), nulls)
            }
            Kind::Timestamp { factor, .. } => self.converted::<i64>(r, |x| {
                x.checked_mul(*factor)
                    .ok_or_else(|| err!(VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "A moment is too far away"))
            })?,
            Kind::Days(factor) => self.converted::<i32>(r, |x| date32(x.checked_mul(*factor)))?,
            Kind::Months(factor) => {
                self.converted::<i32>(r, |x| date32(x.checked_mul(*factor).and_then(first_of_month)))?
            }
            Kind::Text => (self.texts(r)?, None),
            Kind::Bytes => {
                let mut builder = StringBuilder::with_capacity(r.len());
                for row in r {
                    builder.push(without_zeros(self.items.item(row)));
                }
                (Data::Str(builder.finish()), None)
            }
        };
        Ok(Column::Flat(Vector::new(data, NullBuffer::union(nulls.as_ref(), masked.as_ref()))))
    }
}

impl Plain {
    fn texts(&self, rows: Range<usize>) -> Result<Data> {
        let mut builder = StringBuilder::with_capacity(rows.len());
        for row in rows {
            let units = self.items.item(row).chunks_exact(4).map(|unit| u32::of(unit, self.swapped));
            let units: Vec<u32> = units.collect();
            let end = units.iter().rposition(|&unit| unit != 0).map_or(0, |last| last + 1);
            let text: Option<String> = units[..end].iter().map(|&unit| char::from_u32(unit)).collect();
            let text =
                text.ok_or_else(|| err!(INCORRECT_DATA, "A text holds what is no character (row {row})"))?;
            builder.push(text.as_bytes());
        }
        Ok(Data::Str(builder.finish()))
    }
}

fn kind(dtype: &str, missing: bool, zone: Option<&str>) -> Result<Kind> {
    let unsupported = || err!(NOT_IMPLEMENTED, "Unsupported dtype {dtype}");
    let (letter, rest) = dtype.split_at_checked(1).ok_or_else(unsupported)?;
    let (size, unit) = rest.split_once('[').unwrap_or((rest, ""));
    let size: usize = size.parse().map_err(|_| unsupported())?;
    // `10us]` is ten microseconds.
    let unit = unit.trim_end_matches(']');
    let digits = unit.len() - unit.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let many: i64 = if digits == 0 { 1 } else { unit[..digits].parse().map_err(|_| unsupported())? };
    let timestamp = |scale, factor: i64| {
        let zone = zone.map(TimeZone::named).transpose()?;
        Ok(Kind::Timestamp { scale, factor: factor * many, zone })
    };
    Ok(match (letter, size, &unit[digits..]) {
        ("b", 1, _) => Kind::Bool,
        ("u", 1 | 2 | 4 | 8, _) => Kind::UInt(size),
        ("i", 1 | 2 | 4 | 8, _) => Kind::Int(size),
        ("f", 2 | 4 | 8, _) => Kind::Float { size, missing },
        ("U", ..) => Kind::Text,
        ("S", ..) => Kind::Bytes,
        ("M", 8, "s") => return timestamp(0, 1),
        ("M", 8, "ms") => return timestamp(3, 1),
        ("M", 8, "us") => return timestamp(6, 1),
        ("M", 8, "ns") => return timestamp(9, 1),
        ("M", 8, "m") => return timestamp(0, 60),
        ("M", 8, "h") => return timestamp(0, 3_600),
        ("M", 8, "D") => Kind::Days(many),
        ("M", 8, "W") => Kind::Days(7 * many),
        ("M", 8, "M") => Kind::Months(many),
        ("M", 8, "Y") => Kind::Months(12 * many),
        ("m", 8, unit) if many == 1 => Kind::Duration(match unit {
            "ns" => IntervalUnit::Nanosecond,
            "us" => IntervalUnit::Microsecond,
            "ms" => IntervalUnit::Millisecond,
            "s" => IntervalUnit::Second,
            "m" => IntervalUnit::Minute,
            "h" => IntervalUnit::Hour,
            "D" => IntervalUnit::Day,
            "W" => IntervalUnit::Week,
            "M" => IntervalUnit::Month,
            "Y" => IntervalUnit::Year,
            _ => return Err(unsupported()),
        }),
        _ => return Err(unsupported()),
    })
}

/// Validity, when any value is missing.
fn nulls_where<T: Copy>(values: &[T], is_missing: impl Fn(T) -> bool) -> Option<NullBuffer> {
    // Without an early exit the loop is made of wide instructions; mostly nothing is missing.
    let any = dispatch_simd(|| values.iter().fold(false, |any, &x| any | is_missing(x)));
    any.then(|| {
        let valid: Vec<u8> = values.iter().map(|&x| u8::from(!is_missing(x))).collect();
        NullBuffer::new(bits::nonzero(&valid))
    })
}

/// The rows that a mask does not hide, when it hides any.
fn unmasked(mask: &Items, rows: Range<usize>) -> Option<NullBuffer> {
    let Some(bytes) = mask.bytes() else {
        let valid = BooleanBuffer::collect_bool(rows.len(), |i| mask.item(rows.start + i)[0] == 0);
        return Some(NullBuffer::new(valid)).filter(|valid| valid.null_count() > 0);
    };
    let bytes = &bytes[rows];
    let any = dispatch_simd(|| bytes.iter().fold(0, |any, &byte| any | byte)) != 0;
    any.then(|| NullBuffer::new(!&bits::nonzero(bytes)))
}

fn date32(days: Option<i64>) -> Result<i32> {
    match days.filter(|days| DATE32.contains(days)) {
        Some(days) => Ok(days as i32),
        None => bail!(VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "A date is outside of what Date32 holds"),
    }
}

/// The day number of the first day of a month that is counted from January 1970.
fn first_of_month(month: i64) -> Option<i64> {
    let year = i32::try_from(1970 + month.div_euclid(12)).ok().filter(|year| (-1..=10_000).contains(year))?;
    Some(i64::from(Civil { year, month: month.rem_euclid(12) as u8 + 1, day: 1 }.days()))
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &bytes[..end]
}

/// IEEE half precision as single.
fn of_half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(exponent - 15),
    }
}
