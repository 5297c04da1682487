//! Values that come again: one object for all of them, as every object here is immutable. It is found through a small direct-mapped
//! cache, which gives itself up where values hardly repeat.

use pyo3::prelude::*;

type Object<'py> = Bound<'py, PyAny>;

/// What objects are told apart by.
pub trait Key: Copy {
    fn hash(self) -> u64;
    fn is(self, other: Self) -> bool;
}

macro_rules! integer_key {
    ($($ty:ty),*) => { $(
        impl Key for $ty {
            #[inline]
            fn hash(self) -> u64 {
                mixed(self as u64)
            }

            #[inline]
            fn is(self, other: Self) -> bool {
                self == other
            }
        }
    )* };
}

integer_key!(bool, u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

/// By bits: 0.0 is not -0.0, and a NaN is itself.
impl Key for f64 {
    #[inline]
    fn hash(self) -> u64 {
        mixed(self.to_bits())
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self.to_bits() == other.to_bits()
    }
}

impl Key for &[u8] {
    #[inline]
    fn hash(self) -> u64 {
        let (first, last) = match (self.first_chunk(), self.last_chunk()) {
            (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
            _ => (self.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)), 0),
        };
        mixed(first ^ last.rotate_left(29) ^ (self.len() as u64) << 56)
    }

    #[inline]
    fn is(self, other: Self) -> bool {
        self == other
    }
}

/// Fibonacci hashing; the upper bits are the good ones.
#[inline]
fn mixed(bits: u64) -> u64 {
    bits.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

const SLOTS: u32 = 12;
/// For fewer values the cache costs more than it saves.
const FEW: usize = 1000;
/// After so many values it shows whether they repeat.
const TRIED: usize = 2048;

/// The objects of values in their order: what `make` gives, and for a value that came before mostly the object of then.
pub fn objects<'py, K: Key>(
    values: impl ExactSizeIterator<Item = K>,
    make: impl Fn(K) -> PyResult<Object<'py>>,
) -> PyResult<Vec<Object<'py>>> {
    if values.len() < FEW {
        return values.map(make).collect();
    }
    let mut out = Vec::with_capacity(values.len());
    let mut values = values;
    let mut slots: Vec<Option<(K, Object<'py>)>> = vec![const { None }; 1 << SLOTS];
    let (mut hits, mut tried) = (0, 0);
    for value in values.by_ref() {
        let slot = &mut slots[(value.hash() >> (64 - SLOTS)) as usize];
        tried += 1;
        match slot {
            Some((known, object)) if known.is(value) => {
                hits += 1;
                out.push(object.clone());
            }
            slot => {
                let object = make(value)?;
                *slot = Some((value, object.clone()));
                out.push(object);
            }
        }
        // A miss costs a fifth of what a hit saves.
        if tried % TRIED == 0 && hits < tried / 5 {
            break;
        }
    }
    for value in values {
        out.push(make(value)?);
    }
    Ok(out)
}
