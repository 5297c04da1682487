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

/// A value of a row.
struct Seen {
    number: u64,
    /// Where it came first.
    place: u32,
    /// The last array that had it.
    last: usize,
    n_arrays: usize,
}

/// So many elements of a row are looked through one by one.
const FEW: usize = 16;

fn execute(call: &Call, keep: fn(usize, usize) -> bool) -> Result<Column> {
    let element = result_element(call)?.clone();
    let lists = widened(call, &element)?;
    let values = Vector::concat(&lists.iter().map(|(_, values)| values).collect::<Vec<_>>());
    let numbers = ids(&values);
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    let mut seen: Vec<Seen> = Vec::new();
    // Where a value stands in `seen`, in rows of many.
    let mut known: HashMap<u64, usize> = HashMap::default();
    for row in 0..call.n_rows {
        seen.clear();
        known.clear();
        let is_few = lists.iter().map(|(list, _)| list.range(row).len()).sum::<usize>() <= FEW;
        let mut start = 0;
        for (array, (list, values)) in lists.iter().enumerate() {
            for element in list.range(row) {
                let (place, number) = ((start + element) as u32, numbers[start + element]);
                let at = match is_few {
                    true => seen.iter().position(|one| one.number == number).unwrap_or(seen.len()),
                    false => *known.entry(number).or_insert(seen.len()),
                };
                match seen.get_mut(at) {
                    None => seen.push(Seen { number, place, last: array, n_arrays: 1 }),
                    Some(one) => {
                        one.n_arrays += usize::from(one.last != array);
                        one.last = array;
                    }
                }
            }
            start += values.len();
        }
        let kept = seen.iter().filter(|one| keep(one.n_arrays, lists.len()));
        elements.extend(kept.map(|one| one.place));
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
