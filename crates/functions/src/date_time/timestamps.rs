//! What functions of dates and timestamps share: which types they take, in which zone, and the loops over their values.

use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Native, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context};
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY, split_day, whole_seconds};
use chalet_types::{DataType, TimeZone};

/// Which types a function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Date, Date32, DateTime, DateTime64.
    Dates,
    /// DateTime, DateTime64.
    Timestamps,
}

/// Checks the type of the first argument.
pub fn check_timestamp(name: &str, ty: &DataType, takes: Takes) -> Result<()> {
    let fits = match takes {
        Takes::Dates => ty.is_date_or_time(),
        Takes::Timestamps => matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)),
    };
    let expected = match takes {
        Takes::Dates => "Date, Date32, DateTime or DateTime64",
        Takes::Timestamps => "DateTime or DateTime64",
    };
    ensure!(
        fits,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of function {name}. Should be {expected}"
    );
    Ok(())
}

/// The zone that a constant argument names; `None` when there is no such argument.
pub fn zone_argument(name: &str, args: &[Argument], index: usize) -> Result<Option<TimeZone>> {
    let Some(arg) = args.get(index) else { return Ok(None) };
    ensure!(
        arg.ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} expects a string with the name of a time zone as argument {}, got {}",
        index + 1,
        arg.ty
    );
    let Some(zone) = arg.constant.as_ref().and_then(|value| value.as_str()) else {
        bail!(
            ILLEGAL_COLUMN,
            "Illegal column of time zone argument of function {name}, must be a constant string"
        );
    };
    TimeZone::named(zone).map(Some)
}

/// The zone of a function's values: named by an argument, else by the type of the first, else the session's.
pub fn zone_of(name: &str, args: &[Argument], index: usize, ctx: &Context) -> Result<TimeZone> {
    let named = zone_argument(name, args, index)?;
    let own = args.first().and_then(|arg| arg.ty.time_zone().cloned());
    Ok(named.or(own).unwrap_or_else(|| ctx.time_zone.clone()))
}

/// `f(timestamp [, zone])` whose result has one type; the zone is the state.
pub fn bind_part(
    name: &'static str,
    args: &[Argument],
    ctx: &Context,
    takes: Takes,
    result: DataType,
) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    check_timestamp(name, &args[0].ty, takes)?;
    Ok(Bound::with_state(result, zone_of(name, args, 1, ctx)?))
}

/// The state that [`bind_part`] prepared.
pub fn zone<'a>(call: &'a Call) -> Result<&'a TimeZone> {
    call.state::<TimeZone>()
}

/// Ticks of a second that values of the type count.
pub fn ticks_per_second(ty: &DataType) -> i64 {
    match ty {
        DataType::DateTime64(scale, _) | DataType::Time64(scale) => 10i64.pow((*scale).into()),
        _ => 1,
    }
}

/// Values that are tested together for whether all are of one span of their zone's clock.
const TOGETHER: usize = 1024;

/// Timestamps of which runs are of the same offset through `near`, with that offset, and others through `any`. Most columns are in the
/// order of time: their loops then look up no offset.
fn by_offset<T: Copy + Ord, R>(
    values: &[T],
    seconds: impl Fn(T) -> i64,
    offset_between: impl Fn(i64, i64) -> Option<i64>,
    near: impl Fn(T, i64) -> R,
    any: impl Fn(T) -> R,
) -> Vec<R> {
    let mut out = Vec::with_capacity(values.len());
    for values in values.chunks(TOGETHER) {
        let least_and_most = dispatch_simd(|| {
            values.iter().fold((values[0], values[0]), |(least, most), &x| (least.min(x), most.max(x)))
        });
        let (first, last) = (seconds(least_and_most.0), seconds(least_and_most.1));
        match offset_between(first, last) {
            Some(offset) => dispatch_simd(|| out.extend(values.iter().map(|&x| near(x, offset)))),
            None => out.extend(values.iter().map(|&x| any(x))),
        }
    }
    out
}

/// The offset of the timestamps from `first` to `last`, if the local clock shows numbers of 32 bits at all of them.
fn offset_of_words(clock: &LocalTime, first: i64, last: i64) -> Option<i64> {
    let offset = clock.offset_between(first, last)?;
    (first + offset >= 0 && last + offset <= u32::MAX.into()).then_some(offset)
}

/// A function of the local date, given as days since 1970-01-01.
pub fn each_day<R: Native>(
    vector: &Vector,
    ty: &DataType,
    zone: &TimeZone,
    f: impl Fn(i32) -> R,
) -> Result<Vec<R>> {
    const DAY: u32 = SECONDS_PER_DAY as u32;
    let clock = LocalTime::new(zone);
    let far = |timestamp: i64| f(split_day(clock.of_timestamp(timestamp)).0);
    Ok(match ty {
        DataType::Date => vector.values::<u16>()?.iter().map(|&x| f(x.into())).collect(),
        DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| f(x)).collect(),
        DataType::DateTime(_) => by_offset(
            vector.values::<u32>()?,
            i64::from,
            |first, last| offset_of_words(&clock, first, last),
            |x, offset| f((x.wrapping_add(offset as u32) / DAY) as i32),
            |x| far(x.into()),
        ),
        DataType::DateTime64(..) => {
            let ticks = ticks_per_second(ty);
            by_offset(
                vector.values::<i64>()?,
                |x| whole_seconds(x, ticks),
                |first, last| clock.offset_between(first, last),
                |x, offset| f(split_day(whole_seconds(x, ticks).saturating_add(offset)).0),
                |x| far(whole_seconds(x, ticks)),
            )
        }
        other => return Err(err!(LOGICAL_ERROR, "{other} is no date")),
    })
}

