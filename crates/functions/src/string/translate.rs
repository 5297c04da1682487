//! `translate` and `translateUTF8`: characters replaced one by one.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect, try_build};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure};
use chalet_function_api::{Argument, Bound, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static BYTES: Plain = Plain {
    record: Record {
        name: "translate",
        summary: "The string with each character of `from` replaced by the one at the same place of `to`, or removed when there is none.",
        syntax: "translate(s, from, to)",
        examples: &[Example {
            sql: "SELECT translate('Hello, World!', 'delor', 'DELOR')",
            result: "HELLO, WORLD!",
        }],
        constants: Constants::Seen,
        constant_arguments: &[1, 2],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (texts, from, to) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
        try_build(call.n_rows, |row, out| {
            let (from, to) = (from.get(row), to.get(row));
            ensure!(
                from.is_ascii() && to.is_ascii(),
                BAD_ARGUMENTS,
                "Second and third arguments of function translate must be ASCII strings"
            );
            check_lengths("translate", from.len(), to.len())?;
            let mut map: [Option<u8>; 256] = std::array::from_fn(|byte| Some(byte as u8));
            for (i, &byte) in from.iter().enumerate() {
                map[usize::from(byte)] = to.get(i).copied();
            }
            out.extend(texts.get(row).iter().filter_map(|&byte| map[usize::from(byte)]));
            Ok(())
        })
    },
};

pub static UTF8: Plain = Plain {
    record: Record {
        name: "translateUTF8",
        summary: "As translate, for strings of UTF-8.",
        syntax: "translateUTF8(s, from, to)",
        examples: &[Example {
            sql: "SELECT translateUTF8('Münchener Straße', 'üß', 'us')",
            result: "Munchener Strase",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (texts, from, to) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
        try_build(call.n_rows, |row, out| {
            let (from, to) = (String::from_utf8_lossy(from.get(row)), String::from_utf8_lossy(to.get(row)));
            check_lengths("translateUTF8", from.chars().count(), to.chars().count())?;
            let mut targets = to.chars();
            let map: HashMap<char, Option<char>> = from.chars().map(|c| (c, targets.next())).collect();
            let mut buffer = [0u8; 4];
            for c in String::from_utf8_lossy(texts.get(row)).chars() {
                if let Some(c) = map.get(&c).copied().unwrap_or(Some(c)) {
                    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
                }
            }
            Ok(())
        })
    },
};

/// What takes the place of a character is known for no more of them than there are.
fn check_lengths(name: &str, from: usize, to: usize) -> Result<()> {
    ensure!(
        to <= from,
        BAD_ARGUMENTS,
        "Second argument of function {name} must not be shorter than the third argument. Size of the second argument: {from}, \
         size of the third argument: {to}"
    );
    Ok(())
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 3, &[Kind::Text, Kind::Text, Kind::Text])?;
    Ok(DataType::String.into())
}
