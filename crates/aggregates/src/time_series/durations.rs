//! Durations and times as text: `90`, `1h30m`, `2025-06-01 00:00:15.5`.

use chalet_base::{Result, ensure, err};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY};

/// The units of durations in milliseconds, the longest first.
const UNITS: [(&str, i64); 7] = [
    ("y", 365 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// A number in ticks of 10^-scale, cut off behind them.
pub fn scaled(x: f64, scale: u8, what: &str) -> Result<i64> {
    ensure!(x.is_finite(), BAD_ARGUMENTS, "Cannot convert {x} to {what}: the value is not finite");
    let ticks = (x * 10f64.powi(i32::from(scale))).trunc();
    ensure!(
        ticks.abs() < 9.2e18,
        DECIMAL_OVERFLOW,
        "Cannot convert {x} to {what}: Overflow, the number is too big"
    );
    Ok(ticks as i64)
}

/// A number with white space around it; nothing at all is 0.
fn number(text: &str, scale: u8, what: &str) -> Option<Result<i64>> {
    let text = text.trim_ascii();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let plain = digits.bytes().all(|c| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-'));
    if text.is_empty() {
        return Some(Ok(0));
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let x = i64::from_str_radix(hex, 16).ok()? as f64;
        return Some(scaled(if negative { -x } else { x }, scale, what));
    }
    if !plain || digits.starts_with(['+', '-', 'e', 'E']) {
        return None;
    }
    if let Some(ticks) = decimal(digits, scale) {
        return Some(Ok(if negative { -ticks } else { ticks }));
    }
    let x: f64 = digits.parse().ok()?;
    Some(scaled(if negative { -x } else { x }, scale, what))
}

/// Digits with a point among them, exactly.
fn decimal(text: &str, scale: u8) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !(whole.bytes().chain(fraction.bytes()).all(|c| c.is_ascii_digit())) {
        return None;
    }
    let cut = &fraction[..fraction.len().min(scale.into())];
    let padded = format!("{whole}{cut:0<width$}", width = usize::from(scale));
    padded.parse().ok()
}

/// A duration in ticks: seconds, or numbers with units.
pub fn duration(text: &str, scale: u8) -> Result<i64> {
    let failed = |why: String| {
        err!(
            BAD_ARGUMENTS,
            "Cannot parse a duration from string '{text}': Cannot parse duration '{text}'{why}"
        )
    };
    let plain = number(text, scale, "duration").filter(|_| !text.trim_ascii().is_empty());
    if let Some(ticks) = plain {
        return ticks;
    }
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest.is_empty() {
        return Err(failed(String::new()));
    }
    let (mut total, mut after) = (0i64, None);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let letters = &rest[digits..];
        let end = letters.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(letters.len());
        let count: i64 = rest[..digits].parse().map_err(|_| {
            failed(format!(" in duration format: Expected a number combined with a time unit, got '{rest}'"))
        })?;
        let unit = UNITS.iter().position(|(name, _)| *name == &letters[..end]).ok_or_else(|| {
            let units = "('y', 'w', 'd', 'h', 'm', 's', 'ms')";
            failed(format!(
                " in duration format: Expected one of the supported time units {units}, got '{letters}'"
            ))
        })?;
        if after.is_some_and(|before| before >= unit) {
            let why = "Time units must be ordered from longest to shortest and must not be repeated";
            return Err(failed(format!(" in duration format: {why}")));
        }
        let part = count.checked_mul(UNITS[unit].1).and_then(|part| total.checked_add(part));
        total = part.ok_or_else(|| failed(": Overflow, the number is too big".into()))?;
        (rest, after) = (&letters[end..], Some(unit));
    }
    let ticks = i128::from(total) * 10i128.pow(scale.into()) / 1000;
    let ticks = i64::try_from(if negative { -ticks } else { ticks });
    ticks.map_err(|_| failed(": Overflow, the number is too big".into()))
}

/// A time in ticks: seconds, a date, or a date with a time.
pub fn timestamp(text: &str, scale: u8, zone: &LocalTime) -> Result<i64> {
    if let Some(ticks) = number(text, scale, "timestamp") {
        return ticks;
    }
    civil(text, scale, zone).ok_or_else(|| {
        err!(BAD_ARGUMENTS, "Cannot parse a timestamp from string '{text}': Cannot parse timestamp '{text}'")
    })
}

/// `YYYY-MM-DD`, and behind it a blank or a T, `hh:mm:ss` and a fraction.
fn civil(text: &str, scale: u8, zone: &LocalTime) -> Option<i64> {
    let two = |from: usize| -> Option<u8> {
        let digits = text.get(from..from + 2).filter(|digits| digits.bytes().all(|c| c.is_ascii_digit()))?;
        digits.parse().ok()
    };
    let bytes = text.as_bytes();
    let is = |at: usize, c: u8| bytes.get(at) == Some(&c);
    let year = i32::from(two(0)?) * 100 + i32::from(two(2)?);
    let date = Civil::new(year, two(5)?, two(8)?);
    if !(is(4, b'-') && is(7, b'-') && date.is_valid()) {
        return None;
    }
    let mut local = i64::from(date.days()) * SECONDS_PER_DAY;
    let mut fraction = 0;
    if bytes.len() > 10 {
        let (hour, minute, second) = (two(11)?, two(14)?, two(17)?);
        let fits = hour < 24 && minute < 60 && second < 60 && is(13, b':') && is(16, b':');
        if !fits || !(is(10, b' ') || is(10, b'T')) {
            return None;
        }
        local += i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        fraction = match &text[19..] {
            "" => 0,
            rest => decimal(&format!("0{}", rest.strip_prefix('.').map(|_| rest)?), scale)?,
        };
    }
    zone.to_timestamp(local).checked_mul(10i64.pow(scale.into()))?.checked_add(fraction)
}
