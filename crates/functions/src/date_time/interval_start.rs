//! `toStartOfInterval`: the start of the span of n units in which a date or timestamp lies, and `dateTrunc`.

use super::starts_of_date::{monday, start_of_month};
use super::starts_of_time::{first_date_time, start_of_span};
use super::timestamps::{Takes, check_timestamp, date, date_time, ticks_per_second, zone_argument};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::calendar::{Civil, LocalTime, SECONDS_PER_DAY, days_in_month, split_day};
use chalet_types::{DataType, IntervalUnit, TimeZone};

/// Spans of `n` units.
struct Grid {
    unit: IntervalUnit,
    n: i64,
    zone: TimeZone,
    /// Where a span begins, as the type of the first argument represents it.
    origin: Option<i64>,
}

/// Digits of a second that units below it need.
fn digits(unit: IntervalUnit) -> Option<u8> {
    match unit {
        IntervalUnit::Millisecond => Some(3),
        IntervalUnit::Microsecond => Some(6),
        IntervalUnit::Nanosecond => Some(9),
        _ => None,
    }
}

/// Seconds of a unit that always has the same.
fn seconds(unit: IntervalUnit) -> Option<i64> {
    Some(match unit {
        IntervalUnit::Second => 1,
        IntervalUnit::Minute => 60,
        IntervalUnit::Hour => 3600,
        IntervalUnit::Day => SECONDS_PER_DAY,
        IntervalUnit::Week => 7 * SECONDS_PER_DAY,
        _ => return None,
    })
}

/// Months of a unit that counts them.
fn months(unit: IntervalUnit) -> Option<i64> {
    Some(match unit {
        IntervalUnit::Month => 1,
        IntervalUnit::Quarter => 3,
        IntervalUnit::Year => 12,
        _ => return None,
    })
}

/// The type of the start of a span; `extended` types hold all dates.
fn result(ty: &DataType, unit: IntervalUnit, zone: Option<TimeZone>, extended: bool) -> Result<DataType> {
    use IntervalUnit::*;
    let has_time = !matches!(ty, DataType::Date | DataType::Date32);
    Ok(match unit {
        Year | Quarter | Month | Week if extended => DataType::Date32,
        Year | Quarter | Month | Week => DataType::Date,
        Day | Hour | Minute | Second if has_time || unit == Day => {
            if extended {
                DataType::DateTime64(0, zone)
            } else {
                DataType::DateTime(zone)
            }
        }
        _ => match (digits(unit), ty) {
            (Some(digits), DataType::DateTime64(..)) => DataType::DateTime64(digits, zone),
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal interval kind for argument data type {}",
                if matches!(ty, DataType::DateTime(_)) { "DateTime" } else { "Date" }
            ),
        },
    })
}

/// The first day of the span of `n` units, counted as the kernel does: from year 0, from January 1900, from the
/// first Monday of 1970, from 1970-01-01.
pub fn start_of_days(day: i32, unit: IntervalUnit, n: i64) -> i32 {
    use IntervalUnit::*;
    match unit {
        Year => {
            let year = i64::from(Civil::of_days(day).year);
            Civil::new((year.div_euclid(n) * n) as i32, 1, 1).days()
        }
        Quarter | Month => {
            let n = if unit == Quarter { n.saturating_mul(3) } else { n };
            if n == 1 {
                return start_of_month(day);
            }
            let date = Civil::of_days(day);
            let passed = i64::from(date.year - 1900) * 12 + i64::from(date.month) - 1;
            let start = passed.div_euclid(n) * n;
            Civil::new(1900 + start.div_euclid(12) as i32, start.rem_euclid(12) as u8 + 1, 1).days()
        }
        Week if n == 1 => monday(day),
        Week => {
            let span = n.saturating_mul(7);
            // 1970-01-05 was a Monday; the days before it are a span of their own.
            if (0..4).contains(&day) { 0 } else { ((i64::from(day) - 4).div_euclid(span) * span + 4) as i32 }
        }
        _ => (i64::from(day).div_euclid(n) * n) as i32,
    }
}

