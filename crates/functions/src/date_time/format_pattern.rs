//! Patterns of timestamps: the pieces of a `%Y-%m-%d` (MySQL) or `yyyy-MM-dd` (Joda) pattern, and how they are written.

use super::names::{MONTHS, WEEKDAYS};
use chalet_base::{Result, bail, ensure};
use chalet_types::calendar::{Civil, day_of_week, iso_week, split_day};

/// What stands in the place of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `AD` or `BC`.
    Era,
    Century,
    /// Of the era, positive.
    YearOfEra,
    Year,
    /// The last two digits.
    YearInCentury,
    WeekYear,
    WeekYearInCentury,
    Quarter,
    Month,
    MonthName,
    MonthShort,
    Week,
    /// Monday is 1.
    Weekday,
    /// Sunday is 0.
    WeekdayFromSunday,
    WeekdayName,
    WeekdayShort,
    DayOfYear,
    Day,
    /// `AM` or `PM`.
    HalfDay,
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    ClockHour,
    /// 0 to 11.
    HourOfHalf,
    /// 1 to 12.
    ClockHourOfHalf,
    Minute,
    Second,
    /// The first digits of the fraction.
    Fraction,
    /// `+0530`.
    Offset,
    ZoneName,
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Literal(Vec<u8>),
    /// A field, at least so many digits wide.
    Field(Field, usize),
}

pub type Pattern = Vec<Piece>;

fn literal(pattern: &mut Pattern, bytes: &[u8]) {
    match pattern.last_mut() {
        Some(Piece::Literal(text)) => text.extend_from_slice(bytes),
        _ if bytes.is_empty() => {}
        _ => pattern.push(Piece::Literal(bytes.to_vec())),
    }
}

/// A pattern of `%` and letters. `month_name` is what `%M` means, else minutes. When `reading`, a width of 1 stands
/// for numbers that need no leading zero.
pub fn mysql(name: &str, text: &[u8], month_name: bool, reading: bool) -> Result<Pattern> {
    let loose = if reading { 1 } else { 2 };
    let mut pattern = Pattern::new();
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        literal(&mut pattern, &rest[..at]);
        let Some(&letter) = rest.get(at + 1) else {
            bail!(BAD_ARGUMENTS, "'%' must not be the last character in the format string, use '%%' instead");
        };
        rest = &rest[at + 2..];
        let (field, width) = match letter {
            b'a' => (Field::WeekdayShort, 0),
            b'b' => (Field::MonthShort, 0),
            b'c' => (Field::Month, loose),
            b'C' => (Field::Century, 2),
            b'd' => (Field::Day, 2),
            b'e' => (Field::Day, 1),
            b'f' => (Field::Fraction, 6),
            b'g' => (Field::WeekYearInCentury, 2),
            b'G' => (Field::WeekYear, 4),
            b'h' | b'I' => (Field::ClockHourOfHalf, 2),
            b'l' => (Field::ClockHourOfHalf, loose),
            b'H' => (Field::Hour, 2),
            b'k' => (Field::Hour, loose),
            b'i' => (Field::Minute, 2),
            b'j' => (Field::DayOfYear, 3),
            b'm' => (Field::Month, 2),
            b'M' if month_name => (Field::MonthName, 0),
            b'M' => (Field::Minute, 2),
            b'p' => (Field::HalfDay, 0),
            b'Q' if reading => bail!(NOT_IMPLEMENTED, "format is not supported for quarter"),
            b'Q' => (Field::Quarter, 1),
            b's' | b'S' => (Field::Second, 2),
            b'u' => (Field::Weekday, 1),
            b'V' => (Field::Week, 2),
            b'w' => (Field::WeekdayFromSunday, 1),
            b'W' => (Field::WeekdayName, 0),
            b'y' => (Field::YearInCentury, 2),
            b'Y' => (Field::Year, 4),
            b'z' => (Field::Offset, 0),
            b'D' | b'F' | b'r' | b'R' | b'T' => {
                let several: &[u8] = match letter {
                    b'D' => b"%m/%d/%y",
                    b'F' => b"%Y-%m-%d",
                    b'r' => b"%h:%i %p",
                    b'R' => b"%H:%i",
                    _ => b"%H:%i:%S",
                };
                for piece in mysql(name, several, month_name, reading)? {
                    match piece {
                        Piece::Literal(text) => literal(&mut pattern, &text),
                        field => pattern.push(field),
                    }
                }
                continue;
            }
            b'n' => {
                literal(&mut pattern, b"\n");
                continue;
            }
            b't' => {
                literal(&mut pattern, b"\t");
                continue;
            }
            b'%' => {
                literal(&mut pattern, b"%");
                continue;
            }
            b'U' => bail!(NOT_IMPLEMENTED, "format is not supported for WEEK (Sun-Sat)"),
            b'v' => bail!(NOT_IMPLEMENTED, "format is not supported for WEEK (Mon-Sun)"),
            b'x' => bail!(NOT_IMPLEMENTED, "format is not supported for YEAR for week (Mon-Sun)"),
            b'X' => bail!(NOT_IMPLEMENTED, "format is not supported for YEAR for week (Sun-Sat)"),
            other => {
                let letter = char::from(other);
                bail!(
                    BAD_ARGUMENTS,
                    "Incorrect syntax '%{letter}', symbol is not supported '{letter}' for function {name}"
                );
            }
        };
        pattern.push(Piece::Field(field, width));
    }
    literal(&mut pattern, rest);
    Ok(pattern)
}

