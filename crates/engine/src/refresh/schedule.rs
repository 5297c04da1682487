//! When a view is to be filled: what the clause REFRESH says, as numbers. Everything is counted in UTC.

use chalet_base::{Result, bail, ensure, err};
use chalet_syntax::ast::{self, ExprKind, Literal, RefreshPeriod, SettingValue};

/// A moment, in milliseconds since 1970-01-01.
pub(crate) type Millis = i64;

const DAY: i64 = 86_400;
/// 1970-01-01 is a Thursday, and spans begin on a Monday.
const DAYS_INTO_WEEK: i64 = 3;

/// A span of months, or of seconds; an offset may have both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    months: i64,
    seconds: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    Every { span: Span, offset: Span },
    After(Span),
    Dependencies,
}

/// What a clause says.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    period: Period,
    /// In seconds.
    pub randomize: i64,
    /// Databases and names.
    pub depends_on: Vec<(String, String)>,
    pub append: bool,
    /// Below 0: without end.
    pub retries: i64,
    first_pause: i64,
    longest_pause: i64,
}

impl Schedule {
    /// The schedule of a clause as it was printed; `database` is meant by names without one.
    pub fn parse(clause: &str, database: &str) -> Result<Schedule> {
        Schedule::of(&chalet_syntax::parse_refresh(clause)?, database)
    }

    /// Fails for what can be no schedule.
    pub fn of(refresh: &ast::Refresh, database: &str) -> Result<Schedule> {
        let period = match &refresh.period {
            RefreshPeriod::Every { period, offset } => {
                let (span, offset) = (Span::of(period)?, Span::of(offset)?);
                ensure!(span != Span::default(), BAD_ARGUMENTS, "Interval must be positive");
                ensure!(
                    span.months == 0 || span.seconds == 0,
                    BAD_ARGUMENTS,
                    "Interval shouldn't contain both calendar units and clock units (e.g. months and days)"
                );
                ensure!(
                    offset.longest() < span.shortest(),
                    BAD_ARGUMENTS,
                    "OFFSET must be less than the period"
                );
                Period::Every { span, offset }
            }
            RefreshPeriod::After(span) => Period::After(Span::of(span)?),
            RefreshPeriod::Dependencies => Period::Dependencies,
        };
        let depends_on = refresh.depends_on.iter().map(|name| {
            let of = name.database.as_ref().map_or(database, |database| &database.name);
            (of.to_owned(), name.name.name.clone())
        });
        let mut schedule = Schedule {
            period,
            randomize: Span::of(&refresh.randomize)?.longest(),
            depends_on: depends_on.collect(),
            append: refresh.append,
            retries: 2,
            first_pause: 100,
            longest_pause: 60_000,
        };
        refresh.settings.iter().try_for_each(|setting| schedule.set(setting))?;
        Ok(schedule)
    }

    fn set(&mut self, setting: &ast::Setting) -> Result<()> {
        let name = &setting.name.name;
        let place = match name.as_str() {
            "refresh_retries" => &mut self.retries,
            "refresh_retry_initial_backoff_ms" => &mut self.first_pause,
            "refresh_retry_max_backoff_ms" => &mut self.longest_pause,
            // There is one.
            "all_replicas" => return Ok(()),
            _ => bail!(UNKNOWN_SETTING, "Unknown setting '{name}'"),
        };
        let SettingValue::Expr(value) = &setting.value else { return Ok(()) };
        let number = match &value.kind {
            ExprKind::Literal(Literal::UInt(number)) => i64::try_from(*number).ok(),
            ExprKind::Literal(Literal::Int(number)) => Some(*number),
            _ => None,
        };
        *place = number.ok_or_else(|| {
            err!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot parse input: {name} is not a number: {value}")
        })?;
        Ok(())
    }

