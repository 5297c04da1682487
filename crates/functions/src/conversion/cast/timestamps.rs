//! To dates, timestamps and times of day, from each other and from numbers.

use super::decimals;
use super::numbers::filled;
use super::rules::{DateTimeOverflow, Rules};
use crate::widen::LAST_DATE_TIME_DAY;
use chalet_base::{Result, bail, err};
use chalet_columns::{Data, Vector};
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY, split_day};
use chalet_types::{DataType, IntervalUnit};

/// Numbers up to this one are days when a Date is wanted, greater ones are unix seconds.
const LAST_DATE: i64 = 65_535;
/// 9999-12-31, in days; the same for Date32.
const LAST_DATE32: i64 = 2_932_896;
/// 0000-01-01, in days.
const FIRST_DATE32: i64 = -719_528;
/// 0000-01-01 00:00:00 and 9999-12-31 23:59:59, in seconds.
const FIRST_SECOND: i64 = FIRST_DATE32 * SECONDS_PER_DAY;
const LAST_SECOND: i64 = LAST_DATE32 * SECONDS_PER_DAY + SECONDS_PER_DAY - 1;
/// 999:59:59, in seconds.
const LAST_TIME: i64 = 3_599_999;

/// Ticks of one second.
fn per_second(scale: u8) -> i64 {
    10i64.pow(scale.into())
}

pub fn convert(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    use DataType::*;
    match (from, to) {
        (Date, Date32) => super::numbers::convert(vector, to),
        (Date32, Date) if rules.overflow == DateTimeOverflow::Ignore => super::numbers::convert(vector, to),
        (Date | Date32, Time | Time64(_)) => Ok(Vector::defaults(to, vector.len())),
        (_, Date | DateTime(_)) if rules.overflow != DateTimeOverflow::Ignore && is_date(from) => {
            held(vector, from, to, rules)
        }
        (Date, DateTime(_) | DateTime64(..)) => {
            let time = rules.local_time(to.time_zone());
            let seconds = filled::<i64>(vector)?.into_iter().map(|days| {
                let timestamp = time.first_timestamp(days * SECONDS_PER_DAY);
                // The first day of a zone east of Greenwich begins before all timestamps; the next one counts.
                if timestamp < 0 { time.first_timestamp((days + 1) * SECONDS_PER_DAY) } else { timestamp }
            });
            of_seconds(seconds, to)
        }
        (Date32, DateTime(_) | DateTime64(..)) => {
            let time = rules.local_time(to.time_zone());
            of_seconds(
                filled::<i64>(vector)?.into_iter().map(|d| time.first_timestamp(d * SECONDS_PER_DAY)),
                to,
            )
        }
        (DateTime(_), DateTime(_)) => Ok(vector.clone()),
        (DateTime(zone), Date | Date32 | Time | Time64(_)) => {
            let time = rules.local_time(zone.as_ref());
            // West of Greenwich the first timestamps are of a day that no Date holds.
            let first = if *to == Date { 0 } else { i64::MIN };
            local(filled::<i64>(vector)?.into_iter().map(|s| time.of_timestamp(s).max(first)), to)
        }
        (DateTime(_), DateTime64(scale, _)) => {
            let factor = per_second(*scale);
            let ticks = vector.values::<u32>()?.iter().map(|s| {
                i64::from(*s)
                    .checked_mul(factor)
                    .ok_or_else(|| err!(DECIMAL_OVERFLOW, "DateTime64 convert overflow"))
            });
            Ok(ticks.collect::<Result<Vec<i64>>>()?.into())
        }
        (DateTime64(scale, zone), _) => of_date_time64(vector, *scale, &rules.local_time(zone.as_ref()), to),
        (Time | Time64(_), Date | Date32) => Ok(Vector::defaults(to, vector.len())),
        (Time, DateTime(_)) => super::numbers::convert(vector, to),
        (Time, DateTime64(scale, _) | Time64(scale)) => {
            let factor = per_second(*scale);
            Ok(vector.values::<i32>()?.iter().map(|s| i64::from(*s) * factor).collect::<Vec<_>>().into())
        }
        (Time64(_), DateTime64(..) | Time64(_)) => decimals::rescale(vector, &decimals::as_decimal(from), to),
        (Interval(_), Date | Date32 | DateTime(_) | Time) => super::numbers::convert(vector, to),
        _ => of_number(vector, to, rules),
    }
}

