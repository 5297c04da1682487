//! `regexpQuoteMeta`: a string as a pattern that matches it.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, text_to_string};
use chalet_function_api::{Example, Record};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "regexpQuoteMeta",
        summary: "The string with a backslash before each character that means something in a regular expression.",
        syntax: "regexpQuoteMeta(s)",
        examples: &[Example { sql: "SELECT regexpQuoteMeta('a.b')", result: "a\\\\.b" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            for &byte in texts.get(row) {
                if b"\0\\|()^$.[]?*+{:-".contains(&byte) {
                    out.push(b'\\');
                }
                out.push(byte);
            }
        }))
    },
};