    /// When the refresh after one is due that is counted from `last`; `None` where only those decide that it depends on.
    pub fn next(&self, last: Millis) -> Option<Millis> {
        match self.period {
            Period::Every { span, offset } => {
                let begin = span.begin_of(minus(last.div_euclid(1000), offset));
                Some(plus(plus(begin, span), offset).saturating_mul(1000))
            }
            Period::After(_) if !self.depends_on.is_empty() => None,
            Period::After(span) => {
                Some(plus(last.div_euclid(1000), span).saturating_mul(1000) + last.rem_euclid(1000))
            }
            Period::Dependencies => None,
        }
    }

    /// Of a view that follows others without a calendar: the earliest moment after the one before.
    pub fn pause_after(&self, last: Millis) -> Millis {
        match self.period {
            Period::After(span) => plus(last.div_euclid(1000), span).saturating_mul(1000),
            Period::Every { .. } | Period::Dependencies => last,
        }
    }

    /// Is it done by the calendar?
    pub fn is_calendar(&self) -> bool {
        matches!(self.period, Period::Every { .. })
    }

    /// What the next one is counted from, of a refresh that took this time.
    pub fn counted_from(&self, begin: Millis, end: Millis) -> Millis {
        match self.period {
            Period::After(_) if self.depends_on.is_empty() => end,
            _ => begin,
        }
    }

    /// The pause before the next attempt when so many have failed.
    pub fn pause_before_retry(&self, failed: u32) -> Millis {
        let doubled = self.first_pause.saturating_mul(1 << failed.saturating_sub(1).min(32));
        doubled.min(self.longest_pause).max(0)
    }
}

impl Span {
    fn of(written: &ast::TimeSpan) -> Result<Span> {
        let mut span = Span::default();
        for (number, unit) in written {
            let (months, seconds) = match *unit {
                "Second" => (0, 1),
                "Minute" => (0, 60),
                "Hour" => (0, 3600),
                "Day" => (0, DAY),
                "Week" => (0, 7 * DAY),
                "Month" => (1, 0),
                "Year" => (12, 0),
                _ => bail!(BAD_ARGUMENTS, "Sub-second intervals are not supported here"),
            };
            let number = i64::try_from(*number).ok().filter(|number| *number < 1 << 31);
            let Some(number) = number else { bail!(BAD_ARGUMENTS, "Interval is too long") };
            span.months += number * months;
            span.seconds += number * seconds;
        }
        Ok(span)
    }

    fn shortest(self) -> i64 {
        self.seconds + self.months * 28 * DAY
    }

    fn longest(self) -> i64 {
        self.seconds + self.months * 31 * DAY
    }

    /// The begin of the span that a second is in, of all that follow each other.
    fn begin_of(self, second: i64) -> i64 {
        if self.months > 0 {
            let (months, _) = month_of(second.div_euclid(DAY));
            return first_day(months.div_euclid(self.months) * self.months) * DAY;
        }
        let shift = DAYS_INTO_WEEK * DAY;
        (second + shift).div_euclid(self.seconds) * self.seconds - shift
    }
}

/// `2026-11-26 04:40:00`, with the time or without.
pub(crate) fn moment(text: &str) -> Option<Millis> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, by: char| -> Option<[i64; 3]> {
        let all: Option<Vec<i64>> = text.split(by).map(|number| number.parse().ok()).collect();
        all?.try_into().ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let is_valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    let days = first_day((year - 1970) * 12 + month - 1) + day - 1;
    is_valid.then_some((days * DAY + hour * 3600 + minute * 60 + second) * 1000)
}

fn plus(second: i64, span: Span) -> i64 {
    moved(second, span.months).saturating_add(span.seconds)
}

fn minus(second: i64, span: Span) -> i64 {
    moved(second.saturating_sub(span.seconds), -span.months)
}

/// The same day and time of another month; its last day where it has fewer.
fn moved(second: i64, by: i64) -> i64 {
    if by == 0 {
        return second;
    }
    let (month, day) = month_of(second.div_euclid(DAY));
    let first = first_day(month + by);
    let days = first_day(month + by + 1) - first;
    (first + day.min(days - 1)) * DAY + second.rem_euclid(DAY)
}

