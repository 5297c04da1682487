//! Columns as Python objects: one loop a column, so that the type is looked at once and not for each value.

use crate::decimals::Decimals;
use crate::{classes, fast, repeated, several, tuples};
use chalet_columns::{Column, Data, Fixed, Vector, qbit};
use chalet_types::calendar::{Civil, Clock, LocalTime};
use chalet_types::{DataType, EnumValues, IntervalUnit, TimeZone};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDelta, PyDict, PyInt, PyList, PyNone, PyString};
use pyo3::{BoundObject, IntoPyObjectExt, intern};

type Object<'py> = Bound<'py, PyAny>;

/// What a conversion needs beside the column.
#[derive(Clone)]
pub struct Session {
    /// The zone in which a DateTime without one is shown.
    pub zone: TimeZone,
}

/// The values of a column, one object a row. A dictionary's values and a constant become one object each.
pub fn column<'py>(
    py: Python<'py>,
    column: &Column,
    ty: &DataType,
    session: &Session,
) -> PyResult<Vec<Object<'py>>> {
    let ty = ty.without_low_cardinality();
    // Each row has an object of its own if it can be changed.
    if is_changeable(ty.bare()) {
        return objects(py, &column.flat(), ty, session);
    }
    Ok(match column {
        Column::Flat(vector) => objects(py, vector, ty, session)?,
        Column::Const { value, len } => {
            let one = objects(py, value, ty, session)?;
            let one = one.first().ok_or_else(|| PyValueError::new_err("a constant without a value"))?;
            vec![one.clone(); *len]
        }
        // More values than rows: those that occur alone.
        Column::Dict { codes, values } if values.len() > codes.len() => {
            objects(py, &column.flat(), ty, session)?
        }
        Column::Dict { codes, values } => {
            let values = objects(py, values, ty, session)?;
            codes.iter().map(|&code| values[code as usize].clone()).collect()
        }
    })
}

/// Whether objects of a type are lists or dicts, or hold some.
fn is_changeable(ty: &DataType) -> bool {
    match ty {
        DataType::Array(_) | DataType::Map(..) => true,
        DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => true,
        DataType::Tuple(fields) => fields.iter().any(|field| is_changeable(field.ty.bare())),
        _ => false,
    }
}

/// The values of a vector. Also for the elements of lists and tuples.
pub(crate) fn objects<'py>(
    py: Python<'py>,
    vector: &Vector,
    ty: &DataType,
    session: &Session,
) -> PyResult<Vec<Object<'py>>> {
    let mut out = plain(py, vector, ty.bare(), session)?;
    if let Some(validity) = &vector.validity {
        let none = PyNone::get(py).into_bound().into_any();
        for (row, object) in out.iter_mut().enumerate() {
            if validity.is_null(row) {
                *object = none.clone();
            }
        }
    }
    Ok(out)
}

