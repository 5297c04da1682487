//! `arrayCount`, `arrayExists`, `arrayAll`, `mapExists`, `mapAll`: for how many elements a lambda is true.

use super::lambda::{Elements, HigherOrder, check_predicate, maybe_lambda};
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Example, Record};
use chalet_types::DataType;

const PREDICATE: Record = Record::DEFAULT;

pub static COUNT: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayCount",
        summary: "The number of elements for which a lambda is true, or that are not zero.",
        syntax: "arrayCount([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayCount(x -> x > 1, [1, 2, 3])", result: "2" }],
        ..PREDICATE
    },
    bind: |name, args, _| bind(name, args, DataType::UInt32),
    execute: |call| {
        Ok(Vector::from(each_row(call, |truths| truths.iter().filter(|t| **t).count() as u32)?).into())
    },
    skipped: 0,
};

pub static EXISTS: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayExists",
        summary: "Whether a lambda is true for an element of an array.",
        syntax: "arrayExists([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayExists(x -> x = 2, [1, 2])", result: "1" }],
        ..PREDICATE
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: exists,
    skipped: 0,
};

pub static ALL: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayAll",
        summary: "Whether a lambda is true for all elements of an array.",
        syntax: "arrayAll([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayAll(x -> x > 0, [1, 2])", result: "1" }],
        ..PREDICATE
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: all,
    skipped: 0,
};

pub static MAP_EXISTS: HigherOrder = HigherOrder {
    record: Record {
        name: "mapExists",
        summary: "Whether a lambda is true for a pair of a map.",
        syntax: "mapExists((k, v) -> ..., map)",
        examples: &[Example { sql: "SELECT mapExists((k, v) -> v = 1, map('a', 1))", result: "1" }],
        ..PREDICATE
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: exists,
    skipped: 0,
};

pub static MAP_ALL: HigherOrder = HigherOrder {
    record: Record {
        name: "mapAll",
        summary: "Whether a lambda is true for all pairs of a map.",
        syntax: "mapAll((k, v) -> ..., map)",
        examples: &[Example { sql: "SELECT mapAll((k, v) -> v = 1, map('a', 1, 'b', 2))", result: "0" }],
        ..PREDICATE
    },
    bind: |name, args, _| bind(name, args, DataType::UInt8),
    execute: all,
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_predicate(name, &maybe_lambda(name, args, 0)?)?;
    Ok(result.into())
}

fn exists(call: &Call) -> Result<Column> {
    Ok(Vector::from(each_row(call, |truths| u8::from(truths.contains(&true)))?).into())
}

fn all(call: &Call) -> Result<Column> {
    Ok(Vector::from(each_row(call, |truths| u8::from(!truths.contains(&false)))?).into())
}

fn each_row<T>(call: &Call, sum_up: impl Fn(&[bool]) -> T) -> Result<Vec<T>> {
    let elements = Elements::of(call, 0)?;
    let truths = elements.truths()?;
    Ok(elements.ranges().map(|range| sum_up(&truths[range])).collect())
}
