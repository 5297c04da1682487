//! `tupleNames` and `tupleToNameValuePairs`: the names of a tuple's elements.

use crate::lists::{even_offsets, interleave, list};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Strings, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::{DataType, TupleField};

pub static NAMES: Plain = Plain {
    record: Record {
        name: "tupleNames",
        summary: "The names of a tuple's elements; their numbers when they have none.",
        syntax: "tupleNames(tuple)",
        examples: &[Example {
            sql: "SELECT tupleNames((1, 2)::Tuple(a UInt8, b UInt8))",
            result: "['a','b']",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        fields_of(name, args)?;
        Ok(DataType::String.array().into())
    },
    execute: |call| {
        let names = names(call)?;
        let len = names.len();
        Ok(Column::constant(list(even_offsets(1, len), Vector::from(names)), call.n_rows))
    },
};

pub static PAIRS: Plain = Plain {
    record: Record {
        name: "tupleToNameValuePairs",
        summary: "The names and values of a tuple's elements as an array of pairs; all elements need one type.",
        syntax: "tupleToNameValuePairs(tuple)",
        examples: &[Example {
            sql: "SELECT tupleToNameValuePairs((1, 2)::Tuple(a UInt8, b UInt8))",
            result: "[('a',1),('b',2)]",
        }],
        total: true,
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: bind_pairs,
    execute: |call| {
        let names = names(call)?;
        let vector = call.vector(0);
        let mut values = vector.structure()?.fields.clone();
        if let (Some(validity), DataType::Array(pair)) = (&vector.validity, call.result)
            && matches!(&**pair, DataType::Tuple(pair) if pair[1].ty.is_nullable())
        {
            values = values.into_iter().map(|value| value.with_nulls(Some(validity))).collect();
        }
        let values = &values;
        let n = names.len();
        let repeated: Vec<Vector> = (0..n).map(|i| Vector::from(names.slice(i, 1))).collect();
        let fields = vec![interleave(&repeated, call.n_rows), interleave(values, call.n_rows)];
        let pairs = Data::Struct(Struct { fields, len: n * call.n_rows });
        Ok(list(even_offsets(call.n_rows, n), pairs.into()).into())
    },
};

fn fields_of<'a>(name: &str, args: &'a [Argument]) -> Result<&'a [TupleField]> {
    check_arity(name, args.len(), 1..=1)?;
    match args[0].ty.without_nullable() {
        DataType::Tuple(fields) => Ok(fields),
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "The argument of function {name} should be a tuple, got {ty}"),
    }
}

fn bind_pairs(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let fields = fields_of(name, args)?;
    ensure!(
        !fields.is_empty(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The argument tuple for function {name} must not be empty"
    );
    ensure!(
        fields.iter().all(|field| field.ty == fields[0].ty),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The argument tuple for function {name} must contain just one type"
    );
    let value = &fields[0].ty;
    let nullable = args[0].ty.is_nullable() && value.can_be_nullable();
    let value = if nullable { value.clone().nullable() } else { value.clone() };
    Ok(DataType::tuple([DataType::String, value]).array().into())
}

fn names(call: &Call) -> Result<Strings> {
    let DataType::Tuple(fields) = call.args[0].ty.without_nullable() else {
        bail!(LOGICAL_ERROR, "Not a tuple")
    };
    let name = |(index, field): (usize, &TupleField)| {
        field.name.as_ref().map_or_else(|| (index + 1).to_string(), |name| name.to_string())
    };
    Ok(fields.iter().enumerate().map(name).collect())
}
