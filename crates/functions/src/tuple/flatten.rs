//! `flattenTuple`: a tuple of tuples, also in arrays, as one tuple with dotted names.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, List, NullBuffer, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, TupleField};
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "flattenTuple",
        summary: "A named tuple whose elements that are tuples, or arrays of tuples, are replaced by their elements, under names with points.",
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
    ensure!(!fields.is_empty(), ILLEGAL_TYPE_OF_ARGUMENT, "Tuple cannot be empty for function '{name}'");
    ensure!(
        fields.iter().all(|field| field.name.is_some()),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Tuple argument for function '{name}' must be named. Got '{}'",
        args[0].ty
    );
    let mut flat: Vec<TupleField> = Vec::new();
    collect_types("", fields, 0, &mut flat);
    for (index, field) in flat.iter().enumerate() {
        ensure!(
            flat[..index].iter().all(|before| before.name != field.name),
            DUPLICATE_COLUMN,
            "Names of tuple elements must be unique. Duplicate name: {}",
            field.name.as_deref().unwrap_or_default()
        );
    }
    Ok(DataType::Tuple(flat.into()).into())
}

/// The tuple in arrays of arrays, and how many arrays are around it; a tuple that may be NULL counts as one.
fn tuple_in_arrays(ty: &DataType) -> Option<(&[TupleField], usize)> {
    match ty {
        DataType::Tuple(fields) => Some((fields, 0)),
        DataType::Nullable(inner) => match &**inner {
            DataType::Tuple(fields) => Some((fields, 0)),
            _ => None,
        },
        DataType::Array(element) => tuple_in_arrays(element).map(|(fields, arrays)| (fields, arrays + 1)),
        _ => None,
    }
}

/// `arrays`: of the tuple whose fields these are; each of its elements is in as many.
fn collect_types(prefix: &str, fields: &[TupleField], arrays: usize, out: &mut Vec<TupleField>) {
    for (index, field) in fields.iter().enumerate() {
        let own = field.name.as_deref().map_or_else(|| (index + 1).to_string(), str::to_string);
        let name = if prefix.is_empty() { own } else { format!("{prefix}.{own}") };
        match tuple_in_arrays(&field.ty) {
            Some((inner, more)) => collect_types(&name, inner, arrays + more, out),
            None => {
                let ty = (0..arrays).fold(field.ty.clone(), |ty, _| ty.array());
                out.push(TupleField { name: Some(name.into()), ty });
            }
        }
    }
}

/// `around`: the arrays that the elements are in, the outermost first.
fn collect_vectors(
    fields: &[TupleField],
    vectors: &[Vector],
    around: &[List],
    out: &mut Vec<Vector>,
) -> Result<()> {
    for (field, vector) in fields.iter().zip(vectors) {
        let Some((inner, arrays)) = tuple_in_arrays(&field.ty) else {
            out.push(around.iter().rev().fold(vector.clone(), |values, list| {
                Vector::from(Data::List(List { offsets: list.offsets.clone(), values: Arc::new(values) }))
            }));
            continue;
        };
        let mut around = around.to_vec();
        let mut vector = vector.clone();
        for _ in 0..arrays {
            let list = vector.list()?.normalised();
            vector = Vector::clone(&list.values);
            around.push(list);
        }
        let fields = &vector.structure()?.fields;
        let of_nulls = |field: &TupleField, values: &Vector| match &vector.validity {
            Some(validity) => defaults_for_nulls(values, validity, &field.ty),
            None => values.clone(),
        };
        let fields: Vec<Vector> = inner.iter().zip(fields).map(|(f, values)| of_nulls(f, values)).collect();
        collect_vectors(inner, &fields, &around, out)?;
    }
    Ok(())
}

/// The values, and the default of the type where the tuple around is NULL.
fn defaults_for_nulls(values: &Vector, validity: &NullBuffer, ty: &DataType) -> Vector {
    let n = values.len();
    let with_default = Vector::concat(&[values, &Vector::defaults(ty, 1)]);
    let rows: Vec<u32> =
        (0..n).map(|row| if validity.is_null(row) { n as u32 } else { row as u32 }).collect();
    with_default.gather(&rows)
}

fn execute(call: &Call) -> Result<Column> {
    let mut flat = Vec::new();
    if let DataType::Tuple(fields) = call.args[0].ty {
        collect_vectors(fields, &call.vector(0).structure()?.fields, &[], &mut flat)?;
    }
    Ok(Vector::from(Data::Struct(Struct { fields: flat, len: call.n_rows })).into())
}
