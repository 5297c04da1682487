//! `tupleConcat`: the elements of several tuples as one tuple.

use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "tupleConcat",
        summary: "The elements of all tuples, in order, as one tuple without names.",
        syntax: "tupleConcat(tuple1, tuple2, ...)",
        examples: &[Example { sql: "SELECT tupleConcat((1, 2), ('a',))", result: "(1,2,'a')" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    let mut types = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        match &arg.ty {
            DataType::Tuple(fields) => types.extend(fields.iter().map(|field| field.ty.clone())),
            ty => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as argument {} 'tupleN' to function '{name}'. Expected: Tuple, got: {ty}",
                index + 1
            ),
        }
    }
    Ok(DataType::tuple(types).into())
}

fn execute(call: &Call) -> Result<Column> {
    let mut fields = Vec::new();
    for arg in call.args {
        let own = if arg.constant { arg.vector.repeat(call.n_rows) } else { Vector::clone(&arg.vector) };
        fields.extend(own.structure()?.fields.iter().cloned());
    }
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}
