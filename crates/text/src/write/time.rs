//! Dates, timestamps and times of day as text.

use super::number::{integer, padded};
use crate::read::time::{MAX_SECONDS, MIN_SECONDS};
use crate::settings::DateTimeOutput;
use chalet_types::IntervalUnit;
use chalet_types::calendar::{Civil, Clock, LocalTime, split_day};

/// The bytes of `YYYY-MM-DD`, and of `hh:mm:ss`.
pub const DATE: usize = 10;
const CLOCK: usize = 8;

/// The two digits of a number below 100, as the bytes of a number.
#[inline(always)]
fn two(x: u32) -> u32 {
    let tens = (x * 103) >> 10;
    (tens | (x - 10 * tens) << 8) + u32::from_le_bytes([b'0', b'0', 0, 0])
}

#[inline]
fn put_two(out: &mut Vec<u8>, x: u32) {
    out.extend_from_slice(&two(x).to_le_bytes()[..2]);
}

/// `YYYY-MM-DD` as the bytes of a number, the first one lowest: bytes that are written one by one and read as a whole would be waited
/// for. None for years of more digits or before 0.
#[inline(always)]
pub fn date_number(days: i32) -> Option<u128> {
    let Civil { year, month, day } = Civil::of_days(days);
    let year = u32::try_from(year).ok().filter(|&year| year <= 9999)?;
    let hyphens = u64::from(b'-') << 32 | u64::from(b'-') << 56;
    let first =
        u64::from(two(year / 100) | two(year % 100) << 16) | u64::from(two(month.into())) << 40 | hyphens;
    Some(u128::from(first) | u128::from(two(day.into())) << 64)
}

/// `hh:mm:ss` as the bytes of a number.
#[inline(always)]
fn clock_number(seconds: u32) -> u64 {
    let Clock { hour, minute, second } = Clock::of_seconds(seconds);
    let colons = u64::from(b':') << 16 | u64::from(b':') << 40;
    u64::from(two(hour.into()))
        | u64::from(two(minute.into())) << 24
        | u64::from(two(second.into())) << 48
        | colons
}

/// `YYYY-MM-DD`
#[inline]
pub fn date(out: &mut Vec<u8>, days: i32) {
    match date_number(days) {
        Some(text) => out.extend_from_slice(&text.to_le_bytes()[..DATE]),
        None => far_date(out, days),
    }
}

/// The same with a year of another length.
#[cold]
fn far_date(out: &mut Vec<u8>, days: i32) {
    let Civil { year, month, day } = Civil::of_days(days);
    if year < 0 {
        out.push(b'-');
    }
    padded(out, u64::from(year.unsigned_abs()), 4);
    for part in [month, day] {
        out.push(b'-');
        put_two(out, part.into());
    }
}

#[inline]
fn clock(out: &mut Vec<u8>, seconds: u32) {
    out.extend_from_slice(&clock_number(seconds).to_le_bytes());
}

/// `YYYY-MM-DD hh:mm:ss` in local time.
#[inline]
pub fn timestamp(out: &mut Vec<u8>, unix_seconds: i64, time: &LocalTime) {
    // Local time may pass the last timestamp that UTC has, and is held there.
    let local = time.of_timestamp(unix_seconds).clamp(MIN_SECONDS, MAX_SECONDS);
    let (days, seconds) = split_day(local);
    let Some(text) = date_number(days) else {
        far_date(out, days);
        out.push(b' ');
        return clock(out, seconds);
    };
    let mut bytes = [b' '; DATE + 1 + CLOCK];
    bytes[..DATE].copy_from_slice(&text.to_le_bytes()[..DATE]);
    bytes[DATE + 1..].copy_from_slice(&clock_number(seconds).to_le_bytes());
    out.extend_from_slice(&bytes);
}

/// A DateTime in one of the output formats.
#[inline]
pub fn date_time(out: &mut Vec<u8>, unix_seconds: i64, time: &LocalTime, format: DateTimeOutput) {
    match format {
        DateTimeOutput::Simple => timestamp(out, unix_seconds, time),
        DateTimeOutput::Iso => {
            iso_seconds(out, unix_seconds);
            out.push(b'Z');
        }
        DateTimeOutput::UnixTimestamp => integer(out, unix_seconds),
    }
}

fn iso_seconds(out: &mut Vec<u8>, unix_seconds: i64) {
    let (days, seconds) = split_day(unix_seconds);
    date(out, days);
    out.push(b'T');
    clock(out, seconds);
}

