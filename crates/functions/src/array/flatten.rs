//! `arrayFlatten`: arrays of arrays as one array.

use crate::lists::{list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, List};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayFlatten",
        any_case_aliases: &["flatten"],
        summary: "The innermost elements of an array of arrays, in order, as one array.",
        syntax: "arrayFlatten(arr)",
        examples: &[Example { sql: "SELECT arrayFlatten([[[1]], [[2], [3]]])", result: "[1,2,3]" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let mut result = &args[0].ty;
    while let DataType::Array(inner) = result
        && let DataType::Array(_) = **inner
    {
        result = inner;
    }
    match result {
        DataType::Array(_) => Ok(result.clone().without_name().into()),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}, expected Array"
        ),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let mut current = list_of(&call.args[0], call.n_rows)?;
    let mut ty = call.args[0].ty;
    while let DataType::Array(inner) = ty
        && let DataType::Array(_) = **inner
    {
        let below = current.values.list()?.normalised();
        let offsets = current.offsets.iter().map(|&o| below.offsets[o as usize]).collect();
        current = List { offsets, values: below.values };
        ty = inner;
    }
    Ok(list(current.offsets.to_vec(), current.values.as_ref().clone()).into())
}
