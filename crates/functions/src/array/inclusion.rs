//! `hasAll`, `hasAny`, `hasSubstr`: whether elements of one array occur in another.

use super::concat::all_arrays;
use crate::ids::ids;
use crate::lists::list_of;
use crate::plain::Plain;
use crate::widen::widen;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Search};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static ALL: Plain = Plain {
    record: Record {
        name: "hasAll",
        summary: "Whether every element of the second array occurs in the first.",
        syntax: "hasAll(set, subset)",
        examples: &[Example { sql: "SELECT hasAll([1, 2, 3], [3, 1]), hasAll([1], [])", result: "1\t1" }],
        search: Search::AllElements,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        each_row(call, |set, items| {
            let set = Set::of(set);
            items.iter().all(|item| set.contains(*item))
        })
    },
};

pub static ANY: Plain = Plain {
    record: Record {
        name: "hasAny",
        summary: "Whether an element of the second array occurs in the first.",
        syntax: "hasAny(arr1, arr2)",
        examples: &[Example { sql: "SELECT hasAny([1, 2], [2, 5]), hasAny([1], [])", result: "1\t0" }],
        search: Search::AnyElement,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        each_row(call, |set, items| {
            let set = Set::of(set);
            items.iter().any(|item| set.contains(*item))
        })
    },
};

pub static SUBSTR: Plain = Plain {
    record: Record {
        name: "hasSubstr",
        summary: "Whether the elements of the second array occur in the first one after the other.",
        syntax: "hasSubstr(arr1, arr2)",
        examples: &[Example {
            sql: "SELECT hasSubstr([1, 2, 3], [2, 3]), hasSubstr([1, 2, 3], [1, 3])",
            result: "1\t0",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        each_row(call, |whole, part| {
            part.is_empty() || whole.windows(part.len()).any(|window| window == part)
        })
    },
};

/// Short arrays are looked through, long ones hashed.
enum Set<'a> {
    Few(&'a [u64]),
    Many(HashSet<u64>),
}

impl<'a> Set<'a> {
    fn of(numbers: &'a [u64]) -> Set<'a> {
        if numbers.len() <= 16 { Set::Few(numbers) } else { Set::Many(numbers.iter().copied().collect()) }
    }

    fn contains(&self, number: u64) -> bool {
        match self {
            Set::Few(numbers) => numbers.contains(&number),
            Set::Many(numbers) => numbers.contains(&number),
        }
    }
}

/// The type in which elements compare.
struct Common(DataType);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    all_arrays(name, args)?;
    let types: Vec<DataType> = args.iter().map(|arg| arg.ty.element().unwrap_or(DataType::Nothing)).collect();
    Ok(Bound::with_state(DataType::UInt8, Common(common_supertype(&types)?)))
}

fn each_row(call: &Call, test: impl Fn(&[u64], &[u64]) -> bool) -> Result<Column> {
    let Common(common) = call.state()?;
    let (a, b) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    let own = |index: usize| call.args[index].ty.element().unwrap_or(DataType::Nothing);
    let left = widen(&a.values, &own(0), common, call.ctx)?;
    let right = widen(&b.values, &own(1), common, call.ctx)?;
    let numbers = ids(&Vector::concat(&[&left, &right]));
    let (x, y) = numbers.split_at(left.len());
    let answers = a.ranges().zip(b.ranges()).map(|(r, s)| u8::from(test(&x[r], &y[s])));
    Ok(Vector::from(answers.collect::<Vec<u8>>()).into())
}
