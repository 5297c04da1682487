//! `hasAnyTokens` and `hasAllTokens`: several words in a text.

use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};

pub static ANY: Plain = Plain {
    record: Record {
        name: "hasAnyTokens",
        aliases: &["hasAnyToken"],
        summary: "Whether any of the tokens, a constant array or a constant text in words, is a word of a text.",
        syntax: "hasAnyTokens(text, tokens)",
        examples: &[Example { sql: "SELECT hasAnyTokens('Hello World', ['Hello', 'x'])", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, |text, wanted| words(text).any(|word| wanted.contains_key(word))),
};

pub static ALL: Plain = Plain {
    record: Record {
        name: "hasAllTokens",
        aliases: &["hasAllToken"],
        summary: "Whether all of the tokens, a constant array or a constant text in words, are words of a text.",
        syntax: "hasAllTokens(text, tokens)",
        examples: &[Example { sql: "SELECT hasAllTokens('Hello World', 'World Hello')", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let mut found = Vec::new();
        execute(call, |text, wanted| {
            found.clear();
            found.resize(wanted.len(), false);
            let mut missing = wanted.len();
            for word in words(text) {
                if let Some(&number) = wanted.get(word)
                    && !std::mem::replace(&mut found[number], true)
                {
                    missing -= 1;
                }
            }
            !wanted.is_empty() && missing == 0
        })
    },
};

struct Tokens(Vec<Vec<u8>>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    ensure!(
        args[0].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'input' to function '{name}'. Expected: String or FixedString, got: {}",
        args[0].ty
    );
    let tokens = match &args[1].constant {
        Some(Value::Bytes(text)) => words(text).map(<[u8]>::to_vec).collect(),
        Some(Value::Array(items)) => {
            let mut tokens = Vec::with_capacity(items.len());
            for item in items {
                match item {
                    Value::Bytes(token) => tokens.push(token.to_vec()),
                    _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "The tokens of function {name} must be strings"),
                }
            }
            tokens
        }
        None => bail!(ILLEGAL_COLUMN, "The tokens of function {name} must be constant"),
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 2nd argument 'needles' to function '{name}'. Expected: const String or const Array(String), got: {}",
            args[1].ty
        ),
    };
    Ok(Bound::with_state(DataType::UInt8, Tokens(tokens)))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// `test` sees the text and the different tokens, which are numbered.
fn execute(call: &Call, mut test: impl FnMut(&[u8], &HashMap<&[u8], usize>) -> bool) -> Result<Column> {
    let Tokens(tokens) = call.state()?;
    let mut wanted = HashMap::default();
    for token in tokens {
        let number = wanted.len();
        wanted.entry(&token[..]).or_insert(number);
    }
    let texts = StringArg::of(call, 0)?;
    let answer = |row: usize| u8::from(test(texts.get(row), &wanted));
    Ok(Vector::from((0..call.n_rows).map(answer).collect::<Vec<u8>>()).into())
}
