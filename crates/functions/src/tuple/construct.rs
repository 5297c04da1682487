//! `tuple`: a tuple of its arguments.

use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "tuple",
        several_types: SeveralTypes::Seen,
        summary: "A tuple of the arguments.",
        syntax: "tuple(x1, x2, ...)",
        examples: &[Example { sql: "SELECT tuple(1, 'a', NULL)", result: "(1,'a',NULL)" }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::InTypes,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(_: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    Ok(DataType::tuple(args.iter().map(|arg| arg.ty.clone())).into())
}

fn execute(call: &Call) -> Result<Column> {
    let fields = call.args.iter().map(|arg| arg.vector.clone().into_owned()).collect();
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}
