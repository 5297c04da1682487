//! `ascii`: the first byte of a string.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect};
use chalet_columns::Vector;
use chalet_function_api::{Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "ascii",
        case_insensitive: true,
        summary: "The first byte of a string as a number; 0 for an empty string.",
        syntax: "ascii(s)",
        examples: &[Example { sql: "SELECT ascii('234')", result: "50" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::Text])?;
        Ok(DataType::Int32.into())
    },
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let first = |row: usize| texts.get(row).first().map_or(0, |&byte| i32::from(byte));
        Ok(Vector::from((0..call.n_rows).map(first).collect::<Vec<i32>>()).into())
    },
};
