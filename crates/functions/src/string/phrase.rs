//! `hasPhrase`: do the terms of a phrase stand in a text one behind the other?

use super::tokens::Tokenizer;
use super::written_tokenizer::written_tokenizer;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "hasPhrase",
        aliases: &["matchPhrase"],
        summary: "1 if the terms of the phrase stand in the text without others between them. The tokenizer is splitByNonAlpha unless another one is named.",
        syntax: "hasPhrase(text, phrase[, tokenizer])",
        examples: &[Example { sql: "SELECT hasPhrase('the quick brown fox', 'quick brown')", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Phrase {
    tokenizer: Tokenizer,
    terms: Vec<Vec<u8>>,
}

/// A tokenizer whose terms have an order.
fn tokenizer(name: &str, written: &str) -> Result<Tokenizer> {
    let found = written_tokenizer(written)?;
    if let Tokenizer::Whole | Tokenizer::SparseGrams(_) = found {
        let word = written.split('(').next().unwrap_or_default().trim();
        bail!(BAD_ARGUMENTS, "Function '{name}' does not support the '{word}' tokenizer")
    }
    Ok(found)
}

/// A constant argument that is text.
fn constant<'a>(name: &str, args: &'a [Argument], index: usize, place: &str) -> Result<&'a [u8]> {
    let expected = || {
        format!(
            "A value of illegal type was provided as {place} to function '{name}'. Expected: const String"
        )
    };
    let arg = &args[index];
    ensure!(arg.ty == DataType::String, ILLEGAL_TYPE_OF_ARGUMENT, "{}, got: {}", expected(), arg.ty);
    match arg.constant.as_ref().and_then(Value::as_bytes) {
        Some(text) => Ok(text),
        None => bail!(ILLEGAL_COLUMN, "{}, got: {}", expected(), arg.ty),
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        (2..=3).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "An incorrect number of arguments was specified for function '{name}'. Expected 2 mandatory arguments and 1 optional argument, got {} arguments",
        args.len()
    );
    let text = &args[0].ty;
    ensure!(
        text.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'input' to function '{name}'. Expected: String or FixedString, got: {text}"
    );
    let phrase = constant(name, args, 1, "2nd argument 'phrase'")?;
    let tokenizer = match args.get(2) {
        None => Tokenizer::Words,
        Some(_) => {
            let written = constant(name, args, 2, "3rd argument 'tokenizer'")?;
            tokenizer(name, &String::from_utf8_lossy(written))?
        }
    };
    let mut ranges = Vec::new();
    tokenizer.split(phrase, &mut ranges);
    let terms = ranges.into_iter().map(|range| phrase[range].to_vec()).collect();
    Ok(Bound::with_state(DataType::UInt8, Phrase { tokenizer, terms }))
}

fn execute(call: &Call) -> Result<Column> {
    let Phrase { tokenizer, terms } = call.state()?;
    let arg = &call.args[0];
    let texts = StringArg::of(call, 0)?;
    let mut ranges = Vec::new();
    let rows = if arg.constant { 1 } else { call.n_rows };
    let mut found = Vec::with_capacity(rows);
    for row in 0..rows {
        let text = texts.get(row);
        ranges.clear();
        tokenizer.split(text, &mut ranges);
        let is_here = |window: &[std::ops::Range<usize>]| {
            window.iter().zip(terms).all(|(range, term)| text[range.clone()] == **term)
        };
        found.push(u8::from(!terms.is_empty() && ranges.windows(terms.len()).any(is_here)));
    }
    let found = Vector::from(found);
    Ok(if arg.constant { Column::constant(found, call.n_rows) } else { found.into() })
}
