//! Dates, timestamps and times of day in their fixed forms.

use super::cursor::{Cursor, plain};
use chalet_base::{Result, bail, err};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY};

/// The last timestamp of DateTime64 at any scale: 9999-12-31 23:59:59 UTC, in seconds.
pub const MAX_SECONDS: i64 = 253_402_300_799;
/// The first: 0000-01-01 00:00:00 UTC.
pub const MIN_SECONDS: i64 = -62_167_219_200;

/// Up to `most` digits as a number, and how many there were.
#[inline]
fn digits(cur: &mut Cursor, most: usize) -> (u32, usize) {
    let (mut value, mut n) = (0, 0);
    while n < most {
        let Some(d @ b'0'..=b'9') = cur.peek() else { break };
        value = value * 10 + u32::from(d - b'0');
        cur.advance(1);
        n += 1;
    }
    (value, n)
}

/// `YYYY-MM-DD` with one or two digits and any separator, or `YYYYMMDD`. Not checked for validity.
#[inline]
pub fn civil(cur: &mut Cursor) -> Result<Civil> {
    let start = *cur;
    let failed =
        || err!(CANNOT_PARSE_DATE, "Cannot parse date: expected a date in the YYYY-MM-DD or YYYYMMDD format");
    let (year, n) = digits(cur, 4);
    if n != 4 {
        return Err(failed());
    }
    let is_digit = |cur: &Cursor| cur.peek().is_some_and(|b| b.is_ascii_digit());
    if is_digit(cur) {
        let (both, n) = digits(cur, 4);
        if n != 4 {
            if !cur.is_at_end() && start.rest().len() >= 10 {
                bail!(CANNOT_PARSE_DATE, "Cannot parse date here: {}", plain(&start.rest()[..10]));
            }
            return Err(failed());
        }
        return Ok(Civil::new(year as i32, (both / 100) as u8, (both % 100) as u8));
    }
    if cur.is_at_end() {
        return Err(failed());
    }
    cur.advance(1);
    let (month, n) = digits(cur, 2);
    if n == 0 || cur.is_at_end() || is_digit(cur) {
        return Err(failed());
    }
    cur.advance(1);
    let (day, n) = digits(cur, 2);
    if n == 0 {
        return Err(failed());
    }
    Ok(Civil::new(year as i32, month as u8, day as u8))
}

/// Days of a date that may be past the end of its month; nothing when month or day cannot be.
fn days(date: Civil) -> Option<i32> {
    ((1..=12).contains(&date.month) && (1..=31).contains(&date.day)).then(|| date.days())
}

/// A Date, not held in its range; 1970-01-01 when there is no such month or day.
#[inline]
pub fn date(cur: &mut Cursor) -> Result<i32> {
    let date = civil(cur)?;
    Ok(days(date).unwrap_or(0))
}

/// A Date32: 1900-01-01 when there is no such month or day.
#[inline]
pub fn date32(cur: &mut Cursor) -> Result<i32> {
    let date = civil(cur)?;
    Ok(days(date).unwrap_or_else(|| Civil::new(1900, 1, 1).days()))
}

/// A DateTime in `basic` mode: `YYYY-MM-DD[ hh:mm:ss]` or unix seconds. Not clamped to the type's range.
pub fn timestamp_basic(cur: &mut Cursor, time: &LocalTime) -> Result<i64> {
    let rest = cur.rest();
    let wordy = |text: &[u8]| err!(CANNOT_PARSE_DATETIME, "Cannot parse DateTime {}", plain(text));
    // A number of more than four digits is unix seconds.
    let leading = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    if leading == 0 {
        bail!(CANNOT_PARSE_DATETIME, "Cannot parse datetime");
    }
    if leading != 4 {
        if leading < 4 {
            bail!(CANNOT_PARSE_DATETIME, "Cannot parse DateTime");
        }
        return Ok(super::number::wrapping_u64(cur, false)? as i64);
    }
    let Some(head) = rest.get(..10) else {
        return Err(if rest.len() > 4 {
            wordy(rest)
        } else {
            err!(CANNOT_PARSE_DATETIME, "Cannot parse DateTime")
        });
    };
    let number = |text: &[u8]| text.iter().fold(0u32, |v, b| v * 10 + u32::from(b.wrapping_sub(b'0') & 15));
    let date = Civil::new(number(&head[..4]) as i32, number(&head[5..7]) as u8, number(&head[8..10]) as u8);
    cur.advance(10);
    let mut seconds = 0i64;
    if matches!(cur.peek(), Some(b' ' | b'T')) {
        let text = &cur.rest()[1..];
        let Some(clock) = text.get(..8) else {
            bail!(CANNOT_PARSE_DATETIME, "Cannot parse time component of DateTime {}", plain(text));
        };
        seconds = i64::from(number(&clock[..2])) * 3600
            + i64::from(number(&clock[3..5])) * 60
            + i64::from(number(&clock[6..8]));
        cur.advance(9);
    }
    if date.year == 0 {
        return Ok(0);
    }
    match days(date) {
        Some(days) => Ok(time.to_timestamp(i64::from(days) * SECONDS_PER_DAY + seconds)),
        None => Ok(i64::MIN),
    }
}

