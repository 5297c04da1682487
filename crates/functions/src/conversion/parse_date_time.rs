//! `parseDateTime` and its kin: moments by a format, in the syntax of MySQL or of Joda-Time.

use super::cast::text_of;
use super::to_type::Failure;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::{Column, NullBuffer, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY, day_of_week};
use chalet_types::{DataType, TimeZone};

struct ParseDateTime {
    record: &'static Record,
    failure: Failure,
    joda: bool,
    /// DateTime64 instead of DateTime.
    fractions: bool,
}

macro_rules! functions {
    ($registry:ident, $joda:literal, $format:literal; $($name:literal, $failure:ident, $fractions:literal;)*) => {$(
        $registry.add_scalar(ParseDateTime {
            record: const {
                &Record {
                    name: $name,
                    any_case_aliases: aliases($name),
                    summary: "Reads a date with time by a format.",
                    syntax: concat!($name, "(s, format[, timezone])"),
                    examples: &[Example {
                        sql: concat!("SELECT ", $name, "('2020-01-02 03:04', '", $format, "', 'UTC')"),
                        result: if $fractions && !$joda { "2020-01-02 03:04:00.000000" } else { "2020-01-02 03:04:00" },
                    }],
                    ..Record::DEFAULT
                }
            },
            failure: Failure::$failure,
            joda: $joda,
            fractions: $fractions,
        });
    )*};
}

pub fn register(registry: &mut Registry) {
    functions! {
        registry, false, "%Y-%m-%d %H:%i";
        "parseDateTime", Throw, false; "parseDateTimeOrNull", Null, false; "parseDateTimeOrZero", Zero, false;
        "parseDateTime64", Throw, true; "parseDateTime64OrNull", Null, true; "parseDateTime64OrZero", Zero, true;
    }
    functions! {
        registry, true, "yyyy-MM-dd HH:mm";
        "parseDateTimeInJodaSyntax", Throw, false; "parseDateTimeInJodaSyntaxOrNull", Null, false;
        "parseDateTimeInJodaSyntaxOrZero", Zero, false; "parseDateTime64InJodaSyntax", Throw, true;
        "parseDateTime64InJodaSyntaxOrNull", Null, true; "parseDateTime64InJodaSyntaxOrZero", Zero, true;
    }
}

