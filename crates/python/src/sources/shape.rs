//! The type that Python objects have together: what each of them needs is noted, the type follows at the end.
//!
//! Nothing is lost: whole numbers that a float does not hold exactly and values of different kinds become text.

use super::value::duration_nanos;
use crate::classes;
use chalet_types::{DataType, IntervalUnit, TimeZone, TupleField};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PySet,
    PyString, PyTime, PyTuple,
};

/// Whole numbers up to here are exact as Float64.
const EXACT: i64 = 1 << 53;

/// Most digits of a Decimal.
const MAX_DIGITS: usize = 76;

/// What was seen so far.
#[derive(Default)]
pub struct Shape {
    pub null: bool,
    bool: bool,
    int: Option<Ints>,
    float: bool,
    /// Most digits before and behind the point.
    decimal: Option<(usize, usize)>,
    pub text: bool,
    date: bool,
    /// Whether nanoseconds are needed; the zone.
    timestamp: Option<(bool, Zone)>,
    time: bool,
    duration: Option<Durations>,
    uuid: bool,
    ipv4: bool,
    ipv6: bool,
    list: Option<Box<Shape>>,
    tuple: Option<Vec<Shape>>,
    map: Option<Box<(Shape, Shape)>>,
    /// Kinds that have no type here, and tuples of several lengths.
    other: bool,
}

#[derive(Clone, Copy, Default)]
struct Ints {
    negative: bool,
    inexact: bool,
    /// The bits that the magnitude needs at most; 257 where no type holds it.
    bits: u16,
}

/// Time spans in nanoseconds.
struct Durations {
    /// The largest of the units that all are whole numbers of.
    unit: i128,
    /// The longest.
    most: u128,
}

/// Units of time spans with their nanoseconds. Those of Python are in microseconds, if those of pandas need no finer one
/// and none is too long.
const UNITS: [(i128, IntervalUnit); 4] = [
    (1_000, IntervalUnit::Microsecond),
    (1_000_000, IntervalUnit::Millisecond),
    (1_000_000_000, IntervalUnit::Second),
    (1, IntervalUnit::Nanosecond),
];

impl Durations {
    /// None if no unit holds them all.
    fn ty(&self) -> Option<DataType> {
        let holds =
            |&(size, _): &(i128, _)| size <= self.unit && self.most / size as u128 <= i64::MAX as u128;
        UNITS.into_iter().find(holds).map(|(_, unit)| DataType::Interval(unit))
    }
}

#[derive(Clone, PartialEq)]
enum Zone {
    Naive,
    Named(String),
    /// Of several zones: shown as UTC.
    Mixed,
}

impl Shape {
    /// Notes one object; `missing`: a float NaN is NULL.
    pub fn add(&mut self, object: &Bound<'_, PyAny>, missing: bool) -> PyResult<()> {
        let py = object.py();
        if object.is_none() {
            self.null = true;
        } else if object.is_exact_instance_of::<PyString>() {
            self.text = true;
        } else if object.is_instance_of::<PyBool>() {
            self.bool = true;
        } else if object.is_instance_of::<PyInt>() {
            self.add_int(object)?;
        } else if let Ok(float) = object.cast::<PyFloat>() {
            if missing && float.value().is_nan() { self.null = true } else { self.float = true }
        } else if object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
        {
            self.text = true;
        } else if object.is_exact_instance_of::<PyDate>() {
            self.date = true;
        } else if !is_of_python(object) && is_missing(object)? {
            self.null = true;
        } else if object.is_instance_of::<PyDateTime>() {
            let zone = zone_of(object)?;
            let nanos = object.getattr_opt(intern!(py, "nanosecond"))?;
            let nanos = nanos.is_some_and(|n| n.extract::<u32>().unwrap_or(0) != 0);
            self.timestamp = Some(match self.timestamp.take() {
                Some((known, z)) if z == zone => (known || nanos, z),
                Some((known, Zone::Naive)) => {
                    self.other = true;
                    (known || nanos, Zone::Naive)
                }
                Some((known, _)) => {
                    self.other |= zone == Zone::Naive;
                    (known || nanos, Zone::Mixed)
                }
                None => (nanos, zone),
            });
        } else if object.is_instance_of::<PyDate>() {
            self.date = true;
        } else if object.is_instance_of::<PyTime>() {
            // A time of a zone stays one as text only.
            let naive = object.getattr(intern!(py, "tzinfo"))?.is_none();
            if naive { self.time = true } else { self.other = true }
        } else if let Ok(delta) = object.cast::<PyDelta>() {
            self.add_duration(duration_nanos(delta)?);
        } else if let Ok(dict) = object.cast::<PyDict>() {
            let (keys, values) = &mut **self.map.get_or_insert_default();
            for (key, value) in dict {
                keys.add(&key, false)?;
                values.add(&value, missing)?;
            }
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.add_tuple(tuple, missing)?;
        } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PySet>() || is_array(object)? {
            let shape = self.list.get_or_insert_default();
            for item in object.try_iter()? {
                shape.add(&item?, missing)?;
            }
        } else if is_decimal(object)? {
            self.add_decimal(object)?;
        } else if object.is_instance(classes::uuid(py)?)? {
            self.uuid = true;
        } else if object.is_instance(classes::ipv4(py)?)? {
            self.ipv4 = true;
        } else if object.is_instance(classes::ipv6(py)?)? {
            self.ipv6 = true;
        } else if let Some(plain) = plain_of_numpy(object)? {
            return self.add(&plain, missing);
        } else {
            self.other = true;
        }
        Ok(())
    }

