//! Columns as what a DataFrame is made of: numpy arrays that are filled here, without the GIL and by several threads when
//! they are large; texts as Arrow; Python objects elsewhere.
//!
//! Dates and times keep the coarsest numpy unit that holds them. Decimals of up to 38 digits become floats, as in the
//! peers; wider ones stay exact, as do integers of 128 and 256 bits, which no numpy type holds.

use crate::error::caught;
use crate::objects::{self, Session};
use crate::parallel;
use crate::string_column::StringColumn;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Data, Native, Vector};
use chalet_engine::Rows;
use chalet_types::{DataType, IntervalUnit, TimeZone};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

const SECONDS_A_DAY: i64 = 86_400;

/// numpy's "not a time".
const NOT_A_TIME: i64 = i64::MIN;

/// A list of `(name, kind, values, mask, zone)` for `chalet._frame`: `kind` is a numpy type and `values` an array of it,
/// `mask` tells the NULLs that the type has no value for; "str": `values` is a [`StringColumn`]; "O": a list of objects.
pub fn columns<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
    caught(py, || columns_of(py, rows))
}

fn columns_of<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
    let session = Session { zone: rows.zone.clone() };
    let n_rows = rows.n_rows();
    let out = PyList::empty(py);
    let mut targets: Vec<Target> = Vec::new();
    for (idx, (name, ty)) in rows.names.iter().zip(&rows.types).enumerate() {
        let bare = ty.bare();
        let texts = if is_text(bare) { StringColumn::of(py, rows, idx)? } else { None };
        let column: Bound<'py, PyTuple> = if let Some(texts) = texts {
            (name, "str", Bound::new(py, texts)?, py.None(), py.None()).into_pyobject(py)?
        } else if let Some(Plain { kind, zone }) = plain(bare) {
            let values = empty(py, n_rows, kind)?;
            let has_nulls = ty.is_nullable() && !all(rows, idx, |vector| vector.null_count() == 0);
            let mask = (has_nulls && matches!(kind.as_bytes()[0], b'i' | b'u' | b'?'))
                .then(|| empty(py, n_rows, "?"))
                .transpose()?;
            targets.push(Target {
                column: idx,
                values: Memory::of(&values, kind)?,
                mask: mask.as_ref().map(|mask| Memory::of(mask, "?")).transpose()?,
            });
            (name, kind, values, mask, zone.map(|zone| zone.name().to_owned())).into_pyobject(py)?
        } else {
            let mut values = Vec::with_capacity(n_rows);
            for block in &rows.blocks {
                values.extend(objects::column(py, block.column(idx), ty, &session)?);
            }
            (name, "O", values, py.None(), py.None()).into_pyobject(py)?
        };
        out.append(column)?;
    }
    let filled = crate::background::away(py, || fill(&targets, rows))?;
    drop(targets);
    filled.map_err(|e| crate::error::to_python(py, &e))?;
    Ok(out)
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::String | DataType::FixedString(_) | DataType::Enum8(_) | DataType::Enum16(_))
}

/// Does it hold of the values of every block?
fn all(rows: &Rows, idx: usize, holds: impl Fn(&Vector) -> bool) -> bool {
    rows.blocks.iter().all(|block| match block.column(idx) {
        Column::Flat(vector) | Column::Const { value: vector, .. } | Column::Dict { values: vector, .. } => {
            holds(vector)
        }
    })
}

fn empty<'py>(py: Python<'py>, n: usize, kind: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "empty"), (n, kind))
}

/// What numpy holds a type as.
struct Plain {
    kind: &'static str,
    /// Set when the values are UTC timestamps to be shown in a zone.
    zone: Option<TimeZone>,
}

fn plain(ty: &DataType) -> Option<Plain> {
    use DataType as T;
    let mut zone = None;
    let kind = match ty {
        T::Bool => "?",
        T::Date | T::Date32 => "M8[s]",
        T::DateTime(of) => {
            zone.clone_from(of);
            "M8[s]"
        }
        T::DateTime64(scale, of) => {
            zone.clone_from(of);
            unit(*scale).0
        }
        T::Interval(unit) => duration_unit(*unit)?.0,
        T::Decimal { precision: ..=38, .. } | T::Float64 => "f8",
        T::UInt8 => "u1",
        T::UInt16 => "u2",
        T::UInt32 => "u4",
        T::UInt64 => "u8",
        T::Int8 => "i1",
        T::Int16 => "i2",
        T::Int32 => "i4",
        T::Int64 => "i8",
        T::BFloat16 | T::Float32 => "f4",
        _ => return None,
    };
    Some(Plain { kind, zone })
}

/// The memory of a new array.
struct Memory {
    buffer: PyUntypedBuffer,
}

