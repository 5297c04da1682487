//! `parseISO8601Duration`: a span of time such as `P1DT12H`, in seconds.

use crate::plain::Plain;
use crate::string_args::{StringArg, check_type};
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "parseISO8601Duration",
        summary: "The seconds of a duration in the form of ISO 8601, of weeks, days, hours, minutes and seconds.",
        syntax: "parseISO8601Duration(duration)",
        examples: &[Example { sql: "SELECT parseISO8601Duration('P1DT12H30M5.5S')", result: "131405.5" }],
        // Of NULL alone it is a Nullable number.
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        let is_text = ty.is_only_null() || *ty.bare() == DataType::String;
        check_type(is_text, name, 0, "String", ty.bare())?;
        Ok(if ty.is_nullable() { DataType::Float64.nullable().into() } else { DataType::Float64.into() })
    },
    execute: |call: &Call| -> Result<Column> {
        let arg = &call.args[0];
        if arg.ty.is_only_null() {
            return Ok(Column::constant(Vector::defaults(&DataType::Float64.nullable(), 1), call.n_rows));
        }
        let texts = StringArg::of(call, 0)?;
        let validity = arg.vector.validity.as_ref();
        let is_null = |row| validity.is_some_and(|validity| validity.is_null(row));
        let seconds =
            (0..call.n_rows).map(|row| if is_null(row) { Ok(0.0) } else { seconds(texts.get(row)) });
        Ok(Vector::from(seconds.collect::<Result<Vec<f64>>>()?).with_nulls(validity).into())
    },
};

/// Designators in the order in which they must come, and their seconds; those from `FIRST_OF_TIME` on follow a T.
const UNITS: [(u8, f64); 5] =
    [(b'W', 604_800.0), (b'D', 86_400.0), (b'H', 3_600.0), (b'M', 60.0), (b'S', 1.0)];
const FIRST_OF_TIME: usize = 2;

fn seconds(text: &[u8]) -> Result<f64> {
    let fail = |what: &str| {
        let text = String::from_utf8_lossy(text);
        chalet_base::err!(
            BAD_ARGUMENTS,
            "Invalid argument of function parseISO8601Duration: {what}, str: \"{text}\""
        )
    };
    let Some(mut rest) = text.strip_prefix(b"P") else { return Err(fail("expected 'P' at the beginning")) };
    let (mut total, mut next, mut in_time, mut parts_since) = (0.0, 0, false, 0);
    while !rest.is_empty() {
        if rest[0] == b'T' && !in_time {
            (in_time, parts_since, next) = (true, 0, FIRST_OF_TIME.max(next));
            rest = &rest[1..];
            continue;
        }
        let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut len = digits(rest);
        if len == 0 {
            return Err(fail(&format!("expected a number at position {}", text.len() - rest.len())));
        }
        if rest.get(len) == Some(&b'.') {
            let fraction = digits(&rest[len + 1..]);
            if fraction == 0 {
                return Err(fail("expected digits after the decimal point"));
            }
            len += 1 + fraction;
        }
        let number = std::str::from_utf8(&rest[..len]).ok().and_then(|number| number.parse::<f64>().ok());
        let Some(number) = number.filter(|number| number.is_finite()) else {
            return Err(fail("the numeric value of a component is too large to represent"));
        };
        let end = if in_time { UNITS.len() } else { FIRST_OF_TIME };
        let unit = rest.get(len).and_then(|letter| (next..end).find(|&unit| UNITS[unit].0 == *letter));
        let Some(unit) = unit else {
            return Err(fail("unexpected designator or order of designators"));
        };
        total += number * UNITS[unit].1;
        (next, parts_since) = (unit + 1, parts_since + 1);
        rest = &rest[len + 1..];
    }
    if parts_since == 0 {
        return Err(fail("expected at least one component"));
    }
    if !total.is_finite() {
        return Err(fail("the duration is too large to represent"));
    }
    Ok(total)
}