/// The values without regard to NULLs, under which stands some value of the type.
fn plain<'py>(
    py: Python<'py>,
    vector: &Vector,
    ty: &DataType,
    session: &Session,
) -> PyResult<Vec<Object<'py>>> {
    use DataType as T;
    match (ty, &vector.data) {
        (T::Bool, Data::U8(values)) => each(values, |&x| any(py, x != 0)),
        (T::Date, Data::U16(values)) => {
            let dates = fast::Dates::new(py);
            repeated(values, |days| date(dates, i64::from(days)))
        }
        (T::Date32, Data::I32(values)) => {
            let dates = fast::Dates::new(py);
            repeated(values, |days| date(dates, i64::from(days)))
        }
        (T::DateTime(zone), Data::U32(values)) => {
            let timestamps = Timestamps::new(py, zone.as_ref(), session)?;
            repeated(values, |seconds| timestamps.object(i64::from(seconds), 0))
        }
        (T::DateTime64(scale, zone), Data::I64(values)) => {
            let timestamps = Timestamps::new(py, zone.as_ref(), session)?;
            let ticks = 10i64.pow(u32::from(*scale));
            repeated(values, |value| {
                let fraction = value.rem_euclid(ticks);
                // Python knows microseconds; what is below is cut, as ClickHouse cuts when a scale shrinks.
                let micros = i128::from(fraction) * 1_000_000 / i128::from(ticks);
                timestamps.object(value.div_euclid(ticks), micros as u32)
            })
        }
        (T::Time, Data::I32(values)) => each(values, |&seconds| duration(py, i64::from(seconds), 0)),
        (T::Time64(scale), Data::I64(values)) => {
            let ticks = 10i64.pow(u32::from(*scale));
            each(values, |&value| {
                let micros = i128::from(value.rem_euclid(ticks)) * 1_000_000 / i128::from(ticks);
                duration(py, value.div_euclid(ticks), micros as i32)
            })
        }
        (T::Interval(unit), Data::I64(values)) => each(values, |&n| interval(py, *unit, n)),
        (T::Enum8(names), Data::I8(values)) => enumeration(py, names, values.iter().map(|&x| i16::from(x))),
        (T::Enum16(names), Data::I16(values)) => enumeration(py, names, values.iter().copied()),
        (T::IPv4, Data::U32(values)) => {
            let maker = fast::IPV4.maker(py)?;
            repeated(values, |x| maker.make(&fast::IPV4, fast::unsigned(py, u64::from(x))?))
        }
        (T::IPv6, Data::Fixed(values)) => {
            let maker = fast::IPV6.maker(py)?;
            values.iter().map(|bytes| maker.make(&fast::IPV6, fast::int_of_bytes(py, bytes)?)).collect()
        }
        (T::Uuid, Data::Fixed(values)) => uuids(py, values),
        (T::Decimal { scale, .. }, data) => decimals(py, data, *scale),
        (T::QBit(vectors), Data::Fixed(values)) => {
            let list = qbit::arrays(values, *vectors);
            let elements = objects(py, &list.values, &vectors.element().data_type(), session)?;
            list.ranges().map(|range| Ok(PyList::new(py, &elements[range])?.into_any())).collect()
        }
        (T::Array(element), Data::List(list)) => {
            let list = list.normalised();
            let elements = objects(py, &list.values, element, session)?;
            list.ranges().map(|range| Ok(PyList::new(py, &elements[range])?.into_any())).collect()
        }
        (T::Map(key, value), Data::List(list)) => {
            let list = list.normalised();
            let Data::Struct(pairs) = &list.values.data else { return Err(mismatch(ty, &vector.data)) };
            let keys = objects(py, &pairs.fields[0], key, session)?;
            let values = objects(py, &pairs.fields[1], value, session)?;
            list.ranges().map(|range| dictionary(py, &keys[range.clone()], &values[range])).collect()
        }
        (T::Tuple(fields), Data::Struct(parts)) => {
            let columns: PyResult<Vec<_>> =
                parts.fields.iter().zip(fields.iter()).map(|(v, f)| objects(py, v, &f.ty, session)).collect();
            tuples::of_columns(py, columns?, parts.len)
                .map(|rows| rows.into_iter().map(Bound::into_any).collect())
        }
        (T::Variant(_) | T::Dynamic(_), _) => several::objects(py, vector, ty, session),
        (T::Json(_), _) => several::dictionaries(py, vector, session),
        (_, Data::Nothing(n)) => Ok(vec![PyNone::get(py).into_bound().into_any(); *n]),
        (_, Data::U8(values)) => each(values, |&x| fast::unsigned(py, x.into())),
        (_, Data::U16(values)) => repeated(values, |x| fast::unsigned(py, x.into())),
        (_, Data::U32(values)) => repeated(values, |x| fast::unsigned(py, x.into())),
        (_, Data::U64(values)) => repeated(values, |x| fast::unsigned(py, x)),
        (_, Data::U128(values)) => each(values, |&x| any(py, x)),
        (_, Data::U256(values)) => each(values, |x| large(py, &x.to_le_bytes(), false)),
        (_, Data::I8(values)) => each(values, |&x| fast::signed(py, x.into())),
        (_, Data::I16(values)) => repeated(values, |x| fast::signed(py, x.into())),
        (_, Data::I32(values)) => repeated(values, |x| fast::signed(py, x.into())),
        (_, Data::I64(values)) => repeated(values, |x| fast::signed(py, x)),
        (_, Data::I128(values)) => each(values, |&x| any(py, x)),
        (_, Data::I256(values)) => each(values, |x| large(py, &x.to_le_bytes(), true)),
        (_, Data::BF16(values)) => each(values, |&x| any(py, f32::from(x))),
        (_, Data::F32(values)) => each(values, |&x| fast::float(py, x.into())),
        (_, Data::F64(values)) => repeated(values, |x| fast::float(py, x)),
        (_, Data::Str(strings)) => repeated::objects(strings.iter(), |bytes| fast::text(py, bytes)),
        (_, Data::Fixed(fixed)) => repeated::objects(fixed.iter(), |bytes| fast::text(py, bytes)),
        (_, data) => Err(mismatch(ty, data)),
    }
}

fn each<'py, T>(values: &[T], make: impl Fn(&T) -> PyResult<Object<'py>>) -> PyResult<Vec<Object<'py>>> {
    let mut out = Vec::with_capacity(values.len());
    for value in values {
        out.push(make(value)?);
    }
    Ok(out)
}

/// The same where values may come again.
fn repeated<'py, K: repeated::Key>(
    values: &[K],
    make: impl Fn(K) -> PyResult<Object<'py>>,
) -> PyResult<Vec<Object<'py>>> {
    repeated::objects(values.iter().copied(), make)
}

fn any<'py>(py: Python<'py>, value: impl IntoPyObject<'py>) -> PyResult<Object<'py>> {
    value.into_bound_py_any(py)
}

/// The date of a day number; one that no calendar reaches is an error, not another date.
fn civil(days: i64) -> PyResult<Civil> {
    let days = i32::try_from(days).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(Civil::of_days(days))
}

fn date(dates: fast::Dates<'_>, days: i64) -> PyResult<Object<'_>> {
    let Civil { year, month, day } = civil(days)?;
    dates.date(year, month, day)
}

fn duration<'py>(py: Python<'py>, seconds: i64, micros: i32) -> PyResult<Object<'py>> {
    let days = i32::try_from(seconds.div_euclid(86_400)).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(PyDelta::new(py, days, seconds.rem_euclid(86_400) as i32, micros, false)?.into_any())
}

