//! The calendar: civil dates and days, local time and timestamps, fast enough to run once per value of a column.

use crate::TimeZone;
use crate::time_zone::{STRETCH, Stretch};
use std::cell::Cell;
use std::sync::Arc;

pub const SECONDS_PER_DAY: i64 = 86_400;

/// A date of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    pub year: i32,
    /// 1..=12
    pub month: u8,
    /// 1..=31
    pub day: u8,
}

/// Years before 0 that the fast conversions take: 82 eras of 400 years.
const FAST_YEARS: i32 = 82 * 400;

/// Days from March of the first of these years to 1970-01-01.
const FAST_EPOCH: u32 = 82 * 146_097 + 719_468;

impl Civil {
    pub fn new(year: i32, month: u8, day: u8) -> Civil {
        Civil { year, month, day }
    }

    /// The date `days` after 1970-01-01. Defined for all dates within some 2.9 million years of it.
    ///
    /// Divisions are multiplications of 32 bits, as Neri and Schneider have them ("Euclidean affine functions and their
    /// application to calendar algorithms", 2022).
    #[inline]
    pub fn of_days(days: i32) -> Civil {
        let n = (days as u32).wrapping_add(FAST_EPOCH);
        if n >= 1 << 30 {
            return Civil::of_far_days(days);
        }
        let n = 4 * n + 3;
        let (century, day_of_century) = (n / 146_097, n % 146_097 / 4);
        let product = 2_939_745 * u64::from(4 * day_of_century + 3);
        let year = 100 * century + (product >> 32) as u32;
        let day_of_year = product as u32 / 2_939_745 / 4;
        let date = 2141 * day_of_year + 197_913;
        // January and February end a year that began in March.
        let ends = day_of_year >= 306;
        Civil {
            year: year as i32 - FAST_YEARS + i32::from(ends),
            month: (date >> 16) as u8 - if ends { 12 } else { 0 },
            day: ((date & 0xffff) / 2141) as u8 + 1,
        }
    }

    /// Counts in years that begin in March, so that the leap day is the last of its year.
    #[cold]
    fn of_far_days(days: i32) -> Civil {
        // 719_468 days lie between 0000-03-01 and 1970-01-01, 146_097 days make an era of 400 years.
        let z = i64::from(days) + 719_468;
        let era = z.div_euclid(146_097);
        let day_of_era = z.rem_euclid(146_097) as u32;
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        // Months from March on have 153 days in every five.
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u8;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 } as u8;
        let year = (i64::from(year_of_era) + era * 400) as i32 + i32::from(month <= 2);
        Civil { year, month, day }
    }

    /// Days since 1970-01-01; a day past the end of its month runs on into the next.
    #[inline]
    pub fn days(self) -> i32 {
        let ends = self.month <= 2;
        let year = self.year.wrapping_add(FAST_YEARS - i32::from(ends)) as u32;
        // 1461 times the year fits 32 bits.
        if year >= 1 << 21 || !(1..=12).contains(&self.month) {
            return self.far_days();
        }
        let century = year / 100;
        let year_days = 1461 * year / 4 - century + century / 4;
        let month_days = (979 * (u32::from(self.month) + if ends { 12 } else { 0 }) - 2919) / 32;
        (year_days + month_days).wrapping_sub(FAST_EPOCH) as i32 + i32::from(self.day) - 1
    }

    #[cold]
    fn far_days(self) -> i32 {
        let year = i64::from(self.year) - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + i64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        (era * 146_097 + day_of_era - 719_468) as i32
    }

    /// 1..=366
    #[inline]
    pub fn day_of_year(self) -> u16 {
        (self.days() - Civil::new(self.year, 1, 1).days() + 1) as u16
    }

    /// Is there such a date?
    pub fn is_valid(self) -> bool {
        (1..=12).contains(&self.month) && self.day >= 1 && self.day <= days_in_month(self.year, self.month)
    }
}

#[inline]
pub fn is_leap_year(year: i32) -> bool {
    // Of the multiples of 100, those of 400 are those of 16.
    let step = if year % 100 == 0 { 16 } else { 4 };
    year & (step - 1) == 0
}

/// Days of a month 1..=12; 31 for anything else.
#[inline]
pub fn days_in_month(year: i32, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap_year(year)),
        // The odd ones until July and the even ones behind it are the long ones.
        1..=12 => 30 | (month ^ month >> 3) & 1,
        _ => 31,
    }
}

/// Monday is 1, Sunday 7.
#[inline]
pub fn day_of_week(days: i32) -> u8 {
    // 1970-01-01 was a Thursday; 2^31 days are two more than whole weeks.
    match (days as u32 ^ 1 << 31) % 7 {
        6 => 1,
        weekday => weekday as u8 + 2,
    }
}

/// ISO 8601: the year that a week belongs to and its number, 1..=53.
#[inline]
pub fn iso_week(days: i32) -> (i32, u8) {
    // The Thursday of the week decides.
    let thursday = days - i32::from(day_of_week(days)) + 4;
    let year = Civil::of_days(thursday).year;
    (year, ((thursday - Civil::new(year, 1, 1).days()) / 7 + 1) as u8)
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
}

