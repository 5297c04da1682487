//! `unhex` and `unbin`: bytes of digits.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, text_to_string};
use chalet_function_api::{Example, Record};

pub static UNHEX: Plain = Plain {
    record: Record {
        name: "unhex",
        case_insensitive: true,
        summary: "The bytes whose hexadecimal digits a string has.",
        syntax: "unhex(s)",
        examples: &[Example { sql: "SELECT unhex('303132')", result: "012" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let (first, pairs) = texts.get(row).split_at(texts.get(row).len() % 2);
            out.extend(first.iter().map(|&digit| value(digit)));
            out.extend(pairs.chunks_exact(2).map(|pair| (value(pair[0]) << 4).wrapping_add(value(pair[1]))));
        }))
    },
};

pub static UNBIN: Plain = Plain {
    record: Record {
        name: "unbin",
        case_insensitive: true,
        summary: "The bytes whose binary digits a string has.",
        syntax: "unbin(s)",
        examples: &[Example { sql: "SELECT unbin('001100000011000100110010')", result: "012" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        let byte =
            |digits: &[u8]| digits.iter().fold(0u8, |byte, digit| byte << 1 | u8::from(*digit != b'0'));
        Ok(build(call.n_rows, |row, out| {
            let (first, bytes) = texts.get(row).split_at(texts.get(row).len() % 8);
            // A part of a byte in front that is 0 is left out, unless it is all.
            if !first.is_empty() && (bytes.is_empty() || byte(first) != 0) {
                out.push(byte(first));
            }
            out.extend(bytes.chunks_exact(8).map(byte));
        }))
    },
};

/// The values of hexadecimal digits, by characters; `none` for those that are none.
pub(crate) const fn hex_values(none: u8) -> [u8; 256] {
    let mut values = [none; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
}

/// The kernel takes other characters as 255.
const VALUES: [u8; 256] = hex_values(255);

/// The value of a hexadecimal digit.
fn value(digit: u8) -> u8 {
    VALUES[usize::from(digit)]
}
