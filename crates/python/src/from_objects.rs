//! Python objects as values of columns: what a function of the host returned, rows of an `executemany`.
//!
//! Strict: an object that is not a value of the type is a mismatch, and the caller decides what that means.

use crate::classes;
use crate::error::DataError;
use crate::objects::Session;
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Native};
use chalet_types::calendar::LocalTime;
use chalet_types::{DataType, I256, TimeZone, U256, Value};
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyFrozenSet, PyInt, PyList,
    PySet, PyString, PyTuple, PyType,
};
use pyo3::{PyTypeInfo, intern};

/// Days from 0001-01-01, as Python counts them from 1, to 1970-01-01.
const ORDINAL_OF_EPOCH: i64 = 719_163;

/// Why an object cannot be a value of a type.
pub enum Misfit {
    /// It is of another kind.
    Kind,
    /// It is outside of the type's range, or has digits that the type has not.
    Range,
    /// Python failed, as an attribute of the object may.
    Failed(PyErr),
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Misfit::Failed(error)
    }
}

type Fit<T = ()> = Result<T, Misfit>;

/// Appends objects to a builder of one type.
pub struct Converter {
    ty: DataType,
    kind: Kind,
    /// For rows that are inserted: truth values and whole floats are integers, and one out of range fails for good.
    of_rows: bool,
}

enum Kind {
    /// Through [`Value`], which costs an allocation at most.
    Plain,
    DateTime(LocalTime, i64),
    List(Box<Converter>),
    Map(Box<Converter>, Box<Converter>),
    Tuple(Vec<Converter>),
}

impl Converter {
    /// For values of the type, which may be Nullable, or LowCardinality of something.
    pub fn new(ty: &DataType, session: &Session) -> Converter {
        Converter::made(ty, session, false)
    }

    /// The same for rows that are inserted, which may have truth values and whole floats for integers. An integer that
    /// is out of range is a `DataError`, where a cast of its text would wrap.
    pub fn of_rows(ty: &DataType, session: &Session) -> Converter {
        Converter::made(ty, session, true)
    }

    fn made(ty: &DataType, session: &Session, of_rows: bool) -> Converter {
        let ty = ty.bare().clone();
        let local = |zone: &Option<TimeZone>| LocalTime::new(zone.as_ref().unwrap_or(&session.zone));
        let boxed = |ty: &DataType| Box::new(Converter::made(ty, session, of_rows));
        let kind = match &ty {
            DataType::DateTime(zone) => Kind::DateTime(local(zone), 1),
            DataType::DateTime64(scale, zone) => Kind::DateTime(local(zone), 10i64.pow(u32::from(*scale))),
            DataType::Array(element) => Kind::List(boxed(element)),
            DataType::Map(key, value) => Kind::Map(boxed(key), boxed(value)),
            DataType::Tuple(fields) => {
                Kind::Tuple(fields.iter().map(|field| Converter::made(&field.ty, session, of_rows)).collect())
            }
            _ => Kind::Plain,
        };
        Converter { ty, kind, of_rows }
    }

    /// Appends an object of the class that most values of the commonest types have; false if there is more to look at.
    #[inline]
    pub fn push_exact(&self, out: &mut Builder, object: &Bound<'_, PyAny>) -> bool {
        use DataType as T;
        match (&self.ty, &mut out.values) {
            (T::Float64, Values::F64(v)) if is_exactly::<PyFloat>(object) => match object.extract() {
                Ok(number) => v.push(number),
                Err(_) => return false,
            },
            (T::Int64, Values::I64(v)) if is_exactly::<PyInt>(object) => match object.extract() {
                Ok(number) => v.push(number),
                Err(_) => return false,
            },
            (T::String, Values::Str(v)) => match object.cast_exact::<PyString>().map(|text| text.to_str()) {
                Ok(Ok(text)) => v.push(text.as_bytes()),
                _ => return false,
            },
            _ => return false,
        }
        out.mark_valid();
        true
    }

