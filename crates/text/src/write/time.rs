//! Dates, timestamps and times of day as text.

use super::number::{integer, padded};
use crate::read::time::{MAX_SECONDS, MIN_SECONDS};
use crate::settings::DateTimeOutput;
use chalet_types::calendar::{Civil, Clock, LocalTime, split_day};

#[inline]
fn two(out: &mut Vec<u8>, x: u8) {
    out.extend_from_slice(&[b'0' + x / 10, b'0' + x % 10]);
}

/// `YYYY-MM-DD`
#[inline]
pub fn date(out: &mut Vec<u8>, days: i32) {
    let Civil { year, month, day } = Civil::of_days(days);
    if (0..=9999).contains(&year) {
        two(out, (year / 100) as u8);
        two(out, (year % 100) as u8);
    } else {
        if year < 0 {
            out.push(b'-');
        }
        padded(out, u64::from(year.unsigned_abs()), 4);
    }
    out.push(b'-');
    two(out, month);
    out.push(b'-');
    two(out, day);
}

#[inline]
fn clock(out: &mut Vec<u8>, seconds: u32) {
    let Clock { hour, minute, second } = Clock::of_seconds(seconds);
    two(out, hour);
    out.push(b':');
    two(out, minute);
    out.push(b':');
    two(out, second);
}

/// `YYYY-MM-DD hh:mm:ss` in local time.
#[inline]
pub fn timestamp(out: &mut Vec<u8>, unix_seconds: i64, time: &LocalTime) {
    // Local time may pass the last timestamp that UTC has, and is held there.
    let local = time.of_timestamp(unix_seconds).clamp(MIN_SECONDS, MAX_SECONDS);
    let (days, seconds) = split_day(local);
    date(out, days);
    out.push(b' ');
    clock(out, seconds);
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
    two(out, (seconds / 60 % 60) as u8);
    out.push(b':');
    two(out, (seconds % 60) as u8);
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
