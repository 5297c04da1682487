//! Timestamps in nearly any form: numbers and words are told apart by their length and by what stands around them.

use super::cursor::Cursor;
use super::time::fraction;
use chalet_base::{Error, Result, err};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY};

/// A timestamp and its fraction of a second, in ticks of the asked scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    pub unix_seconds: i64,
    pub fraction: i64,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

#[derive(Default)]
struct Parts {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    fraction: i64,
    has_fraction: bool,
    has_time: bool,
    /// From UTC, once a zone was named.
    offset: Option<Offset>,
    is_am: bool,
    is_pm: bool,
}

/// Hours and minutes east of UTC, or west of it.
#[derive(Default)]
struct Offset {
    west: bool,
    hours: i64,
    minutes: i64,
}

impl Offset {
    fn seconds(&self) -> i64 {
        let seconds = self.hours * 3600 + self.minutes * 60;
        if self.west { -seconds } else { seconds }
    }
}

/// How to read what can be read in two ways.
#[derive(Clone, Copy)]
pub struct Options {
    /// `1/2/2020` is the second of January.
    pub month_first: bool,
    /// Digits of the fraction; without, unix seconds have none.
    pub scale: Option<u8>,
    /// For guesses: year, month and day are written, apart from each other. No unix seconds, no date or time
    /// as one number, no points between the parts of a date.
    pub strict: bool,
}

#[cold]
fn unexpected(what: &str) -> Error {
    err!(CANNOT_PARSE_DATETIME, "Cannot read DateTime: unexpected {what}")
}

#[cold]
fn unexpected_digits(place: &str, n: usize) -> Error {
    err!(CANNOT_PARSE_DATETIME, "Cannot read DateTime: unexpected number of decimal digits{place}: {n}")
}

/// How many digits a text begins with, at most 19.
fn count_digits(text: &[u8]) -> usize {
    text.iter().take(19).take_while(|b| b.is_ascii_digit()).count()
}

/// The digits behind a point, at most 19, as ticks.
fn fraction_of(cur: &mut Cursor, scale: u8) -> i64 {
    let n = count_digits(cur.rest());
    let ticks = fraction(&mut Cursor::new(&cur.rest()[..n]), scale);
    cur.advance(n);
    ticks
}

/// The digits that follow, at most 19.
fn digits(cur: &mut Cursor) -> (u64, usize) {
    let n = count_digits(cur.rest());
    let value = cur.rest()[..n].iter().fold(0u64, |v, d| v * 10 + u64::from(d - b'0'));
    cur.advance(n);
    (value, n)
}

/// One or two digits, or an error that names the place.
fn two(cur: &mut Cursor, place: &str) -> Result<u32> {
    match digits(cur) {
        (value, 1 | 2) => Ok(value as u32),
        (_, n) => Err(unexpected_digits(place, n)),
    }
}

/// Reads a timestamp from the front and stops at the first thing that cannot belong to it.
pub fn timestamp(cur: &mut Cursor, time: &LocalTime, options: Options) -> Result<Timestamp> {
    if let Some(timestamp) = usual(cur, time, options.scale.unwrap_or(0)) {
        return Ok(timestamp);
    }
    let mut parts = Parts::default();
    while let Some(byte) = cur.peek() {
        match byte {
            b'0'..=b'9' => match number(cur, &mut parts, options)? {
                Next::Continue => {}
                Next::Stop => break,
                Next::Unix(timestamp) => return Ok(timestamp),
            },
            b' ' => cur.advance(1),
            b'T' if !cur.rest().get(1).is_some_and(|b| b.is_ascii_alphabetic()) => cur.advance(1),
            b'Z' if !cur.rest().get(1).is_some_and(|b| b.is_ascii_alphabetic()) => {
                cur.advance(1);
                parts.offset.get_or_insert_default();
            }
            b'.' => {
                if !parts.has_time {
                    return Err(unexpected("point symbol"));
                }
                if parts.has_fraction {
                    return Err(err!(
                        CANNOT_PARSE_DATETIME,
                        "Cannot read DateTime: duplicate fractional part"
                    ));
                }
                cur.advance(1);
                parts.fraction = fraction_of(cur, options.scale.unwrap_or(0));
                parts.has_fraction = true;
                if cur.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    break;
                }
            }
            b'+' | b'-' => offset(cur, &mut parts)?,
            b if b.is_ascii_alphabetic() => word(cur, &mut parts)?,
            _ => break,
        }
    }
    if options.strict && (parts.year == 0 || parts.month == 0 || parts.day == 0) {
        return Err(unexpected("end of date"));
    }
    finish(parts, time)
}