    fn add_duration(&mut self, nanos: i128) {
        let (unit, most) =
            self.duration.as_ref().map_or((1_000_000_000, 0), |known| (known.unit, known.most));
        let fits = |&unit: &i128| nanos % unit == 0;
        let unit =
            [1_000_000_000, 1_000_000, 1_000].into_iter().filter(|&u| u <= unit).find(fits).unwrap_or(1);
        self.duration = Some(Durations { unit, most: most.max(nanos.unsigned_abs()) });
    }

    fn add_int(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let ints = self.int.get_or_insert_default();
        let Ok(value) = object.extract::<i64>() else {
            let negative = object.lt(0)?;
            let bits: u32 = object.call_method0(intern!(object.py(), "bit_length"))?.extract()?;
            // The least number of each signed type has one bit more than its magnitude shows.
            let magnitude = if negative {
                let below = object.call_method0(intern!(object.py(), "__invert__"))?;
                below.call_method0(intern!(object.py(), "bit_length"))?.extract()?
            } else {
                bits
            };
            ints.negative |= negative;
            ints.inexact = true;
            ints.bits = ints.bits.max(magnitude.min(257) as u16);
            return Ok(());
        };
        ints.negative |= value < 0;
        ints.inexact |= !(-EXACT..=EXACT).contains(&value);
        let magnitude = if value < 0 { !value } else { value };
        ints.bits = ints.bits.max((64 - magnitude.leading_zeros()) as u16);
        Ok(())
    }

