//! `variantElement`, `dynamicElement`: the values of one type; NULL or the default for the others.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, List, Vector, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const BASE: Record = Record {
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    several_types: SeveralTypes::Seen,
    ..Record::DEFAULT
};

pub static VARIANT_ELEMENT: Plain = Plain {
    record: Record {
        name: "variantElement",
        summary: "The values of one type of a Variant; others are NULL, or the default of a type that cannot be Nullable. Of a value that is no Variant, the default if one is given.",
        syntax: "variantElement(variant, 'Type'[, default])",
        examples: &[Example {
            sql: "SELECT variantElement('5'::Variant(String, UInt64), 'UInt64'), variantElement('a'::Variant(String, UInt64), 'UInt64')",
            result: "5\t\\N",
        }],
        ..BASE
    },
    bind: bind_variant,
    execute,
};

pub static DYNAMIC_ELEMENT: Plain = Plain {
    record: Record {
        name: "dynamicElement",
        summary: "The values of one type of a Dynamic; others are NULL, or the default of a type that cannot be Nullable.",
        syntax: "dynamicElement(dynamic, 'Type')",
        examples: &[Example { sql: "SELECT dynamicElement(5::Int64::Dynamic, 'Int64')", result: "5" }],
        ..BASE
    },
    bind: bind_dynamic,
    execute,
};

/// What `bind` found: the type whose values are wanted.
struct Wanted(DataType);

fn name_of<'a>(function: &str, args: &'a [Argument]) -> Result<&'a str> {
    args[1].constant.as_ref().and_then(Value::as_str).ok_or_else(|| {
        err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument of {function} must be a constant String with the name of a type"
        )
    })
}

/// How deep in arrays the values are, and their type.
fn below_arrays(mut ty: &DataType) -> (usize, &DataType) {
    let mut depth = 0;
    while let DataType::Array(inner) = ty {
        depth += 1;
        ty = inner;
    }
    (depth, ty)
}

fn bind_variant(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let (depth, ty) = below_arrays(&args[0].ty);
    let Some(types) = ty.alternatives() else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'variant' to function '{name}'. Expected: Variant or Array of \
             Variant, got: {}",
            args[0].ty
        );
    };
    let wanted = name_of(name, args)?;
    let found = wanted.parse::<DataType>().ok().filter(|found| types.number_of(found).is_some());
    match (found, args.get(2)) {
        (Some(found), _) => {
            let result = (0..depth).fold(variant::element_type(&found), |ty, _| ty.array());
            Ok(Bound::with_state(result, Some(Wanted(found))))
        }
        (None, Some(default)) => Ok(Bound::with_state(default.ty.clone(), None::<Wanted>)),
        (None, None) => {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{ty} doesn't contain variant with type {wanted}")
        }
    }
}

fn bind_dynamic(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let (depth, ty) = below_arrays(&args[0].ty);
    ensure!(
        matches!(ty, DataType::Dynamic(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument for function {name} must be Dynamic or Array of Dynamics. Actual {}",
        args[0].ty
    );
    let wanted: DataType = name_of(name, args)?.parse()?;
    let result = (0..depth).fold(variant::element_type(&wanted), |ty, _| ty.array());
    Ok(Bound::with_state(result, Some(Wanted(wanted))))
}

fn execute(call: &Call) -> Result<Column> {
    let wanted: &Option<Wanted> = call.state()?;
    Ok(match wanted {
        Some(Wanted(ty)) => element(call.vector(0), call.args[0].ty, ty)?.into(),
        None => call.vector(2).clone().into(),
    })
}

fn element(vector: &Vector, of: &DataType, wanted: &DataType) -> Result<Vector> {
    let DataType::Array(inner) = of else {
        return variant::element(vector, of, wanted);
    };
    let List { offsets, values } = vector.list()?;
    let values = Arc::new(element(values, inner, wanted)?);
    Ok(Data::List(List { offsets: offsets.clone(), values }).into())
}