impl Memory {
    fn of(array: &Bound<'_, PyAny>, kind: &str) -> PyResult<Memory> {
        let py = array.py();
        // Timestamps are not shared, their integers are.
        let buffer = match kind.as_bytes()[0] {
            b'M' | b'm' => PyUntypedBuffer::get(&array.call_method1(intern!(py, "view"), ("i8",))?)?,
            _ => PyUntypedBuffer::get(array)?,
        };
        if buffer.readonly() || !buffer.is_c_contiguous() {
            return Err(pyo3::exceptions::PyBufferError::new_err("a new array is not writable"));
        }
        Ok(Memory { buffer })
    }

    /// Values of a range.
    ///
    /// # Safety
    /// No other part of the range is alive.
    #[expect(clippy::mut_from_ref, reason = "the memory is numpy's, and ranges are disjoint")]
    unsafe fn part<T: Copy>(&self, start: usize, len: usize) -> &mut [T] {
        assert_eq!(self.buffer.item_size(), size_of::<T>());
        assert!(start + len <= self.buffer.item_count());
        // SAFETY: the array is new, contiguous and writable, nobody else knows it yet, and the range is inside; the
        // caller says that it is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.buf_ptr().cast::<T>().add(start), len) }
    }
}

/// An array to fill.
struct Target {
    column: usize,
    values: Memory,
    mask: Option<Memory>,
}

/// Fills all arrays from all blocks.
fn fill(targets: &[Target], rows: &Rows) -> Result<()> {
    let mut starts = Vec::with_capacity(rows.blocks.len());
    let mut before = 0;
    for block in &rows.blocks {
        starts.push(before);
        before += block.n_rows();
    }
    let n_tasks = targets.len() * starts.len();
    parallel::each(n_tasks, before * targets.len() * 8, |task| {
        let (target, block) = (&targets[task / starts.len()], task % starts.len());
        fill_part(target, &rows.blocks[block], starts[block], &rows.types[target.column], &rows.zone)
    })
}

/// The rows of one block.
fn fill_part(target: &Target, block: &Block, start: usize, ty: &DataType, session: &TimeZone) -> Result<()> {
    use DataType as T;
    let vector = block.column(target.column).flat();
    let part = Part { to: &target.values, vector: &vector, start };
    match (ty.bare(), &vector.data) {
        (T::Bool, Data::U8(v)) => part.put(v, |&x| u8::from(x != 0)),
        (T::Date, Data::U16(v)) => part.put_ticks(v, |&x| i64::from(x) * SECONDS_A_DAY),
        (T::Date32, Data::I32(v)) => part.put_ticks(v, |&x| i64::from(x) * SECONDS_A_DAY),
        (T::DateTime(zone), Data::U32(v)) => {
            let clock = Clock::of(zone.as_ref(), session, 1);
            part.put_ticks(v, |&x| clock.shown(i64::from(x)));
        }
        (T::DateTime64(scale, zone), Data::I64(v)) => {
            let digits = unit(*scale).1;
            let factor = 10i64.pow(u32::from(digits - scale));
            let clock = Clock::of(zone.as_ref(), session, 10i64.pow(u32::from(digits)));
            part.put_ticks(v, |&x| clock.shown(x.saturating_mul(factor)));
        }
        (T::Interval(unit), Data::I64(v)) => {
            let factor = duration_unit(*unit).map_or(1, |unit| unit.1);
            part.put_ticks(v, |&x| x.saturating_mul(factor));
        }
        (T::Decimal { scale, .. }, Data::I32(v)) => part.put_floats(v, |&x| near(i128::from(x), *scale)),
        (T::Decimal { scale, .. }, Data::I64(v)) => part.put_floats(v, |&x| near(i128::from(x), *scale)),
        (T::Decimal { scale, .. }, Data::I128(v)) => part.put_floats(v, |&x| near(x, *scale)),
        (T::UInt8, Data::U8(v)) => part.copy(v),
        (T::UInt16, Data::U16(v)) => part.copy(v),
        (T::UInt32, Data::U32(v)) => part.copy(v),
        (T::UInt64, Data::U64(v)) => part.copy(v),
        (T::Int8, Data::I8(v)) => part.copy(v),
        (T::Int16, Data::I16(v)) => part.copy(v),
        (T::Int32, Data::I32(v)) => part.copy(v),
        (T::Int64, Data::I64(v)) => part.copy(v),
        (T::BFloat16, Data::BF16(v)) => {
            part.put(v, |&x| f32::from(x));
            part.put_at_nulls(f32::NAN);
        }
        (T::Float32, Data::F32(v)) => {
            part.copy(v);
            part.put_at_nulls(f32::NAN);
        }
        (T::Float64, Data::F64(v)) => {
            part.copy(v);
            part.put_at_nulls(f64::NAN);
        }
        (ty, data) => bail!(LOGICAL_ERROR, "A column of type {ty} is held as {:?}", data.physical()),
    }
    if let Some(mask) = &target.mask {
        // SAFETY: the rows of one block are filled once.
        let mask = unsafe { mask.part::<u8>(start, vector.len()) };
        match &vector.validity {
            Some(validity) => mask.iter_mut().zip(validity).for_each(|(to, valid)| *to = u8::from(!valid)),
            None => mask.fill(0),
        }
    }
    Ok(())
}