/// Other names, as MySQL has them.
const fn aliases(name: &str) -> &'static [&'static str] {
    match name.as_bytes() {
        b"parseDateTime" => &["TO_UNIXTIME"],
        b"parseDateTimeOrNull" => &["str_to_date"],
        _ => &[],
    }
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(Vec<u8>),
    /// A number of so many digits, spaces before it allowed or not.
    Number {
        field: Field,
        least: usize,
        most: usize,
        padded: bool,
    },
    Month {
        long: bool,
    },
    Weekday {
        long: bool,
    },
    AmPm,
    Era,
    /// `+hhmm`
    Offset,
    ZoneName,
    Fraction {
        most: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Year,
    /// Of two digits: 70 is 1970, 69 is 2069.
    ShortYear,
    Century,
    Month,
    Day,
    DayOfYear,
    Hour,
    /// 1 to 12
    HalfDayHour,
    /// 0 to 11
    HalfDayHourFromZero,
    /// 1 to 24
    HourFromOne,
    Minute,
    Second,
    WeekYear,
    Week,
    /// Monday is 1.
    Weekday,
    /// Sunday is 0.
    WeekdayFromSunday,
}

fn number(field: Field, least: usize, most: usize) -> Piece {
    Piece::Number { field, least, most, padded: false }
}

fn mysql(format: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut bytes = format.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'%' {
            literal(&mut pieces, byte);
            continue;
        }
        let Some(&letter) = bytes.next() else {
            bail!(BAD_ARGUMENTS, "Trailing '%' symbol");
        };
        let unsupported = |what: &str| err!(NOT_IMPLEMENTED, "format is not supported for {what}");
        pieces.push(match letter {
            b'Y' => number(Field::Year, 4, 4),
            b'y' => number(Field::ShortYear, 2, 2),
            b'C' => number(Field::Century, 2, 2),
            b'm' => number(Field::Month, 2, 2),
            b'c' => number(Field::Month, 1, 2),
            b'd' => number(Field::Day, 2, 2),
            b'e' => Piece::Number { field: Field::Day, least: 1, most: 2, padded: true },
            b'j' => number(Field::DayOfYear, 3, 3),
            b'H' => number(Field::Hour, 2, 2),
            b'k' => Piece::Number { field: Field::Hour, least: 1, most: 2, padded: true },
            b'h' | b'I' => number(Field::HalfDayHour, 2, 2),
            b'l' => Piece::Number { field: Field::HalfDayHour, least: 1, most: 2, padded: true },
            b'i' => number(Field::Minute, 2, 2),
            b's' | b'S' => number(Field::Second, 2, 2),
            b'f' => Piece::Fraction { most: 6 },
            b'G' => number(Field::WeekYear, 4, 4),
            b'V' | b'v' => number(Field::Week, 2, 2),
            b'u' => number(Field::Weekday, 1, 1),
            b'w' => number(Field::WeekdayFromSunday, 1, 1),
            b'p' => Piece::AmPm,
            b'b' => Piece::Month { long: false },
            b'M' => Piece::Month { long: true },
            b'a' => Piece::Weekday { long: false },
            b'W' => Piece::Weekday { long: true },
            b'z' => Piece::Offset,
            b'F' | b'T' | b'R' | b'D' | b'r' => {
                let long: &[u8] = match letter {
                    b'F' => b"%Y-%m-%d",
                    b'T' => b"%H:%i:%s",
                    b'R' => b"%H:%i",
                    b'D' => b"%m/%d/%y",
                    _ => b"%h:%i %p",
                };
                pieces.extend(mysql(long)?);
                continue;
            }
            b'n' | b't' | b'%' => {
                literal(
                    &mut pieces,
                    match letter {
                        b'n' => b'\n',
                        b't' => b'\t',
                        _ => b'%',
                    },
                );
                continue;
            }
            b'Q' => return Err(unsupported("quarter")),
            b'U' => return Err(unsupported("WEEK (Sun-Sat)")),
            b'g' => return Err(unsupported("year of week with two digits")),
            other => bail!(BAD_ARGUMENTS, "Wrong syntax '%{}', unexpected symbol", char::from(other)),
        });
    }
    Ok(pieces)
}

fn literal(pieces: &mut Vec<Piece>, byte: u8) {
    match pieces.last_mut() {
        Some(Piece::Literal(text)) => text.push(byte),
        _ => pieces.push(Piece::Literal(vec![byte])),
    }
}

fn joda(format: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < format.len() {
        let letter = format[at];
        if letter == b'\'' {
            at += 1;
            if format.get(at) == Some(&b'\'') {
                literal(&mut pieces, b'\'');
                at += 1;
                continue;
            }
            loop {
                match format.get(at) {
                    None => bail!(BAD_ARGUMENTS, "No closing single quote for literal"),
                    Some(b'\'') if format.get(at + 1) == Some(&b'\'') => {
                        literal(&mut pieces, b'\'');
                        at += 2;
                    }
                    Some(b'\'') => break,
                    Some(&byte) => {
                        literal(&mut pieces, byte);
                        at += 1;
                    }
                }
            }
            at += 1;
            continue;
        }
        if !letter.is_ascii_alphabetic() {
            literal(&mut pieces, letter);
            at += 1;
            continue;
        }
        let n = format[at..].iter().take_while(|b| **b == letter).count();
        at += n;
        // A number may be longer than its letters unless another number follows at once.
        let next_is_number = format.get(at).is_some_and(|b| b"CYxweyDMdKhHkms".contains(b));
        let up_to = |most: usize| if next_is_number { n } else { n.max(most) };
        let least = if next_is_number { n } else { 1 };
        pieces.push(match letter {
            b'G' => Piece::Era,
            b'C' => number(Field::Century, least, up_to(2)),
            b'Y' | b'y' if n == 2 => number(Field::ShortYear, 2, 2),
            b'Y' | b'y' => number(Field::Year, least, up_to(4)),
            b'x' => number(Field::WeekYear, least, up_to(4)),
            b'w' => number(Field::Week, least, up_to(2)),
            b'e' => number(Field::Weekday, least, up_to(1)),
            b'E' => Piece::Weekday { long: n >= 4 },
            b'D' => number(Field::DayOfYear, least, up_to(3)),
            b'M' if n >= 3 => Piece::Month { long: n >= 4 },
            b'M' => number(Field::Month, least, up_to(2)),
            b'd' => number(Field::Day, least, up_to(2)),
            b'a' => Piece::AmPm,
            b'K' => number(Field::HalfDayHourFromZero, least, up_to(2)),
            b'h' => number(Field::HalfDayHour, least, up_to(2)),
            b'H' => number(Field::Hour, least, up_to(2)),
            b'k' => number(Field::HourFromOne, least, up_to(2)),
            b'm' => number(Field::Minute, least, up_to(2)),
            b's' => number(Field::Second, least, up_to(2)),
            b'S' => Piece::Fraction { most: n },
            b'z' => Piece::ZoneName,
            b'Z' => Piece::Offset,
            other => bail!(NOT_IMPLEMENTED, "format is not supported for {}", char::from(other)),
        });
    }
    Ok(pieces)
}