/// Months since 1970-01 and the day of the month, from 0, of days since 1970-01-01.
fn month_of(days: i64) -> (i64, i64) {
    // A month has 30.436875 days on average, so the guess is off by one at most.
    let mut month = (days * 1_000_000).div_euclid(30_436_875);
    while first_day(month) > days {
        month -= 1;
    }
    while first_day(month + 1) <= days {
        month += 1;
    }
    (month, days - first_day(month))
}

/// Days since 1970-01-01 of the first day of a month, of months since 1970-01.
fn first_day(month: i64) -> i64 {
    let (year, of_year) = (1970 + month.div_euclid(12), month.rem_euclid(12));
    // Leap years before a year, since the year 0.
    let leaps =
        |year: i64| (year - 1).div_euclid(4) - (year - 1).div_euclid(100) + (year - 1).div_euclid(400);
    let is_leap = leaps(year + 1) > leaps(year);
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][of_year as usize];
    (year - 1970) * 365 + leaps(year) - leaps(1970) + before + i64::from(is_leap && of_year > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thursday, 2026-11-26 04:40:00.
    const NOW: i64 = (20_783 * DAY + 4 * 3600 + 40 * 60) * 1000;

    fn next(clause: &str, last: Millis) -> Option<String> {
        let next = Schedule::parse(clause, "d").expect(clause).next(last)?.div_euclid(1000);
        let (month, day) = month_of(next.div_euclid(DAY));
        let (year, month, second) = (1970 + month / 12, month % 12 + 1, next.rem_euclid(DAY));
        Some(format!(
            "{year}-{month:02}-{:02} {:02}:{:02}:{:02}",
            day + 1,
            second / 3600,
            second / 60 % 60,
            second % 60
        ))
    }

    /// What the kernel says in `system.view_refreshes`.
    #[test]
    fn calendars() {
        for (clause, wanted) in [
            ("EVERY 1 MONTH OFFSET 27 DAY", "2026-11-28 00:00:00"),
            ("EVERY 1 MONTH OFFSET 5 DAY 2 HOUR", "2026-12-06 02:00:00"),
            ("EVERY 1 YEAR OFFSET 2 MONTH", "2027-03-01 00:00:00"),
            ("EVERY 1 YEAR OFFSET 2 MONTH 3 DAY", "2027-03-04 00:00:00"),
            ("EVERY 1 QUARTER", "2027-01-01 00:00:00"),
            ("EVERY 5 MONTH", "2027-02-01 00:00:00"),
            ("EVERY 1 WEEK OFFSET 2 DAY 5 HOUR", "2026-12-02 05:00:00"),
            ("EVERY 2 WEEK", "2026-11-30 00:00:00"),
            ("EVERY 8 DAY", "2026-12-02 00:00:00"),
            ("EVERY 2 YEAR", "2028-01-01 00:00:00"),
            ("EVERY 7 HOUR", "2026-11-26 05:00:00"),
            ("EVERY 1 DAY 12 HOUR", "2026-11-27 00:00:00"),
            ("AFTER 1 MONTH", "2026-12-26 04:40:00"),
        ] {
            assert_eq!(next(clause, NOW).as_deref(), Some(wanted), "{clause}");
        }
        assert_eq!(next("DEPENDS ON a", NOW), None);
    }

    #[test]
    fn months_and_days() {
        for days in -800_000..800_000 {
            let (month, day) = month_of(days);
            assert_eq!(first_day(month) + day, days);
            assert!((0..31).contains(&day), "{days}");
        }
        assert_eq!(month_of(11_016), (361, 28), "2000-02-29");
        assert_eq!(moment("2026-11-26 04:40:00"), Some(NOW));
        assert_eq!(moment("1970-01-02"), Some(DAY * 1000));
        assert_eq!(moment("x"), None);
    }
}
