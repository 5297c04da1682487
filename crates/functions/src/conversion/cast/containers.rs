//! Arrays, tuples and maps: element by element.

use super::cast_check::by_name;
use super::rules::Rules;
use chalet_base::{Result, bail};
use chalet_columns::Data;
use chalet_columns::{List, Struct, Vector};
use chalet_types::DataType;
use std::sync::Arc;

pub fn convert(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    use DataType::*;
    match (from, to) {
        (Array(_) | Map(..), Array(_) | Map(..)) => {
            let (Some(inner_from), Some(inner_to)) = (from.element(), to.element()) else {
                bail!(LOGICAL_ERROR, "{from} and {to} have elements");
            };
            let list = vector.list()?.normalised();
            let values = if inner_from == Nothing && list.values.is_empty() {
                Vector::defaults(&inner_to, 0)
            } else {
                // The two halves of a map are matched by place, whatever they are called.
                elements(&list.values, &inner_from, &inner_to, rules)?
            };
            Ok(Data::List(List { offsets: list.offsets, values: Arc::new(values) }).into())
        }
        (Tuple(halves), Map(key, value)) => {
            let [keys, values] = &vector.structure()?.fields[..] else {
                bail!(TYPE_MISMATCH, "A Map is made of two arrays, not of {from}");
            };
            let (keys, values) = (keys.list()?.normalised(), values.list()?.normalised());
            if keys.offsets[..] != values.offsets[..] {
                bail!(
                    TYPE_MISMATCH,
                    "CAST AS Map from tuple requires arrays of keys and values of equal sizes"
                );
            }
            let element = |i: usize| halves[i].ty.element().unwrap_or(Nothing);
            let fields = vec![
                super::convert(&keys.values, &element(0), key, rules)?,
                super::convert(&values.values, &element(1), value, rules)?,
            ];
            let len = keys.values.len();
            let pairs = Vector::from(Data::Struct(Struct { fields, len }));
            Ok(Data::List(List { offsets: keys.offsets, values: Arc::new(pairs) }).into())
        }
        (Tuple(old), Tuple(new)) => {
            let structure = vector.structure()?;
            let matched = by_name(old, new);
            let fields = new.iter().enumerate().map(|(i, field)| {
                let at = if matched { old.iter().position(|f| f.name == field.name) } else { Some(i) };
                match at {
                    Some(at) => super::convert(&structure.fields[at], &old[at].ty, &field.ty, rules),
                    None => Ok(Vector::defaults(&field.ty, structure.len)),
                }
            });
            let fields = fields.collect::<Result<Vec<_>>>()?;
            Ok(Data::Struct(Struct { fields, len: structure.len }).into())
        }
        _ => bail!(CANNOT_CONVERT_TYPE, "Conversion from {from} to {to} is not supported"),
    }
}

fn elements(values: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let unnamed = |ty: &DataType| match ty {
        DataType::Tuple(fields) => DataType::tuple(fields.iter().map(|f| f.ty.clone())),
        other => other.clone(),
    };
    let is_pair = |ty: &DataType| match ty {
        DataType::Tuple(fields) => fields.first().is_some_and(|f| f.name.as_deref() == Some("keys")),
        _ => false,
    };
    if is_pair(from) != is_pair(to) {
        return super::convert(values, &unnamed(from), &unnamed(to), rules);
    }
    super::convert(values, from, to, rules)
}