/// A vector and where it goes.
struct Part<'a> {
    to: &'a Memory,
    vector: &'a Vector,
    start: usize,
}

impl Part<'_> {
    fn put<S, T: Copy>(&self, values: &[S], make: impl Fn(&S) -> T) {
        // SAFETY: the rows of one block are filled once, one part after the other.
        let to = unsafe { self.to.part::<T>(self.start, values.len()) };
        to.iter_mut().zip(values).for_each(|(to, value)| *to = make(value));
    }

    fn copy<T: Native>(&self, values: &[T]) {
        // SAFETY: as in `put`.
        let to = unsafe { self.to.part::<T>(self.start, values.len()) };
        match self.to.buffer.len_bytes() < PAST_CACHES {
            true => to.copy_from_slice(values),
            false => copy_past_caches(to, values),
        }
    }

    fn put_at_nulls<T: Copy>(&self, missing: T) {
        let Some(validity) = &self.vector.validity else { return };
        // SAFETY: as in `put`.
        let to = unsafe { self.to.part::<T>(self.start, self.vector.len()) };
        to.iter_mut().zip(validity).filter(|(_, valid)| !valid).for_each(|(to, _)| *to = missing);
    }

    fn put_ticks<S>(&self, values: &[S], make: impl Fn(&S) -> i64) {
        self.put(values, make);
        self.put_at_nulls(NOT_A_TIME);
    }

    fn put_floats<S>(&self, values: &[S], make: impl Fn(&S) -> f64) {
        self.put(values, make);
        self.put_at_nulls(f64::NAN);
    }
}

/// An array of so many bytes is in no cache when it is whole.
const PAST_CACHES: usize = 4 << 20;

/// Copies without reading what was there into the caches first.
fn copy_past_caches<T: Native>(to: &mut [T], from: &[T]) {
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 8 {
        use std::arch::x86_64::{_mm_sfence, _mm_stream_si64};
        for (to, from) in to.iter_mut().zip(from) {
            // SAFETY: a value of 8 bytes, of which any bits are one, at its place; every x86-64 has the instruction.
            unsafe { _mm_stream_si64((&raw mut *to).cast(), (&raw const *from).cast::<i64>().read()) };
        }
        // SAFETY: as above. The values are there before anybody is told so.
        unsafe { _mm_sfence() };
        return;
    }
    to.copy_from_slice(from);
}

/// Timestamps with a zone of their own stay UTC and name it; others become the clock of the session's zone.
struct Clock<'a> {
    zone: Option<&'a TimeZone>,
    ticks_a_second: i64,
}

impl<'a> Clock<'a> {
    fn of(own: Option<&TimeZone>, session: &'a TimeZone, ticks_a_second: i64) -> Clock<'a> {
        Clock { zone: (own.is_none() && !session.is_utc()).then_some(session), ticks_a_second }
    }

    fn shown(&self, ticks: i64) -> i64 {
        let Some(zone) = self.zone else { return ticks };
        let offset = i64::from(zone.offset_at(ticks.div_euclid(self.ticks_a_second)));
        ticks.saturating_add(offset * self.ticks_a_second)
    }
}

/// The numpy unit that holds a scale, and its digits.
fn unit(scale: u8) -> (&'static str, u8) {
    match scale {
        0 => ("M8[s]", 0),
        1..=3 => ("M8[ms]", 3),
        4..=6 => ("M8[us]", 6),
        _ => ("M8[ns]", 9),
    }
}

/// The numpy unit of an interval and how many of it make one; months and years have no fixed length.
fn duration_unit(unit: IntervalUnit) -> Option<(&'static str, i64)> {
    use IntervalUnit::*;
    Some(match unit {
        Nanosecond => ("m8[ns]", 1),
        Microsecond => ("m8[us]", 1),
        Millisecond => ("m8[ms]", 1),
        Second => ("m8[s]", 1),
        Minute => ("m8[s]", 60),
        Hour => ("m8[s]", 3_600),
        Day => ("m8[s]", SECONDS_A_DAY),
        Week => ("m8[s]", 7 * SECONDS_A_DAY),
        Month | Quarter | Year => return None,
    })
}

/// A decimal as the nearest float.
fn near(x: i128, scale: u8) -> f64 {
    // Integers below 2^53 and powers of ten up to 22 are exact, so their quotient is rounded once.
    let exact = 1i128 << 53;
    if x.abs() <= exact && scale <= 22 {
        x as f64 / 10f64.powi(i32::from(scale))
    } else {
        format!("{x}e-{scale}").parse().unwrap_or(f64::NAN)
    }
}
