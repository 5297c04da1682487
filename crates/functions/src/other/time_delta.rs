//! `formatReadableTimeDelta`: a number of seconds in words.

use crate::lanes::{Operand, unary};
use crate::math::float_function::floats;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_text::write::number;
use chalet_types::{DataType, IntervalUnit};
use std::ops::{Div, Rem};

const RECORD: Record = Record {
    name: "formatReadableTimeDelta",
    summary: "A number of seconds in words, in units from the greatest to the least that are given (years to seconds).",
    syntax: "formatReadableTimeDelta(seconds[, greatest[, least]])",
    examples: &[
        Example { sql: "SELECT formatReadableTimeDelta(3661)", result: "1 hour, 1 minute and 1 second" },
        Example { sql: "SELECT formatReadableTimeDelta(3661, 'minutes')", result: "61 minutes and 1 second" },
    ],
    constant_arguments: &[1, 2],
    ..Record::DEFAULT
};

pub struct TimeDelta;

/// Nanoseconds of the units; a month has 30.5 days, a year 365.
const UNITS: [(&str, u128); 9] = [
    ("year", 31_536_000_000_000_000),
    ("month", 2_635_200_000_000_000),
    ("day", 86_400_000_000_000),
    ("hour", 3_600_000_000_000),
    ("minute", 60_000_000_000),
    ("second", 1_000_000_000),
    ("millisecond", 1_000_000),
    ("microsecond", 1_000),
    ("nanosecond", 1),
];

/// The index of the second in `UNITS`.
const SECOND: usize = 5;

/// Indices of the greatest and the least unit.
struct Range {
    greatest: usize,
    least: usize,
}

fn unit(args: &[Argument], index: usize, what: &str, default: usize) -> Result<usize> {
    let Some(arg) = args.get(index) else { return Ok(default) };
    ensure!(
        arg.ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument {what}_unit of function {}",
        arg.ty,
        RECORD.name
    );
    let name = arg.constant_str(RECORD.name, what)?;
    UNITS.iter().position(|(unit, _)| name.strip_suffix('s') == Some(unit)).ok_or_else(|| {
        err!(
            BAD_ARGUMENTS,
            "Unexpected value of {what} unit argument ({name}) for function {}, the only allowed values are: 'nanoseconds', 'microseconds', 'nanoseconds', 'seconds', 'minutes', 'hours', 'days', 'months', 'years'",
            RECORD.name
        )
    })
}

