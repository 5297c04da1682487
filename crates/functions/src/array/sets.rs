//! `arrayUnion` and `arraySymmetricDifference`: the different elements of several arrays, in the order of the kernel's hash table.

use super::concat::{all_arrays, widened};
use crate::ids::ids;
use crate::lists::{gathered, result_element};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::set_order::{Keys, in_set_order};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::supertype::common_supertype;

pub static UNION: Plain = Plain {
    record: Record {
        name: "arrayUnion",
        summary: "The elements that occur in any of the arrays, each once, in no particular order.",
        syntax: "arrayUnion(arr1, arr2, ...)",
        examples: &[Example { sql: "SELECT arraySort(arrayUnion([1, 2], [2, 3]))", result: "[1,2,3]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, |_, _| true),
};

pub static SYMMETRIC_DIFFERENCE: Plain = Plain {
    record: Record {
        name: "arraySymmetricDifference",
        summary: "The elements that do not occur in all of the arrays, each once, in no particular order.",
        syntax: "arraySymmetricDifference(arr1, arr2, ...)",
        examples: &[Example {
            sql: "SELECT arraySort(arraySymmetricDifference([1, 2], [2, 3]))",
            result: "[1,3]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, |arrays, of| arrays < of),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    all_arrays(name, args)?;
    let common = common_supertype(&args.iter().map(|arg| arg.ty.clone()).collect::<Vec<_>>())?;
    Ok(common.without_name().into())
}

fn execute(call: &Call, keep: fn(usize, usize) -> bool) -> Result<Column> {
    let element = result_element(call)?.clone();
    let lists = widened(call, &element)?;
    let values = Vector::concat(&lists.iter().map(|(_, values)| values).collect::<Vec<_>>());
    let numbers = ids(&values);
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    // Of each value: its first place, the last array that had it, and how many had.
    let mut seen: HashMap<u64, (u32, usize, usize)> = HashMap::default();
    let mut order: Vec<u64> = Vec::new();
    for row in 0..call.n_rows {
        seen.clear();
        order.clear();
        let mut start = 0;
        for (index, (list, values)) in lists.iter().enumerate() {
            for element in list.range(row) {
                let place = start + element;
                let entry = seen.entry(numbers[place]).or_insert_with(|| {
                    order.push(numbers[place]);
                    (place as u32, index, 1)
                });
                if entry.1 != index {
                    *entry = (entry.0, index, entry.2 + 1);
                }
            }
            start += values.len();
        }
        let kept = order.iter().map(|number| seen[number]).filter(|&(_, _, n)| keep(n, lists.len()));
        elements.extend(kept.map(|(place, _, _)| place));
        offsets.push(elements.len() as i64);
    }
    let values = values.gather(&elements);
    let keys = match &values {
        Vector { data: Data::Str(_) | Data::Fixed(_) | Data::List(_) | Data::Struct(_), .. } => Keys::Strings,
        _ => Keys::Bits,
    };
    let order = in_set_order(&element, &values, &offsets, keys, 6);
    Ok(gathered(offsets, &values, &order))
}
