//! `left`, `right` and `firstLine`: one end of a string.

use crate::plain::Plain;
use crate::string_args::{Kind, char_starts, check_type, expect, lengths, parts, plain_string_to_string};
use chalet_base::Result;
use chalet_function_api::{Argument, Bound, Constants, Context, Example, Record};
use chalet_types::DataType;

const SIDE: Record = Record { constants: Constants::Seen, total: true, ..Record::DEFAULT };

pub static LEFT: Plain = Plain {
    record: Record {
        name: "left",
        case_insensitive: true,
        summary: "The first bytes of a string: as many as the number says, or without as many at the end when it is negative.",
        syntax: "left(s, n)",
        examples: &[Example { sql: "SELECT left('Hello', 2), left('Hello', -2)", result: "He\tHel" }],
        ..SIDE
    },
    bind,
    execute: |call| {
        let counts = lengths(call, 1)?;
        parts(call, |row, text| 0..taken(text.len(), counts[row]))
    },
};

pub static RIGHT: Plain = Plain {
    record: Record {
        name: "right",
        case_insensitive: true,
        summary: "The last bytes of a string: as many as the number says, or without as many at the front when it is negative.",
        syntax: "right(s, n)",
        examples: &[Example { sql: "SELECT right('Hello', 2), right('Hello', -2)", result: "lo\tllo" }],
        ..SIDE
    },
    bind,
    execute: |call| {
        let counts = lengths(call, 1)?;
        parts(call, |row, text| text.len() - taken(text.len(), counts[row])..text.len())
    },
};

pub static LEFT_UTF8: Plain = Plain {
    record: Record {
        name: "leftUTF8",
        summary: "As left, in characters.",
        syntax: "leftUTF8(s, n)",
        examples: &[Example { sql: "SELECT leftUTF8('Привет', 4)", result: "Прив" }],
        ..SIDE
    },
    bind,
    execute: |call| {
        let counts = lengths(call, 1)?;
        parts(call, |row, text| {
            if text.is_ascii() {
                return 0..taken(text.len(), counts[row]);
            }
            let starts = char_starts(text);
            0..starts[taken(starts.len() - 1, counts[row])].min(text.len())
        })
    },
};

pub static RIGHT_UTF8: Plain = Plain {
    record: Record {
        name: "rightUTF8",
        summary: "As right, in characters.",
        syntax: "rightUTF8(s, n)",
        examples: &[Example { sql: "SELECT rightUTF8('Привет', 4)", result: "ивет" }],
        ..SIDE
    },
    bind,
    execute: |call| {
        let counts = lengths(call, 1)?;
        parts(call, |row, text| {
            if text.is_ascii() {
                return text.len() - taken(text.len(), counts[row])..text.len();
            }
            let starts = char_starts(text);
            let len = starts.len() - 1;
            starts[len - taken(len, counts[row])]..text.len()
        })
    },
};

pub static FIRST_LINE: Plain = Plain {
    record: Record {
        name: "firstLine",
        summary: "The string up to its first line break.",
        syntax: "firstLine(s)",
        examples: &[Example { sql: "SELECT firstLine('foo\\nbar')", result: "foo" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: plain_string_to_string,
    execute: |call| {
        parts(call, |_, text| match memchr::memchr2(b'\n', b'\r', text) {
            Some(end) => 0..end,
            None => 0..text.len(),
        })
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let text = if name.ends_with("UTF8") { Kind::String } else { Kind::Text };
    expect(name, args, 2, &[text, Kind::Any])?;
    let is_number = args[1].ty.is_integer() || args[1].ty.is_float();
    let narrow = args[1].ty.physical().width().is_some_and(|width| width <= 8);
    check_type(is_number && narrow, name, 1, "UInt or Int", &args[1].ty)?;
    Ok(DataType::String.into())
}

/// How many of `len` a count asks for.
fn taken(len: usize, count: i64) -> usize {
    let len = len as i128;
    let count = i128::from(count);
    (if count >= 0 { count.min(len) } else { (len + count).max(0) }) as usize
}
