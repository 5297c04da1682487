//! `toValidUTF8`, `isValidUTF8`, `isValidASCII`: whether bytes are text.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, build, expect};
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Example, Record};
use chalet_types::DataType;

pub static TO_VALID_UTF8: Plain = Plain {
    record: Record {
        name: "toValidUTF8",
        summary: "The string with each run of bytes that are no UTF-8 replaced by one replacement character.",
        syntax: "toValidUTF8(s)",
        examples: &[Example {
            sql: "SELECT toValidUTF8('\\x61\\xF0\\x80\\x80\\x80b')",
            result: "a\u{fffd}b",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String),
    execute: |call| {
        let texts = StringArg::of(call, 0)?.strings(call.n_rows);
        if texts.iter().all(|text| std::str::from_utf8(text).is_ok()) {
            // The same strings.
            return Ok(Vector::from(texts.into_owned()).into());
        }
        Ok(build(call.n_rows, |row, out| {
            // A run of invalid bytes is one replacement, however many chunks it spans.
            let mut invalid_before = false;
            for chunk in texts.get(row).utf8_chunks() {
                out.extend_from_slice(chunk.valid().as_bytes());
                let continues = invalid_before && chunk.valid().is_empty();
                if !chunk.invalid().is_empty() && !continues {
                    out.extend_from_slice("\u{fffd}".as_bytes());
                }
                invalid_before = !chunk.invalid().is_empty();
            }
        }))
    },
};

pub static IS_VALID_UTF8: Plain = Plain {
    record: Record {
        name: "isValidUTF8",
        summary: "Whether a string is UTF-8.",
        syntax: "isValidUTF8(s)",
        examples: &[Example { sql: "SELECT isValidUTF8('ж'), isValidUTF8('\\xFF')", result: "1\t0" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: |call| test(call, |text| std::str::from_utf8(text).is_ok()),
};

pub static IS_VALID_ASCII: Plain = Plain {
    record: Record {
        name: "isValidASCII",
        aliases: &["isASCII"],
        summary: "Whether a string has ASCII characters only.",
        syntax: "isValidASCII(s)",
        examples: &[Example { sql: "SELECT isValidASCII('abc'), isValidASCII('ж')", result: "1\t0" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: |call| test(call, |text| text.is_ascii()),
};

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    expect(name, args, 1, &[Kind::Text])?;
    Ok(result.into())
}

fn test(call: &Call, valid: fn(&[u8]) -> bool) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    Ok(Vector::from((0..call.n_rows).map(|row| u8::from(valid(texts.get(row)))).collect::<Vec<u8>>()).into())
}
