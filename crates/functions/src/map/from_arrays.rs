//! `mapFromArrays`: a map of an array of keys and an array of values.

use super::concat::map_column;
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "mapFromArrays",
        any_case_aliases: &["MAP_FROM_ARRAYS"],
        summary: "A map of the keys and values of two arrays of one length.",
        syntax: "mapFromArrays(keys, values)",
        examples: &[Example { sql: "SELECT mapFromArrays(['a', 'b'], [1, 2])", result: "{'a':1,'b':2}" }],
        dictionaries: Dictionaries::InTypes,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let element = |index: usize| match &args[index].ty {
        DataType::Map(key, value) => Some(DataType::tuple([DataType::clone(key), DataType::clone(value)])),
        other => other.element(),
    };
    let (Some(key), Some(value)) = (element(0), element(1)) else {
        chalet_base::bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Arguments of function {name} must be arrays or maps, got {} and {}",
            args[0].ty,
            args[1].ty
        );
    };
    Ok(DataType::map(key.without_nullable().clone(), value).into())
}

fn execute(call: &Call) -> Result<Column> {
    let (keys, values) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    ensure!(
        keys.offsets[..] == values.offsets[..],
        SIZES_OF_ARRAYS_DONT_MATCH,
        "Two arguments of function mapFromArrays must have equal sizes"
    );
    let only_null = call.args[0].ty.element().is_some_and(|ty| ty.is_only_null());
    ensure!(
        (keys.values.is_empty() || !only_null) && keys.values.null_count() == 0,
        BAD_ARGUMENTS,
        "The nested column of first argument in function mapFromArrays must not contain NULLs"
    );
    Ok(map_column(keys.offsets.to_vec(), keys.values.without_nulls(), values.values.as_ref().clone()))
}
