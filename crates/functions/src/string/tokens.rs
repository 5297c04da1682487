//! `ngrams` and `tokens`: the terms of a text.

use crate::plain::Plain;
use crate::string_args::{Kind, char_starts, constant_text, expect, part_lists};
use chalet_base::{Result, bail, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};
use std::ops::Range;

pub static NGRAMS: Plain = Plain {
    record: Record {
        name: "ngrams",
        summary: "All runs of the given number of characters of a string.",
        syntax: "ngrams(s, n)",
        examples: &[Example {
            sql: "SELECT ngrams('ClickHouse', 3)",
            result: "['Cli','lic','ick','ckH','kHo','Hou','ous','use']",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 2, &[Kind::Text, Kind::ConstInteger])?;
        Ok(Bound::with_state(DataType::String.array(), Tokenizer::Ngrams(size(name, &args[1])?)))
    },
    execute,
};

pub static TOKENS: Plain = Plain {
    record: Record {
        name: "tokens",
        summary: "The terms of a text by a tokenizer: splitByNonAlpha (the default), splitByString, ngrams or array.",
        syntax: "tokens(s[, tokenizer[, parameter]])",
        examples: &[Example {
            sql: "SELECT tokens('test1,;\\\\ test2'), tokens('abcd', 'ngrams', 3)",
            result: "['test1','test2']\t['abc','bcd']",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: bind_tokens,
    execute,
};

enum Tokenizer {
    Words,
    Ngrams(usize),
    Separators(Vec<Vec<u8>>),
    Whole,
}

fn size(name: &str, arg: &Argument) -> Result<usize> {
    let Some(size) = arg.constant.as_ref().and_then(Value::as_i64) else {
        bail!(ILLEGAL_COLUMN, "The ngram length of tokenizer '{name}' must be a constant integer");
    };
    ensure!(
        size >= 1,
        BAD_ARGUMENTS,
        "Incorrect parameter of tokenizer '{name}': ngram length must be at least 1, but got {size}"
    );
    Ok(size as usize)
}

fn bind_tokens(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    let kinds = [Kind::Text, Kind::ConstText, Kind::Any];
    expect(name, args, 1, &kinds[..args.len()])?;
    let tokenizer = match args.get(1) {
        None => Tokenizer::Words,
        Some(_) => match (constant_text(name, args, 1)?, args.get(2)) {
            (b"splitByNonAlpha" | b"default", None) => Tokenizer::Words,
            (b"array" | b"noop", None) => Tokenizer::Whole,
            (b"ngrams", None) => Tokenizer::Ngrams(3),
            (b"ngrams", Some(arg)) => Tokenizer::Ngrams(size("ngrams", arg)?),
            (b"splitByString" | b"split", None) => Tokenizer::Separators(vec![b" ".to_vec()]),
            (b"splitByString" | b"split", Some(arg)) => match &arg.constant {
                Some(Value::Array(items)) if !items.is_empty() => Tokenizer::Separators(
                    items.iter().filter_map(Value::as_bytes).map(<[u8]>::to_vec).collect(),
                ),
                None => bail!(ILLEGAL_COLUMN, "The separators of function {name} must be constant"),
                _ => bail!(
                    BAD_ARGUMENTS,
                    "The separators of function {name} must be a constant array of strings"
                ),
            },
            (b"splitByNonAlpha" | b"default" | b"array" | b"noop", Some(_)) => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "An incorrect number of arguments was specified for function '{name}'. Expected 1 mandatory argument and 1 optional argument, got 3 arguments"
            ),
            (other, _) => bail!(
                BAD_ARGUMENTS,
                "Function '{name}' supports only tokenizers 'splitByNonAlpha', 'ngrams', 'splitByString' and 'array', got '{}'",
                String::from_utf8_lossy(other)
            ),
        },
    };
    Ok(Bound::with_state(DataType::String.array(), tokenizer))
}

fn execute(call: &Call) -> Result<Column> {
    let tokenizer: &Tokenizer = call.state()?;
    part_lists(call, 0, |_, text, out| {
        match tokenizer {
            Tokenizer::Whole if text.is_empty() => {}
            Tokenizer::Whole => out.push(0..text.len()),
            Tokenizer::Ngrams(n) => {
                let starts = char_starts(text);
                let ends = starts.iter().skip(*n);
                out.extend(starts.iter().zip(ends).map(|(&start, &end)| start..end.min(text.len())));
            }
            // Letters and digits of ASCII, and all that is not ASCII.
            Tokenizer::Words => {
                runs(text, out, |rest| usize::from(rest[0].is_ascii() && !rest[0].is_ascii_alphanumeric()))
            }
            Tokenizer::Separators(separators) => runs(text, out, |rest| {
                separators.iter().find(|s| !s.is_empty() && rest.starts_with(s)).map_or(0, Vec::len)
            }),
        }
        Ok(())
    })
}

/// Runs without separators; `separator` gives the bytes of one at the front of the rest, 0 for none.
fn runs(text: &[u8], out: &mut Vec<Range<usize>>, separator: impl Fn(&[u8]) -> usize) {
    let (mut start, mut place) = (0, 0);
    while place < text.len() {
        match separator(&text[place..]) {
            0 => place += 1,
            len => {
                if place > start {
                    out.push(start..place);
                }
                place += len;
                start = place;
            }
        }
    }
    if place > start {
        out.push(start..place);
    }
}