/// Is it a type whose range is larger than that of Date or DateTime?
fn is_date(from: &DataType) -> bool {
    matches!(from, DataType::Date | DataType::Date32 | DataType::DateTime64(..))
}

/// The last second of Date, in a day that is cut off from a timestamp.
const LAST_DATE_SECOND: i64 = LAST_DATE * SECONDS_PER_DAY + SECONDS_PER_DAY - 1;

/// A Date or DateTime of a date or timestamp, where what its range does not hold is the nearest value or an error.
fn held(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let (name, last_day, last_second) = match to {
        DataType::Date => ("Date", LAST_DATE, LAST_DATE_SECOND),
        _ => ("DateTime", LAST_DATE_TIME_DAY, i64::from(u32::MAX)),
    };
    let (factor, last) = match from {
        DataType::DateTime64(scale, _) => (per_second(*scale), last_second),
        _ => (1, last_day),
    };
    let values = filled::<i64>(vector)?;
    let whole = |value: i64| value.div_euclid(factor);
    let is_out = |value: &&i64| !(0..=last).contains(&whole(**value));
    let mut known =
        values.iter().enumerate().filter(|(row, _)| !vector.is_null(*row)).map(|(_, value)| value);
    if rules.overflow == DateTimeOverflow::Throw
        && let Some(out) = known.find(is_out)
    {
        let what = if *from == DataType::Date { "Day number" } else { "Value" };
        bail!(VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "{what} {} is out of bounds of type {name}", whole(*out))
    }
    let nearest = |value: i64| match whole(value) {
        ..0 => 0,
        whole if whole > last => last * factor,
        _ => value,
    };
    let values: Vec<i64> = values.into_iter().map(nearest).collect();
    let rules = Rules { overflow: DateTimeOverflow::Ignore, ..rules.with_mode(rules.mode) };
    match (from, to) {
        (DataType::DateTime64(..), DataType::Date) => {
            // The day is the one of the zone.
            let days = convert(&Vector::from(values), from, &DataType::Date32, &rules)?;
            Ok(days
                .values::<i32>()?
                .iter()
                .map(|day| (*day).clamp(0, LAST_DATE as i32) as u16)
                .collect::<Vec<_>>()
                .into())
        }
        (DataType::DateTime64(..), _) => convert(&Vector::from(values), from, to, &rules),
        (DataType::Date, _) => {
            let days = values.into_iter().map(|day| day as u16).collect::<Vec<u16>>();
            convert(&Vector::from(days), from, to, &rules)
        }
        (_, DataType::Date) => Ok(values.into_iter().map(|day| day as u16).collect::<Vec<u16>>().into()),
        _ => {
            let days = values.into_iter().map(|day| day as i32).collect::<Vec<i32>>();
            convert(&Vector::from(days), &DataType::Date32, to, &rules)
        }
    }
}

/// Timestamps from unix seconds.
fn of_seconds(seconds: impl Iterator<Item = i64>, to: &DataType) -> Result<Vector> {
    Ok(match to {
        DataType::DateTime64(scale, _) => {
            let factor = per_second(*scale);
            seconds.map(|s| s.saturating_mul(factor)).collect::<Vec<i64>>().into()
        }
        _ => seconds.map(|s| s as u32).collect::<Vec<u32>>().into(),
    })
}

/// Parts of a local time given in seconds since 1970-01-01.
fn local(seconds: impl Iterator<Item = i64>, to: &DataType) -> Result<Vector> {
    Ok(match to {
        DataType::Date => seconds.map(|s| split_day(s).0 as u16).collect::<Vec<_>>().into(),
        DataType::Date32 => seconds.map(|s| split_day(s).0).collect::<Vec<_>>().into(),
        DataType::Time => seconds.map(|s| split_day(s).1 as i32).collect::<Vec<_>>().into(),
        DataType::Time64(scale) => {
            let factor = per_second(*scale);
            seconds.map(|s| i64::from(split_day(s).1) * factor).collect::<Vec<_>>().into()
        }
        other => bail!(LOGICAL_ERROR, "{other} is no part of a local time"),
    })
}

