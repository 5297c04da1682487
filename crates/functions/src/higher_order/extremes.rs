//! `arrayMin` and `arrayMax`: the least and the greatest of the elements, or of what a lambda makes of them.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
use crate::lists::{NONE, gather_or_default};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, Native, Vector, each_native};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::cmp::Ordering;
use std::ops::Range;

pub static MIN: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayMin",
        summary: "The least element of an array, or of what a lambda makes of the elements. NULL and NaN do not count.",
        syntax: "arrayMin([x -> ...,] arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayMin([3, 1, 2]), arrayMin(x -> -x, [3, 1, 2])",
            result: "1\t-3",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, Ordering::Less),
    skipped: 0,
};

pub static MAX: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayMax",
        summary: "The greatest element of an array, or of what a lambda makes of the elements. NULL and NaN do not count.",
        syntax: "arrayMax([x -> ...,] arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayMax([3, 1, 2]), arrayMax(x -> -x, [3, 1, 2])",
            result: "3\t-1",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, Ordering::Greater),
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let mapped = maybe_lambda(name, args, 0)?.mapped;
    ensure!(
        mapped != DataType::Nothing,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type Array(Nothing) of argument of function {name}"
    );
    Ok(mapped.into())
}

/// Is the value a number that compares with no other?
pub fn is_nan(vector: &Vector, row: usize) -> bool {
    match &vector.data {
        Data::F64(values) => values[row].is_nan(),
        Data::F32(values) => values[row].is_nan(),
        Data::BF16(values) => values[row].is_nan(),
        _ => false,
    }
}

/// The place of the first element of each row that no other one beats.
fn places_of<T: Native>(values: &[T], elements: &Elements, beats: impl Fn(T, T) -> bool) -> Vec<u32> {
    let pick = |range: Range<usize>| {
        let (start, values) = (range.start, &values[range]);
        let Some(&first) = values.first() else { return NONE };
        let mut best = (first, 0);
        for (at, &x) in values.iter().enumerate().skip(1) {
            if beats(x, best.0) {
                best = (x, at);
            }
        }
        (start + best.1) as u32
    };
    elements.ranges().map(pick).collect()
}

fn execute(call: &Call, better: Ordering) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let mapped = &elements.mapped;
    let floats = matches!(mapped.data, Data::F32(_) | Data::F64(_) | Data::BF16(_));
    if mapped.validity.is_none() && !floats {
        each_native!(&mapped.data, values => {
            let places = match better {
                Ordering::Less => places_of(values, &elements, |x, best| x < best),
                _ => places_of(values, &elements, |x, best| x > best),
            };
            return Ok(gather_or_default(mapped, &places, call.result).into());
        }, _ => {});
    }
    let pick = |range: Range<usize>| {
        let mut best: Option<usize> = None;
        for e in range.filter(|&e| !mapped.is_null(e)) {
            let replace = match best {
                None => true,
                Some(best) => {
                    is_nan(mapped, best) || !is_nan(mapped, e) && mapped.compare(e, mapped, best) == better
                }
            };
            if replace {
                best = Some(e);
            }
        }
        best.map_or(NONE, |e| e as u32)
    };
    let places: Vec<u32> = elements.ranges().map(pick).collect();
    Ok(gather_or_default(mapped, &places, call.result).into())
}
