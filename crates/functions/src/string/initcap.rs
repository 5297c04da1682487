//! `initcap` and `initcapUTF8`: words with a capital letter.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, text_to_string};
use chalet_function_api::{Example, Record, ShownType};

pub static BYTES: Plain = Plain {
    record: Record {
        name: "initcap",
        case_insensitive: true,
        summary: "The string with the first letter of each word in upper case and the others in lower case. Words are made of ASCII letters and digits.",
        syntax: "initcap(s)",
        examples: &[Example { sql: "SELECT initcap('building FOR fast')", result: "Building For Fast" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let (text, start) = (texts.get(row), out.len());
            out.extend_from_slice(text);
            let [first, others @ ..] = &mut out[start..] else { return };
            first.make_ascii_uppercase();
            // What a byte becomes is told by the one before it alone, so that many are told at once.
            for (byte, before) in others.iter_mut().zip(text) {
                let is_inside = before.is_ascii_alphanumeric();
                *byte = if is_inside { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
            }
        }))
    },
};

pub static UTF8: Plain = Plain {
    record: Record {
        name: "initcapUTF8",
        summary: "As initcap, for letters of all scripts.",
        syntax: "initcapUTF8(s)",
        examples: &[Example {
            sql: "SELECT initcapUTF8('не тормозит')", result: "Не Тормозит"
        }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: text_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let mut inside = false;
            let mut buffer = [0u8; 4];
            for c in String::from_utf8_lossy(texts.get(row)).chars() {
                let mut put = |c: char| out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                match inside {
                    true => c.to_lowercase().for_each(&mut put),
                    false => c.to_uppercase().for_each(&mut put),
                }
                inside = c.is_alphanumeric();
            }
        }))
    },
};