/// The start of a span below days, of a timestamp in seconds.
pub fn start_of_seconds(timestamp: i64, unit: IntervalUnit, n: i64, clock: &LocalTime) -> i64 {
    match unit {
        IntervalUnit::Hour if n == 1 => start_of_span(timestamp, 3600, clock),
        IntervalUnit::Hour | IntervalUnit::Minute | IntervalUnit::Second
            if unit == IntervalUnit::Hour || !clock.of_whole_minutes() =>
        {
            // These spans begin anew each local day.
            let (day, time) = split_day(clock.of_timestamp(timestamp));
            let span = n.saturating_mul(seconds(unit).unwrap_or(1));
            clock.to_timestamp(i64::from(day) * SECONDS_PER_DAY + i64::from(time) / span * span)
        }
        _ => {
            let span = n.saturating_mul(seconds(unit).unwrap_or(1));
            timestamp.div_euclid(span).saturating_mul(span)
        }
    }
}

fn execute(call: &Call) -> Result<Column> {
    let grid = call.state::<Grid>()?;
    let arg = &call.args[call.args.iter().position(|arg| !arg.ty.is_string()).unwrap_or(0)];
    let (vector, ty) = (&*arg.vector, arg.ty);
    if let Some(origin) = grid.origin {
        return from_origin(vector, ty, grid, origin, call.result);
    }
    let Grid { unit, n, .. } = *grid;
    if let (DataType::DateTime64(own, _), Some(digits)) = (ty, digits(unit)) {
        return start_of_fractions(vector.values::<i64>()?, *own, digits, n);
    }
    let clock = LocalTime::new(&grid.zone);
    let midnight = |day: i32| clock.first_timestamp(i64::from(day) * SECONDS_PER_DAY);
    let whole_days = months(unit).is_some() || matches!(unit, IntervalUnit::Week | IntervalUnit::Day);
    // The timestamp in seconds; the kernel rounds timestamps before 1970 up.
    let ticks = ticks_per_second(ty);
    let day_of = |timestamp: i64| split_day(clock.of_timestamp(timestamp)).0;
    let start = |timestamp: i64| match whole_days {
        true => midnight(start_of_days(day_of(timestamp), unit, n)),
        false => start_of_seconds(timestamp, unit, n, &clock),
    };
    let days: Vec<i32> = match ty {
        DataType::Date => {
            let values = vector.values::<u16>()?.iter();
            let start = |day: i32| match call.result {
                DataType::Date | DataType::DateTime(_) => start_of_days(day, unit, n).max(0),
                _ => start_of_days(day, unit, n),
            };
            values.map(|&x| start(x.into())).collect()
        }
        DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| start_of_days(x, unit, n)).collect(),
        DataType::DateTime(_) => {
            let values = vector.values::<u32>()?.iter().map(|&x| i64::from(x));
            let start = |timestamp: i64| match unit {
                IntervalUnit::Day => {
                    first_date_time(start_of_days(day_of(timestamp).max(0), unit, n).into(), &clock)
                }
                _ => start(timestamp),
            };
            return Ok(match call.result {
                DataType::Date => Vector::from(
                    values.map(|x| date(start_of_days(day_of(x), unit, n))).collect::<Vec<u16>>(),
                ),
                DataType::Date32 => {
                    Vector::from(values.map(|x| start_of_days(day_of(x), unit, n)).collect::<Vec<i32>>())
                }
                DataType::DateTime64(..) => Vector::from(values.map(start).collect::<Vec<i64>>()),
                _ => Vector::from(values.map(|x| date_time(start(x))).collect::<Vec<u32>>()),
            }
            .into());
        }
        _ => {
            let values = vector.values::<i64>()?.iter().map(|x| x / ticks);
            return Ok(match call.result {
                DataType::Date => Vector::from(
                    values.map(|x| date(start_of_days(day_of(x), unit, n))).collect::<Vec<u16>>(),
                ),
                DataType::Date32 => {
                    Vector::from(values.map(|x| start_of_days(day_of(x), unit, n)).collect::<Vec<i32>>())
                }
                DataType::DateTime64(..) => Vector::from(values.map(start).collect::<Vec<i64>>()),
                _ => Vector::from(values.map(|x| date_time(start(x))).collect::<Vec<u32>>()),
            }
            .into());
        }
    };
    let days = days.into_iter();
    // A Date32 out of range wraps, as in the kernel.
    Ok(match call.result {
        DataType::Date => Vector::from(days.map(|day| day as u16).collect::<Vec<u16>>()),
        DataType::Date32 => Vector::from(days.collect::<Vec<i32>>()),
        DataType::DateTime64(..) => Vector::from(days.map(midnight).collect::<Vec<i64>>()),
        _ => Vector::from(days.map(|day| midnight(day) as u32).collect::<Vec<u32>>()),
    }
    .into())
}

