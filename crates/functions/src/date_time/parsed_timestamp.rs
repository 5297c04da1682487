//! A timestamp being read by a pattern: its fields as they come, and what they make in the end.

use super::format_pattern::{Field, Piece};
use super::names::{MONTHS, WEEKDAYS};
use chalet_base::{Result, bail, ensure, err};
use chalet_types::TimeZone;
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY, day_of_week, is_leap_year};

/// Which of the three ways of naming a day came last.
#[derive(Clone, Copy, PartialEq)]
enum DayBy {
    MonthAndDay,
    Week,
    DayOfYear,
}

/// The fields read so far.
pub struct Parsed {
    year: Option<i32>,
    /// Whether the year counts within an era, and in that before Christ.
    before_christ: bool,
    month: i32,
    day: i32,
    week: i32,
    weekday: i32,
    day_of_year: i32,
    day_by: DayBy,
    hour: i32,
    minute: i32,
    second: i32,
    is_half: bool,
    afternoon: bool,
    /// In millionths of a second.
    pub micros: i64,
    /// Seconds east of UTC.
    offset: Option<i64>,
    zone: Option<TimeZone>,
}

/// Text in which a pattern is looked for.
pub struct Text<'a> {
    rest: &'a [u8],
    /// Numbers of the pattern have at most their width in digits, and may have fewer.
    joda: bool,
    /// Years that the result can hold.
    years: (i32, i32),
    /// A day of one digit has a space before it.
    padded_days: bool,
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// The value of a field, unless it is out of its range.
fn within(what: &str, value: i32, least: i32, most: i32) -> Result<i32> {
    ensure!(
        (least..=most).contains(&value),
        CANNOT_PARSE_DATETIME,
        "Value {value} for {what} must be in the range [{least}, {most}]"
    );
    Ok(value)
}

impl<'a> Text<'a> {
    pub fn new(text: &'a [u8], joda: bool, years: (i32, i32)) -> Text<'a> {
        Text { rest: text, joda, years, padded_days: false }
    }

    /// Must a day of one digit have a space before it?
    pub fn with_padded_days(self, padded_days: bool) -> Text<'a> {
        Text { padded_days, ..self }
    }

    /// Exactly `width` characters as a number; like the kernel, it does not look whether they are digits, the range
    /// of the field decides.
    fn exact(&mut self, width: usize) -> Result<i32> {
        ensure!(
            self.rest.len() >= width,
            CANNOT_PARSE_DATETIME,
            "Unable to parse a number of {width} digits from {}",
            shown(self.rest)
        );
        let (digits, rest) = self.rest.split_at(width);
        self.rest = rest;
        Ok(digits.iter().fold(0, |value, &b| value * 10 + i32::from(b) - i32::from(b'0')))
    }

    /// One to `most` digits as a number, with a sign when `signed`.
    fn loose(&mut self, most: usize, signed: bool) -> Result<i32> {
        let negative = signed && self.rest.first() == Some(&b'-');
        if negative || signed && self.rest.first() == Some(&b'+') {
            self.rest = &self.rest[1..];
        }
        let n = self.rest.iter().take(most).take_while(|b| b.is_ascii_digit()).count();
        ensure!(
            n > 0,
            CANNOT_PARSE_DATETIME,
            "Unable to parse a number from {} because read number failed",
            shown(self.rest)
        );
        let value = self.exact(n)?;
        Ok(if negative { -value } else { value })
    }

    fn number(&mut self, field: Field, width: usize) -> Result<i32> {
        if self.joda {
            return match field {
                Field::Year | Field::YearOfEra | Field::WeekYear => {
                    self.loose(if width == 3 { 4 } else { width }, true)
                }
                Field::Century | Field::YearInCentury => self.loose(width, false),
                Field::DayOfYear => self.loose(width.max(3), false),
                Field::Weekday => self.loose(width, false),
                _ => self.loose(width.max(2), false),
            };
        }
        match field {
            Field::Day if width == 1 && self.padded_days => match self.rest {
                [b' ', ..] => {
                    self.rest = &self.rest[1..];
                    self.exact(1)
                }
                _ => self.exact(2),
            },
            Field::Day if width == 1 => {
                self.rest = self.rest.trim_ascii_start();
                self.loose(2, false)
            }
            Field::Month | Field::Hour | Field::ClockHourOfHalf if width == 1 => self.loose(2, false),
            _ => self.exact(width),
        }
    }

    /// Which of the names stands here, in full or its first three letters, in any case.
    fn name(&mut self, names: &[&str], what: &str) -> Result<i32> {
        for (index, name) in names.iter().enumerate() {
            let name = name.as_bytes();
            for len in [name.len(), 3] {
                if self.rest.len() >= len && self.rest[..len].eq_ignore_ascii_case(&name[..len]) {
                    self.rest = &self.rest[len..];
                    return Ok(index as i32 + 1);
                }
            }
        }
        Err(err!(CANNOT_PARSE_DATETIME, "Unable to parse the name of a {what} from {}", shown(self.rest)))
    }