    fn add_decimal(&mut self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let parts = object.call_method0(intern!(object.py(), "as_tuple"))?;
        let (_, digits, exponent): (u8, Vec<u8>, Bound<'_, PyAny>) = parts.extract()?;
        let Ok(exponent) = exponent.extract::<i32>() else {
            // Infinity; NaN was told to be missing.
            self.other = true;
            return Ok(());
        };
        let scale = usize::try_from(-exponent.min(0)).unwrap_or(0);
        let whole = (digits.len() as i64 + i64::from(exponent)).max(1) as usize;
        let (w, s) = self.decimal.unwrap_or_default();
        self.decimal = Some((w.max(whole), s.max(scale)));
        Ok(())
    }

    fn add_tuple(&mut self, tuple: &Bound<'_, PyTuple>, missing: bool) -> PyResult<()> {
        if tuple.is_empty() {
            self.list.get_or_insert_default();
            return Ok(());
        }
        let shapes = self
            .tuple
            .get_or_insert_with(|| std::iter::repeat_with(Shape::default).take(tuple.len()).collect());
        if shapes.len() != tuple.len() {
            self.other = true;
            return Ok(());
        }
        for (shape, item) in shapes.iter_mut().zip(tuple) {
            shape.add(&item, missing)?;
        }
        Ok(())
    }

    /// The type of a column of such objects: Nullable where a NULL was seen, text where they have nothing in common.
    pub fn ty(&self) -> DataType {
        let bare = self.bare().unwrap_or(DataType::String);
        if self.null && (bare.can_be_nullable() || bare == DataType::Nothing) {
            bare.nullable()
        } else {
            bare
        }
    }

    /// None: text.
    fn bare(&self) -> Option<DataType> {
        if self.other {
            return None;
        }
        let mut found: Vec<DataType> = Vec::new();
        if let Some(number) = self.number() {
            found.push(number?);
        } else if self.bool {
            found.push(DataType::Bool);
        }
        if self.text {
            found.push(DataType::String);
        }
        match &self.timestamp {
            Some((nanos, zone)) => {
                let zone = match zone {
                    Zone::Naive => None,
                    Zone::Named(name) => Some(TimeZone::named(name).unwrap_or_else(|_| TimeZone::utc())),
                    Zone::Mixed => Some(TimeZone::utc()),
                };
                found.push(DataType::DateTime64(if *nanos { 9 } else { 6 }, zone));
                if self.date {
                    return None;
                }
            }
            None if self.date => found.push(DataType::Date32),
            None => {}
        }
        let simple = [
            (self.time, DataType::Time64(6)),
            (self.uuid, DataType::Uuid),
            (self.ipv4, DataType::IPv4),
            (self.ipv6, DataType::IPv6),
        ];
        if let Some(durations) = &self.duration {
            found.push(durations.ty()?);
        }
        found.extend(simple.into_iter().filter(|(seen, _)| *seen).map(|(_, ty)| ty));
        match (&self.list, &self.tuple) {
            (Some(list), None) => found.push(list.ty().array()),
            (None, Some(fields)) => found.push(DataType::Tuple(
                fields.iter().map(|field| TupleField { name: None, ty: field.ty() }).collect(),
            )),
            (None, None) => {}
            (Some(_), Some(_)) => return None,
        }
        if let Some(map) = &self.map {
            let (keys, values) = &**map;
            let key = keys.ty();
            if key.is_nullable() && !matches!(key.bare(), DataType::Nothing) {
                return None;
            }
            let known =
                |ty: DataType| if *ty.bare() == DataType::Nothing { DataType::String.nullable() } else { ty };
            found.push(DataType::map(known(key).without_nullable().clone(), known(values.ty())));
        }
        match &found[..] {
            [] => Some(DataType::Nothing),
            [one] => Some(one.clone()),
            _ => None,
        }
    }

    /// The type of all numbers: none if there are none, text (the inner none) if no type holds all.
    fn number(&self) -> Option<Option<DataType>> {
        if self.int.is_none() && !self.float && self.decimal.is_none() {
            return None;
        }
        let ints = self.int.unwrap_or_default();
        Some(match (self.float, self.decimal) {
            // What is 1 and what is true is not the same to Python programs that mix them.
            _ if self.bool => None,
            (true, None) => (!ints.inexact).then_some(DataType::Float64),
            (true, Some(_)) => None,
            (false, Some((whole, scale))) => {
                // A bit is less than a third of a digit.
                let whole =
                    if self.int.is_some() { whole.max(usize::from(ints.bits) / 3 + 1) } else { whole };
                let precision = whole + scale;
                (precision <= MAX_DIGITS)
                    .then_some(DataType::Decimal { precision: precision as u8, scale: scale as u8 })
            }
            (false, None) => match (ints.negative, ints.bits) {
                (_, ..64) => Some(DataType::Int64),
                (false, 64) => Some(DataType::UInt64),
                (_, ..128) => Some(DataType::Int128),
                (false, 128) => Some(DataType::UInt128),
                (_, ..256) => Some(DataType::Int256),
                (false, 256) => Some(DataType::UInt256),
                _ => None,
            },
        })
    }
}

pub fn is_decimal(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    object.is_instance(classes::decimal(object.py())?)
}

/// `pandas.NA`, `pandas.NaT` and a Decimal that is not a number. (None and float NaN are told apart before.)
pub fn is_missing(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = object.get_type();
    let name = kind.name()?;
    Ok(match name.to_str()? {
        "NAType" | "NaTType" => true,
        "Decimal" => object.call_method0(intern!(object.py(), "is_nan"))?.is_truthy()?,
        _ => false,
    })
}

/// Of a class of Python's own that is neither missing nor of numpy: asking classes for their names and modules takes longer
/// than all the rest.
pub fn is_of_python(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyDate>()
        || object.is_exact_instance_of::<PyDateTime>()
        || object.is_exact_instance_of::<PyBytes>()
}

/// Of numpy, or a similar thing that holds values.
pub fn is_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = object.get_type().name()?;
    Ok(matches!(name.to_str()?, "ndarray" | "frozenset" | "deque"))
}

/// A scalar of numpy as the Python object that it stands for.
pub fn plain_of_numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let module = object.get_type().module()?;
    if module.to_str()? != "numpy" || is_array(object)? {
        return Ok(None);
    }
    let plain = object.call_method0(intern!(py, "item"))?;
    // Of nanoseconds it is a bare number.
    let kind: String = object.getattr(intern!(py, "dtype"))?.getattr(intern!(py, "kind"))?.extract()?;
    let is_number = plain.is_instance_of::<PyInt>() && !plain.is_instance_of::<PyBool>();
    if plain.get_type().is(object.get_type()) || (is_number && matches!(kind.as_str(), "m" | "M")) {
        return Ok(None);
    }
    Ok(Some(plain))
}

fn zone_of(timestamp: &Bound<'_, PyAny>) -> PyResult<Zone> {
    let info = timestamp.getattr(intern!(timestamp.py(), "tzinfo"))?;
    if info.is_none() {
        return Ok(Zone::Naive);
    }
    for name in ["key", "zone"] {
        if let Some(name) = info.getattr_opt(name)?.and_then(|name| name.extract::<String>().ok()) {
            return Ok(Zone::Named(name));
        }
    }
    Ok(Zone::Named("UTC".into()))
}
