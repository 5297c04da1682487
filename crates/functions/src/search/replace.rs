//! `replaceOne` and `replaceAll`: occurrences of a string replaced by another one.

use super::masks;
use super::position::SHORT;
use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, build, check_replaced, expect};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use memchr::memchr_iter;
use memchr::memmem::Finder;

pub static ONE: Plain = Plain {
    record: Record {
        name: "replaceOne",
        summary: "The string with the first occurrence of a needle replaced.",
        syntax: "replaceOne(haystack, needle, replacement)",
        examples: &[Example {
            sql: "SELECT replaceOne('Hello, Hello world', 'Hello', 'Bye')",
            result: "Bye, Hello world",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, 1),
};

pub static ALL: Plain = Plain {
    record: Record {
        name: "replaceAll",
        any_case_aliases: &["replace"],
        summary: "The string with all occurrences of a needle replaced.",
        syntax: "replaceAll(haystack, needle, replacement)",
        examples: &[Example {
            sql: "SELECT replaceAll('Hello, Hello world', 'Hello', 'Bye')",
            result: "Bye, Bye world",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, usize::MAX),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 3, &[Kind::Text, Kind::String, Kind::String])?;
    check_replaced(name, args)?;
    Ok(DataType::String.into())
}

fn execute(call: &Call, most: usize) -> Result<Column> {
    let (texts, needles, replacements) =
        (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
    let constant = needles.constant().map(Finder::new);
    Ok(build(call.n_rows, |row, out| {
        let (text, needle) = (texts.get(row), needles.get(row));
        if needle.is_empty() {
            return out.extend_from_slice(text);
        }
        let own;
        let finder = match &constant {
            Some(finder) => finder,
            None => {
                own = Finder::new(needle);
                &own
            }
        };
        let replacement = replacements.get(row);
        if replacement.len() == needle.len() {
            let start = out.len();
            out.extend_from_slice(text);
            let copy = &mut out[start..];
            return each_place(text, needle, finder, most, |place| {
                copy[place..place + needle.len()].copy_from_slice(replacement);
            });
        }
        let mut copied = 0;
        each_place(text, needle, finder, most, |place| {
            out.extend_from_slice(&text[copied..place]);
            out.extend_from_slice(replacement);
            copied = place + needle.len();
        });
        out.extend_from_slice(&text[copied..]);
    }))
}

/// Where a needle is in a text, place by place from its start, which do not overlap; no more than `most`.
#[inline(always)]
fn each_place(text: &[u8], needle: &[u8], finder: &Finder, most: usize, mut place: impl FnMut(usize)) {
    match needle {
        [byte] if most > 1 && text.len() <= SHORT => masks::each_place(text, *byte, place),
        [byte] if most > 1 => memchr_iter(*byte, text).for_each(place),
        _ if text.len() <= SHORT => {
            let mut from = 0;
            for _ in 0..most {
                let Some(at) = masks::find(&text[from..], needle) else { break };
                place(from + at);
                from += at + needle.len();
            }
        }
        _ => finder.find_iter(text).take(most).for_each(place),
    }
}
