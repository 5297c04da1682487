//! Guesses from the text of single fields and from literals.

use super::guess::{Dialect, Guess, Kind};
use crate::FormatSettings;
use crate::settings::DateTimeInputFormat;
use chalet_text::read::best_effort::{Options, timestamp};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{string, time};
use chalet_types::TimeZone;
use chalet_types::calendar::LocalTime;

/// A number and nothing else.
pub fn number(text: &[u8], settings: &FormatSettings, exponents: bool) -> Option<Kind> {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let first = unsigned.first()?;
    if first.is_ascii_alphabetic() {
        let word = ["inf", "infinity", "nan"].iter().any(|w| unsigned.eq_ignore_ascii_case(w.as_bytes()));
        return word.then_some(Kind::Float);
    }
    let digits = unsigned.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == unsigned.len() {
        let text = std::str::from_utf8(text).ok()?;
        return Some(
            match (settings.input_format_try_infer_integers, text.parse::<i64>(), text.parse::<u64>()) {
                (true, Ok(_), _) => Kind::Int,
                (true, _, Ok(_)) => Kind::UInt,
                _ => Kind::Float,
            },
        );
    }
    let mut rest = &unsigned[digits..];
    let mut fraction = 0;
    if let Some(behind) = rest.strip_prefix(b".") {
        fraction = behind.iter().take_while(|b| b.is_ascii_digit()).count();
        rest = &behind[fraction..];
    }
    if digits + fraction == 0 {
        return None;
    }
    if let [b'e' | b'E', exponent @ ..] = rest
        && exponents
    {
        let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        let whole = !exponent.is_empty() && exponent.iter().all(|b| b.is_ascii_digit());
        return whole.then_some(Kind::Float);
    }
    rest.is_empty().then_some(Kind::Float)
}

/// A date or a timestamp and nothing else. Plain numbers are none, though they could be. A date beyond Date
/// is a timestamp, one beyond DateTime or with a fraction a DateTime64 of nanoseconds, if that holds it.
pub fn date_or_time(text: &[u8], settings: &FormatSettings) -> Option<Kind> {
    // Most texts are none: they have no digit near their start, or are too short or long.
    let has_digit = text.iter().take(16).any(u8::is_ascii_digit);
    if text.len() < 6 || text.len() > 64 || !has_digit || number(text, settings, true).is_some() {
        return None;
    }
    if settings.input_format_try_infer_dates && is_date(text) {
        return Some(Kind::Date);
    }
    if !settings.input_format_try_infer_datetimes {
        return None;
    }
    let utc = LocalTime::new(&TimeZone::utc());
    let mut cur = Cursor::new(text);
    let (seconds, fraction) = match settings.date_time_input_format {
        DateTimeInputFormat::Basic => basic(&mut cur, &utc)?,
        mode => {
            let month_first = mode == DateTimeInputFormat::BestEffortUs;
            let options = Options { month_first, scale: Some(9), strict: true };
            let read = timestamp(&mut cur, &utc, options).ok()?;
            (read.unix_seconds, text.contains(&b'.').then_some(read.fraction))
        }
    };
    if !cur.is_at_end() {
        return None;
    }
    let coarse = fraction.is_none() && !settings.input_format_try_infer_datetimes_only_datetime64;
    if coarse && u32::try_from(seconds).is_ok() {
        return Some(Kind::DateTime);
    }
    let ticks = seconds.checked_mul(1_000_000_000)?.checked_add(fraction.unwrap_or(0));
    ticks.is_some().then_some(Kind::DateTime64)
}

/// A year of four digits, month and day, apart from each other, within what a Date holds. Such a day need not be.
fn is_date(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|b| b.is_ascii_digit()).count();
    if digits(text) != 4 || !text[4..].iter().all(|b| matches!(b, b'0'..=b'9' | b'-' | b'/' | b':')) {
        return false;
    }
    let mut cur = Cursor::new(text);
    let Ok(date) = time::civil(&mut cur) else { return false };
    let possible = (1..=12).contains(&date.month) && (1..=31).contains(&date.day);
    cur.is_at_end() && possible && u16::try_from(date.days()).is_ok()
}

