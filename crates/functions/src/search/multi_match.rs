//! `multiMatchAny`, `multiMatchAnyIndex`, `multiMatchAllIndices`: several regular expressions on one string.

use super::pattern::Pattern;
use crate::lists::list;
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Vector;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Constants, Example, Record};
use chalet_types::{DataType, Value};

pub static ANY: Plain = Plain {
    record: Record {
        name: "multiMatchAny",
        summary: "Whether any of the constant regular expressions matches in a string.",
        syntax: "multiMatchAny(haystack, [pattern1, ...])",
        examples: &[Example { sql: "SELECT multiMatchAny('Hello', ['x', 'l+'])", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: |call| {
        let (Patterns(patterns), texts) = (call.state()?, StringArg::of(call, 0)?);
        let any = |row: usize| u8::from(patterns.iter().any(|p| p.matches(texts.get(row))));
        Ok(Vector::from((0..call.n_rows).map(any).collect::<Vec<u8>>()).into())
    },
};

pub static ANY_INDEX: Plain = Plain {
    record: Record {
        name: "multiMatchAnyIndex",
        summary: "The number, from 1, of a constant regular expression that matches in a string; 0 when none does.",
        syntax: "multiMatchAnyIndex(haystack, [pattern1, ...])",
        examples: &[Example { sql: "SELECT multiMatchAnyIndex('Hello', ['x', 'l+'])", result: "2" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::UInt64),
    execute: |call| {
        let (Patterns(patterns), texts) = (call.state()?, StringArg::of(call, 0)?);
        let index =
            |row: usize| patterns.iter().position(|p| p.matches(texts.get(row))).map_or(0, |i| i as u64 + 1);
        Ok(Vector::from((0..call.n_rows).map(index).collect::<Vec<u64>>()).into())
    },
};

pub static ALL_INDICES: Plain = Plain {
    record: Record {
        name: "multiMatchAllIndices",
        summary: "The numbers, from 1, of all constant regular expressions that match in a string.",
        syntax: "multiMatchAllIndices(haystack, [pattern1, ...])",
        examples: &[Example {
            sql: "SELECT multiMatchAllIndices('Hello', ['H', 'x', 'l+'])",
            result: "[1,3]",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::UInt64.array()),
    execute: |call| {
        let (Patterns(patterns), texts) = (call.state()?, StringArg::of(call, 0)?);
        let (mut indices, mut offsets): (Vec<u64>, Vec<i64>) = (Vec::new(), vec![0]);
        for row in 0..call.n_rows {
            let matching = patterns.iter().enumerate().filter(|(_, p)| p.matches(texts.get(row)));
            indices.extend(matching.map(|(i, _)| i as u64 + 1));
            offsets.push(indices.len() as i64);
        }
        Ok(list(offsets, indices.into()).into())
    },
};

struct Patterns(Vec<Pattern>);

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    ensure!(
        args[0].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument of function {name}",
        args[0].ty
    );
    ensure!(
        matches!(args[1].ty.element(), Some(DataType::String | DataType::Nothing)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument of function {name}",
        args[1].ty
    );
    let Some(Value::Array(items)) = &args[1].constant else {
        bail!(ILLEGAL_COLUMN, "The patterns of function {name} must be constant");
    };
    let patterns = items.iter().filter_map(Value::as_bytes).map(|pattern| Pattern::of_regexp(pattern, ""));
    Ok(Bound::with_state(result, Patterns(patterns.collect::<Result<_>>()?)))
}
