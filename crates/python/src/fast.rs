//! Objects of the standard library made without running Python code for each: the calls that a class's own code would make.
//!
//! Rows are made of millions of these. Each maker tries itself out once against the class and leaves the work to the class
//! where the two differ, as they may in a later Python.

use pyo3::exceptions::PyUnicodeDecodeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDate, PyDateTime, PyString, PyType};
use std::ffi::{c_char, c_int};

type Object<'py> = Bound<'py, PyAny>;

/// The part of `datetime.datetime_CAPI` that is used. Its layout is the same in CPython 3.7 to 3.14.
#[repr(C)]
struct DateTimeApi {
    date_type: *mut ffi::PyTypeObject,
    datetime_type: *mut ffi::PyTypeObject,
    time_type: *mut ffi::PyTypeObject,
    delta_type: *mut ffi::PyTypeObject,
    tzinfo_type: *mut ffi::PyTypeObject,
    utc: *mut ffi::PyObject,
    date: unsafe extern "C" fn(c_int, c_int, c_int, *mut ffi::PyTypeObject) -> *mut ffi::PyObject,
    datetime: *const (),
    time: *const (),
    delta: *const (),
    time_zone: *const (),
    datetime_from_timestamp: *const (),
    date_from_timestamp: *const (),
    datetime_and_fold: unsafe extern "C" fn(
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        *mut ffi::PyObject,
        c_int,
        *mut ffi::PyTypeObject,
    ) -> *mut ffi::PyObject,
}

/// What the look for the table found.
struct Found(Option<&'static DateTimeApi>);

// SAFETY: the table is static and never changes; what it points to is only used with the GIL held.
unsafe impl Send for Found {}
// SAFETY: as above.
unsafe impl Sync for Found {}

/// Makes dates and datetimes.
#[derive(Clone, Copy)]
pub struct Dates<'py> {
    py: Python<'py>,
    api: Option<&'static DateTimeApi>,
}

/// A clock and what tells it from others.
#[derive(Clone, Copy)]
pub struct Parts {
    pub year: i32,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
    pub fold: bool,
}

impl<'py> Dates<'py> {
    pub fn new(py: Python<'py>) -> Dates<'py> {
        static API: PyOnceLock<Found> = PyOnceLock::new();
        let api = API.get_or_init(py, || Found(find_api(py)));
        Dates { py, api: api.0 }
    }

    pub fn date(self, year: i32, month: u8, day: u8) -> PyResult<Object<'py>> {
        let Some(api) = self.api else {
            return Ok(PyDate::new(self.py, year, month, day)?.into_any());
        };
        // SAFETY: the GIL is held, and the function checks its numbers; it gives a new reference or raises.
        unsafe {
            let made = (api.date)(year, month.into(), day.into(), api.date_type);
            Bound::from_owned_ptr_or_err(self.py, made)
        }
    }