    /// Appends an object; a failure may leave a part of it, for [`Builder::truncate`].
    pub fn push(&self, out: &mut Builder, object: &Bound<'_, PyAny>) -> Fit {
        if object.is_none() {
            if !out.is_nullable() && !matches!(self.ty, DataType::Nothing) {
                return Err(Misfit::Kind);
            }
            out.push_default();
            return Ok(());
        }
        match self.push_some(out, object) {
            Err(Misfit::Range) if self.of_rows && self.is_whole() => {
                let text = format!("{} is out of the range of {}", object.str()?, self.ty);
                Err(Misfit::Failed(DataError::new_err(text)))
            }
            Err(Misfit::Kind) => match self.plainer(object)? {
                Some(plain) => self.push(out, &plain),
                None => Err(Misfit::Kind),
            },
            other => other,
        }
    }

    /// Another object of the same value, for what is of no kind that the type takes.
    fn plainer<'py>(&self, object: &Bound<'py, PyAny>) -> Fit<Option<Bound<'py, PyAny>>> {
        if !self.of_rows {
            return plainer(object);
        }
        if self.is_whole()
            && let Some(number) = whole(object)?
        {
            return Ok(Some(number));
        }
        if let Some(plain) = plainer(object)? {
            return Ok(Some(plain));
        }
        let py = object.py();
        let params = py.import(intern!(py, "chalet._params"))?;
        let simple = params.call_method1(intern!(py, "simpler"), (object,))?;
        Ok((!simple.is(object)).then_some(simple))
    }

    /// Is the type one of integers?
    fn is_whole(&self) -> bool {
        self.ty.is_integer() && self.ty != DataType::Bool
    }

    fn push_some(&self, out: &mut Builder, object: &Bound<'_, PyAny>) -> Fit {
        use DataType as T;
        match (&self.kind, &mut out.values) {
            (Kind::DateTime(local, ticks), _) => return timestamp(out, object, local, *ticks),
            (Kind::List(element), Values::List(list)) => {
                for_each(object, |item| element.push(&mut list.values, item))?;
                list.close();
            }
            (Kind::Map(key, value), Values::List(list)) => {
                let dictionary = object.cast::<PyDict>().map_err(|_| Misfit::Kind)?;
                let Values::Struct { fields, len } = &mut list.values.values else {
                    return Err(Misfit::Kind);
                };
                let [keys, values] = &mut fields[..] else { return Err(Misfit::Kind) };
                for (k, v) in dictionary.iter() {
                    key.push(keys, &k)?;
                    value.push(values, &v)?;
                    *len += 1;
                }
                list.close();
            }
            (Kind::Tuple(parts), Values::Struct { fields, len }) => {
                push_tuple(&self.ty, parts, fields, object)?;
                *len += 1;
            }
            (_, values) => match (&self.ty, values) {
                (T::Bool, Values::U8(v)) => v.push(u8::from(boolean(object)?)),
                (T::Date, Values::U16(v)) => v.push(day(object)?.try_into().map_err(|_| Misfit::Range)?),
                (T::Date32, Values::I32(v)) => v.push(day(object)?.try_into().map_err(|_| Misfit::Range)?),
                (T::UInt8, Values::U8(v)) => integer(v, object)?,
                (T::UInt16, Values::U16(v)) => integer(v, object)?,
                (T::UInt32, Values::U32(v)) => integer(v, object)?,
                (T::UInt64, Values::U64(v)) => integer(v, object)?,
                (T::UInt128, Values::U128(v)) => integer(v, object)?,
                (T::Int8, Values::I8(v)) => integer(v, object)?,
                (T::Int16, Values::I16(v)) => integer(v, object)?,
                (T::Int32, Values::I32(v)) => integer(v, object)?,
                (T::Int64, Values::I64(v)) => integer(v, object)?,
                (T::Int128, Values::I128(v)) => integer(v, object)?,
                (T::UInt256, Values::U256(v)) => v.push(U256::from_le_bytes(wide(object, false)?)),
                (T::Int256, Values::I256(v)) => v.push(I256::from_le_bytes(wide(object, true)?)),
                (T::Float32, Values::F32(v)) => v.push(float(object)? as f32),
                (T::Float64, Values::F64(v)) => v.push(float(object)?),
                (T::String, Values::Str(v)) => bytes_of(object, |bytes| v.push(bytes))?,
                (T::FixedString(_), Values::Fixed { width, bytes }) => {
                    let mut fits = true;
                    bytes_of(object, |given| {
                        fits = given.len() <= *width;
                        let end = bytes.len() + *width;
                        bytes.extend_from_slice(&given[..given.len().min(*width)]);
                        bytes.resize(end, 0);
                    })?;
                    if !fits {
                        return Err(Misfit::Range);
                    }
                }
                (T::Uuid, Values::Fixed { bytes, .. }) => bytes.extend(uuid(object)?),
                (T::IPv4, Values::U32(v)) => {
                    let py = object.py();
                    instance(object, classes::ipv4(py)?)?;
                    v.push(object.call_method0(intern!(py, "__int__"))?.extract()?);
                }
                (T::IPv6, Values::Fixed { bytes, .. }) => {
                    let py = object.py();
                    instance(object, classes::ipv6(py)?)?;
                    let packed = object.getattr(intern!(py, "packed"))?;
                    bytes.extend_from_slice(packed.cast::<PyBytes>().map_err(|_| Misfit::Kind)?.as_bytes());
                }
                _ => return self.push_value(out, object),
            },
        }
        out.mark_valid();
        Ok(())
    }

    /// The types that rows seldom have.
    fn push_value(&self, out: &mut Builder, object: &Bound<'_, PyAny>) -> Fit {
        use DataType as T;
        let value = match &self.ty {
            T::Enum8(names) | T::Enum16(names) => {
                let text = object.cast::<PyString>().map_err(|_| Misfit::Kind)?;
                let number = names.number_of(text.to_string_lossy().as_bytes()).ok_or(Misfit::Range)?;
                Value::Int(number.into())
            }
            T::Decimal { precision, scale } => Value::Int256(decimal(object, *precision, *scale)?),
            T::BFloat16 => Value::Float(float(object)?),
            T::Time => Value::Int(duration(object, 0)?),
            T::Time64(scale) => Value::Int(duration(object, u32::from(*scale))?),
            _ => return Err(Misfit::Kind),
        };
        out.push_value(&value).map_err(|_| Misfit::Range)
    }
}

