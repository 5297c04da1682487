//! `mapUpdate`: a map with the pairs of another one.

use super::concat::{joined, map_column};
use crate::ids::ids;
use crate::lists::map_types;
use crate::plain::Plain;
use chalet_base::hash::HashSet;
use chalet_base::{Result, ensure};
use chalet_columns::strings::INLINE;
use chalet_columns::{Column, Data, List, Strings};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use std::hash::Hash;

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
    let new = (new, *start);
    let (offsets, places) = match &keys.data {
        // Short strings are their views.
        Data::Str(strings) if are_short(strings) && keys.validity.is_none() => {
            updated(strings.views(), old, new, call.n_rows)
        }
        _ => updated(&ids(&keys), old, new, call.n_rows),
    };
    Ok(map_column(offsets, keys.gather(&places), values.gather(&places)))
}

/// Are all strings held in their views?
fn are_short(strings: &Strings) -> bool {
    strings.views().iter().all(|&view| view as u32 as usize <= INLINE)
}

/// Where the pairs of each map begin, and their places among those of the old and the new maps: the new pairs begin at a place, and keys
/// are given by numbers.
fn updated<K: Copy + Eq + Hash>(
    keys: &[K],
    old: &List,
    (new, start): (&List, usize),
    n_rows: usize,
) -> (Vec<i64>, Vec<u32>) {
    /// More keys than that are looked up in a hash table.
    const FEW: usize = 16;
    let (mut places, mut offsets) = (Vec::with_capacity(keys.len()), Vec::with_capacity(n_rows + 1));
    offsets.push(0);
    let mut replaced: HashSet<K> = HashSet::default();
    for row in 0..n_rows {
        let added = new.range(row);
        let added = start + added.start..start + added.end;
        let added_keys = &keys[added.clone()];
        let few = added_keys.len() <= FEW;
        if !few {
            replaced.clear();
            replaced.extend(added_keys);
        }
        let kept = old.range(row).filter(|&place| match few {
            true => !added_keys.contains(&keys[place]),
            false => !replaced.contains(&keys[place]),
        });
        places.extend(kept.map(|place| place as u32));
        places.extend(added.map(|place| place as u32));
        offsets.push(places.len() as i64);
    }
    (offsets, places)
}
