//! `decimal.Decimal` of scaled integers. The class offers text alone as an exact and quick way in, and most of its time goes into taking
//! that apart: 2.4 times what a zero costs whose digits are put in place, as here (2026-11-27).

use crate::classes;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

type Object<'py> = Bound<'py, PyAny>;

/// A word of libmpdec has so many digits where machines have 64 bits.
const WORD: u128 = 10_000_000_000_000_000_000;

/// An object of the class in C, as CPython has it since 3.3: `PyDecObject` of `_decimal.c`, with its `mpd_t`.
#[repr(C)]
struct Layout {
    head: ffi::PyObject,
    hash: isize,
    flags: u8,
    exponent: isize,
    n_digits: isize,
    n_words: isize,
    n_allocated: isize,
    words: *mut u64,
    own_words: [u64; 4],
}

/// Makes Decimals of one scale.
pub struct Decimals<'py> {
    class: &'py Bound<'py, PyType>,
    scale: usize,
    is_known: bool,
}

impl<'py> Decimals<'py> {
    pub fn new(py: Python<'py>, scale: u8) -> PyResult<Self> {
        static IS_KNOWN: PyOnceLock<bool> = PyOnceLock::new();
        let class = classes::decimal(py)?;
        let is_known = *IS_KNOWN.get_or_init(py, || is_known(class));
        Ok(Decimals { class, scale: usize::from(scale), is_known })
    }

    pub fn of(&self, value: i128) -> PyResult<Object<'py>> {
        let digits = value.unsigned_abs();
        // Three words do not occur in what has 38 digits.
        if !self.is_known || digits >= WORD * WORD {
            return self.of_text(&value.to_string());
        }
        let zero = self.class.call0()?;
        // SAFETY: the object is there.
        if unsafe { ffi::Py_REFCNT(zero.as_ptr()) } != 1 {
            // One that others have too must stay what it is.
            return self.of_text(&value.to_string());
        }
        // SAFETY: objects of this class were found to have this layout. Nobody else has this one, and its own words have room
        // for two.
        unsafe {
            let made = &mut *zero.as_ptr().cast::<Layout>();
            made.flags |= u8::from(value < 0);
            made.exponent = -(self.scale as isize);
            made.n_digits = digits.checked_ilog10().map_or(1, |n| n as isize + 1);
            (made.own_words[0], made.n_words) = match u64::try_from(digits) {
                Ok(one) if u128::from(one) < WORD => (one, 1),
                _ => {
                    made.own_words[1] = (digits / WORD) as u64;
                    ((digits % WORD) as u64, 2)
                }
            };
        }
        Ok(zero)
    }

    /// Of the digits of an integer, with its sign.
    pub fn of_text(&self, digits: &str) -> PyResult<Object<'py>> {
        self.class.call1((PyString::new(self.class.py(), &with_point(digits, self.scale)),))
    }
}

/// Are objects of the class laid out as we think? They are looked at, and so are those that are made here.
fn is_known<'py>(class: &'py Bound<'py, PyType>) -> bool {
    const TEXTS: &[&str] = &[
        "0",
        "-0.0001",
        "1.5",
        "-9999999999999999.999",
        "10000000000000000.000",
        "12345678901234567890.12345678",
        "-99999999999999999999999999999999999999",
    ];
    let size = class.getattr("__basicsize__").and_then(|size| size.extract::<usize>());
    size.is_ok_and(|size| size == size_of::<Layout>())
        && TEXTS.iter().all(|text| agrees(class, text).unwrap_or(false))
}

fn agrees<'py>(class: &'py Bound<'py, PyType>, text: &str) -> PyResult<bool> {
    let model = class.call1((text,))?;
    let plain = text.replace('.', "");
    let scale = text.find('.').map_or(0, |at| text.len() - at - 1);
    let Ok(value) = plain.parse::<i128>() else { return Ok(false) };
    let zero = class.call0()?;
    // SAFETY: objects of the class have the size of the layout, as was asked; every field takes any bits.
    let (found, empty) = unsafe { (&*model.as_ptr().cast::<Layout>(), &*zero.as_ptr().cast::<Layout>()) };
    let is_new = |object: &Layout| {
        object.hash == -1 && object.n_allocated == 4 && object.words.cast_const() == object.own_words.as_ptr()
    };
    let digits = value.unsigned_abs();
    let n_words = if digits < WORD { 1 } else { 2 };
    let has_fields = found.flags == empty.flags | u8::from(value < 0)
        && found.exponent == -(scale as isize)
        && found.n_digits == digits.to_string().len() as isize
        && found.n_words == n_words
        && u128::from(found.own_words[0]) == digits % WORD
        && (n_words == 1 || u128::from(found.own_words[1]) == digits / WORD);
    let is_zero = empty.exponent == 0 && empty.n_digits == 1 && empty.n_words == 1 && empty.own_words[0] == 0;
    if !(has_fields && is_zero && is_new(found) && is_new(empty)) {
        return Ok(false);
    }
    let made = Decimals { class, scale, is_known: true }.of(value)?;
    Ok(made.eq(&model)? && made.hash()? == model.hash()? && made.str()? == text)
}

/// `12345` with scale 2 is `123.45`.
fn with_point(digits: &str, scale: usize) -> String {
    if scale == 0 {
        return digits.to_owned();
    }
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}
