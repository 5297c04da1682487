//! `variantType`, `dynamicType`, `isDynamicElementInSharedData`: the types of values.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder, Vector, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Call, Dictionaries, Example, Nulls, Record, SeveralTypes};
use chalet_types::{DataType, EnumValues};
use std::sync::Arc;

const BASE: Record = Record {
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    several_types: SeveralTypes::Seen,
    ..Record::DEFAULT
};

pub static VARIANT_TYPE: Plain = Plain {
    record: Record {
        name: "variantType",
        summary: "The name of the type of a Variant's value; `None` for NULL.",
        syntax: "variantType(variant)",
        examples: &[Example { sql: "SELECT variantType('a'::Variant(String, UInt64))", result: "String" }],
        ..BASE
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let Some(types) = args[0].ty.alternatives() else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "First argument for function {name} must be Variant, got {} instead",
                args[0].ty
            );
        };
        let named = types.iter().enumerate().map(|(i, ty)| (Arc::from(ty.to_string()), i as i16));
        let all = std::iter::once((Arc::from("None"), -1)).chain(named).collect();
        let names = Arc::new(EnumValues::new(all)?);
        Ok(if types.len() <= 127 { DataType::Enum8(names) } else { DataType::Enum16(names) }.into())
    },
    execute: |call| {
        let (vector, ty) = (call.vector(0), call.args[0].ty);
        let strings = vector.strings()?;
        let number = |row: usize| -> Result<i16> {
            if vector.is_null(row) {
                return Ok(-1);
            }
            Ok(variant::split(ty, strings.get(row))?.0.first().copied().map_or(-1, i16::from))
        };
        let numbers = (0..vector.len()).map(number).collect::<Result<Vec<i16>>>()?;
        Ok(match call.result {
            DataType::Enum8(_) => {
                Vector::from(numbers.into_iter().map(|x| x as i8).collect::<Vec<i8>>()).into()
            }
            _ => Vector::from(numbers).into(),
        })
    },
};

fn check_dynamic(name: &str, args: &[Argument]) -> Result<()> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        matches!(args[0].ty, DataType::Dynamic(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'dynamic' to function '{name}'. Expected: Dynamic, got: {}",
        args[0].ty
    );
    Ok(())
}

pub static DYNAMIC_TYPE: Plain = Plain {
    record: Record {
        name: "dynamicType",
        summary: "The name of the type of a Dynamic's value; `None` for NULL.",
        syntax: "dynamicType(dynamic)",
        examples: &[Example {
            sql: "SELECT dynamicType([1]::Array(UInt8)::Dynamic)",
            result: "Array(UInt8)",
        }],
        ..BASE
    },
    bind: |name, args, _| {
        check_dynamic(name, args)?;
        Ok(DataType::String.low_cardinality().into())
    },
    execute: dynamic_type,
};

fn dynamic_type(call: &Call) -> Result<Column> {
    let (vector, ty) = (call.vector(0), call.args[0].ty);
    let strings = vector.strings()?;
    let mut out = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        if vector.is_null(row) {
            out.push(b"None");
            continue;
        }
        let (tag, _) = variant::split(ty, strings.get(row))?;
        out.push(tag.strip_suffix(&[0]).unwrap_or(tag));
    }
    Ok(Vector::from(out.finish()).into())
}

pub static IS_IN_SHARED_DATA: Plain = Plain {
    record: Record {
        name: "isDynamicElementInSharedData",
        summary: "Is the value of a Dynamic of a type beyond those that the column keeps apart (its max_types)?",
        syntax: "isDynamicElementInSharedData(dynamic)",
        examples: &[Example { sql: "SELECT isDynamicElementInSharedData(1::Dynamic)", result: "false" }],
        ..BASE
    },
    bind: |name, args, _| {
        check_dynamic(name, args)?;
        Ok(DataType::Bool.into())
    },
    execute: in_shared_data,
};

/// A block's first types, in the order of its rows, are those kept apart. Which these were when the rows were inserted is not
/// remembered, so blocks with more types are refused unless none is kept apart at all.
fn in_shared_data(call: &Call) -> Result<Column> {
    let (vector, ty) = (call.vector(0), call.args[0].ty);
    let DataType::Dynamic(max_types) = ty else { bail!(LOGICAL_ERROR, "{ty} is not Dynamic") };
    let strings = vector.strings()?;
    let mut known: Vec<&[u8]> = Vec::new();
    let mut shared = Vec::with_capacity(vector.len());
    for row in 0..vector.len() {
        if vector.is_null(row) {
            shared.push(0u8);
            continue;
        }
        let (tag, _) = variant::split(ty, strings.get(row))?;
        if !known.contains(&tag) {
            known.push(tag);
        }
        shared.push(u8::from(*max_types == 0));
    }
    ensure!(
        *max_types == 0 || known.len() <= usize::from(*max_types),
        NOT_IMPLEMENTED,
        "isDynamicElementInSharedData of values of more than {max_types} types is not supported"
    );
    Ok(Vector::from(shared).into())
}
