//! `arrayEnumerate`, `arrayEnumerateUniq`, `arrayEnumerateDense`: positions, counts of occurrences and first
//! occurrences of elements.

use super::uniq::element_numbers;
use crate::distinct::Distinct;
use crate::lists::{array_element, list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Context, Example, Record};
use chalet_types::DataType;

pub static PLAIN: Plain = Plain {
    record: Record {
        name: "arrayEnumerate",
        summary: "The positions of the elements of an array, from 1.",
        syntax: "arrayEnumerate(arr)",
        examples: &[Example { sql: "SELECT arrayEnumerate(['a', 'b', 'c'])", result: "[1,2,3]" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| {
        check_arity(name, args.len(), 1..=1)?;
        bind(name, args, ctx)
    },
    execute: |call| {
        let list = list_of(&call.args[0], call.n_rows)?;
        let mut positions: Vec<u32> = Vec::with_capacity(list.values.len());
        list.ranges().for_each(|range| positions.extend(1..=range.len() as u32));
        Ok(lists(list.offsets.to_vec(), positions))
    },
};

pub static UNIQ: Plain = Plain {
    record: Record {
        name: "arrayEnumerateUniq",
        summary: "For every element how often its value has occurred up to there. Several arrays of one length are taken as an array of tuples.",
        syntax: "arrayEnumerateUniq(arr1, ...)",
        examples: &[Example { sql: "SELECT arrayEnumerateUniq([10, 20, 10, 30])", result: "[1,1,2,1]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (offsets, numbers) = element_numbers(call)?;
        Ok(lists(offsets.clone(), occurrences(&offsets, &numbers)))
    },
};

pub static DENSE: Plain = Plain {
    record: Record {
        name: "arrayEnumerateDense",
        summary: "For every element the number of its value in the order of first occurrence, from 1.",
        syntax: "arrayEnumerateDense(arr1, ...)",
        examples: &[Example { sql: "SELECT arrayEnumerateDense([10, 20, 10, 30])", result: "[1,2,1,3]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (offsets, numbers) = element_numbers(call)?;
        Ok(lists(offsets.clone(), dense(&offsets, &numbers)))
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function {name} doesn't match: passed 0, should be at least 1"
    );
    (0..args.len()).try_for_each(|index| array_element(name, args, index).map(drop))?;
    Ok(DataType::UInt32.array().into())
}

fn lists(offsets: Vec<i64>, values: Vec<u32>) -> Column {
    list(offsets, Vector::from(values)).into()
}

/// How often each number occurred before and at its place, counted within each of the ranges.
pub fn occurrences(offsets: &[i64], numbers: &[u64]) -> Vec<u32> {
    let mut out = Vec::with_capacity(numbers.len());
    let (mut seen, mut counts) = (Distinct::default(), Vec::new());
    for window in offsets.windows(2) {
        seen.clear();
        counts.clear();
        for number in &numbers[window[0] as usize..window[1] as usize] {
            let place = seen.insert(*number);
            counts.resize(seen.n_numbers(), 0u32);
            counts[place] += 1;
            out.push(counts[place]);
        }
    }
    out
}

/// The ranks of numbers by first occurrence, within each of the ranges.
pub fn dense(offsets: &[i64], numbers: &[u64]) -> Vec<u32> {
    let mut out = Vec::with_capacity(numbers.len());
    let mut seen = Distinct::default();
    for window in offsets.windows(2) {
        seen.clear();
        let numbers = &numbers[window[0] as usize..window[1] as usize];
        out.extend(numbers.iter().map(|number| seen.insert(*number) as u32 + 1));
    }
    out
}