impl Clock {
    /// Of seconds since midnight.
    #[inline]
    pub fn of_seconds(seconds: u32) -> Clock {
        Clock {
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
        }
    }

    pub fn seconds(self) -> u32 {
        u32::from(self.hour) * 3600 + u32::from(self.minute) * 60 + u32::from(self.second)
    }
}

/// Splits seconds since 1970-01-01 of any clock into days and seconds of the day.
#[inline(always)]
pub fn split_day(seconds: i64) -> (i32, u32) {
    let (day, time) = split_far_day(seconds);
    (day as i32, time)
}

/// The same for days that need more than 32 bits.
#[inline(always)]
pub fn split_far_day(seconds: i64) -> (i64, u32) {
    // From so many days before 1970 on, all numbers are positive: one division is enough.
    const BEFORE: u64 = 1 << 32;
    const DAY: u64 = SECONDS_PER_DAY as u64;
    let later = (seconds as u64).wrapping_add(BEFORE * DAY);
    if later >= 2 * BEFORE * DAY {
        return (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY) as u32);
    }
    let day = later / DAY;
    (day as i64 - BEFORE as i64, (later - day * DAY) as u32)
}

/// Whole seconds of ticks, rounded down. Divisions by constants are multiplications.
#[inline(always)]
pub fn whole_seconds(value: i64, ticks: i64) -> i64 {
    match ticks {
        1 => value,
        1_000 => value.div_euclid(1_000),
        1_000_000 => value.div_euclid(1_000_000),
        1_000_000_000 => value.div_euclid(1_000_000_000),
        _ => value.div_euclid(ticks),
    }
}

/// Between timestamps and local time of one zone. The offsets of timestamps that a DateTime has are looked up; of others the last
/// span without a change of offset is remembered, so that runs of nearby values cost two comparisons. Make one per column and thread.
#[derive(Clone, Debug)]
pub struct LocalTime {
    zone: TimeZone,
    stretches: Arc<[Stretch]>,
    /// The offset holds for timestamps `from..until`.
    span: Cell<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    until: i64,
    offset: i64,
}

impl LocalTime {
    pub fn new(zone: &TimeZone) -> LocalTime {
        let span = match zone.offset_spans() {
            [only] => Span { from: i64::MIN, until: i64::MAX, offset: i64::from(only.1) },
            _ => Span { from: 0, until: 0, offset: 0 },
        };
        LocalTime { zone: zone.clone(), stretches: zone.stretches(), span: Cell::new(span) }
    }

    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    #[inline(always)]
    fn span_at(&self, timestamp: i64) -> Span {
        let span = self.span.get();
        if timestamp >= span.from && timestamp < span.until { span } else { self.find(timestamp) }
    }

    fn find(&self, timestamp: i64) -> Span {
        let spans = self.zone.offset_spans();
        let next = self.zone.span_number(timestamp) + 1;
        let (from, offset) = spans[next - 1];
        let until = spans.get(next).map_or(i64::MAX, |span| span.0);
        let span = Span { from: if next <= 1 { i64::MIN } else { from }, until, offset: i64::from(offset) };
        self.span.set(span);
        span
    }

    /// What the table says of the offsets around a timestamp, or around the one at which the local clock shows that.
    #[inline(always)]
    fn stretch(&self, timestamp: i64) -> Option<Stretch> {
        let stretch = self.stretches.get(usize::try_from(timestamp >> STRETCH).ok()?)?;
        stretch.has_two_offsets_at_most().then_some(*stretch)
    }

    /// Seconds east of UTC at a timestamp.
    #[inline(always)]
    pub fn offset_at(&self, timestamp: i64) -> i64 {
        match self.stretch(timestamp) {
            Some(Stretch { change, before, after }) => {
                i64::from(if timestamp < change { before } else { after })
            }
            None => self.span_at(timestamp).offset,
        }
    }

    /// Seconds east of UTC at all timestamps from `first` to `last`, where these are the same.
    pub fn offset_between(&self, first: i64, last: i64) -> Option<i64> {
        let span = self.span_at(first);
        (last < span.until).then_some(span.offset)
    }

    /// Has the zone been whole minutes from UTC since 1970? All have but Africa/Monrovia.
    pub fn of_whole_minutes(&self) -> bool {
        self.offset_at(0) % 60 == 0
    }

    /// Seconds since 1970-01-01 that the local clock shows at a timestamp.
    #[inline(always)]
    pub fn of_timestamp(&self, timestamp: i64) -> i64 {
        timestamp.saturating_add(self.offset_at(timestamp))
    }

