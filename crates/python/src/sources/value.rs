//! A Python object as a value of a type.

use super::shape::{is_decimal, is_missing, is_of_python, plain_of_numpy};
use chalet_types::{DataType, I256, IntervalUnit, U256, Value};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt,
    PyString, PyTimeAccess, PyTuple,
};

const MICROS: i64 = 1_000_000;
const SECONDS_A_DAY: i64 = 86_400;
/// Of 1970-01-01.
const ORDINAL_OF_EPOCH: i64 = 719_163;

/// NULL is answered for None and its kin whatever the type; who cannot take it says so.
pub fn value(object: &Bound<'_, PyAny>, ty: &DataType, missing: bool) -> PyResult<Value> {
    let is_own = is_of_python(object);
    if object.is_none() || is_nan(object, missing) || !is_own && is_missing(object)? {
        return Ok(Value::Null);
    }
    let ty = ty.without_low_cardinality().without_nullable();
    if !is_own && let Some(plain) = plain_of_numpy(object)? {
        return value(&plain, ty, missing);
    }
    use DataType as T;
    Ok(match ty {
        T::Nothing => return Err(mismatch(object, ty)),
        T::Bool => {
            Value::UInt(u64::from(object.cast::<PyBool>().map_err(|_| mismatch(object, ty))?.is_true()))
        }
        T::String | T::FixedString(_) => text(object)?,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => Value::UInt(fitting(object, ty)?),
        T::Int8 | T::Int16 | T::Int32 | T::Int64 => Value::Int(fitting(object, ty)?),
        T::UInt128 | T::Int128 | T::UInt256 | T::Int256 => wide(object, ty)?,
        T::BFloat16 | T::Float32 | T::Float64 => {
            Value::Float(object.extract().map_err(|_| mismatch(object, ty))?)
        }
        T::Decimal { scale, .. } => decimal(object, ty, *scale)?,
        T::Date => Value::UInt(u64::try_from(day(object, ty)?).map_err(|_| mismatch(object, ty))?),
        T::Date32 => Value::Int(day(object, ty)?),
        T::DateTime(_) => Value::UInt(
            u64::try_from(micros_of(object, ty)?.div_euclid(MICROS)).map_err(|_| mismatch(object, ty))?,
        ),
        T::DateTime64(scale, _) => Value::Int(ticks(object, *scale, ty)?),
        T::Time64(scale) => {
            let micros = time_micros(object, ty)?;
            let ticks = match scale {
                ..=6 => Some(micros.div_euclid(10i64.pow(u32::from(6 - scale)))),
                _ => micros.checked_mul(10i64.pow(u32::from(scale - 6))),
            };
            Value::Int(ticks.ok_or_else(|| too_large(object, ty))?)
        }
        T::Interval(unit) => Value::Int(match object.cast::<PyDelta>() {
            Ok(delta) => {
                let size = nanos_of(*unit).ok_or_else(|| mismatch(object, ty))?;
                let nanos = duration_nanos(delta)?;
                let whole = i64::try_from(nanos / size).ok().filter(|_| nanos % size == 0);
                whole.ok_or_else(|| too_large(object, ty))?
            }
            Err(_) => fitting(object, ty)?,
        }),
        T::Uuid => Value::Bytes(attribute_bytes(object, "bytes", ty)?.into()),
        T::IPv4 => Value::UInt(object.call_method0(intern!(object.py(), "__int__"))?.extract()?),
        T::IPv6 => Value::Bytes(attribute_bytes(object, "packed", ty)?.into()),
        T::Array(element) => {
            let items = object.try_iter().map_err(|_| mismatch(object, ty))?;
            Value::Array(items.map(|item| value(&item?, element, missing)).collect::<PyResult<_>>()?)
        }
        T::Tuple(fields) => {
            let items: Vec<Bound<'_, PyAny>> = match object.cast::<PyTuple>() {
                Ok(tuple) => tuple.iter().collect(),
                Err(_) => object.try_iter().map_err(|_| mismatch(object, ty))?.collect::<PyResult<_>>()?,
            };
            if items.len() != fields.len() {
                return Err(mismatch(object, ty));
            }
            let items = items.iter().zip(fields.iter());
            Value::Tuple(items.map(|(item, field)| value(item, &field.ty, missing)).collect::<PyResult<_>>()?)
        }
        T::Map(key, of) => {
            let pairs = object.cast::<PyDict>().map_err(|_| mismatch(object, ty))?;
            let pair = |(k, v): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
                Ok((value(&k, key, false)?, value(&v, of, missing)?))
            };
            Value::Map(pairs.iter().map(pair).collect::<PyResult<_>>()?)
        }
        _ => return Err(mismatch(object, ty)),
    })
}