    fn literal(&mut self, literal: &[u8]) -> Result<()> {
        ensure!(
            self.rest.len() >= literal.len(),
            CANNOT_PARSE_DATETIME,
            "Unable to parse fragment LITERAL from {} because insufficient space to parse literal",
            shown(self.rest)
        );
        ensure!(
            self.rest.starts_with(literal),
            CANNOT_PARSE_DATETIME,
            "Unable to parse fragment LITERAL from {} because literal {} is expected but {} provided",
            shown(self.rest),
            shown(literal),
            shown(&self.rest[..literal.len()])
        );
        self.rest = &self.rest[literal.len()..];
        Ok(())
    }

    /// Reads all of the text by a pattern.
    pub fn read(mut self, pattern: &[Piece]) -> Result<Parsed> {
        let whole = self.rest;
        let mut parsed = Parsed {
            year: None,
            before_christ: false,
            month: 1,
            day: 1,
            week: 1,
            weekday: 1,
            day_of_year: 1,
            day_by: DayBy::MonthAndDay,
            hour: 0,
            minute: 0,
            second: 0,
            is_half: false,
            afternoon: false,
            micros: 0,
            offset: None,
            zone: None,
        };
        for piece in pattern {
            match piece {
                Piece::Literal(literal) => self.literal(literal)?,
                Piece::Field(field, width) => self.field(*field, *width, &mut parsed)?,
            }
        }
        ensure!(
            self.rest.is_empty(),
            CANNOT_PARSE_DATETIME,
            "Invalid format input {} is malformed at {}",
            shown(whole),
            shown(self.rest)
        );
        Ok(parsed)
    }

    fn field(&mut self, field: Field, width: usize, parsed: &mut Parsed) -> Result<()> {
        match field {
            Field::Era
            | Field::Century
            | Field::Year
            | Field::YearOfEra
            | Field::WeekYear
            | Field::YearInCentury
            | Field::WeekYearInCentury => self.year(field, width, parsed),
            Field::Quarter => bail!(NOT_IMPLEMENTED, "format is not supported for quarter"),
            Field::Month
            | Field::MonthName
            | Field::MonthShort
            | Field::Day
            | Field::Week
            | Field::Weekday
            | Field::WeekdayFromSunday
            | Field::WeekdayName
            | Field::WeekdayShort
            | Field::DayOfYear => self.day(field, width, parsed),
            Field::HalfDay
            | Field::Hour
            | Field::ClockHour
            | Field::HourOfHalf
            | Field::ClockHourOfHalf
            | Field::Minute
            | Field::Second
            | Field::Fraction => self.time_of_day(field, width, parsed),
            Field::Offset | Field::ZoneName => self.zone(field, parsed),
        }
    }

    /// The year, its century or its era.
    fn year(&mut self, field: Field, width: usize, parsed: &mut Parsed) -> Result<()> {
        if field == Field::Era {
            let era = self.rest.get(..2).unwrap_or_default();
            parsed.before_christ = era.eq_ignore_ascii_case(b"BC");
            ensure!(
                parsed.before_christ || era.eq_ignore_ascii_case(b"AD"),
                CANNOT_PARSE_DATETIME,
                "Unknown era {}",
                shown(era)
            );
            ensure!(!parsed.before_christ, CANNOT_PARSE_DATETIME, "Era BC exceeds the range of DateTime");
            self.rest = &self.rest[2..];
            return Ok(());
        }
        let number = self.number(field, width)?;
        let year = match field {
            Field::Century => {
                parsed.year = Some(within("century", number, 19, 21)? * 100);
                return Ok(());
            }
            Field::YearInCentury | Field::WeekYearInCentury if number >= 70 => 1900 + number,
            Field::YearInCentury | Field::WeekYearInCentury => 2000 + number,
            _ => number,
        };
        parsed.year = Some(within("year", year, self.years.0, self.years.1)?);
        Ok(())
    }

    /// What names a day of the year: month and day, week and day of the week, or day of the year.
    fn day(&mut self, field: Field, width: usize, parsed: &mut Parsed) -> Result<()> {
        match field {
            Field::MonthName | Field::MonthShort => parsed.month = self.name(&MONTHS, "month")?,
            Field::WeekdayName | Field::WeekdayShort => {
                parsed.weekday = self.name(&WEEKDAYS, "day of the week")?;
            }
            _ => {
                let number = self.number(field, width)?;
                match field {
                    Field::Month => parsed.month = within("month of year", number, 1, 12)?,
                    Field::Day => parsed.day = within("day of month", number, 1, 31)?,
                    Field::Week => parsed.week = within("week of year", number, 1, 53)?,
                    Field::Weekday => parsed.weekday = within("day of week", number, 1, 7)?,
                    Field::WeekdayFromSunday => {
                        let weekday = if number == 0 { 7 } else { number };
                        parsed.weekday = within("day of week", weekday, 1, 7)?;
                    }
                    _ => parsed.day_of_year = within("day of year", number, 1, 366)?,
                }
            }
        }
        parsed.name_day(match field {
            Field::Month | Field::MonthName | Field::MonthShort | Field::Day => DayBy::MonthAndDay,
            Field::DayOfYear => DayBy::DayOfYear,
            _ => DayBy::Week,
        });
        Ok(())
    }

