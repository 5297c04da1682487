//! `substring` and `substringUTF8`: a part of a string by position and length.

use crate::plain::Plain;
use crate::string_args::{self, char_len, char_starts, integers, parts, window};
use chalet_base::{Result, ensure};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static BYTES: Plain = Plain {
    record: Record {
        name: "substring",
        aliases: &["substr", "mid", "byteSlice"],
        case_insensitive: true,
        summary: "The bytes of a string from a position on, which counts from 1, or from -1 at the end; as many as the length says, up to the end when it is left out, or without as many at the end when it is negative.",
        syntax: "substring(s, offset[, length])",
        examples: &[Example {
            sql: "SELECT substring('database', 5), substring('database', 1, 4), substring('database', -4, 2)",
            result: "base\tdata\tba",
        }],
        takes_enum: true,
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (positions, lengths) = (positions(call)?, lengths(call)?);
        parts(call, |row, text| window(text.len(), positions[row], lengths.as_ref().map(|l| l[row])))
    },
};

pub static UTF8: Plain = Plain {
    record: Record {
        name: "substringUTF8",
        summary: "As substring, in characters.",
        syntax: "substringUTF8(s, offset[, length])",
        examples: &[Example { sql: "SELECT substringUTF8('Täglich grüßt', 2, 3)", result: "ägl" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (positions, lengths) = (positions(call)?, lengths(call)?);
        parts(call, |row, text| {
            let (position, length) = (positions[row], lengths.as_ref().map(|l| l[row]));
            if text.is_ascii() {
                return window(text.len(), position, length);
            }
            if position > 0 && length.is_none_or(|length| length >= 0) {
                let start = skip_chars(text, 0, position - 1);
                return start..length.map_or(text.len(), |length| skip_chars(text, start, length));
            }
            let starts = char_starts(text);
            let chars = window(starts.len() - 1, position, length);
            starts[chars.start].min(text.len())..starts[chars.end].min(text.len())
        })
    },
};

/// Where the character begins that stands so many behind the one at `start`; the end of the text where there are fewer.
fn skip_chars(text: &[u8], start: usize, n: i64) -> usize {
    let mut place = start;
    for _ in 0..n {
        match text.get(place) {
            Some(&first) => place += char_len(first),
            None => break,
        }
    }
    place.min(text.len())
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    ensure!(
        args[0].ty == DataType::String || args[0].ty.is_string() && !name.ends_with("UTF8"),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of first argument of function {name}, expected String, FixedString or Enum",
        args[0].ty
    );
    for (arg, which) in args[1..].iter().zip(["second", "third"]) {
        ensure!(
            (arg.ty.is_integer() || arg.ty.is_float())
                && arg.ty.physical().width().is_some_and(|width| width <= 8),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {which} argument of function {name}, expected (U)Int*",
            arg.ty
        );
    }
    Ok(DataType::String.into())
}

/// The kernel refuses a constant 0 as the position in strings that are not constant, and gives nothing for any other 0.
fn positions(call: &Call) -> Result<Vec<i64>> {
    let positions = integers(call, 1)?;
    let is_zero = call.args[1].constant && !call.args[0].constant && positions.first() == Some(&0);
    ensure!(!is_zero, ZERO_ARRAY_OR_TUPLE_INDEX, "Indices in strings are 1-based");
    Ok(positions)
}

fn lengths(call: &Call) -> Result<Option<Vec<i64>>> {
    if call.args.len() == 3 { string_args::lengths(call, 2).map(Some) } else { Ok(None) }
}
