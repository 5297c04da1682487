//! Adding intervals to dates and times, as `+`, `-` and the functions `addDays` to `subtractYears` do.

use crate::lanes::{Operand, try_binary};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::Context;
use chalet_text::{Reader, Syntax};
use chalet_types::calendar::{
    Civil, LocalTime, SECONDS_PER_DAY, days_in_month, split_far_day, whole_seconds,
};
use chalet_types::{DataType, IntervalUnit, TimeZone};
use std::borrow::Cow;

/// Digits of a second that a unit needs.
fn unit_scale(unit: IntervalUnit) -> u8 {
    match unit {
        IntervalUnit::Nanosecond => 9,
        IntervalUnit::Microsecond => 6,
        IntervalUnit::Millisecond => 3,
        _ => 0,
    }
}

/// Seconds of a unit of fixed length.
fn unit_seconds(unit: IntervalUnit) -> Option<i64> {
    match unit {
        IntervalUnit::Second => Some(1),
        IntervalUnit::Minute => Some(60),
        IntervalUnit::Hour => Some(3600),
        _ => None,
    }
}

fn unit_days(unit: IntervalUnit) -> Option<i64> {
    match unit {
        IntervalUnit::Day => Some(1),
        IntervalUnit::Week => Some(7),
        _ => None,
    }
}

fn unit_months(unit: IntervalUnit) -> i64 {
    match unit {
        IntervalUnit::Month => 1,
        IntervalUnit::Quarter => 3,
        IntervalUnit::Year => 12,
        _ => 0,
    }
}

/// The type of a timestamp plus an interval. Strings are read as DateTime64 by the caller.
pub fn result(ty: &DataType, unit: IntervalUnit) -> Result<DataType> {
    use DataType::*;
    let scale = unit_scale(unit);
    let below_day = unit_seconds(unit).is_some();
    Ok(match ty {
        Date | Date32 | Time if scale > 0 => return Err(unusable(ty, unit)),
        Date if below_day => DateTime(None),
        Date32 if below_day => DateTime64(3, None),
        Date | Date32 => ty.clone(),
        DateTime(zone) if scale > 0 => DateTime64(scale, zone.clone()),
        DateTime(_) => ty.clone(),
        DateTime64(own, zone) => DateTime64((*own).max(scale), zone.clone()),
        Time if !below_day => return Err(unusable(ty, unit)),
        Time => Time,
        Time64(own) => Time64((*own).max(scale)),
        String | FixedString(_) => DateTime64(scale.max(3), None),
        _ => return Err(unusable(ty, unit)),
    })
}

fn unusable(ty: &DataType, unit: IntervalUnit) -> chalet_base::Error {
    err!(ILLEGAL_TYPE_OF_ARGUMENT, "add{}s cannot be used with {ty}", unit.name())
}

/// Last day that the kernel's calendar holds: 2299-12-31.
const LAST_DAY: i64 = 120_529;

fn add_months(days: i64, months: i64) -> Option<i64> {
    let date = Civil::of_days(i32::try_from(days).ok()?);
    let total = (i64::from(date.year) * 12 + i64::from(date.month) - 1).checked_add(months)?;
    let (year, month) = (i32::try_from(total.div_euclid(12)).ok()?, total.rem_euclid(12) as u8 + 1);
    if !(-100_000..=100_000).contains(&year) {
        return None;
    }
    Some(i64::from(Civil::new(year, month, date.day.min(days_in_month(year, month))).days()))
}

/// Adds whole days or months to a day; out of range saturates.
fn shift_days(days: i64, unit: IntervalUnit, amount: i64) -> i64 {
    match unit_days(unit) {
        Some(n) => days.saturating_add(amount.saturating_mul(n)),
        None => {
            let months = amount.saturating_mul(unit_months(unit));
            add_months(days, months).unwrap_or(if months < 0 { i64::MIN } else { i64::MAX })
        }
    }
}

/// Adds an interval to a timestamp in seconds of the zone's clock.
fn shift_seconds(timestamp: i64, unit: IntervalUnit, amount: i64, clock: &LocalTime) -> i64 {
    if let Some(n) = unit_seconds(unit) {
        return timestamp.saturating_add(amount.saturating_mul(n));
    }
    let local = clock.of_timestamp(timestamp);
    let (day, time) = split_far_day(local);
    // Some 2.9 million years are enough for any 64-bit timestamp of scale 0 that means something.
    let day = shift_days(day, unit, amount).clamp(-1_000_000_000, 1_000_000_000);
    clock.to_timestamp(day * SECONDS_PER_DAY + i64::from(time))
}