    /// The timestamp at which the local clock shows `local`. Of two such timestamps the earlier; a time that the
    /// clock skips counts with the offset after the change.
    #[inline]
    pub fn to_timestamp(&self, local: i64) -> i64 {
        if let Some(Stretch { change, before, after }) = self.stretch(local) {
            let earlier = local - i64::from(before);
            return if earlier < change { earlier } else { local - i64::from(after) };
        }
        let guess = local.saturating_sub(self.span.get().offset);
        let span = self.span_at(guess);
        let timestamp = local.saturating_sub(span.offset);
        // Far enough from both changes that no other offset can be meant.
        const MARGIN: i64 = 2 * SECONDS_PER_DAY;
        if timestamp >= span.from.saturating_add(MARGIN) && timestamp < span.until.saturating_sub(MARGIN) {
            return timestamp;
        }
        self.to_timestamp_near_change(local)
    }

    /// The first timestamp at which the local clock shows `local` or, where it skips that, something later: the start of a day.
    #[inline]
    pub fn first_timestamp(&self, local: i64) -> i64 {
        if let Some(Stretch { change, before, after }) = self.stretch(local) {
            let earlier = local - i64::from(before);
            return if earlier < change { earlier } else { change.max(local - i64::from(after)) };
        }
        let timestamp = self.to_timestamp(local);
        if self.of_timestamp(timestamp) == local { timestamp } else { self.span_at(timestamp).until }
    }

    #[cold]
    fn to_timestamp_near_change(&self, local: i64) -> i64 {
        let (before, after) = (
            self.span_at(local.saturating_sub(SECONDS_PER_DAY)),
            self.span_at(local.saturating_add(SECONDS_PER_DAY)),
        );
        let (before, after) = (before.offset, after.offset);
        for offset in [before, after] {
            let timestamp = local.saturating_sub(offset);
            if self.span_at(timestamp).offset == offset {
                return timestamp;
            }
        }
        local.saturating_sub(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        let mut expected = Civil::new(1599, 12, 31);
        for days in Civil::new(1600, 1, 1).days()..Civil::new(2401, 1, 1).days() {
            expected.day += 1;
            if !expected.is_valid() {
                expected = match expected.month {
                    12 => Civil::new(expected.year + 1, 1, 1),
                    month => Civil::new(expected.year, month + 1, 1),
                };
            }
            assert_eq!(Civil::of_days(days), expected);
            assert_eq!(expected.days(), days);
        }
        assert_eq!(Civil::of_days(0), Civil::new(1970, 1, 1));
    }

    #[test]
    fn weeks() {
        assert_eq!(day_of_week(0), 4);
        for days in (-20..20).chain([i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX]) {
            assert_eq!(i64::from(day_of_week(days)), (i64::from(days) + 3).rem_euclid(7) + 1);
        }
        assert_eq!(iso_week(Civil::new(2021, 1, 3).days()), (2020, 53));
        assert_eq!(iso_week(Civil::new(2020, 12, 31).days()), (2020, 53));
        assert_eq!(iso_week(Civil::new(2018, 12, 31).days()), (2019, 1));
    }

    #[test]
    fn seconds_of_days() {
        let near = [0, 1, 86_399, 86_400, 371_085_174_374_399, 371_085_174_374_400, i64::MAX - 1];
        for seconds in near.into_iter().flat_map(|s| [s, -s, -s - 1]) {
            let expected = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY) as u32);
            assert_eq!(split_far_day(seconds), expected);
        }
    }

    #[test]
    fn changes_of_offset() {
        let zone = TimeZone::named("America/New_York").unwrap();
        let local = |y, m, d, h, min, s| {
            i64::from(Civil::new(y, m, d).days()) * SECONDS_PER_DAY
                + i64::from(Clock { hour: h, minute: min, second: s }.seconds())
        };
        let time = LocalTime::new(&zone);
        // The clock jumps from 02:00 to 03:00 at 1615705200.
        assert_eq!(time.to_timestamp(local(2021, 3, 14, 1, 59, 59)), 1_615_705_199);
        assert_eq!(time.to_timestamp(local(2021, 3, 14, 2, 30, 0)), 1_615_703_400);
        assert_eq!(time.to_timestamp(local(2021, 3, 14, 3, 0, 0)), 1_615_705_200);
        // And back from 02:00 to 01:00 at 1636264800.
        assert_eq!(time.to_timestamp(local(2021, 11, 7, 1, 30, 0)), 1_636_263_000);
        assert_eq!(time.to_timestamp(local(2021, 11, 7, 2, 0, 0)), 1_636_268_400);
        for timestamp in (-2_000_000_000..4_000_000_000).step_by(86_400 * 7 + 977) {
            assert_eq!(time.offset_at(timestamp), i64::from(zone.offset_at(timestamp)));
        }
        // Where the table tells it, local times stand for the timestamps that the spans say.
        for name in
            ["America/New_York", "Europe/Dublin", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll"]
        {
            let zone = TimeZone::named(name).unwrap();
            let time = LocalTime::new(&zone);
            for &(change, offset) in zone.offset_spans().iter().filter(|span| span.0 > 0) {
                for local in (-100_000..100_000).step_by(607).map(|step| change + i64::from(offset) + step) {
                    assert_eq!(
                        time.to_timestamp(local),
                        time.to_timestamp_near_change(local),
                        "{name} {local}"
                    );
                }
            }
        }
        assert_eq!(LocalTime::new(&TimeZone::utc()).to_timestamp(5), 5);
    }
}
