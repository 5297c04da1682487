//! `arraySplit` and `arrayReverseSplit`: an array cut where a lambda is true.

use super::lambda::{Elements, HigherOrder, check_predicate, with_lambda};
use crate::lists::list;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};

pub static BEFORE: HigherOrder = HigherOrder {
    record: Record {
        name: "arraySplit",
        summary: "The first array in pieces: a new one begins at every element for which a lambda is true.",
        syntax: "arraySplit(x -> ..., arr, ...)",
        examples: &[Example { sql: "SELECT arraySplit(x -> x = 3, [1, 2, 3, 4])", result: "[[1,2],[3,4]]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, 0),
    skipped: 0,
};

pub static AFTER: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayReverseSplit",
        summary: "The first array in pieces: one ends at every element for which a lambda is true.",
        syntax: "arrayReverseSplit(x -> ..., arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayReverseSplit(x -> x = 3, [1, 2, 3, 4])",
            result: "[[1,2,3],[4]]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, 1),
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_predicate(name, &with_lambda(name, args, 0)?)?;
    Ok(args[1].ty.clone().without_name().array().into())
}

/// `back` is how far before a cut the element is that asks for it.
fn execute(call: &Call, back: usize) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let truths = elements.truths()?;
    let (mut inner, mut outer) = (vec![0], vec![0]);
    for range in elements.ranges() {
        let cuts = (range.start + 1..range.end).filter(|&e| truths[e - back]);
        inner.extend(cuts.map(|e| e as i64));
        if !range.is_empty() {
            inner.push(range.end as i64);
        }
        outer.push(inner.len() as i64 - 1);
    }
    Ok(list(outer, list(inner, elements.first)).into())
}
