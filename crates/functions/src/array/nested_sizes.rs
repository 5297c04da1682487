//! `validateNestedArraySizes`: are arrays that stand for one table of equal lengths where a condition holds?

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "validateNestedArraySizes",
        summary: "1; fails where the condition is true and the arrays are not all of one length.",
        syntax: "validateNestedArraySizes(condition, array, array, ...)",
        examples: &[Example { sql: "SELECT validateNestedArraySizes(1, [1, 2], ['a', 'b'])", result: "1" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        args.len() > 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs more than two arguments; passed {}",
        args.len()
    );
    let condition = &args[0].ty;
    ensure!(
        condition.is_integer() || *condition == DataType::Bool,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {condition} of first argument of function {name} Must be UInt"
    );
    for (index, arg) in args.iter().enumerate().skip(1) {
        ensure!(
            matches!(arg.ty, DataType::Array(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of {index} argument of function {name} Must be Array",
            arg.ty
        );
    }
    Ok(DataType::UInt8.into())
}

fn execute(call: &Call) -> Result<Column> {
    let condition = call.vector(0);
    let default = Vector::defaults(call.args[0].ty, 1).value(0);
    let lists: Vec<_> = (1..call.args.len()).map(|index| call.vector(index).list()).collect::<Result<_>>()?;
    for row in 0..call.n_rows {
        if condition.value(row) == default {
            continue;
        }
        let length = |index: usize| lists[index].range(row).len();
        if let Some(other) = (1..lists.len()).find(|index| length(*index) != length(0)) {
            bail!(
                SIZES_OF_ARRAYS_DONT_MATCH,
                "Elements 1 and {} of Nested data structure (Array columns) have different array sizes ({} and {} respectively) on \
                 row {row}",
                other + 1,
                length(0),
                length(other)
            );
        }
    }
    Ok(Vector::from(vec![1u8; call.n_rows]).into())
}
