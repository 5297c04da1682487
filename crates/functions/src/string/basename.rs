//! `basename`: what follows the last slash or backslash.

use crate::plain::Plain;
use crate::string_args::{parts, plain_string_to_string};
use chalet_function_api::{Example, Record};
use memchr::memrchr2;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "basename",
        summary: "The part of a string behind its last slash or backslash; the whole string when it has none.",
        syntax: "basename(s)",
        examples: &[Example { sql: "SELECT basename('some/long/path/to/file')", result: "file" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: plain_string_to_string,
    execute: |call| parts(call, |_, text| memrchr2(b'/', b'\\', text).map_or(0, |at| at + 1)..text.len()),
};