#[derive(Default)]
struct Parts {
    year: Option<i32>,
    month: Option<u8>,
    day: Option<u8>,
    day_of_year: Option<u16>,
    week: Option<u8>,
    weekday: Option<u8>,
    hour: i64,
    half_day: bool,
    pm: bool,
    minute: i64,
    second: i64,
    /// Digits and how many they are.
    fraction: (i64, usize),
    offset: Option<i64>,
    zone: Option<TimeZone>,
}

#[cold]
fn failed(what: impl std::fmt::Display) -> Error {
    err!(CANNOT_PARSE_DATETIME, "{what}")
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// The place of the name that the text begins with, and its length.
fn named(text: &[u8], names: &[&str], long: bool) -> Option<(usize, usize)> {
    let starts = |name: &str| text.get(..name.len()).is_some_and(|t| t.eq_ignore_ascii_case(name.as_bytes()));
    let full = names.iter().position(|name| starts(name)).map(|i| (i, names[i].len()));
    let short = || names.iter().position(|name| starts(&name[..3])).map(|i| (i, 3));
    if long { full.or_else(short) } else { short() }
}

fn read(text: &[u8], pieces: &[Piece]) -> Result<Parts> {
    let mut parts = Parts::default();
    let mut rest = text;
    let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    for piece in pieces {
        let unreadable = || failed(format_args!("Unable to parse fragment {piece:?} from {}", shown(rest)));
        let taken = match piece {
            Piece::Literal(wanted) => {
                if !rest.starts_with(wanted) {
                    return Err(failed(format_args!(
                        "Unable to parse fragment LITERAL from {} because literal {} is expected",
                        shown(rest),
                        shown(wanted)
                    )));
                }
                wanted.len()
            }
            Piece::Number { field, least, most, padded } => {
                let blank = usize::from(*padded && rest.first() == Some(&b' '));
                let digits = rest[blank..].iter().take(*most).take_while(|b| b.is_ascii_digit()).count();
                if digits < *least {
                    return Err(unreadable());
                }
                let value = rest[blank..blank + digits].iter().fold(0, |v, d| v * 10 + i64::from(d - b'0'));
                set(&mut parts, *field, value)?;
                blank + digits
            }
            Piece::Month { long } => {
                let (month, len) = named(rest, &MONTHS, *long).ok_or_else(unreadable)?;
                parts.month = Some(month as u8 + 1);
                len
            }
            Piece::Weekday { long } => {
                let (day, len) = named(rest, &WEEKDAYS, *long).ok_or_else(unreadable)?;
                parts.weekday = Some(day as u8 + 1);
                len
            }
            Piece::AmPm => {
                let (half, len) = match rest.get(..2) {
                    Some(t) if t.eq_ignore_ascii_case(b"am") => (false, 2),
                    Some(t) if t.eq_ignore_ascii_case(b"pm") => (true, 2),
                    _ => return Err(unreadable()),
                };
                parts.pm = half;
                len
            }
            Piece::Era => match rest.get(..2) {
                Some(t) if t.eq_ignore_ascii_case(b"ad") || t.eq_ignore_ascii_case(b"bc") => 2,
                _ => return Err(unreadable()),
            },
            Piece::Offset => {
                let (Some(sign @ (b'+' | b'-')), Some(digits)) = (rest.first(), rest.get(1..5)) else {
                    return Err(unreadable());
                };
                if !digits.iter().all(u8::is_ascii_digit) {
                    return Err(unreadable());
                }
                let value = digits.iter().fold(0i64, |v, d| v * 10 + i64::from(d - b'0'));
                let seconds = value / 100 * 3600 + value % 100 * 60;
                parts.offset = Some(if *sign == b'-' { -seconds } else { seconds });
                5
            }
            Piece::ZoneName => {
                let len = rest
                    .iter()
                    .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+'))
                    .count();
                let name = std::str::from_utf8(&rest[..len]).map_err(|_| unreadable())?;
                parts.zone = Some(TimeZone::named(name).map_err(|_| unreadable())?);
                len
            }
            Piece::Fraction { most } => {
                let digits = rest.iter().take(*most).take_while(|b| b.is_ascii_digit()).count();
                if digits == 0 {
                    return Err(unreadable());
                }
                let value = rest[..digits].iter().fold(0i64, |v, d| v * 10 + i64::from(d - b'0'));
                parts.fraction = (value, digits);
                digits
            }
        };
        rest = &rest[taken..];
    }
    if !rest.is_empty() {
        return Err(failed(format_args!(
            "Invalid format input {} is malformed at {}",
            shown(text),
            shown(rest)
        )));
    }
    Ok(parts)
}

fn set(parts: &mut Parts, field: Field, value: i64) -> Result<()> {
    let check = |what: &str, least: i64, most: i64| -> Result<()> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(failed(format_args!("Value {value} for {what} must be in the range [{least}, {most}]")))
    };
    match field {
        Field::Year | Field::WeekYear => parts.year = Some(value as i32),
        Field::ShortYear => parts.year = Some((if value >= 70 { 1900 } else { 2000 }) + value as i32),
        Field::Century => {
            let rest = parts.year.map_or(0, |year| year % 100);
            parts.year = Some(value as i32 * 100 + rest);
        }
        Field::Month => {
            check("month of year", 1, 12)?;
            parts.month = Some(value as u8);
        }
        Field::Day => {
            check("day of month", 1, 31)?;
            parts.day = Some(value as u8);
        }
        Field::DayOfYear => {
            check("day of year", 1, 366)?;
            parts.day_of_year = Some(value as u16);
        }
        Field::Week => {
            check("week", 1, 53)?;
            parts.week = Some(value as u8);
        }
        Field::Weekday => {
            check("day of week", 1, 7)?;
            parts.weekday = Some(value as u8);
        }
        Field::WeekdayFromSunday => {
            check("day of week", 0, 6)?;
            parts.weekday = Some(if value == 0 { 7 } else { value as u8 });
        }
        Field::Minute => {
            check("minute", 0, 59)?;
            parts.minute = value;
        }
        Field::Second => {
            check("second", 0, 59)?;
            parts.second = value;
        }
        Field::Hour | Field::HourFromOne | Field::HalfDayHour | Field::HalfDayHourFromZero => {
            let (least, most) = match field {
                Field::Hour => (0, 23),
                Field::HourFromOne => (1, 24),
                Field::HalfDayHour => (1, 12),
                _ => (0, 11),
            };
            check("hour", least, most)?;
            parts.half_day = matches!(field, Field::HalfDayHour | Field::HalfDayHourFromZero);
            parts.hour = if value == most + 1 - least && least == 1 { 0 } else { value };
        }
    }
    Ok(())
}

