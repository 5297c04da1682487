//! `hasAnyTokens` and `hasAllTokens`: several words in a text.

use crate::lists::list_of;
use crate::plain::Plain;
use crate::string::tokens::Tokenizer;
use crate::string::written_tokenizer::written_tokenizer;
use crate::string_args::StringArg;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};
use std::ops::Range;

pub static ANY: Plain = Plain {
    record: Record {
        name: "hasAnyTokens",
        aliases: &["hasAnyToken"],
        summary: "Whether any of the tokens, a constant array or a constant text in words, is a word of a text, or of one of an array of texts. The tokenizer is splitByNonAlpha unless another one is named.",
        syntax: "hasAnyTokens(text, tokens[, tokenizer])",
        examples: &[Example { sql: "SELECT hasAnyTokens('Hello World', ['Hello', 'x'])", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, false),
};

pub static ALL: Plain = Plain {
    record: Record {
        name: "hasAllTokens",
        aliases: &["hasAllToken"],
        summary: "Whether all of the tokens, a constant array or a constant text in words, are words of a text, or of an array of texts. The tokenizer is splitByNonAlpha unless another one is named.",
        syntax: "hasAllTokens(text, tokens[, tokenizer])",
        examples: &[Example { sql: "SELECT hasAllTokens('Hello World', 'World Hello')", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, true),
};

struct Tokens {
    wanted: Vec<Vec<u8>>,
    tokenizer: Tokenizer,
}

/// Text, or an array of texts.
fn is_input(ty: &DataType) -> bool {
    let is_text = |ty: &DataType| ty.bare().is_string();
    match ty {
        DataType::Array(element) => is_text(element),
        ty => is_text(ty),
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    ensure!(
        is_input(&args[0].ty),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'input' to function '{name}'. Expected: String, FixedString, Array(String) or Array(FixedString), got: {}",
        args[0].ty
    );
    let tokenizer = match args.get(2) {
        None => Tokenizer::Words,
        Some(arg) => {
            let expected = format!(
                "A value of illegal type was provided as 3rd argument 'tokenizer' to function '{name}'. Expected: const String, got: {}",
                arg.ty
            );
            ensure!(arg.ty.is_string(), ILLEGAL_TYPE_OF_ARGUMENT, "{expected}");
            let Some(written) = arg.constant.as_ref().and_then(Value::as_bytes) else {
                bail!(ILLEGAL_COLUMN, "{expected}")
            };
            written_tokenizer(&String::from_utf8_lossy(written))?
        }
    };
    let expected = || {
        format!(
            "A value of illegal type was provided as 2nd argument 'needles' to function '{name}'. Expected: const String or const Array(String), got: {}",
            args[1].ty
        )
    };
    let wanted = match &args[1].constant {
        Some(Value::Bytes(text)) => {
            let mut ranges = Vec::new();
            tokenizer.split(text, &mut ranges);
            ranges.into_iter().map(|range| text[range].to_vec()).collect()
        }
        Some(Value::Array(items)) => {
            let mut tokens = Vec::with_capacity(items.len());
            for item in items {
                match item {
                    Value::Bytes(token) => tokens.push(token.to_vec()),
                    _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{}", expected()),
                }
            }
            tokens
        }
        None => bail!(ILLEGAL_COLUMN, "{}", expected()),
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{}", expected()),
    };
    Ok(Bound::with_state(DataType::UInt8, Tokens { wanted, tokenizer }))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Which of the different tokens, which are numbered, were found in the texts of a row so far.
struct Search<'a> {
    wanted: HashMap<&'a [u8], usize>,
    tokenizer: &'a Tokenizer,
    ranges: Vec<Range<usize>>,
    found: Vec<bool>,
    missing: usize,
}

impl Search<'_> {
    fn begin(&mut self) {
        self.found.fill(false);
        self.missing = self.wanted.len();
    }

    /// Looks into a text; no further than the token that decides it.
    fn look_into(&mut self, text: &[u8], all: bool) {
        let Search { wanted, found, missing, ranges, .. } = self;
        let mut is_decided = |token: &[u8]| {
            if let Some(&number) = wanted.get(token)
                && !std::mem::replace(&mut found[number], true)
            {
                *missing -= 1;
            }
            *missing == 0 || !all && *missing < wanted.len()
        };
        if matches!(self.tokenizer, Tokenizer::Words) {
            _ = words(text).any(is_decided);
            return;
        }
        ranges.clear();
        self.tokenizer.split(text, ranges);
        _ = ranges.drain(..).any(|range| is_decided(&text[range]));
    }

    fn answer(&self, all: bool) -> u8 {
        let n = self.wanted.len();
        u8::from(n > 0 && if all { self.missing == 0 } else { self.missing < n })
    }
}

fn execute(call: &Call, all: bool) -> Result<Column> {
    let Tokens { wanted: tokens, tokenizer } = call.state()?;
    let mut wanted = HashMap::default();
    for token in tokens {
        let number = wanted.len();
        wanted.entry(&token[..]).or_insert(number);
    }
    let n = wanted.len();
    let mut search = Search { wanted, tokenizer, ranges: Vec::new(), found: vec![false; n], missing: n };
    let mut answers = Vec::with_capacity(call.n_rows);
    if !matches!(call.args[0].ty, DataType::Array(_)) {
        let texts = StringArg::of(call, 0)?;
        for row in 0..call.n_rows {
            search.begin();
            search.look_into(texts.get(row), all);
            answers.push(search.answer(all));
        }
        return Ok(Vector::from(answers).into());
    }
    let list = list_of(&call.args[0], call.n_rows)?;
    let elements = &list.values;
    for row in list.offsets.windows(2) {
        search.begin();
        for element in row[0] as usize..row[1] as usize {
            let is_there = elements.validity.as_ref().is_none_or(|validity| validity.is_valid(element));
            match &elements.data {
                _ if !is_there => {}
                Data::Str(strings) => search.look_into(strings.get(element), all),
                Data::Fixed(fixed) => search.look_into(fixed.get(element), all),
                _ => bail!(LOGICAL_ERROR, "The elements of an array of texts are none"),
            }
        }
        answers.push(search.answer(all));
    }
    Ok(Vector::from(answers).into())
}