/// Spans of `n` times 10^-digits seconds.
fn start_of_fractions(values: &[i64], own: u8, digits: u8, n: i64) -> Result<Column> {
    let start = |value: i64| {
        let value = if own > digits {
            value.div_euclid(10i64.pow((own - digits).into()))
        } else {
            let factor = 10i64.pow((digits - own).into());
            value.checked_mul(factor).ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))?
        };
        Ok(value.div_euclid(n) * n)
    };
    Ok(Vector::from(values.iter().map(|&x| start(x)).collect::<Result<Vec<i64>>>()?).into())
}

/// Spans counted from an origin.
fn from_origin(
    vector: &Vector,
    ty: &DataType,
    grid: &Grid,
    origin: i64,
    result: &DataType,
) -> Result<Column> {
    let clock = LocalTime::new(&grid.zone);
    let ticks = ticks_per_second(ty);
    let is_day = matches!(ty, DataType::Date | DataType::Date32);
    let ticks_of_unit = match (digits(grid.unit), seconds(grid.unit)) {
        (Some(digits), _) => Some((ticks / 10i64.pow(digits.into())).max(1)),
        (_, Some(seconds)) if is_day => Some(seconds / SECONDS_PER_DAY),
        (_, Some(seconds)) => Some(seconds * ticks),
        _ => None,
    };
    // Of a value: its local day and the ticks of that day.
    let split = |value: i64| {
        if is_day {
            return (value, 0);
        }
        let local = clock.of_timestamp(value.div_euclid(ticks));
        let (day, time) = (local.div_euclid(SECONDS_PER_DAY), local.rem_euclid(SECONDS_PER_DAY));
        (day, time * ticks + value.rem_euclid(ticks))
    };
    let (first_day, first_time) = split(origin);
    let first = Civil::of_days(first_day as i32);
    let plus_months = |n: i64| {
        let total = i64::from(first.year) * 12 + i64::from(first.month) - 1 + n;
        let (year, month) = (total.div_euclid(12) as i32, total.rem_euclid(12) as u8 + 1);
        i64::from(Civil::new(year, month, first.day.min(days_in_month(year, month))).days())
    };
    let start = |value: i64| {
        ensure!(value >= origin, BAD_ARGUMENTS, "The origin must be before the end date / date with time");
        if let Some(unit) = ticks_of_unit {
            let span = unit.saturating_mul(grid.n);
            return Ok((value - origin) / span * span + origin);
        }
        let span = months(grid.unit).unwrap_or(1).saturating_mul(grid.n);
        let at = split(value);
        let date = Civil::of_days(at.0 as i32);
        let mut passed =
            i64::from(date.year - first.year) * 12 + i64::from(date.month) - i64::from(first.month);
        if (plus_months(passed), first_time) > at {
            passed -= 1;
        }
        let day = plus_months(passed / span * span);
        Ok(if is_day {
            day
        } else {
            clock.to_timestamp(day * SECONDS_PER_DAY + first_time / ticks) * ticks + first_time % ticks
        })
    };
    Ok(match ty {
        DataType::Date => {
            let values = vector.values::<u16>()?.iter().map(|&x| start(x.into()).map(|day| day as u16));
            Vector::from(values.collect::<Result<Vec<u16>>>()?)
        }
        DataType::Date32 => {
            let values = vector.values::<i32>()?.iter().map(|&x| start(x.into()).map(|day| day as i32));
            Vector::from(values.collect::<Result<Vec<i32>>>()?)
        }
        DataType::DateTime(_) => {
            let values = vector.values::<u32>()?.iter().map(|&x| start(x.into()).map(|x| x as u32));
            Vector::from(values.collect::<Result<Vec<u32>>>()?)
        }
        _ => {
            let to = ticks_per_second(result);
            let scaled = |x: i64| if to < ticks { x.div_euclid(ticks / to) } else { x * (to / ticks) };
            let values = vector.values::<i64>()?.iter().map(|&x| start(x).map(scaled));
            Vector::from(values.collect::<Result<Vec<i64>>>()?)
        }
    }
    .into())
}

