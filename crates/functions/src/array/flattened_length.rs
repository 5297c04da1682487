//! `arrayFlattenedLength`: how many elements `arrayFlatten` would give.

use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayFlattenedLength",
        summary: "The number of the innermost elements of an array of arrays.",
        syntax: "arrayFlattenedLength(arr)",
        examples: &[Example { sql: "SELECT arrayFlattenedLength([[[1]], [[2], [3, 4]]])", result: "4" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    match &args[0].ty {
        DataType::Array(_) => Ok(DataType::UInt64.into()),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function {name}, expected Array"
        ),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let outer = list_of(&call.args[0], call.n_rows)?;
    let mut offsets = outer.offsets.to_vec();
    let (mut values, mut ty) = (outer.values, call.args[0].ty);
    while let DataType::Array(inner) = ty
        && let DataType::Array(_) = **inner
    {
        let below = values.list()?.normalised();
        offsets.iter_mut().for_each(|offset| *offset = below.offsets[*offset as usize]);
        values = below.values;
        ty = inner;
    }
    let lengths: Vec<u64> = offsets.windows(2).map(|bounds| (bounds[1] - bounds[0]) as u64).collect();
    Ok(Vector::from(lengths).into())
}
