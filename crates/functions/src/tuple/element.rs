//! `tupleElement`: one element of a tuple, or of all tuples of an array, by number or name.

use crate::plain::Plain;
use crate::several::subcolumn;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, List, Vector, qbit};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::{DataType, QBitType, TupleField, Value};
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "tupleElement",
        part_by_name: true,
        several_types: SeveralTypes::Seen,
        summary: "The element of a tuple that has the given number or name; negative numbers count from the end. Of an array of tuples, the array of their elements. Without such an element, the default value if one is given.",
        syntax: "tupleElement(tuple, index_or_name[, default])",
        examples: &[Example {
            sql: "SELECT tupleElement((1, 'a'), 2), tupleElement([(1, 2), (3, 4)], -1), tupleElement((1, 2), 3, 'none')",
            result: "a\t[2,4]\tnone",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::InTypes,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// What `bind` found: the number of the element from 0, or that the default is the result.
struct Found(Option<usize>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    if let (Some(Value::Bytes(path)), true) = (&args[1].constant, args[0].ty.contains_several_types())
        && let Some((access, result)) = subcolumn::plan(&args[0].ty, &String::from_utf8_lossy(path))
    {
        return Ok(Bound::with_state(result, access));
    }
    let mut depth = 0;
    let mut ty = args[0].ty.without_low_cardinality();
    while let DataType::Array(inner) = ty {
        depth += 1;
        ty = inner;
    }
    if let DataType::QBit(vectors) = ty {
        let plane = (0..depth).fold(vectors.plane_type(), |ty, _| ty.array());
        return match position_of_plane(*vectors, args[1].constant.as_ref(), args.len() == 3)? {
            Some(index) => Ok(Bound::with_state(plane, Found(Some(index)))),
            None => Ok(Bound::with_state(args[2].ty.clone(), Found(None))),
        };
    }
    ensure!(
        !matches!(ty.without_nullable(), DataType::QBit(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument for function tupleElement cannot be Nullable(QBit). Actual {}",
        args[0].ty
    );
    let (DataType::Tuple(fields), nullable) = (ty.without_nullable(), ty.is_nullable()) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function tupleElement must be Tuple, Nullable(Tuple), QBit, JSON, Nullable(JSON) or array of these. Actual {}",
            args[0].ty
        );
    };
    match position(fields, args[1].constant.as_ref(), args.len() == 3)? {
        Some(index) => {
            let mut result = fields[index].ty.clone();
            if nullable {
                result = result.nullable();
            }
            let result = (0..depth).fold(result, |ty, _| ty.array());
            Ok(Bound::with_state(result, Found(Some(index))))
        }
        None => Ok(Bound::with_state(args[2].ty.clone(), Found(None))),
    }
}

/// The number of a plane, from 0.
fn position_of_plane(ty: QBitType, wanted: Option<&Value>, has_default: bool) -> Result<Option<usize>> {
    let index = match wanted {
        Some(Value::UInt(index)) => *index,
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Second argument to tupleElement must be a constant UInt"),
    };
    let found = (1..=ty.planes() as u64).contains(&index).then(|| index as usize - 1);
    ensure!(
        found.is_some() || has_default,
        ARGUMENT_OUT_OF_BOUND,
        "QBit doesn't have an element with index '{index}'"
    );
    Ok(found)
}

fn position(fields: &[TupleField], wanted: Option<&Value>, has_default: bool) -> Result<Option<usize>> {
    let n = fields.len() as i64;
    let found = match wanted {
        Some(Value::Bytes(name)) => {
            let named = |f: &TupleField| f.name.as_ref().is_some_and(|own| own.as_bytes() == &name[..]);
            match fields.iter().position(named) {
                None if !has_default => bail!(
                    BAD_ARGUMENTS,
                    "Tuple doesn't have element with name '{}'",
                    String::from_utf8_lossy(name)
                ),
                found => found,
            }
        }
        Some(value @ (Value::UInt(_) | Value::Int(_))) => {
            let index = match value.as_i64() {
                Some(index) if (1..=n).contains(&index) => Some(index - 1),
                Some(index) if (-n..0).contains(&index) => Some(n + index),
                _ => None,
            };
            if index.is_none() && !has_default {
                let shown = value.as_i256().unwrap_or_default();
                bail!(ARGUMENT_OUT_OF_BOUND, "Tuple doesn't have element with index '{shown}'");
            }
            index.map(|index| index as usize)
        }
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument to tupleElement must be a constant Int, UInt or String"
        ),
    };
    Ok(found)
}

fn execute(call: &Call) -> Result<Column> {
    if let Ok(access) = call.state::<subcolumn::Access>() {
        return Ok(subcolumn::access(call.vector(0), call.args[0].ty, access)?.into());
    }
    let Found(index) = call.state()?;
    Ok(match index {
        Some(index) => element(call.vector(0), call.args[0].ty, *index)?.into(),
        None => call.vector(2).clone().into(),
    })
}

fn element(vector: &Vector, ty: &DataType, index: usize) -> Result<Vector> {
    match ty.without_low_cardinality() {
        DataType::Array(inner) => {
            let List { offsets, values } = vector.list()?;
            let values = Arc::new(element(values, inner, index)?);
            Ok(Data::List(List { offsets: offsets.clone(), values }).into())
        }
        DataType::QBit(vectors) => Ok(Data::Fixed(qbit::plane(vector.fixed()?, *vectors, index)).into()),
        tuple => {
            let field = vector.structure()?.fields[index].clone();
            let DataType::Tuple(fields) = tuple.without_nullable() else { return Ok(field) };
            let takes_nulls = fields[index].ty.clone().nullable().is_nullable();
            Ok(if takes_nulls { field.with_nulls(vector.validity.as_ref()) } else { field })
        }
    }
}