/// A DateTime64 in one of the output formats.
pub fn date_time64(out: &mut Vec<u8>, ticks: i64, scale: u8, time: &LocalTime, format: DateTimeOutput) {
    let per_second = 10i64.pow(scale.into());
    let (seconds, fraction) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    match format {
        DateTimeOutput::Simple => timestamp(out, seconds, time),
        DateTimeOutput::Iso => iso_seconds(out, seconds),
        DateTimeOutput::UnixTimestamp if ticks < 0 => {
            // Sign, then the distance from zero.
            out.push(b'-');
            integer(out, ticks.unsigned_abs() / per_second as u64);
            return fraction_of(out, (ticks.unsigned_abs() % per_second as u64) as i64, scale);
        }
        DateTimeOutput::UnixTimestamp => integer(out, seconds),
    }
    fraction_of(out, fraction, scale);
    if format == DateTimeOutput::Iso {
        out.push(b'Z');
    }
}

/// Ticks of the coarsest of seconds, milli-, micro- and nanoseconds that holds a value, and their digits.
pub fn by_thousands(ticks: i64, scale: u8) -> (i64, u8) {
    let per_second = 10i64.pow(scale.into());
    for digits in [0u8, 3, 6] {
        if digits >= scale {
            return (ticks.saturating_mul(10i64.pow((digits - scale).into())), digits);
        }
        let cut = per_second / 10i64.pow(digits.into());
        if ticks % cut == 0 {
            return (ticks / cut, digits);
        }
    }
    let digits = 9;
    (ticks.saturating_mul(10i64.pow((digits - scale).into())), digits)
}

#[inline]
fn fraction_of(out: &mut Vec<u8>, fraction: i64, scale: u8) {
    if scale > 0 {
        out.push(b'.');
        padded(out, fraction as u64, scale.into());
    }
}

/// Times of day are held to this many hours, minutes and seconds on either side of zero.
const TIME_LIMIT: u64 = 999 * 3600 + 59 * 60 + 59;

fn hours(out: &mut Vec<u8>, seconds: u64) {
    let seconds = seconds.min(TIME_LIMIT);
    padded(out, seconds / 3600, 2);
    out.push(b':');
    put_two(out, (seconds / 60 % 60) as u32);
    out.push(b':');
    put_two(out, (seconds % 60) as u32);
}

/// `hh:mm:ss`, hours of two or three digits.
pub fn time(out: &mut Vec<u8>, seconds: i32) {
    if seconds < 0 {
        out.push(b'-');
    }
    hours(out, seconds.unsigned_abs().into());
}

/// `hh:mm:ss.fff`
pub fn time64(out: &mut Vec<u8>, ticks: i64, scale: u8) {
    let per_second = 10u64.pow(scale.into());
    if ticks < 0 {
        out.push(b'-');
    }
    hours(out, ticks.unsigned_abs() / per_second);
    fraction_of(out, (ticks.unsigned_abs() % per_second) as i64, scale);
}

/// A span of time as `[-][days.]hours:minutes:seconds[.ticks of 100 ns]`. Of months and longer units, which have no fixed length, and of
/// parts of a tick, nobody asks.
pub fn kusto_interval(out: &mut Vec<u8>, count: i64, unit: IntervalUnit) {
    const TICKS_A_SECOND: u128 = 10_000_000;
    let count_of = |ticks: u128| u128::from(count.unsigned_abs()) * ticks;
    let ticks = match unit {
        IntervalUnit::Nanosecond => u128::from(count.unsigned_abs()) / 100,
        IntervalUnit::Microsecond => count_of(10),
        IntervalUnit::Millisecond => count_of(10_000),
        IntervalUnit::Second => count_of(TICKS_A_SECOND),
        IntervalUnit::Minute => count_of(60 * TICKS_A_SECOND),
        IntervalUnit::Hour => count_of(3600 * TICKS_A_SECOND),
        IntervalUnit::Day => count_of(86_400 * TICKS_A_SECOND),
        IntervalUnit::Week => count_of(7 * 86_400 * TICKS_A_SECOND),
        IntervalUnit::Month | IntervalUnit::Quarter | IntervalUnit::Year => 0,
    };
    let (seconds, ticks) = (ticks / TICKS_A_SECOND, ticks % TICKS_A_SECOND);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let sign = if count < 0 { "-" } else { "" };
    let days = if days > 0 { format!("{days}.") } else { String::new() };
    let fraction = if ticks > 0 { format!(".{ticks:07}") } else { String::new() };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    out.extend_from_slice(format!("{sign}{days}{hour:02}:{minute:02}:{second:02}{fraction}").as_bytes());
}