fn of_date_time64(vector: &Vector, scale: u8, time: &LocalTime, to: &DataType) -> Result<Vector> {
    let factor = per_second(scale);
    let ticks = vector.values::<i64>()?;
    match to {
        DataType::DateTime64(to_scale, _) => {
            let from = DataType::Decimal { precision: 18, scale };
            decimals::rescale(vector, &from, &DataType::Decimal { precision: 18, scale: *to_scale })
        }
        DataType::DateTime(_) => of_seconds(ticks.iter().map(|t| t.div_euclid(factor)), to),
        // The kernel cuts towards zero for a Date and down for everything else.
        DataType::Date => local(ticks.iter().map(|t| time.of_timestamp(t / factor)), to),
        DataType::Time64(to_scale) => {
            let wanted = per_second(*to_scale);
            let parts = ticks.iter().map(|t| {
                let seconds = split_day(time.of_timestamp(t.div_euclid(factor))).1;
                let fraction = i128::from(t.rem_euclid(factor)) * i128::from(wanted) / i128::from(factor);
                i64::from(seconds) * wanted + fraction as i64
            });
            Ok(parts.collect::<Vec<_>>().into())
        }
        _ => local(ticks.iter().map(|t| time.of_timestamp(t.div_euclid(factor))), to),
    }
}

/// Numbers as days or seconds, held in the range of the type.
fn of_number(vector: &Vector, to: &DataType, rules: &Rules) -> Result<Vector> {
    let is_float = matches!(vector.data, Data::F64(_) | Data::F32(_) | Data::BF16(_));
    if is_float {
        let floats = filled::<f64>(vector)?;
        if let DataType::DateTime64(..) | DataType::Time64(_) = to {
            return floats_to_ticks(&floats, matches!(vector.data, Data::F32(_)), to);
        }
        if *to != DataType::Date32 && floats.iter().any(|x| !x.is_finite()) {
            bail!(CANNOT_CONVERT_TYPE, "Unexpected inf or nan to integer conversion");
        }
        if *to == DataType::Date {
            // Everything above the days is seconds, also a fraction above.
            let time = rules.local_time(None);
            let days = floats.into_iter().map(|x| match x {
                x if x < 0.0 => 0,
                x if x <= LAST_DATE as f64 => x as u16,
                x => split_day(time.of_timestamp((x as i64).min(u32::MAX.into()))).0 as u16,
            });
            return Ok(days.collect::<Vec<u16>>().into());
        }
        let days: Vec<i64> =
            floats.into_iter().map(|x| if x.is_nan() { i64::MIN } else { x as i64 }).collect();
        return of_integers(days, to, rules);
    }
    of_integers(clamped(vector)?, to, rules)
}

/// Integers of any width, held in the range of 64 bits with sign.
fn clamped(vector: &Vector) -> Result<Vec<i64>> {
    Ok(match &vector.data {
        Data::U64(values) => values.iter().map(|x| i64::try_from(*x).unwrap_or(i64::MAX)).collect(),
        Data::U128(values) => values.iter().map(|x| i64::try_from(*x).unwrap_or(i64::MAX)).collect(),
        Data::U256(values) => values.iter().map(|x| i64::try_from(*x).unwrap_or(i64::MAX)).collect(),
        Data::I128(values) => {
            values.iter().map(|x| (*x).clamp(i64::MIN.into(), i64::MAX.into()) as i64).collect()
        }
        Data::I256(values) => values
            .iter()
            .map(|x| i64::try_from(*x).unwrap_or(if *x < 0 { i64::MIN } else { i64::MAX }))
            .collect(),
        _ => filled::<i64>(vector)?,
    })
}

fn of_integers(values: Vec<i64>, to: &DataType, rules: &Rules) -> Result<Vector> {
    let values = values.into_iter();
    Ok(match to {
        DataType::Date => {
            let time = rules.local_time(None);
            let day = |x: i64| match x {
                ..0 => 0,
                0..=LAST_DATE => x as u16,
                _ => split_day(time.of_timestamp(x.min(u32::MAX.into()))).0 as u16,
            };
            values.map(day).collect::<Vec<_>>().into()
        }
        DataType::Date32 => {
            let time = rules.local_time(None);
            let day = |x: i64| match x {
                ..FIRST_DATE32 => FIRST_DATE32 as i32,
                FIRST_DATE32..=LAST_DATE32 => x as i32,
                _ => split_day(time.of_timestamp(x.min(LAST_SECOND))).0.min(LAST_DATE32 as i32),
            };
            values.map(day).collect::<Vec<_>>().into()
        }
        DataType::DateTime(_) => {
            values.map(|x| x.clamp(0, u32::MAX.into()) as u32).collect::<Vec<_>>().into()
        }
        DataType::Time => values.map(|x| x.clamp(-LAST_TIME, LAST_TIME) as i32).collect::<Vec<_>>().into(),
        DataType::DateTime64(scale, _) => {
            let (first, last) = (FIRST_SECOND, LAST_SECOND);
            values.map(|x| clamped_ticks(x, first, last, *scale)).collect::<Vec<_>>().into()
        }
        DataType::Time64(scale) => {
            values.map(|x| clamped_ticks(x, -LAST_TIME, LAST_TIME, *scale)).collect::<Vec<_>>().into()
        }
        other => bail!(LOGICAL_ERROR, "{other} is not made of seconds"),
    })
}

