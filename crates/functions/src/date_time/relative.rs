//! Spans counted from a fixed point of the past: `toRelativeDayNum` and its kin, `toMonthNumSinceEpoch`.

use super::starts_of_date::monday;
use super::timestamps::{Takes, bind_part, date, date_time, days, timestamps};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_function_api::{Argument, Bound, Context, Example, Record, Registry};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY};
use chalet_types::{DataType, TimeZone};

fn bind_u32(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    bind_part(name, args, ctx, Takes::Dates, DataType::UInt32)
}

/// Year and month as one number, year * 12 + month.
pub fn month_number(day: i32) -> i32 {
    let date = Civil::of_days(day);
    date.year * 12 + i32::from(date.month)
}

pub fn quarter_number(day: i32) -> i32 {
    let date = Civil::of_days(day);
    date.year * 4 + (i32::from(date.month) - 1) / 3
}

/// Weeks that begin on Monday; the kernel rounds those before 1970 towards it.
pub fn week_number(day: i32) -> i32 {
    (monday(day) + 7) / 7
}

/// Hours whose starts are those of the zone's clock at the beginning of 1970.
pub struct Hours {
    shift: i64,
    /// The zone has always been whole hours from UTC since 1970.
    whole: bool,
}

impl Hours {
    pub fn new(zone: &TimeZone) -> Hours {
        let shift = SECONDS_PER_DAY - LocalTime::new(zone).offset_at(0);
        let spans = zone.offset_spans();
        // The first span that reaches into 1970 is the last that begins before it.
        let first = spans.partition_point(|span| span.0 <= 0).saturating_sub(1);
        Hours { shift, whole: spans[first..].iter().all(|span| span.1 % 3600 == 0) }
    }

    /// Counted so that differences hold at all times.
    pub fn stable(&self, timestamp: i64) -> i64 {
        (timestamp + self.shift).div_euclid(3600)
    }

    fn number(&self, timestamp: i64) -> i64 {
        if self.whole && timestamp >= 0 {
            timestamp / 3600
        } else {
            (timestamp + self.shift).div_euclid(3600)
        }
    }
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toRelativeYearNum",
            summary: "The number of years from a fixed point of the past to a date or moment.",
            syntax: "toRelativeYearNum(date[, zone])",
            examples: &[Example { sql: "SELECT toRelativeYearNum(toDate('2024-02-29'))", result: "2024" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_part(name, args, ctx, Takes::Dates, DataType::UInt16),
        execute: |call| days(call, |day| Civil::of_days(day).year as u16),
    },
    Plain {
        record: Record {
            name: "toRelativeQuarterNum",
            summary: "The number of quarters from a fixed point of the past to a date or moment.",
            syntax: "toRelativeQuarterNum(date[, zone])",
            examples: &[Example { sql: "SELECT toRelativeQuarterNum(toDate('2024-02-29'))", result: "8096" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, |day| quarter_number(day) as u32),
    },
    Plain {
        record: Record {
            name: "toRelativeMonthNum",
            summary: "The number of months from a fixed point of the past to a date or moment.",
            syntax: "toRelativeMonthNum(date[, zone])",
            examples: &[Example { sql: "SELECT toRelativeMonthNum(toDate('2024-02-29'))", result: "24290" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, |day| month_number(day) as u32),
    },
    Plain {
        record: Record {
            name: "toRelativeWeekNum",
            summary: "The number of weeks from the beginning of 1970 to a date or moment; 0 before it.",
            syntax: "toRelativeWeekNum(date[, zone])",
            examples: &[Example { sql: "SELECT toRelativeWeekNum(toDate('2024-02-29'))", result: "2826" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, |day| week_number(day).max(0) as u32),
    },
    Plain {
        record: Record {
            name: "toRelativeDayNum",
            summary: "The number of days from 1970-01-01 to a date or moment, 0 to 65535.",
            syntax: "toRelativeDayNum(date[, zone])",
            examples: &[Example { sql: "SELECT toRelativeDayNum(toDate('2024-02-29'))", result: "19782" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, |day| u32::from(date(day))),
    },
    Plain {
        record: Record {
            name: "toRelativeHourNum",
            summary: "The number of hours from the beginning of 1970 to a date or moment; 0 before it.",
            syntax: "toRelativeHourNum(date[, zone])",
            examples: &[Example {
                sql: "SELECT toRelativeHourNum(toDateTime('2024-02-29 01:00:00'))",
                result: "474769",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| {
            let hours = Hours::new(super::timestamps::zone(call)?);
            timestamps(call, |timestamp, _| hours.number(timestamp).max(0) as u32)
        },
    },
    Plain {
        record: Record {
            name: "toRelativeMinuteNum",
            summary: "The number of minutes from the beginning of 1970 to a date or moment; 0 before it.",
            syntax: "toRelativeMinuteNum(date[, zone])",
            examples: &[Example {
                sql: "SELECT toRelativeMinuteNum(toDateTime('1970-01-01 01:00:00'))",
                result: "60",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| timestamps(call, |timestamp, _| timestamp.div_euclid(60).max(0) as u32),
    },
    Plain {
        record: Record {
            name: "toRelativeSecondNum",
            summary: "The number of seconds from the beginning of 1970 to a date or moment, within 32 bits.",
            syntax: "toRelativeSecondNum(date[, zone])",
            examples: &[Example {
                sql: "SELECT toRelativeSecondNum(toDateTime('1970-01-01 00:01:00'))",
                result: "60",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| timestamps(call, |timestamp, _| date_time(timestamp)),
    },
    Plain {
        record: Record {
            name: "toYearNumSinceEpoch",
            summary: "The number of years from 1970 to a date or moment; 0 before it.",
            syntax: "toYearNumSinceEpoch(date[, zone])",
            examples: &[Example { sql: "SELECT toYearNumSinceEpoch(toDate('2024-02-29'))", result: "54" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind_part(name, args, ctx, Takes::Dates, DataType::UInt16),
        execute: |call| days(call, |day| (Civil::of_days(day).year - 1970).max(0) as u16),
    },
    Plain {
        record: Record {
            name: "toMonthNumSinceEpoch",
            summary: "The number of months from January 1970 to a date or moment; 0 before it.",
            syntax: "toMonthNumSinceEpoch(date[, zone])",
            examples: &[Example { sql: "SELECT toMonthNumSinceEpoch(toDate('2024-02-29'))", result: "649" }],
            total: true,
            ..Record::DEFAULT
        },
        bind: bind_u32,
        execute: |call| days(call, |day| (month_number(day) - 1970 * 12 - 1).max(0) as u32),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
