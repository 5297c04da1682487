//! `arrayConcat`: arrays one after the other.

use crate::lists::{list, list_of, result_element};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::{Result, bail};
use chalet_columns::{Column, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Example, Record, ShownType};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayConcat",
        summary: "The elements of all arrays, in order, as one array of their common type.",
        syntax: "arrayConcat(arr1, arr2, ...)",
        examples: &[Example { sql: "SELECT arrayConcat([1, 2], [300], [])", result: "[1,2,300]" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args),
    execute,
};

/// Any number of arrays with a common type.
fn bind(name: &'static str, args: &[Argument]) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    all_arrays(name, args)?;
    Ok(common_supertype(&args.iter().map(|a| a.ty.clone()).collect::<Vec<_>>())?.into())
}

/// Fails unless all arguments are arrays.
pub fn all_arrays(name: &str, args: &[Argument]) -> Result<()> {
    for (index, arg) in args.iter().enumerate() {
        if !matches!(arg.ty, DataType::Array(_)) {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {index} for function {name} must be an array but it has type {}",
                arg.ty
            );
        }
    }
    Ok(())
}

/// The arrays of all arguments, their elements widened to a common type.
pub fn widened(call: &Call, element: &DataType) -> Result<Vec<(List, Vector)>> {
    let mut lists = Vec::with_capacity(call.args.len());
    for arg in call.args {
        let list = list_of(arg, call.n_rows)?;
        let values = match arg.ty {
            DataType::Array(own) => widen_element(&list.values, own, element, call.ctx)?,
            other => bail!(LOGICAL_ERROR, "{other} is not an array"),
        };
        lists.push((list, values));
    }
    Ok(lists)
}

fn execute(call: &Call) -> Result<Column> {
    let lists = widened(call, result_element(call)?)?;
    let mut starts = Vec::with_capacity(lists.len());
    let mut total = 0usize;
    for (_, values) in &lists {
        starts.push(total);
        total += values.len();
    }
    let joined = Vector::concat(&lists.iter().map(|(_, values)| values).collect::<Vec<_>>());
    let mut elements = Vec::with_capacity(total);
    let mut offsets = Vec::with_capacity(call.n_rows + 1);
    offsets.push(0);
    for row in 0..call.n_rows {
        for ((part, _), start) in lists.iter().zip(&starts) {
            elements.extend(part.range(row).map(|e| (start + e) as u32));
        }
        offsets.push(elements.len() as i64);
    }
    Ok(list(offsets, joined.gather(&elements)).into())
}
