//! `arrayDistinct`: every element once, without NULL.

use crate::distinct::Distinct;
use crate::ids::ids;
use crate::lists::{array_element, gathered, list_of};
use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Call, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayDistinct",
        summary: "The elements of an array at their first occurrence, without NULL.",
        syntax: "arrayDistinct(arr)",
        examples: &[Example { sql: "SELECT arrayDistinct([3, 1, 3, NULL])", result: "[3,1]" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let element = array_element(name, args, 0)?.without_nullable().clone();
        // Elements that are always NULL leave an empty array, whose type the kernel keeps.
        if element == DataType::Nothing { Ok(args[0].ty.clone().into()) } else { Ok(element.array().into()) }
    },
    execute,
};

fn execute(call: &Call) -> Result<Column> {
    let list = list_of(&call.args[0], call.n_rows)?;
    let numbers = ids(&list.values);
    let mut elements = Vec::new();
    let mut offsets = vec![0];
    let mut seen = Distinct::default();
    for range in list.ranges() {
        seen.clear();
        let first = |&e: &usize| !list.values.is_null(e) && seen.is_new(numbers[e]);
        elements.extend(range.filter(first).map(|e| e as u32));
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &list.values.without_nulls(), &elements))
}
