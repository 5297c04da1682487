//! `ngrams` and `tokens`: the terms of a text.

use super::sparse_grams::{Lengths, SHORTEST, USUAL_MOST, grams};
use crate::plain::Plain;
use crate::search::masks::each_word;
use crate::string_args::{Kind, char_starts, constant_text, expect, part_lists};
use chalet_base::{Result, bail, ensure, err};
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
        summary: "The terms of a text by a tokenizer: splitByNonAlpha (the default), splitByString, ngrams, sparseGrams or array.",
        syntax: "tokens(s[, tokenizer[, parameter, ...]])",
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

/// How a text is cut into terms.
pub enum Tokenizer {
    Words,
    Ngrams(usize),
    Separators(Vec<Vec<u8>>),
    Whole,
    SparseGrams(Lengths),
}

/// `tokens(s, 'sparseGrams'[, least, most[, cutoff]])`.
fn sparse_lengths(name: &str, args: &[Argument]) -> Result<Lengths> {
    ensure!(
        args.len() != 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "An incorrect number of arguments was specified for function '{name}'. Expected 1 mandatory argument and 1 optional argument, got 3 arguments"
    );
    let length = |index: usize, default: u64| match args.get(index) {
        None => Ok(default),
        Some(arg) => arg.constant.as_ref().and_then(Value::as_u64).ok_or_else(|| {
            err!(ILLEGAL_COLUMN, "The lengths of tokenizer 'sparseGrams' must be constant integers")
        }),
    };
    let (least, most) = (length(2, SHORTEST)?, length(3, USUAL_MOST)?);
    let cutoff = length(4, least)?;
    let wrong = |what: String| err!(BAD_ARGUMENTS, "Unexpected parameter of tokenizer 'sparseGrams': {what}");
    if least < SHORTEST {
        return Err(wrong(format!("minimal length must be at least 3, but got {least}")));
    }
    if most > USUAL_MOST {
        return Err(wrong(format!("maximal length must be at most 100, but got {most}")));
    }
    if most < least {
        return Err(wrong(format!("minimal length {least} cannot be larger than maximal length {most}")));
    }
    if !(least..=most).contains(&cutoff) {
        return Err(wrong(format!("cutoff length {cutoff} must be between {least} and {most}")));
    }
    Ok(Lengths { least, most, cutoff, utf8: true })
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

/// Separators of a constant array of strings.
fn separators(name: &str, arg: &Argument) -> Result<Vec<Vec<u8>>> {
    ensure!(
        matches!(arg.ty, DataType::Array(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 3rd argument 'separators' to function '{name}'. Expected: const Array, got: {}",
        arg.ty
    );
    let Some(Value::Array(items)) = &arg.constant else {
        bail!(ILLEGAL_COLUMN, "The separators of function {name} must be constant");
    };
    ensure!(
        !items.is_empty(),
        BAD_ARGUMENTS,
        "Incorrect parameter of tokenizer 'splitByString': separators cannot be empty"
    );
    let mut separators = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Some(text) = item.as_bytes() else {
            bail!(
                BAD_ARGUMENTS,
                "Tokenizer argument 'separator' expected to be of type String, but got another type"
            );
        };
        ensure!(
            !text.is_empty(),
            BAD_ARGUMENTS,
            "Incorrect parameter of tokenizer 'splitByString': the empty string cannot be used as a separator"
        );
        separators.push(text.to_vec());
    }
    Ok(separators)
}

fn bind_tokens(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=5)?;
    let kinds = [Kind::Text, Kind::ConstText, Kind::Any, Kind::Any, Kind::Any];
    expect(name, args, 1, &kinds[..args.len()])?;
    if args.len() > 1 && matches!(constant_text(name, args, 1)?, b"sparseGrams" | b"sparse_grams") {
        return Ok(Bound::with_state(
            DataType::String.array(),
            Tokenizer::SparseGrams(sparse_lengths(name, args)?),
        ));
    }
    check_arity(name, args.len(), 1..=3)?;
    let tokenizer = match args.get(1) {
        None => Tokenizer::Words,
        Some(_) => match (constant_text(name, args, 1)?, args.get(2)) {
            (b"splitByNonAlpha" | b"default", None) => Tokenizer::Words,
            (b"array" | b"noop", None) => Tokenizer::Whole,
            (b"ngrams", None) => Tokenizer::Ngrams(3),
            (b"ngrams", Some(arg)) => {
                ensure!(
                    arg.ty == DataType::UInt8,
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "A value of illegal type was provided as 3rd argument 'ngrams' to function '{name}'. Expected: const UInt8, got: {}",
                    arg.ty
                );
                Tokenizer::Ngrams(size("ngrams", arg)?)
            }
            (b"splitByString" | b"split", None) => Tokenizer::Separators(vec![b" ".to_vec()]),
            (b"splitByString" | b"split", Some(arg)) => Tokenizer::Separators(separators(name, arg)?),
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
        tokenizer.split(text, out);
        Ok(())
    })
}

impl Tokenizer {
    /// The terms of a text, as ranges of its bytes.
    pub fn split(&self, text: &[u8], out: &mut Vec<Range<usize>>) {
        match self {
            Tokenizer::SparseGrams(lengths) => grams(text, lengths, out),
            Tokenizer::Whole if text.is_empty() => {}
            Tokenizer::Whole => out.push(0..text.len()),
            Tokenizer::Ngrams(n) => {
                let starts = char_starts(text);
                let ends = starts.iter().skip(*n);
                out.extend(starts.iter().zip(ends).map(|(&start, &end)| start..end.min(text.len())));
            }
            // Letters and digits of ASCII, and all that is not ASCII.
            Tokenizer::Words => each_word(text, |word| out.push(word)),
            Tokenizer::Separators(separators) => runs(text, out, |rest| {
                separators.iter().find(|s| !s.is_empty() && rest.starts_with(s)).map_or(0, Vec::len)
            }),
        }
    }
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
