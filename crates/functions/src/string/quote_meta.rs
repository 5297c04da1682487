//! `regexpQuoteMeta`: a string as a pattern that matches it.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, string_to_string};
use chalet_function_api::{Example, Record};

/// By byte.
const MEANS_SOMETHING: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest: &[u8] = b"\0\\|()^$.[]?*+{:-";
    while let [byte, behind @ ..] = rest {
        table[*byte as usize] = true;
        rest = behind;
    }
    table
};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "regexpQuoteMeta",
        summary: "The string with a backslash before each character that means something in a regular expression.",
        syntax: "regexpQuoteMeta(s)",
        examples: &[Example { sql: "SELECT regexpQuoteMeta('a.b')", result: "a\\\\.b" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: string_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let text = texts.get(row);
            let start = out.len();
            out.resize(start + 2 * text.len(), b'\\');
            // Room that is skipped before a byte has a backslash already: no branch has to be foretold.
            let mut end = start;
            for &byte in text {
                end += usize::from(MEANS_SOMETHING[usize::from(byte)]);
                out[end] = byte;
                end += 1;
            }
            out.truncate(end);
        }))
    },
};
