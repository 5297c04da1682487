//! One part of a date or timestamp replaced: `changeYear` to `changeSecond`.

use super::timestamps::{Takes, check_timestamp, date, date_time, ticks_per_second};
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY, split_day};

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

fn bind(name: &'static str, args: &[Argument], _: &Context, of_time: bool) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    check_timestamp(name, &args[0].ty, Takes::Dates)?;
    ensure!(
        args[1].ty.is_narrow_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 2nd argument 'value' to function '{name}'. Expected: Integer, got: {}",
        args[1].ty
    );
    Ok(match &args[0].ty {
        DataType::Date if of_time => DataType::DateTime(None),
        DataType::Date32 if of_time => DataType::DateTime64(3, None),
        other => other.clone(),
    }
    .into())
}

/// Where a changed value lies: in the calendar, before all of it or behind.
enum Changed {
    Local(i64),
    Before,
    Behind,
}

/// What a local clock shows after the change. A day that the month lacks runs on into the next.
fn change(local: i64, part: Part, value: i64) -> Changed {
    let (day, time) = split_day(local);
    let mut date = Civil::of_days(day);
    let mut time = i64::from(time);
    let fits = match part {
        Part::Year => true,
        Part::Month => (1..=12).contains(&value),
        Part::Day => (1..=31).contains(&value),
        Part::Hour => (0..24).contains(&value),
        Part::Minute | Part::Second => (0..60).contains(&value),
    };
    if !fits || part == Part::Year && value < 0 {
        return Changed::Before;
    }
    match part {
        Part::Year if value > 9999 => return Changed::Behind,
        Part::Year => date.year = value as i32,
        Part::Month => date.month = value as u8,
        Part::Day => date.day = value as u8,
        Part::Hour => time = value * 3600 + time % 3600,
        Part::Minute => time = time / 3600 * 3600 + value * 60 + time % 60,
        Part::Second => time = time / 60 * 60 + value,
    }
    Changed::Local(i64::from(date.days()) * SECONDS_PER_DAY + time)
}

fn execute(call: &Call, part: Part) -> Result<Column> {
    let (vector, ty) = (call.vector(0), call.args[0].ty);
    let values = unary(Operand::of(call, 1), call.n_rows, |x: i64| x)?;
    let clock = LocalTime::new(call.result.time_zone().unwrap_or(&call.ctx.time_zone));
    let midnight = |day: i32| i64::from(day) * SECONDS_PER_DAY;
    // The local clock, and the rest of the second in ticks of the result.
    let to = ticks_per_second(call.result);
    let locals: Vec<(i64, i64)> = match ty {
        DataType::Date => vector.values::<u16>()?.iter().map(|&x| (midnight(x.into()), 0)).collect(),
        DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| (midnight(x), 0)).collect(),
        DataType::DateTime(_) => {
            vector.values::<u32>()?.iter().map(|&x| (clock.of_timestamp(x.into()), 0)).collect()
        }
        _ => {
            let split = |x: &i64| (clock.of_timestamp(x.div_euclid(to)), x.rem_euclid(to));
            vector.values::<i64>()?.iter().map(split).collect()
        }
    };
    let changed =
        locals.into_iter().zip(values).map(|((local, rest), value)| (change(local, part, value), rest));
    let (first, last) = (midnight(Civil::new(0, 1, 1).days()), midnight(Civil::new(10_000, 1, 1).days()) - 1);
    Ok(match call.result {
        DataType::Date => Vector::from(
            changed
                .map(|(changed, _)| match changed {
                    Changed::Local(local) => date(split_day(local).0),
                    Changed::Before => 0,
                    Changed::Behind => u16::MAX,
                })
                .collect::<Vec<u16>>(),
        ),
        DataType::Date32 => Vector::from(
            changed
                .map(|(changed, _)| match changed {
                    Changed::Local(local) => split_day(local.min(last)).0,
                    Changed::Before => split_day(first).0,
                    Changed::Behind => split_day(last).0,
                })
                .collect::<Vec<i32>>(),
        ),
        DataType::DateTime(_) => Vector::from(
            changed
                .map(|(changed, _)| match changed {
                    Changed::Local(local) => date_time(clock.to_timestamp(local)),
                    Changed::Before => 0,
                    Changed::Behind => u32::MAX,
                })
                .collect::<Vec<u32>>(),
        ),
        _ => Vector::from(
            changed
                .map(|(changed, rest)| {
                    let (local, rest) = match changed {
                        Changed::Local(local) => (local, rest),
                        Changed::Before => (first, 0),
                        Changed::Behind => (last, to - 1),
                    };
                    clock.to_timestamp(local).saturating_mul(to).saturating_add(rest)
                })
                .collect::<Vec<i64>>(),
        ),
    }
    .into())
}

macro_rules! changes {
    ($($name:literal, $part:ident, $of_time:literal, $summary:literal, $sql:literal, $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(date, value)"),
                examples: &[Example { sql: $sql, result: $result }],
                total: true,
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, $of_time),
            execute: |call| execute(call, Part::$part),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = changes! {
    "changeYear", Year, false, "The date or moment in another year.",
        "SELECT changeYear(toDate('2024-02-28'), 2023)", "2023-02-28";
    "changeMonth", Month, false, "The date or moment in another month.",
        "SELECT changeMonth(toDate('2024-01-31'), 3)", "2024-03-31";
    "changeDay", Day, false, "The date or moment on another day of its month.",
        "SELECT changeDay(toDate('2024-02-29'), 5)", "2024-02-05";
    "changeHour", Hour, true, "The date or moment in another hour.",
        "SELECT changeHour(toDateTime('2024-02-29 10:11:12'), 14)", "2024-02-29 14:11:12";
    "changeMinute", Minute, true, "The date or moment in another minute.",
        "SELECT changeMinute(toDateTime('2024-02-29 10:11:12'), 0)", "2024-02-29 10:00:12";
    "changeSecond", Second, true, "The date or moment in another second.",
        "SELECT changeSecond(toDateTime('2024-02-29 10:11:12'), 59)", "2024-02-29 10:11:59";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
