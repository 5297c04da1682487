//! Columns of a file in the types of the table: wrappers are put on and taken off here, the rest is the engine's cast.

use crate::ReadRequest;
use chalet_base::{Result, bail};
use chalet_columns::{Buf, Column, Data, Fixed, List, Native, NullBuffer, Struct, Vector};
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
    if let Some(meant) = meant(from, to) {
        let vector = reinterpreted(&column.flat(), &meant);
        return self::column(&vector.into(), &meant, to, request);
    }
    let drops_nulls = from.is_nullable() && !to.is_nullable() && to.can_be_nullable();
    match &request.cast {
        Some(cast) if drops_nulls && request.settings.input_format_null_as_default => {
            let filled = self::column(column, from, from.without_nullable(), request)?;
            cast(&filled, from.without_nullable(), to)
        }
        Some(cast) => cast(column, from, to),
        None => bail!(TYPE_MISMATCH, "Cannot convert column of type {from} to {to}"),
    }
}

/// The type that the values of a file have, where it has bytes of a fixed width for numbers and addresses of that width.
fn meant(from: &DataType, to: &DataType) -> Option<DataType> {
    match (from, to) {
        (DataType::LowCardinality(from), to) => meant(from, to),
        (from, DataType::LowCardinality(to)) => meant(from, to),
        (DataType::Nullable(from), to) => meant(from, to.without_nullable()).map(DataType::nullable),
        (from, DataType::Nullable(to)) => meant(from, to),
        (DataType::FixedString(16), DataType::Int128 | DataType::UInt128 | DataType::IPv6)
        | (DataType::FixedString(32), DataType::Int256 | DataType::UInt256) => Some(to.clone()),
        (DataType::Array(from), DataType::Array(to)) => meant(from, to).map(DataType::array),
        (DataType::Map(key, value), DataType::Map(to_key, to_value)) => {
            let (new_key, new_value) = (meant(key, to_key), meant(value, to_value));
            if new_key.is_none() && new_value.is_none() {
                return None;
            }
            let old = |ty: &Arc<DataType>| DataType::clone(ty);
            Some(DataType::map(new_key.unwrap_or_else(|| old(key)), new_value.unwrap_or_else(|| old(value))))
        }
        (DataType::Tuple(fields), DataType::Tuple(to)) if fields.len() == to.len() => {
            let meant: Vec<_> = fields.iter().zip(to.iter()).map(|(f, t)| meant(&f.ty, &t.ty)).collect();
            if meant.iter().all(Option::is_none) {
                return None;
            }
            let field = |(f, ty): (&TupleField, Option<DataType>)| TupleField {
                name: f.name.clone(),
                ty: ty.unwrap_or_else(|| f.ty.clone()),
            };
            Some(DataType::Tuple(fields.iter().zip(meant).map(field).collect()))
        }
        _ => None,
    }
}

/// Bytes of a fixed width as the numbers and addresses that a type says they are; they are little-endian.
fn reinterpreted(vector: &Vector, ty: &DataType) -> Vector {
    let data = match (&vector.data, ty.bare()) {
        (Data::Fixed(fixed), DataType::Int128) => numbers::<i128>(fixed),
        (Data::Fixed(fixed), DataType::UInt128) => numbers::<u128>(fixed),
        (Data::Fixed(fixed), DataType::Int256) => numbers::<chalet_types::I256>(fixed),
        (Data::Fixed(fixed), DataType::UInt256) => numbers::<chalet_types::U256>(fixed),
        (Data::List(list), bare) => {
            let element = bare.element().unwrap_or(DataType::Nothing);
            let values = Arc::new(reinterpreted(&list.values, &element));
            Data::List(List { offsets: list.offsets.clone(), values })
        }
        (Data::Struct(parts), DataType::Tuple(types)) => {
            let fields = parts.fields.iter().zip(types.iter()).map(|(field, f)| reinterpreted(field, &f.ty));
            Data::Struct(Struct { fields: fields.collect(), len: parts.len })
        }
        (data, _) => data.clone(),
    };
    Vector::new(data, vector.validity.clone())
}

fn numbers<T: Native>(fixed: &Fixed) -> Data {
    T::wrap(Buf::from_arrow(arrow_buffer::Buffer::from(fixed.bytes.as_bytes())))
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