/// `YYYY-MM-DD[ hh:mm:ss[.fraction]]`: seconds, and nanoseconds where a fraction is written.
fn basic(cur: &mut Cursor, utc: &LocalTime) -> Option<(i64, Option<i64>)> {
    let date = cur.rest().get(..10)?;
    let separators = |b: u8| matches!(b, b'-' | b'/' | b':');
    let fits = |text: &[u8], at: [usize; 2], separator: &dyn Fn(u8) -> bool| {
        text.iter().enumerate().all(|(i, b)| if at.contains(&i) { separator(*b) } else { b.is_ascii_digit() })
    };
    if !fits(date, [4, 7], &separators) {
        return None;
    }
    if let [b' ' | b'T', clock @ ..] = &cur.rest()[10..]
        && !fits(clock.get(..8)?, [2, 5], &|b| b == b':')
    {
        return None;
    }
    if date.starts_with(b"0000") {
        return None;
    }
    let seconds = time::timestamp_basic(cur, utc).ok().filter(|s| *s != i64::MIN)?;
    let fraction = cur.accept(b'.').then(|| time::fraction(cur, 9));
    Some((seconds, fraction))
}

/// A field of CSV as it stands, quotes included.
pub fn csv_field(field: &[u8], settings: &FormatSettings) -> Guess {
    let trimmed = field.trim_ascii_end();
    if !settings.input_format_csv_use_best_effort_in_schema_inference {
        return Kind::String.into();
    }
    if trimmed.is_empty() || trimmed == settings.format_csv_null_representation.as_bytes() {
        return Guess::NULL;
    }
    if is_bool(trimmed, settings) {
        return Kind::Bool.into();
    }
    if let [b'"', inside @ .., b'"'] | [b'\'', inside @ .., b'\''] = trimmed {
        if let Some(date) = date_or_time(inside, settings) {
            return date.into();
        }
        let numbers = settings.input_format_csv_try_infer_numbers_from_strings;
        let tuples = !settings.input_format_csv_try_infer_strings_from_quoted_tuples;
        return match single(inside, settings) {
            Some(guess) => match guess.kind {
                Kind::Int | Kind::UInt | Kind::Float if !numbers => Kind::String.into(),
                Kind::Tuple(_) if !tuples => Kind::String.into(),
                Kind::Bool | Kind::String | Kind::Unknown => Kind::String.into(),
                _ => guess,
            },
            None => Kind::String.into(),
        };
    }
    let exponents = settings.input_format_try_infer_exponent_floats;
    if let Some(kind) = number(trimmed, settings, exponents).or_else(|| date_or_time(trimmed, settings)) {
        return kind.into();
    }
    Kind::String.into()
}

fn is_bool(text: &[u8], settings: &FormatSettings) -> bool {
    text == settings.bool_true_representation.as_bytes()
        || text == settings.bool_false_representation.as_bytes()
}

/// A field of TSV, escapes resolved.
pub fn tsv_field(field: &[u8], settings: &FormatSettings) -> Guess {
    if !settings.input_format_tsv_use_best_effort_in_schema_inference {
        return Kind::String.into();
    }
    // What escapes resolve to nothing was the mark of NULL.
    if field.is_empty() || field == settings.format_tsv_null_representation.as_bytes() {
        return Guess::NULL;
    }
    if is_bool(field, settings) {
        return Kind::Bool.into();
    }
    if let Some(date) = date_or_time(field, settings) {
        return date.into();
    }
    // A number with a leading zero is more likely an identifier.
    if let [b'0', b'0'..=b'9', ..] = field {
        return Kind::String.into();
    }
    match single(field, settings) {
        Some(Guess { kind: Kind::Unknown, .. }) | None => Kind::String.into(),
        Some(guess) => guess,
    }
}

