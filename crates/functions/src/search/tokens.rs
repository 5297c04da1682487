//! `hasAnyTokens` and `hasAllTokens`: several words in a text.

use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::hash::HashSet;
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
    execute: |call| execute(call, |words, wanted| wanted.iter().any(|token| words.contains(&token[..]))),
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
        execute(call, |words, wanted| {
            !wanted.is_empty() && wanted.iter().all(|token| words.contains(&token[..]))
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

fn execute(call: &Call, test: fn(&HashSet<&[u8]>, &[Vec<u8>]) -> bool) -> Result<Column> {
    let Tokens(wanted) = call.state()?;
    let texts = StringArg::of(call, 0)?;
    let answer = |row: usize| u8::from(test(&words(texts.get(row)).collect(), wanted));
    Ok(Vector::from((0..call.n_rows).map(answer).collect::<Vec<u8>>()).into())
}