/// Unix seconds of the parts.
fn moment(parts: &Parts, local: &LocalTime, years: (i32, i32)) -> Result<i64> {
    let dated = parts.month.is_some() || parts.day.is_some() || parts.day_of_year.is_some();
    let weekly = parts.week.is_some() || parts.weekday.is_some();
    let year = parts.year.unwrap_or(if dated || weekly { 2000 } else { 1970 });
    if !(years.0..=years.1).contains(&year) {
        return Err(failed(format_args!(
            "Value {year} for year must be in the range [{}, {}]",
            years.0, years.1
        )));
    }
    let days = if let Some(day) = parts.day_of_year {
        let days = Civil::new(year, 1, 1).days() + i32::from(day) - 1;
        if Civil::of_days(days).year != year {
            return Err(failed(format_args!(
                "Invalid day of year, out of range (year: {year} day of year: {day})"
            )));
        }
        days
    } else if dated || !weekly {
        let date = Civil::new(year, parts.month.unwrap_or(1), parts.day.unwrap_or(1));
        if !date.is_valid() {
            return Err(failed(format_args!(
                "Invalid date, out of range (year: {year} month: {} day_of_month: {})",
                date.month, date.day
            )));
        }
        date.days()
    } else {
        // Week 1 is the one with the fourth of January.
        let fourth = Civil::new(year, 1, 4).days();
        let monday = fourth - i32::from(day_of_week(fourth)) + 1;
        monday + 7 * (i32::from(parts.week.unwrap_or(1)) - 1) + i32::from(parts.weekday.unwrap_or(1)) - 1
    };
    let hour = if parts.half_day && parts.pm { parts.hour % 12 + 12 } else { parts.hour };
    let seconds = i64::from(days) * SECONDS_PER_DAY + hour * 3600 + parts.minute * 60 + parts.second;
    Ok(match (parts.offset, &parts.zone) {
        (Some(offset), _) => seconds - offset,
        (None, Some(zone)) => LocalTime::new(zone).to_moment(seconds),
        (None, None) => local.to_moment(seconds),
    })
}