/// One literal and nothing else. An integer that no type holds is none.
fn single(text: &[u8], settings: &FormatSettings) -> Option<Guess> {
    let mut cur = Cursor::new(text);
    let guess = literal(&mut cur, settings)?;
    cur.is_at_end().then_some(guess)
}

/// Deeper nesting than this is no literal.
const MAX_DEPTH: usize = 100;

/// A literal of SQL from the front: number, string, NULL, boolean, array, tuple, map.
pub fn literal(cur: &mut Cursor<'_>, settings: &FormatSettings) -> Option<Guess> {
    nested(cur, settings, 0)
}

fn nested(cur: &mut Cursor<'_>, settings: &FormatSettings, depth: usize) -> Option<Guess> {
    if depth > MAX_DEPTH {
        return None;
    }
    match cur.peek()? {
        b'\'' => {
            // As in the kernel, a doubled quote is none here: such text is left to be a String.
            let mut text = Vec::new();
            let inside = quoted_length(cur.rest())?;
            string::quoted(&mut Cursor::new(&cur.rest()[..inside]), b'\'', &mut text).ok()?;
            cur.advance(inside);
            Some(date_or_time(&text, settings).unwrap_or(Kind::String).into())
        }
        b'[' => {
            let items = items(cur, b']', settings, depth, |_, _| Some(()))?;
            let mut merged = Guess { kind: Kind::Unknown, null: false };
            for item in items {
                merged = merged.merge(item, Dialect::Literals)?;
            }
            Some(Kind::Array(Box::new(merged)).into())
        }
        b'(' => Some(Kind::Tuple(items(cur, b')', settings, depth, |_, _| Some(()))?).into()),
        b'{' => {
            let mut keys = Guess { kind: Kind::Unknown, null: false };
            let values = items(cur, b'}', settings, depth, |cur, depth| {
                let key = nested(cur, settings, depth + 1)?;
                let before = std::mem::replace(&mut keys, Guess::NULL);
                keys = before.merge(key, Dialect::Literals)?;
                cur.skip_whitespace();
                cur.accept(b':').then_some(())?;
                cur.skip_whitespace();
                Some(())
            })?;
            let mut merged = Guess { kind: Kind::Unknown, null: false };
            for value in values {
                merged = merged.merge(value, Dialect::Literals)?;
            }
            Some(Kind::Map(Box::new(keys), Box::new(merged)).into())
        }
        _ => word(cur, settings),
    }
}

/// Bytes of the string at the front, quotes included.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'\'' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Elements up to the closing bracket; `before` steps over what stands before each.
fn items(
    cur: &mut Cursor<'_>,
    close: u8,
    settings: &FormatSettings,
    depth: usize,
    mut before: impl FnMut(&mut Cursor<'_>, usize) -> Option<()>,
) -> Option<Vec<Guess>> {
    cur.advance(1);
    let mut items = Vec::new();
    loop {
        cur.skip_whitespace();
        if cur.accept(close) {
            return Some(items);
        }
        if !items.is_empty() {
            cur.accept(b',').then_some(())?;
            cur.skip_whitespace();
        }
        before(cur, depth)?;
        items.push(nested(cur, settings, depth + 1)?);
    }
}

fn word(cur: &mut Cursor<'_>, settings: &FormatSettings) -> Option<Guess> {
    let mut ahead = *cur;
    let stop = |b: u8| matches!(b, b',' | b']' | b')' | b'}' | b':') || b.is_ascii_whitespace();
    let text = ahead.take_until(stop);
    let guess = if text.eq_ignore_ascii_case(b"null") {
        Guess::NULL
    } else if text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") {
        Kind::Bool.into()
    } else {
        let kind = number(text, settings, settings.input_format_try_infer_exponent_floats)?;
        let fits = kind != Kind::Float || !text.iter().all(|b| b.is_ascii_digit() || *b == b'-');
        (fits || !settings.input_format_try_infer_integers).then_some(kind)?.into()
    };
    *cur = ahead;
    Some(guess)
}