fn is_nan(object: &Bound<'_, PyAny>, missing: bool) -> bool {
    missing && object.cast::<PyFloat>().is_ok_and(|float| float.value().is_nan())
}

/// The bytes of texts and bytes; other objects as they print themselves.
fn text(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::string(text.to_cow()?.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Value::string(bytes.as_bytes()));
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Value::string(bytes.to_vec()));
    }
    Ok(Value::string(object.str()?.to_cow()?.as_bytes()))
}

fn fitting<'py, T: for<'a> FromPyObject<'a, 'py>>(object: &Bound<'py, PyAny>, ty: &DataType) -> PyResult<T> {
    if !object.is_instance_of::<PyInt>() {
        return Err(mismatch(object, ty));
    }
    object.extract::<T>().map_err(|_| too_large(object, ty))
}

fn wide(object: &Bound<'_, PyAny>, ty: &DataType) -> PyResult<Value> {
    let py = object.py();
    let int = object.cast::<PyInt>().map_err(|_| mismatch(object, ty))?;
    let signed = matches!(ty, DataType::Int128 | DataType::Int256);
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "signed"), signed)?;
    let arguments = (32, intern!(py, "little"));
    let bytes = int.call_method(intern!(py, "to_bytes"), arguments, Some(&keywords))?;
    let bytes: [u8; 32] = bytes.extract::<Vec<u8>>()?.try_into().map_err(|_| mismatch(object, ty))?;
    Ok(if signed {
        Value::Int256(I256::from_le_bytes(bytes))
    } else {
        Value::UInt256(U256::from_le_bytes(bytes))
    })
}

/// The digits without the point, as the integer that a Decimal is.
fn decimal(object: &Bound<'_, PyAny>, ty: &DataType, scale: u8) -> PyResult<Value> {
    let py = object.py();
    let digits = if is_decimal(object)? {
        let moved = object.call_method1(intern!(py, "scaleb"), (scale, exact_context(py)?))?;
        let whole = moved.call_method0(intern!(py, "to_integral_value"))?;
        if !whole.eq(&moved)? {
            return Err(too_large(object, ty));
        }
        whole.call_method0(intern!(py, "__int__"))?
    } else if object.is_instance_of::<PyInt>() {
        object.mul(10u8.into_pyobject(py)?.pow(scale, py.None())?)?
    } else {
        return Err(mismatch(object, ty));
    };
    wide(&digits, &DataType::Int256)
}

/// A context of arithmetic in which moving the point never rounds.
fn exact_context(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "decimal"))?.getattr(intern!(py, "Context"))?.call1((200,))
}

fn day(object: &Bound<'_, PyAny>, ty: &DataType) -> PyResult<i64> {
    if !object.is_instance_of::<PyDate>() {
        return Err(mismatch(object, ty));
    }
    // One call instead of one for each part.
    let ordinal: i64 = object.call_method0(intern!(object.py(), "toordinal"))?.extract()?;
    Ok(ordinal - ORDINAL_OF_EPOCH)
}

/// Microseconds since 1970: of the clock where there is no zone, else in UTC.
fn micros_of(object: &Bound<'_, PyAny>, ty: &DataType) -> PyResult<i64> {
    let days = day(object, ty)?;
    let Ok(timestamp) = object.cast::<PyDateTime>() else { return Ok(days * SECONDS_A_DAY * MICROS) };
    let seconds = i64::from(timestamp.get_hour()) * 3_600
        + i64::from(timestamp.get_minute()) * 60
        + i64::from(timestamp.get_second());
    let local = (days * SECONDS_A_DAY + seconds) * MICROS + i64::from(timestamp.get_microsecond());
    let offset = timestamp.call_method0(intern!(object.py(), "utcoffset"))?;
    Ok(match offset.cast::<PyDelta>() {
        Ok(offset) => local - duration_micros(offset).ok_or_else(|| too_large(object, ty))?,
        Err(_) => local,
    })
}

