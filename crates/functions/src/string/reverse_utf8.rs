//! `reverseUTF8` and `reverseBySeparator`: characters or pieces in reverse order.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, build, char_len, constant_text, expect, plain_string_to_string};
use chalet_function_api::{Constants, Example, Record, ShownType};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "reverseUTF8",
        summary: "The characters of a string of UTF-8 in reverse order.",
        syntax: "reverseUTF8(s)",
        examples: &[Example { sql: "SELECT reverseUTF8('привет')", result: "тевирп" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: plain_string_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let text = texts.get(row);
            if text.is_ascii() {
                return out.extend(text.iter().rev());
            }
            let start = out.len();
            out.resize(start + text.len(), 0);
            let (mut place, mut end) = (0, out.len());
            while place < text.len() {
                // Of a character that is cut off, each byte is one.
                let len = Some(char_len(text[place])).filter(|len| place + len <= text.len()).unwrap_or(1);
                out[end - len..end].copy_from_slice(&text[place..place + len]);
                (place, end) = (place + len, end - len);
            }
        }))
    },
};

pub static BY_SEPARATOR: Plain = Plain {
    record: Record {
        name: "reverseBySeparator",
        summary: "The pieces between separators (a point when left out) in reverse order.",
        syntax: "reverseBySeparator(s[, separator])",
        examples: &[Example {
            sql: "SELECT reverseBySeparator('www.example.com')",
            result: "com.example.www",
        }],
        constants: Constants::Seen,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::Text, Kind::ConstText])?;
        if args.len() == 2 {
            constant_text(name, args, 1)?;
        }
        Ok(DataType::String.into())
    },
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let separators = if call.args.len() == 2 { Some(StringArg::of(call, 1)?) } else { None };
        Ok(build(call.n_rows, |row, out| {
            let separator = separators.map_or(&b"."[..], |s| s.get(row));
            let mut rest = texts.get(row);
            if separator.is_empty() {
                return out.extend(rest.iter().rev());
            }
            while let Some(place) = memchr::memmem::rfind(rest, separator) {
                out.extend_from_slice(&rest[place + separator.len()..]);
                out.extend_from_slice(separator);
                rest = &rest[..place];
            }
            out.extend_from_slice(rest);
        }))
    },
};
