//! `encodeXMLComponent` and `decodeXMLComponent`: the characters that mean something in XML.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, first_of, string_to_string};
use chalet_function_api::{Example, Record};

pub static ENCODE: Plain = Plain {
    record: Record {
        name: "encodeXMLComponent",
        summary: "The string with <, &, >, \" and ' as entities of XML.",
        syntax: "encodeXMLComponent(s)",
        examples: &[Example {
            sql: "SELECT encodeXMLComponent('Hello, \"World\"!')",
            result: "Hello, &quot;World&quot;!",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind: string_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let mut rest = texts.get(row);
            let is_special = |byte| ENTITIES.iter().fold(false, |is, &(_, other)| is | (byte == other));
            while let Some((special, behind)) = {
                let plain = first_of(rest, is_special);
                out.extend_from_slice(&rest[..plain]);
                rest[plain..].split_first()
            } {
                let name = ENTITIES.iter().find(|(_, character)| character == special);
                out.push(b'&');
                out.extend_from_slice(name.map_or(b"", |(name, _)| name));
                out.push(b';');
                rest = behind;
            }
        }))
    },
};

pub static DECODE: Plain = Plain {
    record: Record {
        name: "decodeXMLComponent",
        summary: "The string with the entities of XML, and numbers of characters, replaced by what they stand for.",
        syntax: "decodeXMLComponent(s)",
        examples: &[Example { sql: "SELECT decodeXMLComponent('&lt;&#65;&gt;')", result: "<A>" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: string_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let mut rest = texts.get(row);
            while let Some(place) = memchr::memchr(b'&', rest) {
                out.extend_from_slice(&rest[..place]);
                rest = &rest[place..];
                let end = memchr::memchr(b';', rest);
                if end.is_some_and(|end| entity(&rest[1..end], out)) {
                    rest = &rest[end.unwrap_or(0) + 1..];
                } else {
                    out.push(b'&');
                    rest = &rest[1..];
                }
            }
            out.extend_from_slice(rest);
        }))
    },
};

const ENTITIES: [(&[u8], u8); 5] =
    [(b"lt", b'<'), (b"amp", b'&'), (b"gt", b'>'), (b"quot", b'"'), (b"apos", b'\'')];

/// Appends the character that an entity stands for, if it is known.
fn entity(name: &[u8], out: &mut Vec<u8>) -> bool {
    if let Some((_, character)) = ENTITIES.iter().find(|(known, _)| *known == name) {
        out.push(*character);
        return true;
    }
    let Some(digits) = name.strip_prefix(b"#").and_then(|digits| std::str::from_utf8(digits).ok()) else {
        return false;
    };
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    let Some(character) = code.ok().and_then(char::from_u32) else { return false };
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    true
}