fn push_tuple(ty: &DataType, parts: &[Converter], fields: &mut [Builder], object: &Bound<'_, PyAny>) -> Fit {
    if let (Ok(dictionary), DataType::Tuple(named)) = (object.cast::<PyDict>(), ty) {
        for ((part, field), name) in parts.iter().zip(fields).zip(named.iter()) {
            let name = name.name.as_deref().ok_or(Misfit::Kind)?;
            let item = dictionary.get_item(name)?.ok_or(Misfit::Kind)?;
            part.push(field, &item)?;
        }
        return Ok(());
    }
    let mut at = 0;
    for_each(object, |item| {
        let (part, field) = parts.get(at).zip(fields.get_mut(at)).ok_or(Misfit::Kind)?;
        at += 1;
        part.push(field, item)
    })?;
    if at == parts.len() { Ok(()) } else { Err(Misfit::Kind) }
}

/// The items of a list, tuple or set.
fn for_each(object: &Bound<'_, PyAny>, mut f: impl FnMut(&Bound<'_, PyAny>) -> Fit) -> Fit {
    if let Ok(list) = object.cast::<PyList>() {
        return list.iter().try_for_each(|item| f(&item));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return tuple.iter_borrowed().try_for_each(|item| f(&item));
    }
    let is_set = object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>();
    if !is_set && !object.hasattr(intern!(object.py(), "tolist"))? {
        return Err(Misfit::Kind);
    }
    for item in object.try_iter()? {
        f(&item?)?;
    }
    Ok(())
}

/// A truth value or a whole float as an int.
fn whole<'py>(object: &Bound<'py, PyAny>) -> Fit<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Some(i64::from(truth.is_true()).into_pyobject(py).map_err(PyErr::from)?.into_any()));
    }
    if object.is_instance_of::<PyFloat>() && object.call_method0(intern!(py, "is_integer"))?.is_truthy()? {
        return Ok(Some(object.call_method0(intern!(py, "__int__"))?));
    }
    Ok(None)
}

