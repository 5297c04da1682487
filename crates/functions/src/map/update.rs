//! `mapUpdate`: a map with the pairs of another one.

use super::concat::{joined, map_column};
use crate::ids::ids;
use crate::lists::map_types;
use crate::plain::Plain;
use chalet_base::hash::HashSet;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "mapUpdate",
        summary: "The pairs of the first map whose keys the second does not have, and the pairs of the second.",
        syntax: "mapUpdate(map1, map2)",
        examples: &[Example {
            sql: "SELECT mapUpdate(map('a', 1, 'b', 2), map('b', 9))",
            result: "{'a':1,'b':9}",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    map_types(name, args, 0)?;
    map_types(name, args, 1)?;
    ensure!(
        args[0].ty == args[1].ty,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The Key And Value type of Map for function {name} must be the same"
    );
    Ok(args[0].ty.clone().into())
}

fn execute(call: &Call) -> Result<Column> {
    let (lists, keys, values) = joined(call)?;
    let [(old, _), (new, start)] = &lists[..] else {
        chalet_base::bail!(LOGICAL_ERROR, "mapUpdate of two maps")
    };
    let numbers = ids(&keys);
    let (mut places, mut offsets) = (Vec::new(), vec![0]);
    for row in 0..call.n_rows {
        let added: Vec<usize> = new.range(row).map(|pair| start + pair).collect();
        let replaced: HashSet<u64> = added.iter().map(|&place| numbers[place]).collect();
        places.extend(
            old.range(row).filter(|&place| !replaced.contains(&numbers[place])).map(|place| place as u32),
        );
        places.extend(added.iter().map(|&place| place as u32));
        offsets.push(places.len() as i64);
    }
    Ok(map_column(offsets, keys.gather(&places), values.gather(&places)))
}