/// What [`timestamp_basic`] gives for a date that cannot be, within a range of seconds.
pub fn clamp_date_time(seconds: i64) -> u32 {
    seconds.clamp(0, i64::from(u32::MAX)) as u32
}

/// Digits behind a point, cut or filled to a scale.
pub fn fraction(cur: &mut Cursor, scale: u8) -> i64 {
    let (mut value, mut n) = (0i64, 0);
    while let Some(d @ b'0'..=b'9') = cur.peek() {
        if n < scale {
            value = value * 10 + i64::from(d - b'0');
            n += 1;
        }
        cur.advance(1);
    }
    value * 10i64.pow(u32::from(scale - n))
}

/// Ticks of seconds and a fraction, the seconds held in the range of DateTime64 and the ticks in 64 bits.
pub fn ticks(seconds: i64, fraction: i64, scale: u8) -> Result<i64> {
    let per_second = 10i64.pow(scale.into());
    let seconds = seconds.clamp(MIN_SECONDS, MAX_SECONDS);
    seconds
        .checked_mul(per_second)
        .and_then(|t| t.checked_add(fraction))
        .ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))
}

/// A DateTime64 in `basic` mode: like DateTime with a fraction, or unix seconds with sign and fraction.
pub fn ticks_basic(cur: &mut Cursor, scale: u8, time: &LocalTime) -> Result<i64> {
    let negative = cur.peek() == Some(b'-');
    if negative {
        cur.advance(1);
    }
    let seconds = match timestamp_basic(cur, time) {
        Ok(i64::MIN) => i64::from(Civil::new(1900, 1, 1).days()) * SECONDS_PER_DAY,
        Ok(seconds) => seconds,
        Err(_) if negative && cur.peek().is_some_and(|b| b.is_ascii_digit()) => {
            super::number::wrapping_u64(cur, false)? as i64
        }
        Err(e) if e.message() == "Cannot parse datetime" => {
            bail!(CANNOT_PARSE_DATETIME, "Cannot parse DateTime")
        }
        Err(e) => return Err(e),
    };
    let fraction = if cur.accept(b'.') { fraction(cur, scale) } else { 0 };
    if negative { ticks(seconds.saturating_neg(), -fraction, scale) } else { ticks(seconds, fraction, scale) }
}

/// Sign and seconds of a time of day: `[h[h[h]]:]mm:ss` or seconds alone.
fn clock(cur: &mut Cursor, what: &str) -> Result<(bool, i64)> {
    if cur.is_at_end() {
        bail!(CANNOT_PARSE_DATETIME, "Cannot parse {what} from empty string");
    }
    let negative = cur.accept(b'-');
    if negative && cur.is_at_end() {
        bail!(CANNOT_PARSE_DATETIME, "Cannot parse time: unexpected end after minus sign");
    }
    if !cur.peek().is_some_and(|b| b.is_ascii_digit()) {
        bail!(CANNOT_PARSE_DATETIME, "Cannot parse time: invalid first character");
    }
    let rest = cur.rest();
    let leading = rest.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
    let two = |at: usize| match rest.get(at..at + 3) {
        Some([b':', a @ b'0'..=b'9', b @ b'0'..=b'9']) => Some(i64::from((a - b'0') * 10 + (b - b'0'))),
        _ => None,
    };
    let number = |n: usize| rest[..n].iter().fold(0i64, |v, d| v * 10 + i64::from(d - b'0'));
    let (seconds, len) = match (leading, two(leading), two(leading + 3)) {
        (1..=3, Some(minutes), Some(seconds)) => {
            (number(leading) * 3600 + minutes * 60 + seconds, leading + 6)
        }
        (1..=2, Some(seconds), _) => (number(leading) * 60 + seconds, leading + 3),
        _ => (number(leading.min(2)), leading.min(2)),
    };
    cur.advance(len);
    Ok((negative, seconds))
}

/// Seconds of a Time.
pub fn time(cur: &mut Cursor) -> Result<i32> {
    let (negative, seconds) = clock(cur, "time")?;
    Ok(if negative { -seconds } else { seconds } as i32)
}

/// Ticks of a Time64.
pub fn time64(cur: &mut Cursor, scale: u8) -> Result<i64> {
    let (negative, seconds) = clock(cur, "Time64")?;
    let fraction = if cur.accept(b'.') { fraction(cur, scale) } else { 0 };
    let ticks = seconds * 10i64.pow(scale.into()) + fraction;
    Ok(if negative { -ticks } else { ticks })
}
