//! `arrayFilter` and `mapFilter`: the elements for which a lambda is true.

use super::lambda::{Elements, HigherOrder, check_predicate, with_lambda};
use crate::lists::gathered;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Record};

pub static ARRAY: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayFilter",
        summary: "The elements of the first array for which a lambda is true.",
        syntax: "arrayFilter(x -> ..., arr, ...)",
        examples: &[Example {
            sql: "SELECT arrayFilter(x -> x > 1, [1, 2, 3]), arrayFilter((x, y) -> y, ['a', 'b'], [0, 1])",
            result: "[2,3]\t['b']",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
    skipped: 0,
};

pub static MAP: HigherOrder = HigherOrder {
    record: Record {
        name: "mapFilter",
        summary: "The pairs of a map for which a lambda is true.",
        syntax: "mapFilter((k, v) -> ..., map)",
        examples: &[Example {
            sql: "SELECT mapFilter((k, v) -> v > 1, map('a', 1, 'b', 2))",
            result: "{'b':2}",
        }],
        dictionaries: Dictionaries::InTypes,
        ..Record::DEFAULT
    },
    bind,
    execute,
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_predicate("arrayFilter", &with_lambda(name, args, 0)?)?;
    Ok(args[1].ty.clone().without_name().into())
}

fn execute(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let truths = elements.truths()?;
    // Each element is written, and stays where it is kept: truths that come by chance would be guessed wrongly by the processor.
    let (mut kept, mut n_kept) = (vec![0; truths.len()], 0);
    let mut offsets = Vec::with_capacity(call.n_rows + 1);
    offsets.push(0);
    for range in elements.ranges() {
        for element in range {
            kept[n_kept] = element as u32;
            n_kept += usize::from(truths[element]);
        }
        offsets.push(n_kept as i64);
    }
    Ok(gathered(offsets, &elements.first, &kept[..n_kept]))
}
