//! What values of a type are written as: the streams, by the kernel's names, and the bytes of all of them.

use super::{several_writer, writer};
use crate::native::BlockLayout;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_types::DataType;

/// How many bytes a column takes, without its name and type.
pub fn serialized_size(ty: &DataType, vector: &Vector) -> Result<u64> {
    let mut out = Vec::new();
    let column = Column::Flat(vector.clone());
    if vector.is_empty() {
        return Ok(0);
    }
    if ty.contains_several_types() {
        let layout = BlockLayout { without_limits: true, ..BlockLayout::FILE };
        several_writer::write_column(&mut out, ty, &column, layout)?;
    } else {
        writer::write_column(&mut out, ty, &column)?;
    }
    Ok(out.len() as u64)
}

/// The streams of a type, each as the way to it through containers.
pub fn streams(ty: &DataType) -> Vec<String> {
    let mut found = Vec::new();
    collect(ty, &mut Vec::new(), &mut found);
    found
}

/// Adds a stream at the end of a way.
fn add(way: &[String], last: &str, found: &mut Vec<String>) {
    let steps = way.iter().map(String::as_str).chain([last]);
    found.push(format!("{{{}}}", steps.collect::<Vec<_>>().join(", ")));
}

/// Adds the streams of a type behind one more step.
fn behind(steps: &[String], ty: &DataType, way: &mut Vec<String>, found: &mut Vec<String>) {
    let length = way.len();
    way.extend_from_slice(steps);
    collect(ty, way, found);
    way.truncate(length);
}

fn collect(ty: &DataType, way: &mut Vec<String>, found: &mut Vec<String>) {
    let step = |text: &str| [text.to_owned()];
    match ty {
        DataType::String => {
            add(way, "InlinedStringSizes()", found);
            add(way, "Regular", found);
        }
        DataType::LowCardinality(_) => {
            add(way, "DictionaryKeys", found);
            add(way, "DictionaryIndexes", found);
        }
        DataType::Nullable(inner) => {
            add(way, "NullMap", found);
            behind(&step("NullableElements"), inner, way, found);
        }
        DataType::Array(inner) => {
            add(way, "ArraySizes", found);
            behind(&step("ArrayElements"), inner, way, found);
        }
        DataType::Map(key, value) => {
            add(way, "ArraySizes", found);
            for (name, ty) in [("keys", key), ("values", value)] {
                behind(&["ArrayElements".to_owned(), format!("TupleElement({name})")], ty, way, found);
            }
        }
        DataType::Tuple(fields) if !fields.is_empty() => {
            for (number, field) in fields.iter().enumerate() {
                let name = field.name.as_deref().map_or_else(|| (number + 1).to_string(), str::to_owned);
                behind(&step(&format!("TupleElement({name})")), &field.ty, way, found);
            }
        }
        DataType::Variant(types) => {
            add(way, "VariantDiscriminators", found);
            for ty in types.iter() {
                behind(&["VariantElements".to_owned(), format!("VariantElement({ty})")], ty, way, found);
            }
            way.push("VariantElements".to_owned());
            for ty in types.iter().filter(|ty| ty.can_be_nullable()) {
                add(way, &format!("VariantElementNullMap({ty}.null)"), found);
            }
            way.pop();
        }
        DataType::Dynamic(_) => add(way, "DynamicStructure", found),
        DataType::Json(json) => {
            add(way, "ObjectStructure", found);
            for (_, ty) in json.typed.iter() {
                behind(&["ObjectData".to_owned(), "ObjectTypedPath".to_owned()], ty, way, found);
            }
        }
        _ => add(way, "Regular", found),
    }
}