    /// `zone`: a tzinfo; a naive datetime without one.
    pub fn datetime(self, parts: Parts, zone: Option<&Object<'py>>) -> PyResult<Object<'py>> {
        let Parts { year, month, day, hour, minute, second, micros, fold } = parts;
        let Some(api) = self.api else {
            let zone = zone.map(|zone| zone.cast()).transpose()?;
            let made = PyDateTime::new_with_fold(
                self.py, year, month, day, hour, minute, second, micros, zone, fold,
            );
            return Ok(made?.into_any());
        };
        // SAFETY: the GIL is held, the zone is a tzinfo or None (the function checks that as well as the numbers), and it
        // gives a new reference or raises.
        unsafe {
            let zone = zone.map_or_else(|| ffi::Py_None(), Bound::as_ptr);
            let made = (api.datetime_and_fold)(
                year,
                month.into(),
                day.into(),
                hour.into(),
                minute.into(),
                second.into(),
                micros as c_int,
                zone,
                fold.into(),
                api.datetime_type,
            );
            Bound::from_owned_ptr_or_err(self.py, made)
        }
    }
}

/// The table of functions, if its types are where they are expected.
fn find_api(py: Python<'_>) -> Option<&'static DateTimeApi> {
    let module = py.import("datetime").ok()?;
    let type_of = |name: &str| module.getattr(name).map(|class| class.as_ptr().cast::<ffi::PyTypeObject>());
    // SAFETY: the name is a C string, the GIL is held; a failure is a null pointer and an exception, which is taken.
    let api = unsafe { ffi::PyCapsule_Import(c"datetime.datetime_CAPI".as_ptr(), 1) }.cast::<DateTimeApi>();
    // SAFETY: the capsule of that name holds a static table at least as long as ours in every CPython since 3.7.
    let Some(api) = (unsafe { api.as_ref() }) else {
        drop(PyErr::take(py));
        return None;
    };
    let in_place = api.date_type == type_of("date").ok()?
        && api.datetime_type == type_of("datetime").ok()?
        && api.time_type == type_of("time").ok()?
        && api.delta_type == type_of("timedelta").ok()?
        && api.tzinfo_type == type_of("tzinfo").ok()?;
    if !in_place {
        return None;
    }
    let dates = Dates { py, api: Some(api) };
    let parts = Parts { year: 2024, month: 2, day: 29, hour: 1, minute: 2, second: 3, micros: 4, fold: true };
    let made = dates.datetime(parts, None).ok()?.repr().ok()?.to_string();
    let date = dates.date(2024, 2, 29).ok()?.repr().ok()?.to_string();
    let expected = "datetime.datetime(2024, 2, 29, 1, 2, 3, 4, fold=1)";
    (made == expected && date == "datetime.date(2024, 2, 29)").then_some(api)
}

/// Makes objects of a class that only keeps what it is made of in slots: past its constructor, which is Python code.
pub struct Slotted<'py> {
    class: Bound<'py, PyType>,
    /// Slots and what they hold, but for the first, whose values differ.
    slots: Vec<(Bound<'py, PyString>, Object<'py>)>,
    is_trusted: bool,
}

/// What is kept of a class from one column to the next.
pub struct Known {
    class: Py<PyType>,
    slots: Vec<(Py<PyString>, Py<PyAny>)>,
    is_trusted: bool,
}

/// A class whose objects are told apart by one slot.
pub struct Recipe {
    pub module: &'static str,
    pub class: &'static str,
    pub slot: &'static str,
    /// Another slot, which is the same in all: its name and, in Python, its value in an object of the class.
    pub other: Option<&'static str>,
    /// The keyword of the constructor that takes what is in the slot.
    pub keyword: Option<&'static str>,
    pub known: PyOnceLock<Known>,
}

/// `uuid.UUID(int=...)`.
pub static UUID: Recipe = Recipe {
    module: "uuid",
    class: "UUID",
    slot: "int",
    other: Some("is_safe"),
    keyword: Some("int"),
    known: PyOnceLock::new(),
};
/// `ipaddress.IPv4Address(...)`.
pub static IPV4: Recipe = Recipe {
    module: "ipaddress",
    class: "IPv4Address",
    slot: "_ip",
    other: None,
    keyword: None,
    known: PyOnceLock::new(),
};
/// `ipaddress.IPv6Address(...)`.
pub static IPV6: Recipe = Recipe {
    module: "ipaddress",
    class: "IPv6Address",
    slot: "_ip",
    other: Some("_scope_id"),
    keyword: None,
    known: PyOnceLock::new(),
};

impl Recipe {
    pub fn maker<'py>(&'static self, py: Python<'py>) -> PyResult<Slotted<'py>> {
        let known = self.known.get_or_try_init(py, || self.known(py))?;
        let slots = known.slots.iter().map(|(name, value)| (name.bind(py).clone(), value.bind(py).clone()));
        Ok(Slotted {
            class: known.class.bind(py).clone(),
            slots: slots.collect(),
            is_trusted: known.is_trusted,
        })
    }

    fn known(&self, py: Python<'_>) -> PyResult<Known> {
        let class = py.import(self.module)?.getattr(self.class)?.cast_into::<PyType>()?;
        // A number that needs all bits of the smaller class, so that a mistake shows.
        let number = 0x8123_4567_u32.into_pyobject(py)?.into_any();
        let model = self.by_class(&class, &number)?;
        let mut slots = vec![(PyString::intern(py, self.slot), py.None().into_bound(py))];
        if let Some(name) = self.other {
            slots.push((PyString::intern(py, name), model.getattr(name)?));
        }
        let maker = Slotted { class: class.clone(), slots, is_trusted: true };
        let agrees = |made: Object<'_>| -> PyResult<bool> {
            Ok(made.eq(&model)?
                && made.hash()? == model.hash()?
                && made.repr()?.to_string() == model.repr()?.to_string())
        };
        let is_trusted = maker.make(self, number).and_then(agrees).unwrap_or(false);
        let slots = maker.slots.into_iter().map(|(name, value)| (name.unbind(), value.unbind())).collect();
        Ok(Known { class: class.unbind(), slots, is_trusted })
    }