/// A timedelta, or a plain number where the unit has no fixed length.
fn interval<'py>(py: Python<'py>, unit: IntervalUnit, n: i64) -> PyResult<Object<'py>> {
    use IntervalUnit::*;
    let seconds = match unit {
        Nanosecond | Month | Quarter | Year => return any(py, n),
        Microsecond => return duration(py, n.div_euclid(1_000_000), n.rem_euclid(1_000_000) as i32),
        Millisecond => return duration(py, n.div_euclid(1_000), (n.rem_euclid(1_000) * 1_000) as i32),
        Second => 1,
        Minute => 60,
        Hour => 3_600,
        Day => 86_400,
        Week => 604_800,
    };
    match n.checked_mul(seconds) {
        Some(seconds) => duration(py, seconds, 0),
        None => any(py, n),
    }
}

/// DateTimes of one zone.
struct Timestamps<'py> {
    dates: fast::Dates<'py>,
    local: LocalTime,
    /// A ZoneInfo when the type names its zone; a DateTime without zone is naive, in the session's zone.
    info: Option<Object<'py>>,
}

impl<'py> Timestamps<'py> {
    fn new(py: Python<'py>, zone: Option<&TimeZone>, session: &Session) -> PyResult<Self> {
        let info = zone.map(|zone| zone_info(py, zone)).transpose()?;
        let local = LocalTime::new(zone.unwrap_or(&session.zone));
        Ok(Timestamps { dates: fast::Dates::new(py), local, info })
    }

    fn object(&self, seconds: i64, micros: u32) -> PyResult<Object<'py>> {
        let offset = self.local.offset_at(seconds);
        let local = seconds + offset;
        let Civil { year, month, day } = civil(local.div_euclid(86_400))?;
        let Clock { hour, minute, second } = Clock::of_seconds(local.rem_euclid(86_400) as u32);
        // In the hour that a zone repeats, the second pass has the offset that holds an hour later.
        let fold = self.info.is_some() && self.local.offset_at(seconds - 3_600) > offset;
        let parts = fast::Parts { year, month, day, hour, minute, second, micros, fold };
        self.dates.datetime(parts, self.info.as_ref())
    }
}

/// Names as strings that all rows share.
fn enumeration<'py>(
    py: Python<'py>,
    names: &EnumValues,
    values: impl Iterator<Item = i16>,
) -> PyResult<Vec<Object<'py>>> {
    let entries: Vec<_> =
        names.entries().iter().map(|(name, x)| (*x, PyString::new(py, name).into_any())).collect();
    let named = |x: i16| match entries.binary_search_by_key(&x, |(number, _)| *number) {
        Ok(found) => Ok(entries[found].1.clone()),
        Err(_) => any(py, x),
    };
    values.map(named).collect()
}

fn uuids<'py>(py: Python<'py>, values: &Fixed) -> PyResult<Vec<Object<'py>>> {
    let maker = fast::UUID.maker(py)?;
    values.iter().map(|bytes| maker.make(&fast::UUID, fast::int_of_bytes(py, bytes)?)).collect()
}

fn decimals<'py>(py: Python<'py>, data: &Data, scale: u8) -> PyResult<Vec<Object<'py>>> {
    let decimals = Decimals::new(py, scale)?;
    match data {
        Data::I32(values) => repeated(values, |x| decimals.of(x.into())),
        Data::I64(values) => repeated(values, |x| decimals.of(x.into())),
        Data::I128(values) => each(values, |&x| decimals.of(x)),
        Data::I256(values) => each(values, |x| decimals.of_text(&x.to_string())),
        other => Err(mismatch(&DataType::Decimal { precision: 76, scale }, other)),
    }
}

/// An integer wider than the interpreter's conversions reach.
fn large<'py>(py: Python<'py>, bytes: &[u8], signed: bool) -> PyResult<Object<'py>> {
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "signed"), signed)?;
    let bytes = PyBytes::new(py, bytes);
    py.get_type::<PyInt>().call_method(
        intern!(py, "from_bytes"),
        (bytes, intern!(py, "little")),
        Some(&keywords),
    )
}

fn dictionary<'py>(py: Python<'py>, keys: &[Object<'py>], values: &[Object<'py>]) -> PyResult<Object<'py>> {
    let dictionary = PyDict::new(py);
    for (key, value) in keys.iter().zip(values) {
        dictionary.set_item(key, value)?;
    }
    Ok(dictionary.into_any())
}

fn zone_info<'py>(py: Python<'py>, zone: &TimeZone) -> PyResult<Object<'py>> {
    if zone.name().starts_with("Fixed/") {
        return py.import("chalet._frame")?.call_method1("time_zone", (zone.name(),));
    }
    classes::zone_info(py)?.call1((zone.name(),))
}

fn mismatch(ty: &DataType, data: &Data) -> PyErr {
    PyValueError::new_err(format!("a column of type {ty} is held as {:?}", data.physical()))
}
