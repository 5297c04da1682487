//! `mapContainsKeyLike`, `mapExtractKeyLike` and their forms for values: pairs of maps by LIKE.

use super::concat::map_column;
use crate::lanes::Operand;
use crate::lists::{list_of, map_types, pairs};
use crate::plain::Plain;
use crate::search::{Cache, Pattern, like_pattern};
use crate::string_args::StringArg;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Example, Record};
use chalet_types::DataType;

const BY_PATTERN: Record = Record { constants: Constants::Seen, null_before_arity: true, ..Record::DEFAULT };

pub static CONTAINS_KEY: Plain = Plain {
    record: Record {
        name: "mapContainsKeyLike",
        summary: "Whether a map has a key of the form of a LIKE pattern.",
        syntax: "mapContainsKeyLike(map, pattern)",
        examples: &[Example { sql: "SELECT mapContainsKeyLike(map('abc', 1), 'a%')", result: "1" }],
        ..BY_PATTERN
    },
    bind: |name, args, _| bind(name, args, 0, Some(DataType::UInt8)),
    execute: |call| contains(call, 0),
};

pub static CONTAINS_VALUE: Plain = Plain {
    record: Record {
        name: "mapContainsValueLike",
        summary: "Whether a map has a value of the form of a LIKE pattern.",
        syntax: "mapContainsValueLike(map, pattern)",
        examples: &[Example { sql: "SELECT mapContainsValueLike(map('k', 'abc'), 'a%')", result: "1" }],
        ..BY_PATTERN
    },
    bind: |name, args, _| bind(name, args, 1, Some(DataType::UInt8)),
    execute: |call| contains(call, 1),
};

pub static EXTRACT_KEY: Plain = Plain {
    record: Record {
        name: "mapExtractKeyLike",
        summary: "The pairs of a map whose keys are of the form of a LIKE pattern.",
        syntax: "mapExtractKeyLike(map, pattern)",
        examples: &[Example {
            sql: "SELECT mapExtractKeyLike(map('abc', 1, 'xyz', 2), 'a%')",
            result: "{'abc':1}",
        }],
        ..BY_PATTERN
    },
    bind: |name, args, _| bind(name, args, 0, None),
    execute: |call| extract(call, 0),
};

pub static EXTRACT_VALUE: Plain = Plain {
    record: Record {
        name: "mapExtractValueLike",
        summary: "The pairs of a map whose values are of the form of a LIKE pattern.",
        syntax: "mapExtractValueLike(map, pattern)",
        examples: &[Example {
            sql: "SELECT mapExtractValueLike(map('k', 'abc', 'l', 'x'), 'a%')",
            result: "{'k':'abc'}",
        }],
        ..BY_PATTERN
    },
    bind: |name, args, _| bind(name, args, 1, None),
    execute: |call| extract(call, 1),
};

fn bind(name: &'static str, args: &[Argument], part: usize, result: Option<DataType>) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let (key, value) = map_types(name, args, 0)?;
    let searched = if part == 0 { key } else { value };
    ensure!(
        searched.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} can only be used with maps of strings, got {}",
        args[0].ty
    );
    ensure!(
        args[1].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Second argument of function {name} must be a String, got {}",
        args[1].ty
    );
    let pattern =
        args[1].constant.as_ref().and_then(|value| value.as_bytes()).map(like_pattern).transpose()?;
    Ok(Bound::with_state(result.unwrap_or_else(|| args[0].ty.clone()), Constant(pattern)))
}

/// The pattern that is the same for all rows.
struct Constant(Option<Pattern>);

fn matching(call: &Call, list: &List, part: usize) -> Result<Vec<bool>> {
    let Constant(pattern) = call.state()?;
    let (keys, values) = pairs(list)?;
    let Some(pattern) = pattern else {
        let (patterns, texts) = (
            StringArg::of(call, 1)?,
            Operand { ty: &DataType::String, vector: if part == 0 { keys } else { values }, constant: false },
        );
        let mut cache = Cache::new(like_pattern);
        let mut out = Vec::with_capacity(texts.vector.len());
        for (row, range) in list.ranges().enumerate() {
            for pair in range {
                let text = match &texts.vector.data {
                    Data::Fixed(fixed) => fixed.get(pair),
                    _ => texts.vector.strings()?.get(pair),
                };
                out.push(cache.get(patterns.get(row))?.matches(text));
            }
        }
        return Ok(out);
    };
    Ok(match &(if part == 0 { keys } else { values }).data {
        Data::Fixed(fixed) => fixed.iter().map(|text| pattern.matches(text)).collect(),
        data => Vector::from(data.clone()).strings()?.iter().map(|text| pattern.matches(text)).collect(),
    })
}

fn contains(call: &Call, part: usize) -> Result<Column> {
    let list = list_of(&call.args[0], call.n_rows)?;
    let matching = matching(call, &list, part)?;
    let answers = list.ranges().map(|range| u8::from(matching[range].contains(&true)));
    Ok(Vector::from(answers.collect::<Vec<u8>>()).into())
}

fn extract(call: &Call, part: usize) -> Result<Column> {
    let list = list_of(&call.args[0], call.n_rows)?;
    let matching = matching(call, &list, part)?;
    let (mut places, mut offsets) = (Vec::new(), vec![0]);
    for range in list.ranges() {
        places.extend(range.filter(|&pair| matching[pair]).map(|pair| pair as u32));
        offsets.push(places.len() as i64);
    }
    let (keys, values) = pairs(&list)?;
    Ok(map_column(offsets, keys.gather(&places), values.gather(&places)))
}
