//! The parameters of a grid: its first and last point, the step between points and the length of the window before each.
//!
//! They are read to ticks of the timestamps. Where these are whole seconds only whole numbers are taken, of which texts are read up to
//! the first other character; finer ones take fractions, durations with units and dates.

use super::durations::{duration, scaled, timestamp};
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_types::calendar::LocalTime;
use chalet_types::{I256, ScaledValue, TimeZone, Value};

/// Reads parameters of one call.
pub struct Reader<'a> {
    /// The function's, for messages.
    pub name: &'a str,
    /// Digits of the timestamps behind the seconds; none for types of whole seconds.
    pub scale: Option<u8>,
    pub zone: &'a TimeZone,
}

impl Reader<'_> {
    /// A time.
    pub fn time(&self, value: &Value, what: &str) -> Result<i64> {
        match self.scale {
            // Times of this type have 32 bits.
            None => Ok(i64::from(self.whole(value, what)? as u32)),
            Some(scale) => {
                let text = |text: &str| timestamp(text, scale, &LocalTime::new(self.zone));
                self.fine(value, what, "timestamp", scale, &text)
            }
        }
    }

    /// A number of seconds.
    pub fn seconds(&self, value: &Value, what: &str) -> Result<i64> {
        match self.scale {
            None => Ok(self.whole(value, what)?.min(i64::MAX as u64) as i64),
            Some(scale) => self.fine(value, what, "duration", scale, &|text| duration(text, scale)),
        }
    }

    /// A number of seconds that may be any, as a float.
    pub fn offset(&self, value: &Value, what: &str) -> Result<f64> {
        match value {
            Value::Bytes(text) => float_prefix(text).ok_or_else(|| {
                err!(BAD_ARGUMENTS, "Cannot parse {what} parameter for aggregate function {}", self.name)
            }),
            Value::UInt(_) | Value::Int(_) | Value::Float(_) => Ok(value.as_f64().unwrap_or_default()),
            Value::Decimal(x) if x.bits <= 64 => Ok(value.as_f64().unwrap_or(x.digits.as_f64())),
            other => Err(self.illegal(other, what)),
        }
    }

    fn illegal(&self, value: &Value, what: &str) -> Error {
        err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {what} parameter for aggregate function {}",
            type_name(value),
            self.name
        )
    }

    fn whole(&self, value: &Value, what: &str) -> Result<u64> {
        let name = self.name;
        match value {
            Value::UInt(x) => Ok(*x),
            Value::Bytes(text) => {
                let digits = text.strip_prefix(b"+").unwrap_or(text);
                let len = digits.iter().position(|c| !c.is_ascii_digit()).unwrap_or(digits.len());
                let digits = std::str::from_utf8(&digits[..len]).unwrap_or_default();
                let parsed = if digits.is_empty() { Some(0) } else { digits.parse().ok() };
                parsed.filter(|_| !text.starts_with(b"-")).ok_or_else(|| {
                    err!(BAD_ARGUMENTS, "Cannot parse {what} parameter for aggregate function {name}")
                })
            }
            Value::Decimal(x) if x.bits <= 64 => {
                let unit = power(x.scale);
                ensure!(
                    x.digits % unit == I256::ZERO,
                    BAD_ARGUMENTS,
                    "Cannot convert Decimal{} {what} parameter to integer for aggregate function {name}",
                    x.bits
                );
                Ok((x.digits / unit).as_u64())
            }
            other => Err(self.illegal(other, what)),
        }
    }

    fn fine(
        &self,
        value: &Value,
        what: &str,
        kind: &str,
        scale: u8,
        text: &dyn Fn(&str) -> Result<i64>,
    ) -> Result<i64> {
        let overflow = |shown: String| {
            err!(DECIMAL_OVERFLOW, "Cannot convert {shown} to {kind}: Overflow, the number is too big")
        };
        let rescaled = |x: &ScaledValue| -> Result<i64> {
            let ticks = x.digits * power(scale) / power(x.scale);
            i64::try_from(ticks).map_err(|_| overflow(x.digits.to_string()))
        };
        match value {
            Value::UInt(_) | Value::Int(_) => {
                let seconds = value.as_i256().unwrap_or_default();
                i64::try_from(seconds * power(scale)).map_err(|_| overflow(seconds.to_string()))
            }
            Value::Float(x) => scaled(*x, scale, kind),
            Value::Decimal(x) if x.bits <= 64 => rescaled(x),
            Value::Bytes(bytes) => text(&String::from_utf8_lossy(bytes)),
            other => {
                bail!(
                    BAD_ARGUMENTS,
                    "Cannot extract a {kind} from a field of type {}: While parsing {what} parameter of aggregate function {}",
                    type_name(other),
                    self.name
                )
            }
        }
    }
}

fn power(scale: u8) -> I256 {
    I256::from(10u8).pow(scale.into())
}

/// The longest beginning of a text that is a number.
fn float_prefix(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii_start();
    let is_part = |c: &u8| c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.' | b'e' | b'E');
    let len = text.iter().position(|c| !is_part(c)).unwrap_or(text.len());
    let text = std::str::from_utf8(&text[..len]).unwrap_or_default();
    (1..=text.len()).rev().find_map(|len| text[..len].parse().ok())
}

/// What the kernel calls the type of a parameter.
fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "Null",
        Value::UInt(_) => "UInt64",
        Value::Int(_) => "Int64",
        Value::UInt128(_) => "UInt128",
        Value::Int128(_) => "Int128",
        Value::UInt256(_) => "UInt256",
        Value::Int256(_) => "Int256",
        Value::Float(_) => "Float64",
        Value::Bytes(_) => "String",
        Value::Array(_) => "Array",
        Value::Tuple(_) => "Tuple",
        Value::Map(_) => "Map",
        Value::Decimal(x) => return format!("Decimal{}", x.bits),
    }
    .into()
}
