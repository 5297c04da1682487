//! `flipCoordinates`: every point with its coordinates swapped.

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Data, List, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "flipCoordinates",
        summary: "A point, ring, polygon or multipolygon with the two coordinates of every point swapped.",
        syntax: "flipCoordinates(geometry)",
        examples: &[Example {
            sql: "SELECT flipCoordinates([(10., 20.), (30., 40.)])",
            result: "[(20,10),(40,30)]",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        let mut inner = &args[0].ty;
        for _ in 0..3 {
            if let DataType::Array(element) = inner {
                inner = element;
            }
        }
        let DataType::Tuple(fields) = inner else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {name}. Expected Point (Tuple), Ring (Array(Point)), Polygon (Array(Ring)), or \
                 MultiPolygon (Array(Polygon))",
                args[0].ty
            );
        };
        ensure!(
            fields.len() == 2,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} expects all Tuple elements to have exactly 2 values (x, y), but found a Tuple with {} elements",
            fields.len()
        );
        for (i, field) in fields.iter().enumerate() {
            ensure!(
                field.ty == DataType::Float64,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Function {name} expects tuple elements to be Float64, but element {} has type {}",
                i + 1,
                field.ty
            );
        }
        Ok(args[0].ty.clone().into())
    },
    execute: |call: &Call| Ok(flipped(call.vector(0))?.into()),
};

fn flipped(vector: &Vector) -> Result<Vector> {
    let data = match &vector.data {
        Data::List(list) => {
            Data::List(List { offsets: list.offsets.clone(), values: Arc::new(flipped(&list.values)?) })
        }
        _ => {
            let points = vector.structure()?;
            Data::Struct(Struct { fields: points.fields.iter().rev().cloned().collect(), len: points.len })
        }
    };
    Ok(Vector::from(data))
}
