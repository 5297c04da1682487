//! `lowerUTF8` and `upperUTF8`: the case of letters of all scripts.

use super::case::{change_view, in_view};
use crate::plain::Plain;
use crate::string_args::{Kind, expect};
use chalet_base::{Result, ensure};
use chalet_columns::strings::INLINE;
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ShownType};
use chalet_types::DataType;

pub static LOWER: Plain = Plain {
    record: Record {
        name: "lowerUTF8",
        summary: "The string with its letters in lower case, by the rules of Unicode.",
        syntax: "lowerUTF8(s)",
        examples: &[Example { sql: "SELECT lowerUTF8('MÜNCHEN')", result: "münchen" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, str::to_lowercase, <[u8]>::make_ascii_lowercase, b'A'),
};

pub static UPPER: Plain = Plain {
    record: Record {
        name: "upperUTF8",
        summary: "The string with its letters in upper case, by the rules of Unicode.",
        syntax: "upperUTF8(s)",
        examples: &[Example { sql: "SELECT upperUTF8('München')", result: "MÜNCHEN" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, str::to_uppercase, <[u8]>::make_ascii_uppercase, b'a'),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        !matches!(args[0].ty, DataType::FixedString(_)),
        BAD_ARGUMENTS,
        "Functions lowerUTF8 and upperUTF8 cannot work with FixedString argument"
    );
    expect(name, args, 1, &[Kind::String])?;
    Ok(DataType::String.into())
}

/// Bytes that are no UTF-8 become the replacement character, as in the kernel. `first` is the first of the ASCII letters to change.
fn execute(
    call: &Call,
    change: fn(&str) -> String,
    change_ascii: fn(&mut [u8]),
    first: u8,
) -> Result<Column> {
    let strings = call.vector(0).strings()?;
    let mut out = StringBuilder::with_capacity(strings.len());
    for (row, &view) in strings.views().iter().enumerate() {
        if view as u32 as usize <= INLINE && view & in_view(0x80) == 0 {
            out.push_viewed(change_view(view, first), b"");
            continue;
        }
        let text = strings.get(row);
        out.push_with(|bytes| {
            if text.is_ascii() {
                let start = bytes.len();
                bytes.extend_from_slice(text);
                change_ascii(&mut bytes[start..]);
            } else {
                bytes.extend_from_slice(change(&String::from_utf8_lossy(text)).as_bytes());
            }
        });
    }
    Ok(Vector::from(out.finish()).into())
}