/// Fails unless an amount of the type can be added: integers of 64 bits at most, and floats.
pub fn check_amount(ty: &DataType, function: &str) -> Result<()> {
    ensure!(
        (ty.is_integer() || ty.is_float()) && ty.physical().width().is_some_and(|width| width <= 8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Second argument for function {function} must be a number"
    );
    Ok(())
}

/// Fails if an amount is no number of 64 bits with a sign. What is no number counts as none.
fn check_range(amount: Operand) -> Result<()> {
    let fits = match &amount.vector.data {
        Data::U64(values) => values.iter().all(|x| i64::try_from(*x).is_ok()),
        Data::F64(values) => values.iter().all(|x| x.is_nan() || x.abs() < 9_223_372_036_854_775_808.0),
        Data::F32(values) => values.iter().all(|x| x.is_nan() || x.abs() < 9_223_372_036_854_775_808.0),
        _ => true,
    };
    ensure!(fits, DECIMAL_OVERFLOW, "Numeric overflow");
    Ok(())
}

/// `timestamp + sign * amount` of the unit; `result` is what [`result`] said for the type of `timestamp`.
pub fn add(
    timestamp: Operand,
    amount: Operand,
    unit: IntervalUnit,
    sign: i64,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    use DataType::*;
    check_range(amount)?;
    let zone = timestamp.ty.time_zone().unwrap_or(&ctx.time_zone).clone();
    let clock = LocalTime::new(&zone);
    let signed = |amount: i64| amount.wrapping_mul(sign);
    let by_months = unit_months(unit) > 0;
    Ok(match (timestamp.ty, result) {
        (Date, Date) => try_binary::<i64, i64, u16>(timestamp, amount, n, |day, amount| {
            let shifted = shift_days(day, unit, signed(amount));
            Ok(if by_months { shifted.clamp(0, LAST_DAY) } else { shifted } as u16)
        })?
        .into(),
        (Date32, Date32) => try_binary::<i64, i64, i32>(timestamp, amount, n, |day, amount| {
            let (first, last) = (Civil::new(0, 1, 1).days(), Civil::new(9999, 12, 31).days());
            Ok(shift_days(day, unit, signed(amount)).clamp(first.into(), last.into()) as i32)
        })?
        .into(),
        (Date, DateTime(_)) => try_binary::<i64, i64, u32>(timestamp, amount, n, |day, amount| {
            let start = clock.first_timestamp(day * SECONDS_PER_DAY);
            Ok(shift_seconds(start, unit, signed(amount), &clock) as u32)
        })?
        .into(),
        (DateTime(_), DateTime(_)) => {
            try_binary::<i64, i64, u32>(timestamp, amount, n, |timestamp, amount| {
                let shifted = shift_seconds(timestamp, unit, signed(amount), &clock);
                Ok(if by_months { shifted.max(0) } else { shifted } as u32)
            })?
            .into()
        }
        (Time, Time) => try_binary::<i64, i64, i32>(timestamp, amount, n, |time, amount| {
            Ok(shift_seconds(time, unit, signed(amount), &clock) as i32)
        })?
        .into(),
        (from, DateTime64(scale, _) | Time64(scale)) => {
            let ticks = 10i64.pow((*scale).into());
            let own = match from {
                DateTime64(scale, _) | Time64(scale) => 10i64.pow((*scale).into()),
                _ => 1,
            };
            // A time of day counts from the first of January 1970, wherever that is.
            let utc = TimeZone::utc();
            let clock = if matches!(from, Time64(_)) { LocalTime::new(&utc) } else { clock };
            let from_day = matches!(from, Date32);
            let values = try_binary::<i64, i64, i64>(timestamp, amount, n, |value, amount| {
                let value = if from_day { clock.first_timestamp(value * SECONDS_PER_DAY) } else { value };
                let value = value.checked_mul(ticks / own).ok_or_else(overflow)?;
                let amount = signed(amount);
                let shifted = match unit_scale(unit) {
                    0 => {
                        let whole = whole_seconds(value, ticks);
                        let rest = value - whole * ticks;
                        let whole = shift_seconds(whole, unit, amount, &clock);
                        whole.checked_mul(ticks).and_then(|w| w.checked_add(rest)).ok_or_else(overflow)?
                    }
                    digits => {
                        let step = 10i64.pow(u32::from(scale - digits));
                        amount
                            .checked_mul(step)
                            .and_then(|amount| value.checked_add(amount))
                            .ok_or_else(overflow)?
                    }
                };
                Ok(shifted)
            })?;
            values.into()
        }
        (from, to) => bail!(LOGICAL_ERROR, "Adding an interval to {from} gives no {to}"),
    })
}

#[cold]
fn overflow() -> chalet_base::Error {
    err!(DECIMAL_OVERFLOW, "Decimal math overflow")
}

/// Text as the DateTime64 that the units need.
pub fn read_text<'a>(
    text: Operand<'a>,
    units: &[IntervalUnit],
    ctx: &Context,
) -> Result<(DataType, Cow<'a, Vector>)> {
    let scale = units.iter().map(|unit| unit_scale(*unit)).max().unwrap_or(0).max(3);
    let ty = DataType::DateTime64(scale, None);
    let mut out = Builder::new(&ty);
    let reader = Reader::new(&ty, Syntax::Plain, &crate::text::settings(ctx));
    match &text.vector.data {
        Data::Str(strings) => strings.iter().try_for_each(|s| reader.read_whole(s, &mut out))?,
        Data::Fixed(fixed) => fixed.iter().try_for_each(|s| reader.read_whole(s, &mut out))?,
        _ => bail!(LOGICAL_ERROR, "{} is no text", text.ty),
    }
    Ok((ty, Cow::Owned(out.finish())))
}
