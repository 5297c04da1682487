//! `substringIndex` and `substringIndexUTF8`: a string up to the n-th occurrence of a delimiter.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, check_type, constant_text, expect, integers, parts};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use memchr::memchr_iter;

pub static BYTES: Plain = Plain {
    record: Record {
        name: "substringIndex",
        any_case_aliases: &["SUBSTRING_INDEX"],
        summary: "The string before the n-th occurrence of a character, or behind the n-th from the end when n is negative.",
        syntax: "substringIndex(s, delimiter, n)",
        examples: &[Example {
            sql: "SELECT substringIndex('www.example.com', '.', 2), substringIndex('www.example.com', '.', -1)",
            result: "www.example\tcom",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, |text| text.len() == 1),
    execute,
};

pub static UTF8: Plain = Plain {
    record: Record {
        name: "substringIndexUTF8",
        summary: "As substringIndex, with a character of UTF-8.",
        syntax: "substringIndexUTF8(s, delimiter, n)",
        examples: &[Example {
            sql: "SELECT substringIndexUTF8('www.straßen', 'ß', 1)", result: "www.stra"
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| {
        bind(name, args, ctx, |text| std::str::from_utf8(text).is_ok_and(|s| s.chars().count() == 1))
    },
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context, fits: fn(&[u8]) -> bool) -> Result<Bound> {
    expect(name, args, 3, &[Kind::String, Kind::ConstText, Kind::Integer])?;
    let narrow = args[2].ty.physical().width().is_some_and(|width| width <= 8);
    check_type(narrow, name, 2, "UInt or Int", &args[2].ty)?;
    ensure!(
        fits(constant_text(name, args, 1)?),
        BAD_ARGUMENTS,
        "Second argument to {name} must be a single {}character",
        if name.ends_with("UTF8") { "UTF-8 " } else { "" }
    );
    Ok(DataType::String.into())
}

/// Where a character occurs, which never overlaps itself.
fn places<'a>(text: &'a [u8], character: &'a [u8]) -> impl DoubleEndedIterator<Item = usize> + 'a {
    memchr_iter(character[0], text).filter(|&at| character.len() == 1 || text[at..].starts_with(character))
}

fn execute(call: &Call) -> Result<Column> {
    let delimiters = StringArg::of(call, 1)?;
    let counts = integers(call, 2)?;
    parts(call, |row, text| {
        let delimiter = delimiters.get(row);
        let nth = counts[row].unsigned_abs().saturating_sub(1).try_into().unwrap_or(usize::MAX);
        match counts[row] {
            0 => 0..0,
            count if count > 0 => 0..places(text, delimiter).nth(nth).unwrap_or(text.len()),
            _ => match places(text, delimiter).rev().nth(nth) {
                Some(place) => place + delimiter.len()..text.len(),
                None => 0..text.len(),
            },
        }
    })
}
