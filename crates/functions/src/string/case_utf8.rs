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
    execute: |call| execute(call, str::to_lowercase, <[u8]>::make_ascii_lowercase),
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
    execute: |call| execute(call, str::to_uppercase, <[u8]>::make_ascii_uppercase),
};

/// Bytes that are no UTF-8 become the replacement character, as in the kernel.
fn execute(call: &Call, change: fn(&str) -> String, change_ascii: fn(&mut [u8])) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    Ok(build(call.n_rows, |row, out| {
        let text = texts.get(row);
        if text.is_ascii() {
            let start = out.len();
            out.extend_from_slice(text);
            change_ascii(&mut out[start..]);
        } else {
            out.extend_from_slice(change(&String::from_utf8_lossy(text)).as_bytes());
        }
    }))
}