/// A pattern of repeated letters, as Joda-Time has them.
pub fn joda(text: &[u8]) -> Result<Pattern> {
    let mut pattern = Pattern::new();
    let mut rest = text;
    while let Some(&letter) = rest.first() {
        if letter == b'\'' {
            rest = joda_quoted(&rest[1..], &mut pattern)?;
            continue;
        }
        if !letter.is_ascii_alphabetic() {
            literal(&mut pattern, &rest[..1]);
            rest = &rest[1..];
            continue;
        }
        let width = rest.iter().take_while(|&&b| b == letter).count();
        rest = &rest[width..];
        let field = match letter {
            b'G' => Field::Era,
            b'C' => Field::Century,
            b'Y' | b'y' if width == 2 && letter == b'y' => Field::YearInCentury,
            b'Y' => Field::YearOfEra,
            b'y' => Field::Year,
            b'x' => Field::WeekYear,
            b'w' => Field::Week,
            b'e' => Field::Weekday,
            b'E' if width >= 4 => Field::WeekdayName,
            b'E' => Field::WeekdayShort,
            b'D' => Field::DayOfYear,
            b'M' if width >= 4 => Field::MonthName,
            b'M' if width == 3 => Field::MonthShort,
            b'M' => Field::Month,
            b'd' => Field::Day,
            b'a' => Field::HalfDay,
            b'K' => Field::HourOfHalf,
            b'h' => Field::ClockHourOfHalf,
            b'H' => Field::Hour,
            b'k' => Field::ClockHour,
            b'm' => Field::Minute,
            b's' => Field::Second,
            b'S' => Field::Fraction,
            b'z' => Field::ZoneName,
            b'Z' => Field::Offset,
            other => bail!(NOT_IMPLEMENTED, "format is not supported for {}", char::from(other)),
        };
        pattern.push(Piece::Field(field, width));
    }
    Ok(pattern)
}

/// What stands behind an opening quote; two quotes are one quote of the text.
fn joda_quoted<'a>(mut rest: &'a [u8], pattern: &mut Pattern) -> Result<&'a [u8]> {
    if let Some(after) = rest.strip_prefix(b"'") {
        literal(pattern, b"'");
        return Ok(after);
    }
    loop {
        let close = rest.iter().position(|&b| b == b'\'');
        let Some(close) = close else { bail!(BAD_ARGUMENTS, "No closing single quote for literal") };
        literal(pattern, &rest[..close]);
        rest = &rest[close + 1..];
        match rest.strip_prefix(b"'") {
            Some(after) => {
                literal(pattern, b"'");
                rest = after;
            }
            None => return Ok(rest),
        }
    }
}

/// A timestamp to be written.
pub struct Shown<'a> {
    /// Seconds since 1970-01-01 of the local clock.
    pub local: i64,
    /// Ticks of the second, and how many digits they have.
    pub fraction: (u64, u8),
    /// Seconds east of UTC.
    pub offset: i64,
    pub zone: &'a str,
}

/// The numbers to 99, of two digits each.
const DIGITS: [u8; 200] = {
    let mut digits = [b'0'; 200];
    let mut at = 0;
    while at < 200 {
        digits[at] += (at / 20) as u8;
        digits[at + 1] += (at / 2 % 10) as u8;
        at += 2;
    }
    digits
};

