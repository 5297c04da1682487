//! `mapKeys` and `mapValues`: the parts of a map as arrays.

use crate::lists::{list_of, map_types, pairs};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Call, Example, Record, Search};

pub static KEYS: Plain = Plain {
    record: Record {
        name: "mapKeys",
        summary: "The keys of a map.",
        syntax: "mapKeys(map)",
        examples: &[Example { sql: "SELECT mapKeys(map('a', 1, 'b', 2))", result: "['a','b']" }],
        total: true,
        search: Search::Keys,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        Ok(map_types(name, args, 0)?.0.clone().array().into())
    },
    execute: |call| part(call, 0),
};

pub static VALUES: Plain = Plain {
    record: Record {
        name: "mapValues",
        summary: "The values of a map.",
        syntax: "mapValues(map)",
        examples: &[Example { sql: "SELECT mapValues(map('a', 1, 'b', 2))", result: "[1,2]" }],
        total: true,
        search: Search::Values,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        Ok(map_types(name, args, 0)?.1.clone().array().into())
    },
    execute: |call| part(call, 1),
};

fn part(call: &Call, index: usize) -> Result<Column> {
    let list = list_of(&call.args[0], call.n_rows)?;
    let (keys, values) = pairs(&list)?;
    let part = if index == 0 { keys } else { values };
    Ok(crate::lists::list(list.offsets.to_vec(), part.clone()).into())
}
