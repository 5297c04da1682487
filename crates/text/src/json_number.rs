//! Numbers of JSON as values of types that do not have them exactly: what JSON columns and `JSONExtract` share.

use crate::read::time::{MAX_SECONDS, MIN_SECONDS};
use chalet_types::{AsI256, DataType, I256};

/// Floats from here on are not whole numbers of 256 bits.
const TOO_GREAT: f64 = 1e76;

/// The finite number that a text is.
pub fn float(text: &[u8]) -> Option<f64> {
    let x: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    x.is_finite().then_some(x)
}

/// The number that a text is, without its fraction.
pub fn whole(text: &[u8]) -> Option<I256> {
    let x = float(text)?;
    (x.abs() < TOO_GREAT).then(|| x.as_i256())
}

/// Seconds as ticks of DateTime64: cut to the years that it has.
pub fn ticks(seconds: i128, scale: u8) -> Option<i64> {
    // What has no ticks at all is refused, even if it would be cut.
    let unit = 10i64.pow(scale.into());
    i64::try_from(seconds).ok()?.checked_mul(unit)?;
    Some(seconds.clamp(MIN_SECONDS.into(), MAX_SECONDS.into()) as i64 * unit)
}

/// Seconds with a fraction as ticks; the fraction stays where the seconds are cut.
pub fn ticks_of_float(seconds: f64, scale: u8) -> Option<i64> {
    let unit = 10i64.pow(scale.into());
    let ticks = seconds * unit as f64;
    if ticks.is_nan() || ticks.abs() >= i64::MAX as f64 {
        return None;
    }
    let ticks = ticks as i64;
    Some(ticks.div_euclid(unit).clamp(MIN_SECONDS, MAX_SECONDS) * unit + ticks.rem_euclid(unit))
}

/// The text that a type reads for a number that is none of its own: what the type has nearest to it.
pub(crate) fn text_as(ty: &DataType, text: &[u8]) -> Option<String> {
    let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text);
    let quoted = inner.len() < text.len();
    Some(match ty {
        DataType::Bool => (float(inner)? != 0.0).to_string(),
        DataType::DateTime(_) if !quoted => (float(inner)? as u32).to_string(),
        DataType::DateTime64(scale, _) if !quoted => {
            let whole = std::str::from_utf8(inner).ok()?.parse::<i64>().ok();
            let ticks = match whole {
                Some(seconds) => ticks(seconds.into(), *scale)?,
                None => ticks_of_float(float(inner)?, *scale)?,
            };
            let unit = 10i64.pow((*scale).into());
            let (seconds, fraction) = (ticks.div_euclid(unit), ticks.rem_euclid(unit));
            let width = usize::from(*scale);
            if *scale == 0 { seconds.to_string() } else { format!("{seconds}.{fraction:0width$}") }
        }
        ty if ty.is_integer() => whole(inner)?.to_string(),
        _ => return None,
    })
}
