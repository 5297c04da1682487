//! One dynamically typed value: literals, settings, constants, parameters. Columns never hold these.

use crate::{I256, U256};
use std::cmp::Ordering;

/// A value in the widest form of its physical representation; its `DataType` travels beside it.
///
/// Dates, times, enums, Bool, IPv4 and Decimals are the integers that represent them; UUID and IPv6 are 16
/// big-endian bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    UInt(u64),
    Int(i64),
    UInt128(u128),
    Int128(i128),
    UInt256(U256),
    Int256(I256),
    Float(f64),
    Bytes(Box<[u8]>),
    Array(Vec<Value>),
    Tuple(Vec<Value>),
    /// Key-value pairs in order.
    Map(Vec<(Value, Value)>),
    /// A Decimal or a DateTime64 as a parameter of a function, beside which no `DataType` travels.
    Decimal(Box<ScaledValue>),
}

/// A number as an integer and the digits of it that are behind the point.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaledValue {
    pub digits: I256,
    pub scale: u8,
    /// Of the type: 32, 64, 128 or 256.
    pub bits: u16,
}

impl ScaledValue {
    fn as_f64(&self) -> f64 {
        self.digits.as_f64() / 10f64.powi(i32::from(self.scale))
    }
}

impl Value {
    pub fn string(text: impl AsRef<[u8]>) -> Value {
        Value::Bytes(text.as_ref().into())
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value as text when it is a UTF-8 string.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.as_bytes()?).ok()
    }

    /// Any integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(x) => Some(*x),
            _ => i64::try_from(self.as_i256()?).ok(),
        }
    }

    /// Any non-negative integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::UInt(x) => Some(*x),
            _ => u64::try_from(self.as_i256()?).ok(),
        }
    }

    /// Any integer but UInt256 above the range of Int256.
    pub fn as_i256(&self) -> Option<I256> {
        Some(match self {
            Value::UInt(x) => I256::from(*x),
            Value::Int(x) => I256::from(*x),
            Value::UInt128(x) => I256::from(*x),
            Value::Int128(x) => I256::from(*x),
            Value::UInt256(x) => I256::try_from(*x).ok()?,
            Value::Int256(x) => *x,
            _ => return None,
        })
    }

    /// Any number, rounded to the nearest float.
    pub fn as_f64(&self) -> Option<f64> {
        Some(match self {
            Value::UInt(x) => *x as f64,
            Value::Int(x) => *x as f64,
            Value::UInt128(x) => *x as f64,
            Value::Int128(x) => *x as f64,
            Value::UInt256(x) => x.as_f64(),
            Value::Int256(x) => x.as_f64(),
            Value::Float(x) => *x,
            Value::Decimal(x) => x.as_f64(),
            _ => return None,
        })
    }

    /// Orders two values of one type; NULL is greatest, NaN after the numbers.
    pub fn compare(&self, other: &Value) -> Ordering {
        use Value::*;
        match (self, other) {
            (Null, Null) => Ordering::Equal,
            (Null, _) => Ordering::Greater,
            (_, Null) => Ordering::Less,
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (Array(a), Array(b)) | (Tuple(a), Tuple(b)) => {
                let unequal = a.iter().zip(b).map(|(x, y)| x.compare(y)).find(|o| o.is_ne());
                unequal.unwrap_or(a.len().cmp(&b.len()))
            }
            (Map(a), Map(b)) => {
                let pairs = a.iter().zip(b);
                let unequal =
                    pairs.map(|(x, y)| x.0.compare(&y.0).then(x.1.compare(&y.1))).find(|o| o.is_ne());
                unequal.unwrap_or(a.len().cmp(&b.len()))
            }
            _ => match (self.as_i256(), other.as_i256()) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => {
                    let (a, b) = (self.as_f64().unwrap_or(f64::NAN), other.as_f64().unwrap_or(f64::NAN));
                    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
                }
            },
        }
    }
}

impl From<u64> for Value {
    fn from(x: u64) -> Self {
        Value::UInt(x)
    }
}

impl From<i64> for Value {
    fn from(x: i64) -> Self {
        Value::Int(x)
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Value::Float(x)
    }
}

impl From<bool> for Value {
    fn from(x: bool) -> Self {
        Value::UInt(x.into())
    }
}

impl From<&str> for Value {
    fn from(x: &str) -> Self {
        Value::string(x)
    }
}
