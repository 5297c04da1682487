//! `flattenTuple`: a tuple of named tuples as one tuple with dotted names.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, TupleField};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "flattenTuple",
        summary: "A named tuple whose elements that are tuples are replaced by their elements, under names with points.",
        syntax: "flattenTuple(tuple)",
        examples: &[Example {
            sql: "SELECT flattenTuple((1, (2, 3))::Tuple(a UInt8, b Tuple(c UInt8, d UInt8)))",
            result: "(1,2,3)",
        }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let DataType::Tuple(fields) = &args[0].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument for function '{name}' must be Tuple or Nullable(Tuple). Got '{}'",
            args[0].ty
        );
    };
    ensure!(
        fields.iter().all(|field| field.name.is_some()),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Tuple argument for function '{name}' must be named. Got '{}'",
        args[0].ty
    );
    let mut flat = Vec::new();
    collect_types("", fields, &mut flat);
    Ok(DataType::Tuple(flat.into()).into())
}

/// Only named tuples are taken apart.
fn is_named(fields: &[TupleField]) -> bool {
    !fields.is_empty() && fields.iter().all(|field| field.name.is_some())
}

fn collect_types(prefix: &str, fields: &[TupleField], out: &mut Vec<TupleField>) {
    for field in fields {
        let own = field.name.as_deref().unwrap_or_default();
        let name = if prefix.is_empty() { own.to_string() } else { format!("{prefix}.{own}") };
        match &field.ty {
            DataType::Tuple(inner) if is_named(inner) => collect_types(&name, inner, out),
            ty => out.push(TupleField { name: Some(name.into()), ty: ty.clone() }),
        }
    }
}

fn collect_vectors(fields: &[TupleField], vectors: &[Vector], out: &mut Vec<Vector>) -> Result<()> {
    for (field, vector) in fields.iter().zip(vectors) {
        match &field.ty {
            DataType::Tuple(inner) if is_named(inner) => {
                collect_vectors(inner, &vector.structure()?.fields, out)?
            }
            _ => out.push(vector.clone()),
        }
    }
    Ok(())
}

fn execute(call: &Call) -> Result<Column> {
    let mut flat = Vec::new();
    if let DataType::Tuple(fields) = call.args[0].ty {
        collect_vectors(fields, &call.vector(0).structure()?.fields, &mut flat)?;
    }
    Ok(Vector::from(Data::Struct(Struct { fields: flat, len: call.n_rows })).into())
}