/// A scalar of numpy as Python's own object, the value of an enumeration's member.
fn plainer<'py>(object: &Bound<'py, PyAny>) -> Fit<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let module = object.get_type().getattr(intern!(py, "__module__"))?;
    let of_numpy = module.cast::<PyString>().is_ok_and(|m| m.to_string_lossy() == "numpy");
    if of_numpy && object.getattr(intern!(py, "ndim")).and_then(|n| n.extract::<u32>()).unwrap_or(1) == 0 {
        let plain = object.call_method0(intern!(py, "tolist"))?;
        // A datetime64 of nanoseconds becomes an int, which is not what it means.
        let is_timestamp = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "kind"))?;
        let lost = is_timestamp.extract::<String>().is_ok_and(|k| k == "M" || k == "m")
            && plain.is_instance_of::<PyInt>();
        return Ok((!lost).then_some(plain));
    }
    let class = classes::enumeration(py)?;
    if object.is_instance(class)? {
        return Ok(Some(object.getattr(intern!(py, "value"))?));
    }
    Ok(None)
}

fn is_exactly<T: PyTypeInfo>(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<T>()
}

fn integer<'py, T>(out: &mut Vec<T>, object: &Bound<'py, PyAny>) -> Fit
where
    T: Native + for<'a> FromPyObject<'a, 'py>,
{
    if !is_exactly::<PyInt>(object)
        && (!object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>())
    {
        return Err(Misfit::Kind);
    }
    out.push(object.extract().map_err(|_| Misfit::Range)?);
    Ok(())
}

/// The 32 bytes of an integer, little end first.
fn wide(object: &Bound<'_, PyAny>, signed: bool) -> Fit<[u8; 32]> {
    if !object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>() {
        return Err(Misfit::Kind);
    }
    let py = object.py();
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "signed"), signed)?;
    let made = object.call_method(intern!(py, "to_bytes"), (32, "little"), Some(&keywords));
    let made = made.map_err(|_| Misfit::Range)?;
    made.cast::<PyBytes>().ok().and_then(|b| b.as_bytes().try_into().ok()).ok_or(Misfit::Range)
}

fn boolean(object: &Bound<'_, PyAny>) -> Fit<bool> {
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(truth.is_true());
    }
    if !object.is_instance_of::<PyInt>() {
        return Err(Misfit::Kind);
    }
    match object.extract::<u8>() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        _ => Err(Misfit::Range),
    }
}

fn float(object: &Bound<'_, PyAny>) -> Fit<f64> {
    let is_number = object.is_instance_of::<PyFloat>()
        || (object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>());
    if !is_number {
        return Err(Misfit::Kind);
    }
    object.extract().map_err(|_| Misfit::Range)
}

fn bytes_of(object: &Bound<'_, PyAny>, put: impl FnOnce(&[u8])) -> Fit {
    if let Ok(text) = object.cast::<PyString>() {
        // Lone surrogates have no bytes.
        match text.to_str() {
            Ok(text) => put(text.as_bytes()),
            Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(object.py()) => {
                return Err(error.into());
            }
            Err(_) => return Err(Misfit::Kind),
        }
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        put(bytes.as_bytes());
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        put(&bytes.to_vec());
    } else {
        return Err(Misfit::Kind);
    }
    Ok(())
}

/// Days since 1970-01-01 of a date that is no datetime.
fn day(object: &Bound<'_, PyAny>) -> Fit<i64> {
    if !object.is_instance_of::<PyDate>() || object.is_instance_of::<PyDateTime>() {
        return Err(Misfit::Kind);
    }
    let ordinal: i64 = object.call_method0(intern!(object.py(), "toordinal"))?.extract()?;
    Ok(ordinal - ORDINAL_OF_EPOCH)
}

/// A datetime: with a zone it is a timestamp, without one the clock of the column's zone.
fn timestamp(out: &mut Builder, object: &Bound<'_, PyAny>, local: &LocalTime, ticks: i64) -> Fit {
    let py = object.py();
    if !object.is_instance_of::<PyDateTime>() {
        return Err(Misfit::Kind);
    }
    let aware = !object.getattr(intern!(py, "tzinfo"))?.is_none();
    let since = object.sub(epoch(py, aware)?)?;
    let (seconds, micros) = parts(&since)?;
    let seconds = if aware { seconds } else { local.to_timestamp(seconds) };
    match &mut out.values {
        Values::U32(v) => v.push(u32::try_from(seconds).map_err(|_| Misfit::Range)?),
        Values::I64(v) => {
            let fraction = i64::try_from(i128::from(micros) * i128::from(ticks) / 1_000_000).unwrap_or(0);
            let whole = seconds.checked_mul(ticks).ok_or(Misfit::Range)?;
            v.push(whole.checked_add(fraction).ok_or(Misfit::Range)?);
        }
        _ => return Err(Misfit::Kind),
    }
    out.mark_valid();
    Ok(())
}