/// A function of what the local clock shows, in seconds since 1970-01-01; of a date its midnight.
pub fn each_local<R: Native>(
    vector: &Vector,
    ty: &DataType,
    zone: &TimeZone,
    f: impl Fn(i64) -> R,
) -> Result<Vec<R>> {
    let clock = LocalTime::new(zone);
    let midnight = |day: i32| f(i64::from(day) * SECONDS_PER_DAY);
    Ok(match ty {
        DataType::Date => vector.values::<u16>()?.iter().map(|&x| midnight(x.into())).collect(),
        DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| midnight(x)).collect(),
        DataType::DateTime(_) => by_offset(
            vector.values::<u32>()?,
            i64::from,
            |first, last| offset_of_words(&clock, first, last),
            |x, offset| f(x.wrapping_add(offset as u32).into()),
            |x| f(clock.of_timestamp(x.into())),
        ),
        DataType::DateTime64(..) => {
            let ticks = ticks_per_second(ty);
            by_offset(
                vector.values::<i64>()?,
                |x| whole_seconds(x, ticks),
                |first, last| clock.offset_between(first, last),
                |x, offset| f(whole_seconds(x, ticks).saturating_add(offset)),
                |x| f(clock.of_timestamp(whole_seconds(x, ticks))),
            )
        }
        other => return Err(err!(LOGICAL_ERROR, "{other} is no date")),
    })
}

/// The starts of spans of some seconds of the local clock, which divide its day, of DateTimes; of others `other`.
pub fn each_start_of_span<const SECONDS: u32>(
    values: &[u32],
    zone: &TimeZone,
    other: impl Fn(i64, &LocalTime) -> i64,
) -> Vec<u32> {
    let clock = LocalTime::new(zone);
    // No change of the clock is between a moment and the start of its span, nor so near that another moment shows that, too.
    let margin = if SECONDS == SECONDS_PER_DAY as u32 { 3 * SECONDS_PER_DAY } else { 0 };
    by_offset(
        values,
        i64::from,
        |first, last| {
            let offset = offset_of_words(&clock, first, last)?;
            let is_far = margin == 0 || clock.offset_between(first - margin, last + margin).is_some();
            (is_far && first >= SECONDS.into()).then_some(offset)
        },
        |x, offset| x - x.wrapping_add(offset as u32) % SECONDS,
        |x| date_time(other(x.into(), &clock)),
    )
}

/// A function of a timestamp in seconds since 1970-01-01 UTC; of a date its local midnight.
pub fn each_timestamp<R: Native>(
    vector: &Vector,
    ty: &DataType,
    zone: &TimeZone,
    f: impl Fn(i64, &LocalTime) -> R,
) -> Result<Vec<R>> {
    let clock = LocalTime::new(zone);
    let midnight = |day: i32| f(clock.first_timestamp(i64::from(day) * SECONDS_PER_DAY), &clock);
    Ok(match ty {
        DataType::Date => vector.values::<u16>()?.iter().map(|&x| midnight(x.into())).collect(),
        DataType::Date32 => vector.values::<i32>()?.iter().map(|&x| midnight(x)).collect(),
        DataType::DateTime(_) => vector.values::<u32>()?.iter().map(|&x| f(x.into(), &clock)).collect(),
        DataType::DateTime64(..) => {
            let ticks = ticks_per_second(ty);
            vector.values::<i64>()?.iter().map(|&x| f(whole_seconds(x, ticks), &clock)).collect()
        }
        other => return Err(err!(LOGICAL_ERROR, "{other} is no date")),
    })
}

/// The first argument through a function of its local date.
pub fn days<R: Native>(call: &Call, f: impl Fn(i32) -> R) -> Result<Column>
where
    Vector: From<Vec<R>>,
{
    let values = each_day(call.vector(0), call.args[0].ty, zone(call)?, f)?;
    Ok(Vector::from(values).into())
}

/// The first argument through a function of its local clock.
pub fn locals<R: Native>(call: &Call, f: impl Fn(i64) -> R) -> Result<Column>
where
    Vector: From<Vec<R>>,
{
    let values = each_local(call.vector(0), call.args[0].ty, zone(call)?, f)?;
    Ok(Vector::from(values).into())
}

/// The first argument through a function of its timestamp.
pub fn timestamps<R: Native>(call: &Call, f: impl Fn(i64, &LocalTime) -> R) -> Result<Column>
where
    Vector: From<Vec<R>>,
{
    let values = each_timestamp(call.vector(0), call.args[0].ty, zone(call)?, f)?;
    Ok(Vector::from(values).into())
}

/// A day as Date: out of range saturates.
#[inline(always)]
pub fn date(day: i32) -> u16 {
    day.clamp(0, u16::MAX.into()) as u16
}

/// A timestamp as DateTime: out of range saturates.
#[inline(always)]
pub fn date_time(timestamp: i64) -> u32 {
    timestamp.clamp(0, u32::MAX.into()) as u32
}

/// Does the setting ask for Date32 and DateTime64 where the argument is one?
pub fn is_extended(ty: &DataType, ctx: &Context) -> bool {
    ctx.settings.enable_extended_results_for_datetime_functions
        && matches!(ty, DataType::Date32 | DataType::DateTime64(..))
}
