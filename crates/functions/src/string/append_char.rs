//! `appendTrailingCharIfAbsent`: a string with a certain last character.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, constant_text, expect, try_build};
use chalet_base::ensure;
use chalet_function_api::{Constants, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "appendTrailingCharIfAbsent",
        summary: "The string with a character appended, unless it is empty or ends with it.",
        syntax: "appendTrailingCharIfAbsent(s, c)",
        examples: &[Example {
            sql: "SELECT appendTrailingCharIfAbsent('a', '/'), appendTrailingCharIfAbsent('a/', '/')",
            result: "a/\ta/",
        }],
        constants: Constants::Seen,
        constant_arguments: &[1],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 2, &[Kind::String, Kind::String])?;
        if args[1].constant.is_some() {
            ensure!(
                constant_text(name, args, 1)?.len() == 1,
                BAD_ARGUMENTS,
                "Second argument of function {name} must be a one-character string"
            );
        }
        Ok(DataType::String.into())
    },
    execute: |call| {
        let (texts, last) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
        try_build(call.n_rows, |row, out| {
            let (text, last) = (texts.get(row), last.get(row));
            ensure!(
                last.len() == 1,
                BAD_ARGUMENTS,
                "Second argument of function appendTrailingCharIfAbsent must be a one-character string"
            );
            out.extend_from_slice(text);
            if !text.is_empty() && !text.ends_with(last) {
                out.extend_from_slice(last);
            }
            Ok(())
        })
    },
};