    fn by_class<'py>(&self, class: &Bound<'py, PyType>, number: &Object<'py>) -> PyResult<Object<'py>> {
        match self.keyword {
            Some(keyword) => {
                let keywords = pyo3::types::PyDict::new(class.py());
                keywords.set_item(keyword, number)?;
                class.call((), Some(&keywords))
            }
            None => class.call1((number,)),
        }
    }
}

impl<'py> Slotted<'py> {
    /// The object of a number.
    pub fn make(&self, recipe: &Recipe, number: Object<'py>) -> PyResult<Object<'py>> {
        if !self.is_trusted {
            return recipe.by_class(&self.class, &number);
        }
        let py = self.class.py();
        // SAFETY: the GIL is held. The class is a Python class without constructor in C, so its objects are made by the
        // generic allocation, which gives a new reference or raises; setting attributes past the class's own
        // `__setattr__` is what its constructor does.
        unsafe {
            let made = ffi::PyType_GenericAlloc(self.class.as_type_ptr(), 0);
            let made = Bound::from_owned_ptr_or_err(py, made)?;
            let mut number = Some(number);
            for (name, value) in &self.slots {
                let value = number.take().unwrap_or_else(|| value.clone());
                if ffi::PyObject_GenericSetAttr(made.as_ptr(), name.as_ptr(), value.as_ptr()) != 0 {
                    return Err(PyErr::fetch(py));
                }
            }
            Ok(made)
        }
    }
}

/// The int of 16 bytes, great end first.
pub fn int_of_bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Object<'py>> {
    let halves: Option<(&[u8; 8], &[u8])> = bytes.split_first_chunk();
    let (high, low) = match halves {
        Some((high, low)) => (u64::from_be_bytes(*high), low.try_into().map_or(0, u64::from_be_bytes)),
        None => (0, 0),
    };
    let low = unsigned(py, low)?;
    if high == 0 {
        return Ok(low);
    }
    static SHIFT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let shift = SHIFT.get_or_try_init(py, || Ok::<_, PyErr>(64u32.into_pyobject(py)?.into_any().unbind()))?;
    let high = unsigned(py, high)?;
    // SAFETY: the GIL is held and all are ints; each call gives a new reference or raises.
    unsafe {
        let shifted = Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Lshift(high.as_ptr(), shift.as_ptr()))?;
        Bound::from_owned_ptr_or_err(py, ffi::PyNumber_Or(shifted.as_ptr(), low.as_ptr()))
    }
}

pub fn unsigned(py: Python<'_>, number: u64) -> PyResult<Object<'_>> {
    // SAFETY: the GIL is held; a new reference or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromUnsignedLongLong(number)) }
}

pub fn signed(py: Python<'_>, number: i64) -> PyResult<Object<'_>> {
    // SAFETY: the GIL is held; a new reference or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(number)) }
}

pub fn float(py: Python<'_>, number: f64) -> PyResult<Object<'_>> {
    // SAFETY: the GIL is held; a new reference or an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyFloat_FromDouble(number)) }
}

/// A str, or bytes where the value is not UTF-8: any bytes are a legal String.
pub fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Object<'py>> {
    let (start, len) = (bytes.as_ptr().cast::<c_char>(), bytes.len() as ffi::Py_ssize_t);
    // SAFETY: the GIL is held, and the bytes are copied; what is no UTF-8 raises.
    let made = unsafe { ffi::PyUnicode_DecodeUTF8(start, len, std::ptr::null()) };
    if made.is_null() {
        let error = PyErr::fetch(py);
        // Bytes stand for what is not UTF-8, not for a str that there was no memory for.
        return match error.is_instance_of::<PyUnicodeDecodeError>(py) {
            true => Ok(PyBytes::new(py, bytes).into_any()),
            false => Err(error),
        };
    }
    // SAFETY: a new reference, not null.
    Ok(unsafe { Bound::from_owned_ptr(py, made) })
}