/// Of a number below 100.
#[inline]
fn two_digits(value: i64) -> &'static [u8] {
    &DIGITS[value as usize * 2..][..2]
}

fn number(value: i64, width: usize, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    out.extend(std::iter::repeat_n(b'0', width.saturating_sub(digits.len())));
    out.extend_from_slice(digits);
}

fn half_hour(hour: u32) -> i64 {
    i64::from((hour + 11) % 12 + 1)
}

/// Writes a timestamp by a pattern.
pub fn write(pattern: &[Piece], shown: &Shown, out: &mut Vec<u8>) {
    let (day, time) = split_day(shown.local);
    let date = Civil::of_days(day);
    let year = i64::from(date.year);
    let hour = time / 3600;
    for piece in pattern {
        let (field, width) = match piece {
            Piece::Literal(text) => {
                out.extend_from_slice(text);
                continue;
            }
            Piece::Field(field, width) => (*field, *width),
        };
        let weekday = || day_of_week(day);
        let value: i64 = match field {
            Field::Era => {
                out.extend_from_slice(match (year > 0, width >= 4) {
                    (true, false) => b"AD",
                    (false, false) => b"BC",
                    (true, true) => b"Anno Domini",
                    (false, true) => b"Before Christ",
                });
                continue;
            }
            Field::MonthName | Field::MonthShort => {
                let name = MONTHS[usize::from(date.month) - 1];
                out.extend_from_slice(
                    &name.as_bytes()[..if field == Field::MonthName { name.len() } else { 3 }],
                );
                continue;
            }
            Field::WeekdayName | Field::WeekdayShort => {
                let name = WEEKDAYS[usize::from(weekday()) - 1];
                out.extend_from_slice(
                    &name.as_bytes()[..if field == Field::WeekdayName { name.len() } else { 3 }],
                );
                continue;
            }
            Field::HalfDay => {
                out.extend_from_slice(if hour < 12 { b"AM" } else { b"PM" });
                continue;
            }
            Field::Fraction => {
                fraction(shown.fraction, width, out);
                continue;
            }
            Field::Offset => {
                out.push(if shown.offset < 0 { b'-' } else { b'+' });
                let minutes = shown.offset.abs() / 60;
                number(minutes / 60 * 100 + minutes % 60, 4, out);
                continue;
            }
            Field::ZoneName => {
                out.extend_from_slice(shown.zone.as_bytes());
                continue;
            }
            Field::Century => year / 100,
            Field::YearOfEra => {
                if year > 0 {
                    year
                } else {
                    1 - year
                }
            }
            Field::Year => year,
            Field::YearInCentury => year.rem_euclid(100),
            Field::WeekYear => iso_week(day).0.into(),
            Field::WeekYearInCentury => iso_week(day).0.rem_euclid(100).into(),
            Field::Quarter => i64::from((date.month - 1) / 3 + 1),
            Field::Month => date.month.into(),
            Field::Week => iso_week(day).1.into(),
            Field::Weekday => weekday().into(),
            Field::WeekdayFromSunday => i64::from(weekday() % 7),
            Field::DayOfYear => date.day_of_year().into(),
            Field::Day => date.day.into(),
            Field::Hour => hour.into(),
            Field::ClockHour => i64::from((hour + 23) % 24 + 1),
            Field::HourOfHalf => i64::from(hour % 12),
            Field::ClockHourOfHalf => half_hour(hour),
            Field::Minute => i64::from(time / 60 % 60),
            Field::Second => i64::from(time % 60),
        };
        number(value, width, out);
    }
}

/// Letters of a short name.
const SHORT_NAME: usize = 3;

/// A pattern of literals, of short names and of numbers of two and four digits: a text of one length, in which digits are put for each timestamp.
pub struct Template {
    text: Vec<u8>,
    /// Where the numbers of the day stand, and those of the time of day.
    of_day: Vec<(Field, usize, usize)>,
    of_time: Vec<(Field, usize, usize)>,
    /// Where the beginnings of names of the month and of the day of the week stand.
    names: Vec<(Field, usize)>,
    /// The day and the time of day that stand in the text: timestamps come day by day more often than not, and those of dates have
    /// no time of day at all.
    day: Option<i32>,
    time: Option<u32>,
}