/// A timestamp as ticks of 10^-scale seconds.
fn ticks(object: &Bound<'_, PyAny>, scale: u8, ty: &DataType) -> PyResult<i64> {
    let micros = micros_of(object, ty)?;
    if scale <= 6 {
        return Ok(micros.div_euclid(10i64.pow(u32::from(6 - scale))));
    }
    // Of pandas.
    let nanos = object.getattr_opt(intern!(object.py(), "nanosecond"))?;
    let nanos: i64 = nanos.map(|n| n.extract()).transpose()?.unwrap_or(0);
    let whole = micros.checked_mul(1_000).and_then(|n| n.checked_add(nanos));
    let whole = whole.ok_or_else(|| too_large(object, ty))?;
    Ok(whole.div_euclid(10i64.pow(u32::from(9 - scale.min(9)))))
}

fn time_micros(object: &Bound<'_, PyAny>, ty: &DataType) -> PyResult<i64> {
    if let Ok(delta) = object.cast::<PyDelta>() {
        return duration_micros(delta).ok_or_else(|| too_large(object, ty));
    }
    let time = object.cast::<pyo3::types::PyTime>().map_err(|_| mismatch(object, ty))?;
    if !time.getattr(intern!(object.py(), "tzinfo"))?.is_none() {
        // The zone would be lost.
        return Err(mismatch(object, ty));
    }
    let seconds =
        i64::from(time.get_hour()) * 3_600 + i64::from(time.get_minute()) * 60 + i64::from(time.get_second());
    Ok(seconds * MICROS + i64::from(time.get_microsecond()))
}

/// None where 64 bits do not hold it.
fn duration_micros(delta: &Bound<'_, PyDelta>) -> Option<i64> {
    let seconds = i64::from(delta.get_days()) * SECONDS_A_DAY + i64::from(delta.get_seconds());
    seconds.checked_mul(MICROS)?.checked_add(i64::from(delta.get_microseconds()))
}

/// A time span in nanoseconds, which those of pandas may have.
pub fn duration_nanos(delta: &Bound<'_, PyDelta>) -> PyResult<i128> {
    let days = i128::from(delta.get_days()) * i128::from(SECONDS_A_DAY);
    let seconds = days + i128::from(delta.get_seconds());
    let micros = seconds * i128::from(MICROS) + i128::from(delta.get_microseconds());
    let nanos = if delta.is_exact_instance_of::<PyDelta>() {
        None
    } else {
        delta.getattr_opt(intern!(delta.py(), "nanoseconds"))?
    };
    let nanos: i64 = nanos.map(|nanos| nanos.extract()).transpose()?.unwrap_or(0);
    Ok(micros * 1_000 + i128::from(nanos))
}

/// None of months and years, which have no length.
fn nanos_of(unit: IntervalUnit) -> Option<i128> {
    const SECOND: i128 = 1_000_000_000;
    Some(match unit {
        IntervalUnit::Nanosecond => 1,
        IntervalUnit::Microsecond => 1_000,
        IntervalUnit::Millisecond => 1_000_000,
        IntervalUnit::Second => SECOND,
        IntervalUnit::Minute => 60 * SECOND,
        IntervalUnit::Hour => 3_600 * SECOND,
        IntervalUnit::Day => 86_400 * SECOND,
        IntervalUnit::Week => 7 * 86_400 * SECOND,
        IntervalUnit::Month | IntervalUnit::Quarter | IntervalUnit::Year => return None,
    })
}

fn attribute_bytes(object: &Bound<'_, PyAny>, name: &str, ty: &DataType) -> PyResult<Vec<u8>> {
    let found = object.getattr_opt(name)?.ok_or_else(|| mismatch(object, ty))?;
    Ok(found.cast::<PyBytes>().map_err(|_| mismatch(object, ty))?.as_bytes().to_vec())
}

fn too_large(object: &Bound<'_, PyAny>, ty: &DataType) -> PyErr {
    PyOverflowError::new_err(format!("{object} does not fit into {ty}"))
}

pub fn mismatch(object: &Bound<'_, PyAny>, ty: &DataType) -> PyErr {
    let kind = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    let shown = object.repr().map_or_else(|_| kind.clone(), |text| text.to_string());
    let shown: String = shown.chars().take(80).collect();
    PyTypeError::new_err(format!("{shown} of type {kind} does not fit into {ty}"))
}