impl ScalarFunction for ParseDateTime {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=3)?;
        ensure!(
            args[0].ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'time' to function '{name}'. Expected: String, got: {}",
            args[0].ty
        );
        let format = match args.get(1) {
            Some(format) => format.constant_str(name, "format")?,
            None if self.joda => "yyyy-MM-dd HH:mm:ss",
            None => "%Y-%m-%d %H:%i:%s",
        };
        let pieces = if self.joda { joda(format.as_bytes())? } else { mysql(format.as_bytes())? };
        let zone = match args.get(2) {
            Some(zone) => TimeZone::named(zone.constant_str(name, "timezone")?)?,
            None => ctx.time_zone.clone(),
        };
        // MySQL's fractions have six digits, Joda's as many as the format has.
        let scale = pieces.iter().find_map(|piece| match piece {
            Piece::Fraction { most } => Some((*most).min(9) as u8),
            _ => None,
        });
        let scale = if self.joda { scale.unwrap_or(0) } else { 6 };
        let ty = match self.fractions {
            true => DataType::DateTime64(scale, Some(zone)),
            false => DataType::DateTime(Some(zone)),
        };
        Ok(Bound::with_state(if self.failure == Failure::Null { ty.nullable() } else { ty }, pieces))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let pieces: &Vec<Piece> = call.state()?;
        let ty = call.result.bare();
        let local = LocalTime::new(ty.time_zone().unwrap_or(&call.ctx.time_zone));
        let scale = match ty {
            DataType::DateTime64(scale, _) => u32::from(*scale),
            _ => 0,
        };
        let years = if self.fractions { (1900, 2299) } else { (1970, 2106) };
        let parse = |text: &[u8]| -> Result<i64> {
            let parts = read(text, pieces)?;
            let seconds = moment(&parts, &local, years)?;
            if !self.fractions {
                return match u32::try_from(seconds) {
                    Ok(seconds) => Ok(seconds.into()),
                    Err(_) => Err(failed("Seconds since epoch is out of the range of DateTime")),
                };
            }
            let (digits, n) = parts.fraction;
            let ticks = if n as u32 <= scale { digits * 10i64.pow(scale - n as u32) } else { digits };
            Ok(seconds * 10i64.pow(scale) + ticks)
        };
        let mut valid = Vec::with_capacity(call.n_rows);
        let mut ticks = Vec::with_capacity(call.n_rows);
        for text in text_of(call.vector(0))?.iter() {
            let result = parse(text);
            valid.push(result.is_ok());
            ticks.push(match result {
                Ok(value) => value,
                Err(e) if self.failure == Failure::Throw => return Err(e),
                Err(_) => 0,
            });
        }
        let values: Vector = match self.fractions {
            true => ticks.into(),
            false => ticks.into_iter().map(|t| t as u32).collect::<Vec<_>>().into(),
        };
        if self.failure == Failure::Null {
            return Ok(values.with_nulls(Some(&NullBuffer::from(valid))).into());
        }
        Ok(values.into())
    }
}
