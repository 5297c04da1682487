//! `lowerUTF8` and `upperUTF8`: the case of letters of all scripts.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, text_to_string};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Call, Example, Record};

pub static LOWER: Plain = Plain {
    record: Record {
        name: "lowerUTF8",
        summary: "The string with its letters in lower case, by the rules of Unicode.",
        syntax: "lowerUTF8(s)",
        examples: &[Example { sql: "SELECT lowerUTF8('MÜNCHEN')", result: "münchen" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| execute(call, |text, out| out.extend_from_slice(text.to_lowercase().as_bytes())),
};

pub static UPPER: Plain = Plain {
    record: Record {
        name: "upperUTF8",
        summary: "The string with its letters in upper case, by the rules of Unicode.",
        syntax: "upperUTF8(s)",
        examples: &[Example { sql: "SELECT upperUTF8('München')", result: "MÜNCHEN" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| execute(call, |text, out| out.extend_from_slice(text.to_uppercase().as_bytes())),
};

/// Bytes that are no UTF-8 become the replacement character, as in the kernel.
fn execute(call: &Call, change: fn(&str, &mut Vec<u8>)) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    Ok(build(call.n_rows, |row, out| change(&String::from_utf8_lossy(texts.get(row)), out)))
}
