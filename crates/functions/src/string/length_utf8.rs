//! `lengthUTF8`: characters of a string.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, count_chars, expect};
use chalet_columns::Vector;
use chalet_function_api::{Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "lengthUTF8",
        any_case_aliases: &["CHAR_LENGTH", "CHARACTER_LENGTH"],
        summary: "The number of characters of a string, which should be UTF-8.",
        syntax: "lengthUTF8(s)",
        examples: &[Example { sql: "SELECT lengthUTF8('Здравствуй, мир!')", result: "16" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::Text])?;
        Ok(DataType::UInt64.into())
    },
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let lengths = (0..call.n_rows).map(|row| count_chars(texts.get(row)) as u64);
        Ok(Vector::from(lengths.collect::<Vec<u64>>()).into())
    },
};
