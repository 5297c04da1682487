//! `nested`: arrays of equal lengths as one array of named tuples.

use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, List, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record};
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "nested",
        summary: "Arrays of equal lengths as an array of tuples, whose fields have the names of the first argument.",
        syntax: "nested(names, array1[, array2, ...])",
        examples: &[Example {
            sql: "SELECT nested(['keys', 'values'], ['a', 'b'], [1, 2])",
            result: "[('a',1),('b',2)]",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::InTypes,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {}, should be at least 2",
        args.len()
    );
    let Some(Value::Array(names)) = &args[0].constant else {
        let ty = &args[0].ty;
        if *ty == DataType::String.array() {
            bail!(ILLEGAL_COLUMN, "First argument for function {name} must be constant array of Strings");
        }
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be constant array of Strings, got {ty}"
        );
    };
    let names: Option<Vec<&str>> = names.iter().map(Value::as_str).collect();
    let names = names.ok_or_else(|| {
        err!(ILLEGAL_TYPE_OF_ARGUMENT, "First argument for function {name} must be constant array of Strings")
    })?;
    ensure!(
        names.len() == args.len() - 1,
        BAD_ARGUMENTS,
        "Sizes of nested columns names and number of arrays for function {name} do not match"
    );
    ensure!(
        args.len() >= 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {}, should be at least 2",
        args.len()
    );
    let field = |(name, arg): (&&str, &Argument)| match &arg.ty {
        DataType::Array(element) => {
            Ok(TupleField { name: Some((*name).into()), ty: DataType::clone(element) })
        }
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Argument of function nested must be an array, got {ty}"),
    };
    let fields = names.iter().zip(&args[1..]).map(field).collect::<Result<_>>()?;
    Ok(DataType::Tuple(fields).array().into())
}

fn execute(call: &Call) -> Result<Column> {
    let lists = call.args[1..].iter().map(|arg| list_of(arg, call.n_rows)).collect::<Result<Vec<_>>>()?;
    let (first, others) = lists.split_first().ok_or_else(|| err!(LOGICAL_ERROR, "No array is nested"))?;
    for other in others {
        ensure!(
            other.offsets[..] == first.offsets[..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "The arrays passed to function nested must have equal sizes"
        );
    }
    let fields = lists.iter().map(|list| Vector::clone(&list.values)).collect();
    let values = Vector::from(Data::Struct(Struct { fields, len: first.values.len() }));
    Ok(Vector::from(Data::List(List { offsets: first.offsets.clone(), values: Arc::new(values) })).into())
}