impl ScalarFunction for TimeDelta {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=3)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number() && !ty.is_decimal() || matches!(ty, DataType::Interval(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {}",
            RECORD.name
        );
        let greatest = unit(args, 1, "maximum", 0)?;
        let least = unit(args, 2, "minimum", if greatest > SECOND { UNITS.len() - 1 } else { SECOND })?;
        ensure!(
            greatest <= least,
            BAD_ARGUMENTS,
            "Explicitly specified value of minimum unit argument ({}s) for function {} must not be greater than maximum unit value ({}s)",
            UNITS[least].0,
            RECORD.name,
            UNITS[greatest].0
        );
        Ok(Bound::with_state(DataType::String, Range { greatest, least }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let range: &Range = call.state()?;
        let operand = Operand::of(call, 0);
        let vector = floats(operand, call.n_rows)?;
        let mut numbers = unary::<f64, f64>(Operand { vector: &vector, ..operand }, call.n_rows, |x| x)?;
        if let DataType::Interval(unit) = call.args[0].ty {
            let (seconds, parts) = seconds_of(*unit)?;
            numbers.iter_mut().for_each(|x| *x = (*x * seconds / parts).trunc());
        }
        let mut out = StringBuilder::with_capacity(call.n_rows);
        numbers.into_iter().for_each(|x| out.push_with(|bytes| words(x, range, bytes)));
        Ok(Vector::from(out.finish()).into())
    }
}

/// How many seconds a unit has, and how many of it a second has.
fn seconds_of(unit: IntervalUnit) -> Result<(f64, f64)> {
    use IntervalUnit::*;
    Ok(match unit {
        Nanosecond => (1.0, 1e9),
        Microsecond => (1.0, 1e6),
        Millisecond => (1.0, 1e3),
        Second => (1.0, 1.0),
        Minute => (60.0, 1.0),
        Hour => (3_600.0, 1.0),
        Day => (86_400.0, 1.0),
        Week => (604_800.0, 1.0),
        Month | Quarter | Year => {
            bail!(BAD_ARGUMENTS, "Not possible to get precise number of seconds in non-precise interval")
        }
    })
}

/// From here on not every whole number of seconds is a float: the smaller units of a sum would be noise.
const EXACT_SECONDS: f64 = (1u64 << 53) as f64;

/// So many seconds in the greatest unit alone.
fn in_one_unit(seconds: f64, (name, nanoseconds): (&str, u128)) -> String {
    let nanoseconds = nanoseconds as f64;
    let count = if nanoseconds < 1e9 {
        seconds * (1e9 / nanoseconds)
    } else {
        (seconds / (nanoseconds / 1e9)).floor()
    };
    let mut text = Vec::new();
    number::f64(&mut text, count);
    format!("{} {name}s", String::from_utf8_lossy(&text))
}

fn words(seconds: f64, range: &Range, out: &mut Vec<u8>) {
    if seconds.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if seconds < 0.0 {
        out.push(b'-');
    }
    let seconds = seconds.abs();
    if seconds.is_infinite() {
        return out.extend_from_slice(b"inf");
    }
    if seconds >= EXACT_SECONDS {
        return out.extend_from_slice(in_one_unit(seconds, UNITS[range.greatest]).as_bytes());
    }
    let nanoseconds = seconds.trunc() as u128 * NANOSECONDS + (seconds.fract() * 1e9).round() as u128;
    // Divisions of 64 bits are several times as fast; seconds alone count where no lesser unit is asked for.
    let (rest, lesser) = match range.least <= SECOND {
        true => ((nanoseconds / NANOSECONDS) as u64, NANOSECONDS as u64),
        false => match u64::try_from(nanoseconds) {
            Ok(rest) => (rest, 1),
            Err(_) => return each_unit(nanoseconds, |length| length, range, out),
        },
    };
    each_unit(rest, |length| (length / u128::from(lesser)) as u64, range, out);
}

/// Nanoseconds of a second.
const NANOSECONDS: u128 = 1_000_000_000;

/// Counts of the units, in words.
fn each_unit<T>(mut rest: T, length: impl Fn(u128) -> T, range: &Range, out: &mut Vec<u8>)
where
    T: Copy + Div<Output = T> + Rem<Output = T> + Into<u128>,
{
    let start = out.len();
    // Where the last part begins, behind a comma.
    let mut last = None;
    let mut buffer = itoa::Buffer::new();
    for (index, (name, nanoseconds)) in UNITS.iter().enumerate().take(range.least + 1).skip(range.greatest) {
        let length = length(*nanoseconds);
        let count: u128 = (rest / length).into();
        rest = rest % length;
        let is_empty = out.len() == start;
        // Zero seconds are named where nothing greater is, and so is the last of the smaller units.
        let names_zero = index == SECOND || index > SECOND && index == range.least;
        if count == 0 && !(is_empty && names_zero) {
            continue;
        }
        if !is_empty {
            last = Some(out.len());
            out.extend_from_slice(b", ");
        }
        match u64::try_from(count) {
            Ok(count) => out.extend_from_slice(buffer.format(count).as_bytes()),
            Err(_) => out.extend_from_slice(buffer.format(count).as_bytes()),
        }
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        if count != 1 {
            out.push(b's');
        }
    }
    if let Some(comma) = last {
        out.splice(comma..comma + 2, *b" and ");
    }
}
