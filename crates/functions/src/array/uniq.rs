//! `arrayUniq`: how many different elements an array has.

use crate::distinct::Distinct;
use crate::ids::{ids, paired};
use crate::lists::{array_element, list_of};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Call, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayUniq",
        summary: "The number of different elements of an array. Several arrays of one length are taken as an array of tuples.",
        syntax: "arrayUniq(arr1, ...)",
        examples: &[Example { sql: "SELECT arrayUniq([1, 1, 2])", result: "2" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=usize::MAX)?;
        (0..args.len()).try_for_each(|index| array_element(name, args, index).map(drop))?;
        Ok(DataType::UInt32.into())
    },
    execute,
};

fn execute(call: &Call) -> Result<Column> {
    let (offsets, numbers) = element_numbers(call)?;
    let mut seen = Distinct::default();
    let counts: Vec<u32> = offsets
        .windows(2)
        .map(|window| {
            seen.clear();
            for number in &numbers[window[0] as usize..window[1] as usize] {
                seen.insert(*number);
            }
            seen.n_numbers() as u32
        })
        .collect();
    Ok(Vector::from(counts).into())
}

/// Offsets and numbers of the elements of all arguments, taken as one array of tuples.
pub fn element_numbers(call: &Call) -> Result<(Vec<i64>, Vec<u64>)> {
    let first = list_of(&call.args[0], call.n_rows)?;
    let mut numbers = ids(&first.values);
    for arg in &call.args[1..] {
        let next = list_of(arg, call.n_rows)?;
        ensure!(
            next.offsets[..] == first.offsets[..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Lengths of all arrays passed to the function must be equal"
        );
        numbers = paired(numbers, &ids(&next.values));
    }
    Ok((first.offsets.to_vec(), numbers))
}
