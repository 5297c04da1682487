//! Columns of a file in the types of the table: wrappers are put on and taken off here, the rest is the engine's cast.

use crate::ReadRequest;
use chalet_base::{Result, bail};
use chalet_columns::{Column, NullBuffer, Vector};
use chalet_types::{DataType, TupleField};
use std::sync::Arc;

/// `column` of type `from` as type `to`.
pub fn column(column: &Column, from: &DataType, to: &DataType, request: &ReadRequest) -> Result<Column> {
    if from == to {
        return Ok(column.clone());
    }
    if without_zones(from.bare()) == without_zones(to.bare()) {
        if !from.is_nullable() || to.is_nullable() {
            return Ok(column.clone());
        }
        if request.settings.input_format_null_as_default {
            return Ok(match column {
                Column::Flat(v) => defaults_for_nulls(v, to).into(),
                Column::Const { value, len } => {
                    Column::Const { value: defaults_for_nulls(value, to), len: *len }
                }
                Column::Dict { codes, values } => {
                    Column::Dict { codes: codes.clone(), values: defaults_for_nulls(values, to) }
                }
            });
        }
    }
    match &request.cast {
        Some(cast) => cast(column, from, to),
        None => bail!(TYPE_MISMATCH, "Cannot convert column of type {from} to {to}"),
    }
}

/// The type without the zones of its date-times: a zone changes how a value is shown, not what it is.
fn without_zones(ty: &DataType) -> DataType {
    match ty {
        DataType::DateTime(_) => DataType::DateTime(None),
        DataType::DateTime64(scale, _) => DataType::DateTime64(*scale, None),
        DataType::Nullable(inner) => DataType::Nullable(Arc::new(without_zones(inner))),
        DataType::LowCardinality(inner) => without_zones(inner),
        DataType::Array(inner) => without_zones(inner).array(),
        DataType::Map(key, value) => DataType::map(without_zones(key), without_zones(value)),
        DataType::Tuple(fields) => {
            let field = |f: &TupleField| TupleField { name: f.name.clone(), ty: without_zones(&f.ty) };
            DataType::Tuple(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// The default of the type where there was NULL.
fn defaults_for_nulls(vector: &Vector, ty: &DataType) -> Vector {
    let Some(validity) = &vector.validity else { return vector.clone() };
    let default = Vector::defaults(ty.bare(), 1);
    let n = vector.len() as u32;
    let rows: Vec<u32> = (0..n).map(|row| if is_valid(validity, row) { row } else { n }).collect();
    Vector::concat(&[&vector.without_nulls(), &default]).gather(&rows)
}

fn is_valid(validity: &NullBuffer, row: u32) -> bool {
    validity.is_valid(row as usize)
}
