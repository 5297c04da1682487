//! `splitByChar`, `splitByString`, `splitByWhitespace`, `splitByNonAlpha`, `alphaTokens`: a string in pieces.

use crate::plain::Plain;
use crate::search::masks;
use crate::search::position::{SHORT, find_prepared};
use crate::string_args::{Kind, char_starts, constant_text, expect, part_lists};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};
use memchr::memmem::Finder;
use std::ops::Range;

const SPLIT: Record = Record { constants: Constants::Seen, total: true, ..Record::DEFAULT };

pub static BY_CHAR: Plain = Plain {
    record: Record {
        name: "splitByChar",
        summary: "The pieces of a string between occurrences of a character; at most as many as the number says.",
        syntax: "splitByChar(separator, s[, max])",
        examples: &[Example {
            sql: "SELECT splitByChar(',', '1,2,3,abcde')",
            result: "['1','2','3','abcde']",
        }],
        ..SPLIT
    },
    bind: bind_char,
    execute: |call| by_separator(call, true),
};

pub static BY_STRING: Plain = Plain {
    record: Record {
        name: "splitByString",
        summary: "The pieces of a string between occurrences of another one, or its characters when that is empty; at most as many as the number says.",
        syntax: "splitByString(separator, s[, max])",
        examples: &[Example {
            sql: "SELECT splitByString(', ', '1, 2 3, 4'), splitByString('', 'abc')",
            result: "['1','2 3','4']\t['a','b','c']",
        }],
        ..SPLIT
    },
    bind: bind_string,
    execute: |call| by_separator(call, false),
};

pub static BY_WHITESPACE: Plain = Plain {
    record: Record {
        name: "splitByWhitespace",
        summary: "The pieces of a string between white space; at most as many as the number says.",
        syntax: "splitByWhitespace(s[, max])",
        examples: &[Example {
            sql: "SELECT splitByWhitespace('  1!  a,  b.  ')",
            result: "['1!','a,','b.']",
        }],
        ..SPLIT
    },
    bind: bind_plain,
    execute: |call| words(call, |byte| !byte.is_ascii_whitespace() && byte != 0x0b),
};

pub static BY_NON_ALPHA: Plain = Plain {
    record: Record {
        name: "splitByNonAlpha",
        summary: "The pieces of a string between white space and punctuation; at most as many as the number says.",
        syntax: "splitByNonAlpha(s[, max])",
        examples: &[Example {
            sql: "SELECT splitByNonAlpha('user@domain.com')",
            result: "['user','domain','com']",
        }],
        ..SPLIT
    },
    bind: bind_plain,
    execute: |call| {
        words(call, |byte| !byte.is_ascii_whitespace() && byte != 0x0b && !byte.is_ascii_punctuation())
    },
};

pub static ALPHA_TOKENS: Plain = Plain {
    record: Record {
        name: "alphaTokens",
        aliases: &["splitByAlpha"],
        summary: "The runs of ASCII letters in a string; at most as many as the number says.",
        syntax: "alphaTokens(s[, max])",
        examples: &[Example { sql: "SELECT alphaTokens('abca1abc')", result: "['abca','abc']" }],
        ..SPLIT
    },
    bind: bind_plain,
    execute: |call| words(call, |byte| byte.is_ascii_alphabetic()),
};

/// The most pieces, and whether the last one is all that remains.
pub struct Limit {
    pub max: Option<usize>,
    pub rest: bool,
}

impl Limit {
    pub fn of(arg: Option<&Argument>, ctx: &Context) -> Limit {
        let max = arg.and_then(|arg| arg.constant.as_ref()).and_then(Value::as_i64);
        let max = max.filter(|&max| max > 0).map(|max| max as usize);
        Limit { max, rest: ctx.settings.splitby_max_substrings_includes_remaining_string }
    }

    /// May another piece be cut off, when there are this many?
    #[inline]
    pub fn allows(&self, pieces: usize) -> bool {
        match self.max {
            None => true,
            Some(max) if self.rest => pieces + 1 < max,
            Some(max) => pieces < max,
        }
    }

    /// Does what remains count, when there are this many pieces?
    #[inline]
    pub fn takes_rest(&self, pieces: usize) -> bool {
        self.max.is_none_or(|max| pieces < max)
    }
}

fn bind_char(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::ConstText, Kind::String, Kind::ConstInteger])?;
    ensure!(
        constant_text(name, args, 0)?.len() == 1,
        BAD_ARGUMENTS,
        "Illegal separator for function {name}. Must be exactly one byte"
    );
    Ok(Bound::with_state(DataType::String.array(), Limit::of(args.get(2), ctx)))
}

fn bind_string(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::ConstText, Kind::String, Kind::ConstInteger])?;
    Ok(Bound::with_state(DataType::String.array(), Limit::of(args.get(2), ctx)))
}

fn bind_plain(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    expect(name, args, 1, &[Kind::String, Kind::ConstInteger])?;
    Ok(Bound::with_state(DataType::String.array(), Limit::of(args.get(1), ctx)))
}

fn by_separator(call: &Call, one_byte: bool) -> Result<Column> {
    let limit: &Limit = call.state()?;
    let separator = call.vector(0).strings()?.get(0);
    if separator.is_empty() {
        return part_lists(call, 1, |_, text, out| {
            let starts = char_starts(text);
            for pair in starts.windows(2) {
                if !limit.allows(out.len()) {
                    break;
                }
                out.push(pair[0]..pair[1]);
            }
            rest(limit, text.len(), out);
            Ok(())
        });
    }
    let finder = Finder::new(separator);
    part_lists(call, 1, |_, text, out| {
        let mut start = 0;
        let is_short = one_byte && text.len() <= SHORT;
        if is_short {
            masks::each_place(text, separator[0], |place| {
                if limit.allows(out.len()) {
                    out.push(start..place);
                    start = place + 1;
                }
            });
        }
        while !is_short && limit.allows(out.len()) {
            let found = match one_byte {
                true => memchr::memchr(separator[0], &text[start..]),
                false => find_prepared(&text[start..], &finder),
            };
            let Some(place) = found else { break };
            out.push(start..start + place);
            start += place + separator.len();
        }
        if limit.takes_rest(out.len()) {
            out.push(start..text.len());
        }
        Ok(())
    })
}

/// What is left of a text that has been cut into characters.
fn rest(limit: &Limit, len: usize, out: &mut Vec<Range<usize>>) {
    let end = out.last().map_or(0, |last| last.end);
    if limit.rest && end < len {
        out.push(end..len);
    }
}

/// Runs of bytes that belong to words.
fn words(call: &Call, belongs: impl Fn(u8) -> bool + Copy) -> Result<Column> {
    let limit: &Limit = call.state()?;
    part_lists(call, 0, |_, text, out| {
        let mut place = 0;
        while let Some(start) = text[place..].iter().position(|&byte| belongs(byte)).map(|i| place + i) {
            if !limit.takes_rest(out.len()) {
                break;
            }
            let len = text[start..].iter().position(|&byte| !belongs(byte));
            let end = match len {
                Some(len) if limit.allows(out.len()) => start + len,
                _ => text.len(),
            };
            out.push(start..end);
            place = end;
        }
        Ok(())
    })
}
