//! Columns as what a DataFrame is made of: numpy's memory where numpy has the type, Python objects elsewhere.
//!
//! Dates and times keep the coarsest numpy unit that holds them. Decimals of up to 38 digits become floats, as in the
//! peers; wider ones stay exact, as do integers
//! of 128 and 256 bits, which no numpy type holds.

use crate::memory_view::MemoryView;
use crate::objects::{self, Session};
use arrow_buffer::{Buffer, NullBuffer};
use chalet_columns::{Block, Column, Data, Vector};
use chalet_types::{DataType, IntervalUnit, TimeZone};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

const SECONDS_A_DAY: i64 = 86_400;

/// A list of `(name, kind, values, mask, zone)` for `chalet._frame`.
pub fn columns<'py>(
    py: Python<'py>,
    names: &[String],
    types: &[DataType],
    blocks: &[Block],
    session: &Session,
) -> PyResult<Bound<'py, PyList>> {
    let whole = py.detach(|| Block::concat(blocks));
    let out = PyList::empty(py);
    for (idx, (name, ty)) in names.iter().zip(types).enumerate() {
        let ty = ty.without_low_cardinality();
        // No block at all is an empty result, whose columns still have their types.
        let empty = Column::Flat(Vector::defaults(ty, 0));
        let column = whole.columns().get(idx).unwrap_or(&empty);
        out.append(one(py, name, column, ty, session)?)?;
    }
    Ok(out)
}

fn one<'py>(
    py: Python<'py>,
    name: &str,
    column: &Column,
    ty: &DataType,
    session: &Session,
) -> PyResult<Bound<'py, PyTuple>> {
    if matches!(
        ty.bare(),
        DataType::String | DataType::FixedString(_) | DataType::Enum8(_) | DataType::Enum16(_)
    ) {
        let values = objects::column(py, column, ty, session)?;
        // Bytes that are not UTF-8 have no place in an array of texts.
        let texts = values.iter().all(|v| v.is_none() || v.is_instance_of::<pyo3::types::PyString>());
        return (name, if texts { "str" } else { "O" }, values, py.None(), py.None()).into_pyobject(py);
    }
    let vector = column.flat();
    let Some(Plain { kind, bytes, zone }) = plain(&vector.data, ty.bare(), session) else {
        let values = objects::column(py, column, ty, session)?;
        return (name, "O", values, py.None(), py.None()).into_pyobject(py);
    };
    let mask = vector.validity.as_ref().map(|validity| MemoryView::new(missing(validity)));
    (name, kind, MemoryView::new(bytes), mask, zone).into_pyobject(py)
}

/// Values that numpy reads as they lie.
struct Plain {
    kind: &'static str,
    bytes: Buffer,
    /// Set when the values are UTC moments to be shown in a zone.
    zone: Option<String>,
}

fn plain(data: &Data, ty: &DataType, session: &Session) -> Option<Plain> {
    use DataType as T;
    let of = |kind, bytes| Some(Plain { kind, bytes, zone: None });
    match (ty, data) {
        (T::Bool, Data::U8(v)) => of("?", v.iter().map(|&x| u8::from(x != 0)).collect::<Vec<_>>().into()),
        (T::Date, Data::U16(v)) => of("M8[s]", longs(v.iter().map(|&x| i64::from(x) * SECONDS_A_DAY))),
        (T::Date32, Data::I32(v)) => of("M8[s]", longs(v.iter().map(|&x| i64::from(x) * SECONDS_A_DAY))),
        (T::DateTime(zone), Data::U32(v)) => {
            Some(moments("M8[s]", 1, v.iter().map(|&x| i64::from(x)), zone.as_ref(), session))
        }
        (T::DateTime64(scale, zone), Data::I64(v)) => {
            let (kind, digits) = unit(*scale);
            let factor = 10i64.pow(u32::from(digits - scale));
            let ticks = v.iter().map(|&x| x.saturating_mul(factor));
            Some(moments(kind, 10i64.pow(u32::from(digits)), ticks, zone.as_ref(), session))
        }
        (T::Interval(unit), Data::I64(v)) => {
            let (kind, factor) = duration_unit(*unit)?;
            of(kind, longs(v.iter().map(|&x| x.saturating_mul(factor))))
        }
        (T::Decimal { scale, .. }, Data::I32(v)) => {
            of("f8", floats(v.iter().map(|&x| i128::from(x)), *scale))
        }
        (T::Decimal { scale, .. }, Data::I64(v)) => {
            of("f8", floats(v.iter().map(|&x| i128::from(x)), *scale))
        }
        (T::Decimal { scale, .. }, Data::I128(v)) => of("f8", floats(v.iter().copied(), *scale)),
        (T::UInt8, Data::U8(v)) => of("u1", v.to_arrow()),
        (T::UInt16, Data::U16(v)) => of("u2", v.to_arrow()),
        (T::UInt32, Data::U32(v)) => of("u4", v.to_arrow()),
        (T::UInt64, Data::U64(v)) => of("u8", v.to_arrow()),
        (T::Int8, Data::I8(v)) => of("i1", v.to_arrow()),
        (T::Int16, Data::I16(v)) => of("i2", v.to_arrow()),
        (T::Int32, Data::I32(v)) => of("i4", v.to_arrow()),
        (T::Int64, Data::I64(v)) => of("i8", v.to_arrow()),
        (T::BFloat16, Data::BF16(v)) => of("f4", v.iter().map(|&x| f32::from(x)).collect::<Vec<_>>().into()),
        (T::Float32, Data::F32(v)) => of("f4", v.to_arrow()),
        (T::Float64, Data::F64(v)) => of("f8", v.to_arrow()),
        _ => None,
    }
}

fn longs(values: impl Iterator<Item = i64>) -> Buffer {
    Buffer::from_vec(values.collect::<Vec<i64>>())
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

/// Moments with a zone of their own stay UTC and name it; others become the clock of the session's zone.
fn moments(
    kind: &'static str,
    ticks_a_second: i64,
    ticks: impl Iterator<Item = i64>,
    zone: Option<&TimeZone>,
    session: &Session,
) -> Plain {
    let bytes = if zone.is_some() || session.zone.is_utc() {
        longs(ticks)
    } else {
        let shift = |t: i64| i64::from(session.zone.offset_at(t.div_euclid(ticks_a_second))) * ticks_a_second;
        longs(ticks.map(|t| t.saturating_add(shift(t))))
    };
    Plain { kind, bytes, zone: zone.map(|z| z.name().to_owned()) }
}

/// Decimals as the nearest floats.
fn floats(values: impl Iterator<Item = i128>, scale: u8) -> Buffer {
    // Integers below 2^53 and powers of ten up to 22 are exact, so their quotient is rounded once.
    let exact = 1i128 << 53;
    let divisor = 10f64.powi(i32::from(scale));
    let near = |x: i128| {
        if x.abs() <= exact && scale <= 22 {
            x as f64 / divisor
        } else {
            format!("{x}e-{scale}").parse().unwrap_or(f64::NAN)
        }
    };
    Buffer::from_vec(values.map(near).collect::<Vec<f64>>())
}

/// One byte a row, 1 where the value is NULL.
fn missing(validity: &NullBuffer) -> Buffer {
    Buffer::from_vec(validity.iter().map(|valid| u8::from(!valid)).collect::<Vec<u8>>())
}