impl Template {
    /// None of a pattern with anything else, or with nothing but literals.
    pub fn of(pattern: &[Piece]) -> Option<Template> {
        let (of_day, of_time) = (Vec::new(), Vec::new());
        let mut template =
            Template { text: Vec::new(), of_day, of_time, names: Vec::new(), day: None, time: None };
        for piece in pattern {
            match piece {
                Piece::Literal(text) => template.text.extend_from_slice(text),
                Piece::Field(
                    field @ (Field::Year
                    | Field::YearInCentury
                    | Field::Month
                    | Field::Day
                    | Field::Hour
                    | Field::ClockHourOfHalf
                    | Field::Minute
                    | Field::Second),
                    width @ (2 | 4),
                ) => {
                    let of_day =
                        [Field::Year, Field::YearInCentury, Field::Month, Field::Day].contains(field);
                    let fields = if of_day { &mut template.of_day } else { &mut template.of_time };
                    fields.push((*field, template.text.len(), *width));
                    template.text.resize(template.text.len() + width, b'0');
                }
                Piece::Field(field @ (Field::MonthShort | Field::WeekdayShort), _) => {
                    template.names.push((*field, template.text.len()));
                    template.text.resize(template.text.len() + SHORT_NAME, b' ');
                }
                Piece::Field(..) => return None,
            }
        }
        let has_fields =
            !template.of_day.is_empty() || !template.of_time.is_empty() || !template.names.is_empty();
        has_fields.then_some(template)
    }

    /// The text of a timestamp; none where a number is too long.
    #[inline]
    pub fn text(&mut self, local: i64) -> Option<&[u8]> {
        let (day, time) = split_day(local);
        if self.day != Some(day) {
            let date = Civil::of_days(day);
            let is_written = put(&mut self.text, &self.of_day, |field| match field {
                Field::Year => date.year.into(),
                Field::YearInCentury => i64::from(date.year).rem_euclid(100),
                Field::Month => date.month.into(),
                _ => date.day.into(),
            });
            for &(field, at) in &self.names {
                let name = match field {
                    Field::MonthShort => MONTHS[usize::from(date.month) - 1],
                    _ => WEEKDAYS[usize::from(day_of_week(day)) - 1],
                };
                self.text[at..at + SHORT_NAME].copy_from_slice(&name.as_bytes()[..SHORT_NAME]);
            }
            self.day = is_written.then_some(day);
            if !is_written {
                return None;
            }
        }
        if self.time != Some(time) {
            let is_written = put(&mut self.text, &self.of_time, |field| match field {
                Field::Hour => (time / 3600).into(),
                Field::ClockHourOfHalf => half_hour(time / 3600),
                Field::Minute => i64::from(time / 60 % 60),
                _ => i64::from(time % 60),
            });
            self.time = is_written.then_some(time);
            if !is_written {
                return None;
            }
        }
        Some(&self.text)
    }
}

/// Writes numbers to their places; says whether all of them have room.
#[inline(always)]
fn put(text: &mut [u8], fields: &[(Field, usize, usize)], value: impl Fn(Field) -> i64) -> bool {
    for &(field, at, width) in fields {
        let value = value(field);
        match (width, value) {
            (2, 0..100) => text[at..at + 2].copy_from_slice(two_digits(value)),
            (4, 0..10_000) => {
                text[at..at + 2].copy_from_slice(two_digits(value / 100));
                text[at + 2..at + 4].copy_from_slice(two_digits(value % 100));
            }
            _ => return false,
        }
    }
    true
}

/// The first `width` digits of a fraction; `width` 0 stands for a single zero where there is no fraction.
fn fraction((ticks, digits): (u64, u8), width: usize, out: &mut Vec<u8>) {
    let own = usize::from(digits);
    if own > width {
        return number((ticks / 10u64.pow((own - width) as u32)) as i64, width, out);
    }
    if own > 0 {
        number(ticks as i64, own, out);
    }
    out.extend(std::iter::repeat_n(b'0', width - own));
}

/// Fails when the pattern asks for what only a timestamp has.
pub fn check_for_date(pattern: &[Piece], ty: &chalet_types::DataType) -> Result<()> {
    let needs_zone = pattern.iter().any(|piece| matches!(piece, Piece::Field(Field::Offset, _)));
    ensure!(
        !needs_zone,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal argument of type {ty} for function timezoneOffset"
    );
    Ok(())
}