/// Whole seconds and microseconds of a timedelta.
fn parts(delta: &Bound<'_, PyAny>) -> Fit<(i64, i64)> {
    let py = delta.py();
    if !delta.is_instance_of::<PyDelta>() {
        return Err(Misfit::Kind);
    }
    let days: i64 = delta.getattr(intern!(py, "days"))?.extract()?;
    let seconds: i64 = delta.getattr(intern!(py, "seconds"))?.extract()?;
    let micros: i64 = delta.getattr(intern!(py, "microseconds"))?.extract()?;
    Ok((days * 86_400 + seconds, micros))
}

/// Ticks of 10^-scale seconds of a timedelta.
fn duration(object: &Bound<'_, PyAny>, scale: u32) -> Fit<i64> {
    let (seconds, micros) = parts(object)?;
    let ticks = 10i64.pow(scale);
    let whole = seconds.checked_mul(ticks).ok_or(Misfit::Range)?;
    Ok(whole + i64::try_from(i128::from(micros) * i128::from(ticks) / 1_000_000).unwrap_or(0))
}

fn epoch(py: Python<'_>, aware: bool) -> PyResult<&Bound<'_, PyAny>> {
    static NAIVE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static AWARE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let cell = if aware { &AWARE } else { &NAIVE };
    let made = cell.get_or_try_init(py, || {
        let module = py.import("datetime")?;
        let zone = if aware { module.getattr("timezone")?.getattr("utc")? } else { py.None().into_bound(py) };
        Ok::<_, PyErr>(module.getattr("datetime")?.call1((1970, 1, 1, 0, 0, 0, 0, zone))?.unbind())
    })?;
    Ok(made.bind(py))
}

fn uuid(object: &Bound<'_, PyAny>) -> Fit<[u8; 16]> {
    let py = object.py();
    instance(object, classes::uuid(py)?)?;
    let number: u128 = object.getattr(intern!(py, "int"))?.extract()?;
    Ok(number.to_be_bytes())
}

/// The digits of a Decimal or int at a scale; an error where some would be lost.
fn decimal(object: &Bound<'_, PyAny>, precision: u8, scale: u8) -> Fit<I256> {
    let py = object.py();
    let is_number = object.is_instance(classes::decimal(py)?)?
        || (object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>());
    if !is_number {
        return Err(Misfit::Kind);
    }
    let text = object.str()?.to_string_lossy().into_owned();
    let (mantissa, exponent) = match text.split_once(['E', 'e']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| Misfit::Range)?),
        None => (&text[..], 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    let mut digits = format!("{}{fraction}", whole.trim_start_matches(['-', '+']));
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        // NaN and Infinity.
        return Err(Misfit::Range);
    }
    let shift = i32::from(scale) + exponent - fraction.len() as i32;
    if shift >= 0 {
        if shift as usize + digits.len() > 400 {
            return Err(Misfit::Range);
        }
        digits.extend(std::iter::repeat_n('0', shift as usize));
    } else {
        let kept = digits.len().saturating_sub(shift.unsigned_abs() as usize);
        if digits[kept..].bytes().any(|b| b != b'0') {
            return Err(Misfit::Range);
        }
        digits.truncate(kept);
    }
    let digits = digits.trim_start_matches('0');
    if digits.len() > usize::from(precision) {
        return Err(Misfit::Range);
    }
    let ten = I256::from(10i64);
    let number = digits.bytes().fold(I256::from(0i64), |n, b| n * ten + I256::from(i64::from(b - b'0')));
    Ok(if negative { -number } else { number })
}

fn instance(object: &Bound<'_, PyAny>, class: &Bound<'_, PyType>) -> Fit {
    if object.is_instance(class)? { Ok(()) } else { Err(Misfit::Kind) }
}
