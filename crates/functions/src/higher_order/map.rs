//! `arrayMap` and `mapApply`: the results of a lambda over all elements.

use super::lambda::{Elements, HigherOrder, with_lambda};
use crate::lists::list;
use crate::map::check_key;
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static ARRAY: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayMap",
        summary: "The results of a lambda for the elements of an array, or for the elements of several arrays side by side.",
        syntax: "arrayMap(x -> ..., arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayMap(x -> x * 2, [1, 2, 3]), arrayMap((x, y) -> x + y, [1, 2], [10, 20])",
            result: "[2,4,6]\t[11,22]",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| Ok(with_lambda(name, args, 0)?.mapped.array().into()),
    execute,
    skipped: 0,
};

pub static MAP: HigherOrder = HigherOrder {
    record: Record {
        name: "mapApply",
        summary: "A map of the pairs that a lambda makes of the pairs of a map.",
        syntax: "mapApply((k, v) -> (key, value), map)",
        examples: &[Example { sql: "SELECT mapApply((k, v) -> (k, v + 1), map('a', 1))", result: "{'a':2}" }],
        ..Record::DEFAULT
    },
    bind: bind_map,
    execute,
    skipped: 0,
};

fn bind_map(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let shape = with_lambda(name, args, 0)?;
    match &shape.mapped {
        DataType::Tuple(fields) if fields.len() == 2 => {
            check_key(&fields[0].ty)?;
            Ok(DataType::map(fields[0].ty.clone(), fields[1].ty.clone()).into())
        }
        other => bail!(BAD_ARGUMENTS, "Expected Array(Tuple(key, value)) type, got Array({other})"),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    Ok(list(elements.offsets.to_vec(), elements.mapped).into())
}