    fn time_of_day(&mut self, field: Field, width: usize, parsed: &mut Parsed) -> Result<()> {
        match field {
            Field::HalfDay => {
                let half = self.rest.get(..2).unwrap_or_default();
                parsed.afternoon = half.eq_ignore_ascii_case(b"PM");
                ensure!(
                    parsed.afternoon || half.eq_ignore_ascii_case(b"AM"),
                    CANNOT_PARSE_DATETIME,
                    "Unknown half day of day: {}",
                    shown(half)
                );
                self.rest = &self.rest[2..];
            }
            Field::Minute => parsed.minute = within("minute", self.number(field, width)?, 0, 59)?,
            Field::Second => parsed.second = within("second", self.number(field, width)?, 0, 59)?,
            Field::Fraction => {
                let n = self.rest.iter().take(width.min(6)).take_while(|b| b.is_ascii_digit()).count();
                ensure!(n > 0, CANNOT_PARSE_DATETIME, "Unable to parse a fraction from {}", shown(self.rest));
                parsed.micros = i64::from(self.exact(n)?) * 10i64.pow(6 - n as u32);
            }
            _ => {
                let (least, most) = match field {
                    Field::Hour => (0, 23),
                    Field::ClockHour => (1, 24),
                    Field::HourOfHalf => (0, 11),
                    _ => (1, 12),
                };
                let hour = within("hour", self.number(field, width)?, least, most)?;
                // The last hour of a clock that begins with 1 is the first.
                parsed.hour = if least == 1 { hour % most } else { hour };
                parsed.is_half = most < 20;
            }
        }
        Ok(())
    }

    /// The distance from UTC or the name of a time zone.
    fn zone(&mut self, field: Field, parsed: &mut Parsed) -> Result<()> {
        if field == Field::Offset {
            let sign = match self.rest.first() {
                Some(b'+') => 1,
                Some(b'-') => -1,
                _ => bail!(CANNOT_PARSE_DATETIME, "Unable to parse an offset from {}", shown(self.rest)),
            };
            self.rest = &self.rest[1..];
            let (hours, minutes) = (self.exact(2)?, self.exact(2)?);
            parsed.offset = Some(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60));
            return Ok(());
        }
        let of_name = |b: &&u8| b.is_ascii_alphanumeric() || b"/_+-".contains(b);
        let n = self.rest.iter().take_while(of_name).count();
        let name = shown(&self.rest[..n]);
        let zone = TimeZone::named(&name);
        parsed.zone = Some(zone.map_err(|_| err!(CANNOT_PARSE_DATETIME, "Unknown time zone {name}"))?);
        self.rest = &self.rest[n..];
        Ok(())
    }
}

impl Parsed {
    fn name_day(&mut self, by: DayBy) {
        self.day_by = by;
        self.year.get_or_insert(2000);
    }

    /// The timestamp in seconds since 1970-01-01 UTC, read as local time unless the text named an offset.
    pub fn timestamp(&self, clock: &LocalTime) -> Result<i64> {
        let year = self.year.unwrap_or(1970);
        let day = match self.day_by {
            DayBy::MonthAndDay => {
                let date = Civil::new(year, self.month as u8, self.day as u8);
                ensure!(
                    date.is_valid(),
                    CANNOT_PARSE_DATETIME,
                    "Invalid date, out of range (year: {year} month: {} day_of_month: {})",
                    self.month,
                    self.day
                );
                date.days()
            }
            DayBy::Week => {
                // January 4th is always in the first week.
                let fourth = Civil::new(year, 1, 4).days();
                fourth - i32::from(day_of_week(fourth)) + self.weekday + (self.week - 1) * 7
            }
            DayBy::DayOfYear => {
                ensure!(
                    self.day_of_year <= 365 + i32::from(is_leap_year(year)),
                    CANNOT_PARSE_DATETIME,
                    "Invalid day of year, out of range (year: {year} day of year: {})",
                    self.day_of_year
                );
                Civil::new(year, 1, 1).days() + self.day_of_year - 1
            }
        };
        let hour = self.hour + if self.is_half && self.afternoon { 12 } else { 0 };
        let time = i64::from(hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        let local = i64::from(day) * SECONDS_PER_DAY + time;
        Ok(match (self.offset, &self.zone) {
            (Some(offset), _) => local - offset,
            (None, Some(zone)) => LocalTime::new(zone).to_timestamp(local),
            (None, None) => clock.to_timestamp(local),
        })
    }
}
