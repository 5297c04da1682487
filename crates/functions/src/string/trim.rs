//! `trimLeft`, `trimRight`, `trimBoth`: a string without characters at its ends.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect, parts};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

const TRIM: Record = Record { constants: Constants::Seen, total: true, ..Record::DEFAULT };

pub static LEFT: Plain = Plain {
    record: Record {
        name: "trimLeft",
        aliases: &["ltrim"],
        summary: "The string without spaces at the front, or without the given characters.",
        syntax: "trimLeft(s[, characters])",
        examples: &[Example { sql: "SELECT trimLeft('  ab'), trimLeft('xxab', 'x')", result: "ab\tab" }],
        ..TRIM
    },
    bind,
    execute: |call| execute(call, true, false),
};

pub static RIGHT: Plain = Plain {
    record: Record {
        name: "trimRight",
        aliases: &["rtrim"],
        summary: "The string without spaces at the end, or without the given characters.",
        syntax: "trimRight(s[, characters])",
        examples: &[Example { sql: "SELECT trimRight('ab  '), trimRight('abxx', 'x')", result: "ab\tab" }],
        ..TRIM
    },
    bind,
    execute: |call| execute(call, false, true),
};

pub static BOTH: Plain = Plain {
    record: Record {
        name: "trimBoth",
        aliases: &["trim"],
        summary: "The string without spaces at both ends, or without the given characters.",
        syntax: "trimBoth(s[, characters])",
        examples: &[Example {
            sql: "SELECT trimBoth('  ab '), trim(BOTH 'x' FROM 'xabx')",
            result: "ab\tab",
        }],
        ..TRIM
    },
    bind,
    execute: |call| execute(call, true, true),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 1, &[Kind::Text, Kind::ConstText])?;
    Ok(DataType::String.into())
}

fn execute(call: &Call, left: bool, right: bool) -> Result<Column> {
    let mut trimmed = [false; 256];
    match call.args.len() {
        1 => trimmed[usize::from(b' ')] = true,
        _ => StringArg::of(call, 1)?.get(0).iter().for_each(|&byte| trimmed[usize::from(byte)] = true),
    }
    let stays = |byte: &u8| !trimmed[usize::from(*byte)];
    parts(call, |_, text| {
        let start = if left { text.iter().position(stays).unwrap_or(text.len()) } else { 0 };
        let end =
            if right { text.iter().rposition(stays).map_or(start, |last| last + 1) } else { text.len() };
        start..end.max(start)
    })
}