/// `YYYY-MM-DD hh:mm:ss[.fraction]` and nothing else: by far the most common form.
fn usual(cur: &mut Cursor, time: &LocalTime, scale: u8) -> Option<Timestamp> {
    let rest = cur.rest();
    let (text, behind) = rest.split_first_chunk::<19>()?;
    let with_fraction = match behind.first() {
        Some(b'.') => 1 + count_digits(&behind[1..]),
        _ => 0,
    };
    if !matches!(behind.get(with_fraction), None | Some(b'\t' | b'\n' | b',' | b'"' | b'\'')) {
        return None;
    }
    let separators = text[4] == b'-'
        && text[7] == b'-'
        && matches!(text[10], b' ' | b'T')
        && text[13] == b':'
        && text[16] == b':';
    let digits = [0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18];
    if !separators || !digits.iter().all(|i| text[*i].is_ascii_digit()) {
        return None;
    }
    let two = |i: usize| u32::from(text[i] - b'0') * 10 + u32::from(text[i + 1] - b'0');
    let date = Civil::new((two(0) * 100 + two(2)) as i32, two(5) as u8, two(8) as u8);
    if date.year == 0 || !date.is_valid() {
        return None;
    }
    cur.advance(19);
    let fraction = if cur.accept(b'.') { fraction_of(cur, scale) } else { 0 };
    let local = i64::from(date.days()) * SECONDS_PER_DAY + i64::from(two(11) * 3600 + two(14) * 60 + two(17));
    Some(Timestamp { unix_seconds: time.to_timestamp(local), fraction })
}

enum Next {
    Continue,
    Stop,
    Unix(Timestamp),
}

fn number(cur: &mut Cursor, parts: &mut Parts, options: Options) -> Result<Next> {
    let before = *cur;
    let (value, n) = digits(cur);
    if options.strict && n > 4 {
        return Err(unexpected_digits("", n));
    }
    let fresh = parts.year == 0 && !parts.has_time;
    match n {
        9 | 10 if fresh => {
            let mut fraction_ticks = 0;
            if let (Some(scale), true) = (options.scale, cur.peek() == Some(b'.')) {
                cur.advance(1);
                fraction_ticks = fraction(cur, scale);
            }
            return Ok(Next::Unix(Timestamp { unix_seconds: value as i64, fraction: fraction_ticks }));
        }
        13 | 16 | 19 if fresh => {
            let unit_digits = n as u32 - 10;
            let unit = 10u64.pow(unit_digits);
            let ticks = rescale(value % unit, unit_digits, options.scale.unwrap_or(0).into());
            return Ok(Next::Unix(Timestamp { unix_seconds: (value / unit) as i64, fraction: ticks }));
        }
        14 if fresh => {
            set_date(parts, (value / 1_000_000) as u32);
            set_clock(parts, (value % 1_000_000) as u32);
        }
        8 if parts.year == 0 => set_date(parts, value as u32),
        6 if parts.year == 0 && parts.month == 0 => {
            (parts.year, parts.month) = ((value / 100) as u32, (value % 100) as u32);
        }
        6 if !parts.has_time => set_clock(parts, value as u32),
        4 if parts.year == 0 => {
            parts.year = value as u32;
            after_year(cur, parts, options)?;
        }
        1 | 2 => return small_number(cur, before, value as u32, parts, options),
        _ => return Err(unexpected_digits("", n)),
    }
    Ok(Next::Continue)
}

fn rescale(value: u64, from_digits: u32, to_digits: u32) -> i64 {
    if to_digits >= from_digits {
        (value * 10u64.pow(to_digits - from_digits)) as i64
    } else {
        (value / 10u64.pow(from_digits - to_digits)) as i64
    }
}

/// `YYYYMMDD`
fn set_date(parts: &mut Parts, value: u32) {
    (parts.year, parts.month, parts.day) = (value / 10_000, value / 100 % 100, value % 100);
}

