//! `parseTimeDelta`: seconds of a text such as `1h 30min`.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "parseTimeDelta",
        summary: "The seconds that numbers with units of time spell out; a year counts 365 days, a month 30.5.",
        syntax: "parseTimeDelta(text)",
        examples: &[Example {
            sql: "SELECT parseTimeDelta('11s+22min'), parseTimeDelta('1yr2mo')",
            result: "1331\t36806400",
        }],
        null_before_arity: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

const DAY: f64 = 86400.0;

/// Names of units and their seconds.
const UNITS: &[(&[&str], f64)] = &[
    (&["years", "year", "yr", "y"], 365.0 * DAY),
    (&["months", "month", "mo"], 30.5 * DAY),
    (&["weeks", "week", "w"], 7.0 * DAY),
    (&["days", "day", "d"], DAY),
    (&["hours", "hour", "hr", "h"], 3600.0),
    (&["minutes", "minute", "min", "m"], 60.0),
    (&["seconds", "second", "sec", "s"], 1.0),
    (&["milliseconds", "millisecond", "millisec", "ms"], 1e-3),
    (&["microseconds", "microsecond", "microsec", "μs", "µs", "us"], 1e-6),
    (&["nanoseconds", "nanosecond", "nanosec", "ns"], 1e-9),
];

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function {name} doesn't match: passed 0, should be 1"
    );
    ensure!(
        args.len() == 1,
        TOO_MANY_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function {name} doesn't match: passed {}, should be 1",
        args.len()
    );
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'timestr' to function '{name}'. Expected: String, got: {}",
        args[0].ty
    );
    Ok(DataType::Float64.into())
}

fn execute(call: &Call) -> Result<Column> {
    let seconds = call.vector(0).strings()?.iter().map(parse);
    Ok(Vector::from(seconds.collect::<Result<Vec<f64>>>()?).into())
}

fn skip(text: &str, at: &mut usize, test: impl Fn(u8) -> bool) -> usize {
    let rest = &text.as_bytes()[*at..];
    let n = rest.iter().take_while(|b| test(**b)).count();
    *at += n;
    n
}

fn parse(text: &[u8]) -> Result<f64> {
    let text = &String::from_utf8_lossy(text);
    let space = |b: u8| b == b' ';
    let digit = |b: u8| b.is_ascii_digit();
    let (mut at, mut total) = (0, 0.0);
    skip(text, &mut at, space);
    ensure!(
        at < text.len(),
        BAD_ARGUMENTS,
        "Invalid argument of function parseTimeDelta, no valid characters, str: \"{text}\""
    );
    loop {
        let start = at;
        if skip(text, &mut at, digit) == 0 {
            bail!(
                BAD_ARGUMENTS,
                "Invalid argument of function parseTimeDelta, number not found, str: \"{text}\""
            );
        }
        if text.as_bytes().get(at) == Some(&b'.') {
            at += 1;
            ensure!(
                skip(text, &mut at, digit) > 0,
                BAD_ARGUMENTS,
                "Invalid argument of function parseTimeDelta, number not found after '.', str: \"{text}\""
            );
        }
        let number: f64 = text[start..at].parse().unwrap_or(f64::INFINITY);
        skip(text, &mut at, space);
        let start = at;
        skip(text, &mut at, |b| !b.is_ascii_digit() && !b" ;-+,:".contains(&b));
        let unit = &text[start..at];
        // Dots may close the text, as those of abbreviations do.
        let unit = if at == text.len() { unit.trim_end_matches('.') } else { unit };
        ensure!(
            !unit.is_empty(),
            BAD_ARGUMENTS,
            "Invalid argument of function parseTimeDelta, str: \"{text}\""
        );
        let Some((_, seconds)) = UNITS.iter().find(|(names, _)| names.contains(&unit)) else {
            bail!(
                BAD_ARGUMENTS,
                "Invalid argument of function parseTimeDelta, can't parse the unit: \"{unit}\""
            );
        };
        total += number * seconds;
        skip(text, &mut at, space);
        if at >= text.len() {
            return Ok(total);
        }
        if skip(&text[..(at + 1).min(text.len())], &mut at, |b| b";-+,:".contains(&b)) == 1 {
            skip(text, &mut at, space);
            ensure!(
                at < text.len(),
                BAD_ARGUMENTS,
                "Invalid argument of function parseTimeDelta, str: \"{text}\""
            );
        }
    }
}
