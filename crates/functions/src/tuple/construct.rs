//! `tuple`: a tuple of its arguments.

use crate::plain::Plain;
use chalet_base::Result;
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::{DataType, TupleField};

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

fn bind(_: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    if ctx.settings.enable_named_columns_in_function_tuple && are_names(args) {
        let fields = args.iter().map(|arg| TupleField { name: Some(arg.name.clone()), ty: arg.ty.clone() });
        return Ok(DataType::Tuple(fields.collect()).into());
    }
    Ok(DataType::tuple(args.iter().map(|arg| arg.ty.clone())).into())
}

/// Can all arguments be told apart by their names, written without quotes?
fn are_names(args: &[Argument]) -> bool {
    let is_name = |name: &str| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let is_repeated = |at: usize| args[..at].iter().any(|before| before.name == args[at].name);
    !args.is_empty() && args.iter().enumerate().all(|(at, arg)| is_name(&arg.name) && !is_repeated(at))
}

fn execute(call: &Call) -> Result<Column> {
    let fields = call.args.iter().map(|arg| arg.vector.clone().into_owned()).collect();
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}