/// `hhmmss`
fn set_clock(parts: &mut Parts, value: u32) {
    (parts.hour, parts.minute, parts.second) = (value / 10_000, value / 100 % 100, value % 100);
    parts.has_time = true;
}

/// `-MM[-DD]` behind the year, with any sign between.
fn after_year(cur: &mut Cursor, parts: &mut Parts, options: Options) -> Result<()> {
    let Some(separator) = cur.peek().filter(|b| !matches!(b, b' ' | b',' | b'\'' | b'"' | b'\t' | b'\n'))
    else {
        return Ok(());
    };
    if options.strict && !matches!(separator, b'-' | b'/' | b':') {
        return Err(unexpected("separator after year"));
    }
    cur.advance(1);
    parts.month = two(cur, " after year")?;
    if cur.accept(separator) {
        parts.day = two(cur, " after year and month")?;
        comma_before_time(cur);
    }
    Ok(())
}

/// A date may be set off from the time by one comma.
fn comma_before_time(cur: &mut Cursor) {
    if cur.peek() == Some(b',') && cur.rest().get(1).is_some_and(|b| b.is_ascii_digit() || *b == b' ') {
        cur.advance(1);
    }
}

/// A number of one or two digits: what follows says what it is.
fn small_number<'a>(
    cur: &mut Cursor<'a>,
    before: Cursor<'a>,
    value: u32,
    parts: &mut Parts,
    options: Options,
) -> Result<Next> {
    match cur.peek() {
        Some(b':') => {
            if parts.has_time {
                *cur = before;
                return Ok(Next::Stop);
            }
            cur.advance(1);
            parts.hour = value;
            parts.minute = two(cur, " after hour")?;
            if cur.accept(b':') {
                parts.second = two(cur, " after hour and minute")?;
            }
            parts.has_time = true;
        }
        Some(b',') => {
            cur.advance(1);
            if parts.month != 0 && parts.day == 0 {
                parts.day = value;
            }
        }
        Some(b'.') if options.strict => return Err(unexpected("point symbol")),
        Some(separator @ (b'/' | b'-' | b'.')) if parts.day == 0 && parts.month == 0 => {
            cur.advance(1);
            day_and_month(cur, value, separator, parts, options)?;
        }
        // Behind the time a day or a month may come, unless year and month are there.
        _ if parts.has_time && parts.year != 0 && parts.month != 0 => {
            *cur = before;
            return Ok(Next::Stop);
        }
        _ if parts.year != 0 && parts.month == 0 => parts.month = value,
        _ if parts.day == 0 => parts.day = value,
        _ => parts.hour = value,
    }
    Ok(Next::Continue)
}

/// `D/M[/Y]`, or `M/D[/Y]`.
fn day_and_month(
    cur: &mut Cursor,
    first: u32,
    separator: u8,
    parts: &mut Parts,
    options: Options,
) -> Result<()> {
    let (second, n) = digits(cur);
    let mut named_month = false;
    let second = match n {
        1 | 2 => second as u32,
        0 if !options.month_first => {
            let text = cur.take_until(|b| !b.is_ascii_alphabetic());
            named_month = true;
            month_of(text).ok_or_else(|| unexpected("word"))?
        }
        n => {
            return Err(unexpected_digits(
                if options.month_first { " after month" } else { " after day of month" },
                n,
            ));
        }
    };
    (parts.day, parts.month) = if options.month_first { (second, first) } else { (first, second) };
    if !named_month && parts.month > 12 && parts.day <= 12 {
        (parts.day, parts.month) = (parts.month, parts.day);
    }
    if cur.accept(separator) {
        let (year, n) = digits(cur);
        parts.year = match (year as u32, n) {
            (year, 4) => year,
            (year @ 70.., 2) => year + 1900,
            (year, 2) => year + 2000,
            (_, n) => return Err(unexpected_digits(" after day of month and month", n)),
        };
        comma_before_time(cur);
    }
    Ok(())
}

