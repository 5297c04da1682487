//! `overlay` and `overlayUTF8`: a part of a string replaced by position.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, build, char_starts, count_chars, expect, integers};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static BYTES: Plain = Plain {
    record: Record {
        name: "overlay",
        case_insensitive: true,
        summary: "The string with bytes from a position on replaced by another string: as many as the length says, or as that string has. Negative positions count from the end.",
        syntax: "overlay(s, replacement, position[, length])",
        examples: &[Example {
            sql: "SELECT overlay('My father is from Mexico.', 'mother', 4, 6)",
            result: "My mother is from Mexico.",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, false),
};

pub static UTF8: Plain = Plain {
    record: Record {
        name: "overlayUTF8",
        summary: "As overlay, in characters.",
        syntax: "overlayUTF8(s, replacement, position[, length])",
        examples: &[Example { sql: "SELECT overlayUTF8('Mein Vater', 'Mutter', 6)", result: "Mein Mutter" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, true),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 3, &[Kind::String, Kind::String, Kind::Integer, Kind::Integer])?;
    Ok(DataType::String.into())
}

fn execute(call: &Call, chars: bool) -> Result<Column> {
    let (texts, replacements) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let positions = integers(call, 2)?;
    let lengths = if call.args.len() == 4 { Some(integers(call, 3)?) } else { None };
    Ok(build(call.n_rows, |row, out| {
        let (text, replacement) = (texts.get(row), replacements.get(row));
        // Where characters begin; each byte does in ASCII.
        let starts = (chars && !text.is_ascii()).then(|| char_starts(text));
        let place = |at: i64| starts.as_ref().map_or(at as usize, |starts| starts[at as usize]);
        let len = starts.as_ref().map_or(text.len(), |starts| starts.len() - 1) as i64;
        let start = match positions[row] {
            0 => len,
            position if position > 0 => (position - 1).min(len),
            position => (len + position).max(0),
        };
        let replaced = match &lengths {
            Some(lengths) if lengths[row] >= 0 => lengths[row],
            _ if chars => count_chars(replacement) as i64,
            _ => replacement.len() as i64,
        };
        let end = start.saturating_add(replaced).min(len);
        out.extend_from_slice(&text[..place(start)]);
        out.extend_from_slice(replacement);
        out.extend_from_slice(&text[place(end)..]);
    }))
}
