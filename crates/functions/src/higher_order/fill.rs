//! `arrayFill` and `arrayReverseFill`: elements replaced by their neighbours where a lambda is false.

use super::lambda::{Elements, HigherOrder, check_predicate, with_lambda};
use crate::lists::gathered;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};

pub static FORWARD: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayFill",
        summary: "The elements of the first array, each replaced by the one before where a lambda is false. The first is never replaced.",
        syntax: "arrayFill(x -> ..., arr, ...)",
        examples: &[Example { sql: "SELECT arrayFill(x -> x > 0, [1, 0, 2, 0])", result: "[1,1,2,2]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let elements = Elements::of(call, 0)?;
        let truths = elements.truths()?;
        let mut places: Vec<u32> = (0..truths.len() as u32).collect();
        for range in elements.ranges() {
            for e in range.skip(1).filter(|&e| !truths[e]) {
                places[e] = places[e - 1];
            }
        }
        Ok(gathered(elements.offsets.to_vec(), &elements.first, &places))
    },
    skipped: 0,
};

pub static BACKWARD: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayReverseFill",
        summary: "The elements of the first array, each replaced by the one behind where a lambda is false. The last is never replaced.",
        syntax: "arrayReverseFill(x -> ..., arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayReverseFill(x -> x > 0, [1, 0, 2, 0])",
            result: "[1,2,2,0]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: backward,
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_predicate(name, &with_lambda(name, args, 0)?)?;
    Ok(args[1].ty.clone().without_name().into())
}

fn backward(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let truths = elements.truths()?;
    let mut places: Vec<u32> = (0..truths.len() as u32).collect();
    for range in elements.ranges() {
        for e in range.rev().skip(1).filter(|&e| !truths[e]) {
            places[e] = places[e + 1];
        }
    }
    Ok(gathered(elements.offsets.to_vec(), &elements.first, &places))
}