/// Seconds as ticks; what lies outside of the bounds becomes their last tick.
fn clamped_ticks(seconds: i64, first: i64, last: i64, scale: u8) -> i64 {
    let factor = per_second(scale);
    if seconds > last {
        last.saturating_mul(factor).saturating_add(factor - 1)
    } else if seconds < first {
        let whole = first.saturating_mul(factor);
        // Times of day end symmetrically, timestamps at a whole second.
        if first == -last { whole.saturating_sub(factor - 1) } else { whole }
    } else {
        seconds.saturating_mul(factor)
    }
}

fn floats_to_ticks(floats: &[f64], narrow: bool, to: &DataType) -> Result<Vector> {
    let (scale, first, last) = match to {
        DataType::DateTime64(scale, _) => (*scale, FIRST_SECOND, LAST_SECOND),
        DataType::Time64(scale) => (*scale, -LAST_TIME, LAST_TIME),
        other => bail!(LOGICAL_ERROR, "{other} has no ticks"),
    };
    let factor = per_second(scale) as f64;
    let ticks = floats.iter().map(|x| match *x {
        x if x.is_nan() => {
            bail!(DECIMAL_OVERFLOW, "Decimal convert overflow. Cannot convert infinity or NaN to decimal")
        }
        x if x >= (last + 1) as f64 => Ok(clamped_ticks(i64::MAX, first, last, scale)),
        x if x < first as f64 - if first == -last { 1.0 } else { 0.0 } => {
            Ok(clamped_ticks(i64::MIN, first, last, scale))
        }
        // A Float32 is scaled in its own width. Both saturate at scale 9.
        x if narrow => Ok((x as f32 * factor as f32) as i64),
        x => Ok((x * factor) as i64),
    });
    Ok(ticks.collect::<Result<Vec<i64>>>()?.into())
}

/// Decimals as seconds.
pub fn of_decimal(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    let DataType::DateTime64(scale, _) = to else { return decimals::rescale(vector, from, to) };
    let factor = per_second(*scale);
    let (first, last) =
        (FIRST_SECOND.saturating_mul(factor), LAST_SECOND.saturating_mul(factor).saturating_add(factor - 1));
    let ticks = decimals::rescale(vector, from, to)?;
    Ok(ticks.values::<i64>()?.iter().map(|t| (*t).clamp(first, last)).collect::<Vec<_>>().into())
}

/// Lengths in another unit, cut; months and days do not mix.
pub fn interval(vector: &Vector, from: IntervalUnit, to: IntervalUnit) -> Result<Vector> {
    let (Some(a), Some(b)) = (units(from), units(to)) else { return Ok(vector.clone()) };
    if a.0 != b.0 {
        bail!(
            CANNOT_CONVERT_TYPE,
            "Conversion from Interval{} to Interval{} is not supported",
            from.name(),
            to.name()
        );
    }
    let values = vector.values::<i64>()?.iter();
    Ok(if a.1 >= b.1 {
        values.map(|x| x.wrapping_mul(a.1 / b.1)).collect::<Vec<_>>().into()
    } else {
        values.map(|x| x / (b.1 / a.1)).collect::<Vec<_>>().into()
    })
}

/// Whether a unit counts months, and how many months or nanoseconds it is.
fn units(unit: IntervalUnit) -> Option<(bool, i64)> {
    use IntervalUnit::*;
    Some(match unit {
        Nanosecond => (false, 1),
        Microsecond => (false, 1_000),
        Millisecond => (false, 1_000_000),
        Second => (false, 1_000_000_000),
        Minute => (false, 60_000_000_000),
        Hour => (false, 3_600_000_000_000),
        Day => (false, 86_400_000_000_000),
        Week => (false, 604_800_000_000_000),
        Month => (true, 1),
        Quarter => (true, 3),
        Year => (true, 12),
    })
}
