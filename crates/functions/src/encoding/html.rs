//! `decodeHTMLComponent`: the characters that a text of HTML names or numbers.

use crate::plain::Plain;
use crate::string_args::build;
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use memchr::memchr;

pub static DECODE: Plain = Plain {
    record: Record {
        name: "decodeHTMLComponent",
        summary: "The text with the entities of HTML 5 and numeric references replaced by their characters; each must end in a semicolon.",
        syntax: "decodeHTMLComponent(s)",
        examples: &[Example {
            sql: "SELECT decodeHTMLComponent('I &heartsuit; ClickHouse &#33;')",
            result: "I ♥ ClickHouse !",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        match &args[0].ty {
            DataType::String => Ok(DataType::String.into()),
            DataType::FixedString(_) => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Function {name} cannot work with FixedString argument")
            }
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
        }
    },
    execute: |call: &Call| -> Result<Column> {
        let strings = call.vector(0).strings()?;
        Ok(build(call.n_rows, |row, out| decode(strings.get(row), out)))
    },
};

/// Bytes of the longest name, with the ampersand.
const LONGEST: usize = 33;

fn decode(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr(b'&', text) {
        out.extend_from_slice(&text[..at]);
        text = &text[at..];
        let end = text.iter().position(|&b| b == b';');
        match end.filter(|&end| character(&text[..=end], out)) {
            Some(end) => text = &text[end + 1..],
            None => {
                out.push(b'&');
                text = &text[1..];
            }
        }
    }
    out.extend_from_slice(text);
}

/// Appends what an entity, from its ampersand to its semicolon, stands for; false when it is none.
fn character(entity: &[u8], out: &mut Vec<u8>) -> bool {
    let Ok(entity) = std::str::from_utf8(entity) else { return false };
    let Some(number) = entity.strip_prefix("&#") else {
        if entity.len() > LONGEST {
            return false;
        }
        let decoded = html_escape::decode_html_entities(entity);
        let known = decoded != entity;
        if known {
            out.extend_from_slice(decoded.as_bytes());
        }
        return known;
    };
    let number = &number[..number.len() - 1];
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => u32::from_str_radix(digits, 16),
        None if number.bytes().all(|b| b.is_ascii_digit()) => number.parse::<u32>(),
        _ => return false,
    };
    let Ok(code @ 0..=0x10_ffff) = code else { return false };
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        // Halves of surrogates are no characters; the kernel writes them as if they were.
        None => out.extend([
            0xe0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3f) as u8,
            0x80 | (code & 0x3f) as u8,
        ]),
    }
    true
}