/// `+hh[[:]mm]`; several offsets add up. Behind a date as one number, six digits are a time.
fn offset(cur: &mut Cursor, parts: &mut Parts) -> Result<()> {
    let west = cur.peek() == Some(b'-');
    cur.advance(1);
    let (value, n) = digits(cur);
    let (hours, minutes) = match n {
        6 if parts.day != 0 && !parts.has_time => {
            set_clock(parts, value as u32);
            return Ok(());
        }
        1 | 2 => {
            let minutes = if cur.accept(b':') { two(cur, " for time zone offset in minutes")? } else { 0 };
            (value as i64, i64::from(minutes))
        }
        3 | 4 => (value as i64 / 100, value as i64 % 100),
        n => return Err(unexpected_digits(" for time zone offset", n)),
    };
    let offset = parts.offset.get_or_insert_default();
    offset.west |= west;
    offset.hours += hours;
    offset.minutes += minutes;
    Ok(())
}

/// The month of a full name or its first three letters.
fn month_of(word: &[u8]) -> Option<u32> {
    let found = MONTHS.iter().position(|name| {
        word.eq_ignore_ascii_case(name.as_bytes()) || word.eq_ignore_ascii_case(&name.as_bytes()[..3])
    })?;
    Some(found as u32 + 1)
}

/// Does a text begin with two letters that begin no word of a date? A quick look, for the many texts that are none.
pub(super) fn begins_with_another_word(text: &[u8]) -> bool {
    let [first, second, ..] = text else { return false };
    if !first.is_ascii_alphabetic() || !second.is_ascii_alphabetic() {
        return false;
    }
    let known: &[&[u8; 2]] = &[
        b"ja", b"fe", b"ma", b"ap", b"ju", b"au", b"se", b"oc", b"no", b"de", b"mo", b"tu", b"we", b"th",
        b"fr", b"sa", b"su", b"am", b"pm", b"ut", b"gm", b"ms",
    ];
    !known.contains(&&[first | 0x20, second | 0x20])
}

fn word(cur: &mut Cursor, parts: &mut Parts) -> Result<()> {
    let text = cur.take_until(|b| !b.is_ascii_alphabetic());
    let is = |name: &str| text.eq_ignore_ascii_case(name.as_bytes());
    // The name of a zone has its hours in place of those before it, with their sign.
    let zone = |parts: &mut Parts, hours: i64| parts.offset.get_or_insert_default().hours = hours;
    if text.len() == 1 {
        return Err(unexpected("alphabetical character"));
    }
    if let Some(month) = month_of(text) {
        parts.month = month;
    } else if WEEKDAYS.iter().any(|name| is(name) || is(&name[..3])) {
        cur.accept(b',');
    } else if is("am") {
        parts.is_am = true;
    } else if is("pm") {
        parts.is_pm = true;
    } else if is("utc") || is("gmt") {
        parts.offset.get_or_insert_default();
    } else if is("msk") {
        zone(parts, 3);
    } else if is("msd") {
        zone(parts, 4);
    } else {
        return Err(unexpected("word"));
    }
    Ok(())
}

fn finish(mut parts: Parts, time: &LocalTime) -> Result<Timestamp> {
    if parts.year == 0 && parts.month == 0 && parts.day == 0 && !parts.has_time {
        return Err(err!(
            CANNOT_PARSE_DATETIME,
            "Cannot read DateTime: neither Date nor Time was parsed successfully"
        ));
    }
    let month = if parts.month == 0 { 1 } else { parts.month };
    let day = if parts.day == 0 { 1 } else { parts.day };
    let mut date = Civil::new(parts.year as i32, month as u8, day as u8);
    if parts.year == 0 {
        // The latest such date that is not in the future.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = time.of_timestamp(now.map_or(0, |d| d.as_secs() as i64));
        let today = Civil::of_days(now.div_euclid(SECONDS_PER_DAY) as i32);
        date.year =
            if (date.month, date.day) > (today.month, today.day) { today.year - 1 } else { today.year };
    }
    if !date.is_valid() {
        return Err(unexpected(&format!("date: {}-{month}-{day}", date.year)));
    }
    if parts.is_am && parts.hour == 12 {
        parts.hour = 0;
    }
    if parts.is_pm && parts.hour < 12 {
        parts.hour += 12;
    }
    let local = i64::from(date.days()) * SECONDS_PER_DAY
        + i64::from(parts.hour) * 3600
        + i64::from(parts.minute) * 60
        + i64::from(parts.second);
    let unix_seconds = match &parts.offset {
        Some(offset) => local - offset.seconds(),
        None => time.to_timestamp(local),
    };
    Ok(Timestamp { unix_seconds, fraction: parts.fraction })
}
