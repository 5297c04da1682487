//! `timestamp`: text as a moment to the microsecond, with a time of day added.

use crate::plain::Plain;
use crate::string_args::{StringArg, check_type};
use chalet_base::{Result, bail, err};
use chalet_columns::{Builder, Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_text::{DateTimeInput, Reader, Syntax, TextSettings};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "timestamp",
        case_insensitive: true,
        summary: "A date or a date with a time of day as DateTime64(6); the second argument, hours, minutes and seconds, is added to it.",
        syntax: "timestamp(date_time[, time])",
        examples: &[Example {
            sql: "SELECT timestamp('2023-12-31 12:00:00', '12:00:00.11')",
            result: "2024-01-01 00:00:00.110000",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=2)?;
        for (index, arg) in args.iter().enumerate() {
            check_type(arg.ty.is_string(), name, index, "String or FixedString", &arg.ty)?;
        }
        Ok(RESULT.into())
    },
    execute,
};

const SCALE: u8 = 6;
const RESULT: DataType = DataType::DateTime64(SCALE, None);
const MICROS: i64 = 1_000_000;

fn execute(call: &Call) -> Result<Column> {
    let basic = DateTimeInput::named("basic").unwrap_or_default();
    let settings = TextSettings { date_time_input_format: basic, ..crate::text::settings(call.ctx) };
    let reader = Reader::new(&RESULT, Syntax::Plain, &settings);
    let texts = StringArg::of(call, 0)?;
    let mut moments = Builder::new(&RESULT);
    for row in 0..call.n_rows {
        let text = texts.get(row);
        let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        // A designator of UTC may stand behind the time, and changes nothing.
        let text = &text[..end];
        let text = text.strip_suffix(b"Z").filter(|text| text.contains(&b':')).unwrap_or(text);
        reader.read_whole(text, &mut moments)?;
    }
    let moments = moments.finish();
    if call.args.len() == 1 {
        return Ok(moments.into());
    }
    let times = StringArg::of(call, 1)?;
    let moments = moments.values::<i64>()?.iter().enumerate();
    let sums = moments.map(|(row, moment)| {
        let sum = moment.checked_add(micros(times.get(row))?);
        sum.ok_or_else(|| err!(DECIMAL_OVERFLOW, "The timestamp is out of the range of DateTime64(6)"))
    });
    Ok(Vector::from(sums.collect::<Result<Vec<i64>>>()?).into())
}

/// Microseconds of `[-]hh:mm:ss[.fraction]`; a text that is too short to be one counts as 0, as in the kernel.
fn micros(text: &[u8]) -> Result<i64> {
    const SHORTEST: usize = 8;
    if text.is_empty() {
        bail!(ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
    }
    let (negative, rest) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    if rest.len() < SHORTEST {
        return Ok(0);
    }
    let fail = || err!(CANNOT_PARSE_TEXT, "Cannot parse time '{}'", String::from_utf8_lossy(text));
    let mut rest = rest;
    let mut number = |least: usize, most: usize| {
        let len = rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        let value = rest[..len].iter().fold(0i64, |value, byte| value * 10 + i64::from(byte - b'0'));
        rest = rest.get(len..).unwrap_or_default();
        let separated = rest.first() == Some(&b':');
        rest = if separated { &rest[1..] } else { rest };
        if len < least { Err(fail()) } else { Ok(value) }
    };
    let seconds = number(1, 3)? * 3600 + number(2, 2)? * 60 + number(2, 2)?;
    let mut fraction = 0;
    if let Some(digits) = rest.strip_prefix(b".") {
        let digits =
            digits.iter().take_while(|byte| byte.is_ascii_digit()).chain([b'0'; SCALE as usize].iter());
        fraction = digits.take(usize::from(SCALE)).fold(0, |value, byte| value * 10 + i64::from(byte - b'0'));
    }
    let total = seconds * MICROS + fraction;
    Ok(if negative { -total } else { total })
}