fn bind_interval(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=4)?;
    let ty = &args[0].ty;
    check_timestamp(name, ty, Takes::Dates)?;
    let DataType::Interval(unit) = args[1].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of 2nd argument of function {name}, expected a time interval",
            args[1].ty
        );
    };
    let has_origin = args.len() == 4 || args.get(2).is_some_and(|arg| !arg.ty.is_string());
    let named = zone_argument(name, args, if has_origin { 3 } else { 2 })?;
    let shown = named.clone().or_else(|| ty.time_zone().cloned());
    let zone = shown.clone().unwrap_or_else(|| ctx.time_zone.clone());
    let extended = ctx.settings.enable_extended_results_for_datetime_functions;
    let start = result(ty, unit, shown.clone(), extended)?;
    let Some(n) = args[1].constant.as_ref().and_then(|value| value.as_i64()) else {
        bail!(ILLEGAL_COLUMN, "Argument at index 1 for function {name} must be constant");
    };
    ensure!(n > 0, ARGUMENT_OUT_OF_BOUND, "Value for second argument of function {name} must be positive");
    if !has_origin {
        return Ok(Bound::with_state(start, Grid { unit, n, zone, origin: None }));
    }
    let same = std::mem::discriminant(ty) == std::mem::discriminant(&args[2].ty);
    ensure!(
        same,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Datetime argument and origin argument for function {name} must have the same type"
    );
    let Some(origin) = args[2].constant.as_ref().and_then(|value| value.as_i64()) else {
        bail!(ILLEGAL_COLUMN, "Argument at index 2 for function {name} must be constant");
    };
    let (own, other) = (ticks_per_second(ty), ticks_per_second(&args[2].ty));
    let origin = if own >= other { origin * (own / other) } else { origin.div_euclid(other / own) };
    let result = match (ty, start) {
        (DataType::DateTime64(..), start @ DataType::DateTime64(..)) if digits(unit).is_some() => start,
        (DataType::DateTime64(scale, _), _) => DataType::DateTime64(*scale, shown),
        (DataType::DateTime(_), _) => DataType::DateTime(shown),
        _ => ty.clone(),
    };
    Ok(Bound::with_state(result, Grid { unit, n, zone, origin: Some(origin) }))
}

fn bind_trunc(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let Some(unit) = args[0].constant.as_ref().and_then(|value| value.as_str()) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be constant string: name of datepart"
        );
    };
    let Some(unit) = IntervalUnit::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(unit))
    else {
        bail!(BAD_ARGUMENTS, "{unit} doesn't look like datepart name in {name}");
    };
    let ty = &args[1].ty;
    check_timestamp(name, ty, Takes::Dates)?;
    let named = zone_argument(name, args, 2)?;
    let shown = named.clone().or_else(|| ty.time_zone().cloned());
    let zone = shown.clone().unwrap_or_else(|| ctx.time_zone.clone());
    let setting = (ctx.settings.all.0)("function_date_trunc_return_type_behavior");
    let is_narrow = setting.is_some_and(|(value, _)| value.as_u64() == Some(1));
    let extended = !is_narrow && matches!(ty, DataType::Date32 | DataType::DateTime64(..));
    let result = result(ty, unit, shown, extended)?;
    ensure!(
        named.is_none()
            || ty.time_zone().is_some()
            || matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..))
            || unit == IntervalUnit::Day,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The timezone argument of function {name} with datepart '{}' is allowed only when the 2nd argument has the type DateTime",
        unit.name().to_ascii_lowercase()
    );
    Ok(Bound::with_state(result, Grid { unit, n: 1, zone, origin: None }))
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "toStartOfInterval",
            any_case_aliases: &["date_bin", "time_bucket"],
            summary: "The start of the span of an interval's length in which a date or moment lies; spans begin at the origin, if one is given.",
            syntax: "toStartOfInterval(date, interval[, origin][, zone])",
            examples: &[Example {
                sql: "SELECT toStartOfInterval(toDateTime('2024-02-29 13:47:58'), INTERVAL 15 MINUTE)",
                result: "2024-02-29 13:45:00",
            }],
            ..Record::DEFAULT
        },
        bind: bind_interval,
        execute,
    },
    Plain {
        record: Record {
            name: "dateTrunc",
            any_case_aliases: &["DATE_TRUNC"],
            summary: "The start of the year, quarter, month, week, day, hour, minute or second in which a date or moment lies.",
            syntax: "dateTrunc(unit, date[, zone])",
            examples: &[Example {
                sql: "SELECT dateTrunc('hour', toDateTime('2024-02-29 13:47:58'))",
                result: "2024-02-29 13:00:00",
            }],
            ..Record::DEFAULT
        },
        bind: bind_trunc,
        execute,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
