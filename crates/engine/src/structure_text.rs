//! Structures, as table functions and functions of formats take them: columns and their types as one text.

use chalet_base::{Result, bail};
use chalet_formats::Schema;
use chalet_types::{DataType, TupleField};

/// The columns of `'a UInt8, b String'`.
pub(crate) fn parse_structure(text: &str) -> Result<Schema> {
    let mut schema = Schema::new();
    for column in chalet_syntax::parse_structure(text)? {
        let name = column.name.name;
        let Some(written) = column.ty else {
            bail!(BAD_ARGUMENTS, "Column {name} of the structure has no type");
        };
        let ty: DataType = written.text.parse()?;
        let ty = if column.nullable == Some(true) { ty.nullable() } else { ty };
        match nested_parts(&name, &written.text, &ty) {
            Some(parts) => schema.extend(parts),
            None => schema.push((name, ty)),
        }
    }
    Ok(schema)
}

/// The columns that a Nested stands for: its elements, as arrays.
pub(crate) fn nested_parts(name: &str, written: &str, ty: &DataType) -> Option<Schema> {
    if !written.trim_start().to_ascii_lowercase().starts_with("nested") {
        return None;
    }
    let DataType::Array(inner) = ty else { return None };
    let DataType::Tuple(fields) = &**inner else { return None };
    let part = |field: &TupleField| {
        let element = field.name.as_deref().unwrap_or_default();
        (format!("{name}.{element}"), field.ty.clone().array())
    };
    Some(fields.iter().map(part).collect())
}
