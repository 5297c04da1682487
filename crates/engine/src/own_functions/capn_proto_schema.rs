//! The text of a CapnProto schema for columns: a struct of fields, before each the structs and enumerations that it needs.

use chalet_base::{Result, bail};
use chalet_types::DataType;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};

/// The schema of a message with these columns, under an identifier that no other has.
pub(super) fn schema_text(columns: &[(String, DataType)], name: &str) -> Result<String> {
    // The highest bit of an identifier is set, as the format demands.
    let id = RandomState::new().build_hasher().finish() | 1 << 63;
    let mut text = format!("@0x{id:016x};\n\n");
    structure(&mut text, &declared(name), columns, 0)?;
    Ok(text)
}

/// Writing to a String cannot fail.
fn put(text: &mut String, depth: usize, line: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{:width$}{line}", "", width = 4 * depth);
}

/// The name of what is declared for a field: as the field, with a capital.
fn declared(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |c| c.to_ascii_uppercase().to_string() + chars.as_str())
}

fn structure(text: &mut String, name: &str, fields: &[(String, DataType)], depth: usize) -> Result<()> {
    put(text, depth, format_args!("struct {name}"));
    put(text, depth, format_args!("{{"));
    for (number, (name, ty)) in fields.iter().enumerate() {
        field(text, name, ty, number, depth + 1)?;
    }
    put(text, depth, format_args!("}}"));
    Ok(())
}

fn field(text: &mut String, name: &str, ty: &DataType, number: usize, depth: usize) -> Result<()> {
    let of = field_type(text, name, ty, depth)?;
    put(text, depth, format_args!("{name} @{number} : {of};"));
    Ok(())
}

/// The type of a field, once what it needs is declared.
fn field_type(text: &mut String, name: &str, ty: &DataType, depth: usize) -> Result<String> {
    use DataType::*;
    Ok(match ty.without_low_cardinality() {
        Nullable(inner) => {
            let outer = declared(name);
            put(text, depth, format_args!("struct {outer}"));
            put(text, depth, format_args!("{{"));
            put(text, depth + 1, format_args!("union"));
            put(text, depth + 1, format_args!("{{"));
            field(text, "value", inner, 0, depth + 2)?;
            put(text, depth + 2, format_args!("null @1 : Void;"));
            put(text, depth + 1, format_args!("}}"));
            put(text, depth, format_args!("}}"));
            outer
        }
        Array(element) => format!("List({})", field_type(text, name, element, depth)?),
        Map(key, value) => {
            let outer = declared(name);
            put(text, depth, format_args!("struct {outer}"));
            put(text, depth, format_args!("{{"));
            let pair =
                [("key".to_owned(), DataType::clone(key)), ("value".to_owned(), DataType::clone(value))];
            structure(text, "Entry", &pair, depth + 1)?;
            put(text, depth + 1, format_args!("entries @0 : List(Entry);"));
            put(text, depth, format_args!("}}"));
            outer
        }
        Tuple(fields) => {
            let named = fields.iter().enumerate().map(|(i, field)| {
                let name = field.name.as_deref().map_or_else(|| format!("e{}", i + 1), str::to_owned);
                (name, field.ty.clone())
            });
            let inner = declared(name);
            structure(text, &inner, &named.collect::<Vec<_>>(), depth)?;
            inner
        }
        Enum8(values) | Enum16(values) => {
            let inner = declared(name);
            put(text, depth, format_args!("enum {inner}"));
            put(text, depth, format_args!("{{"));
            // Numbers begin with zero, whatever those of the column are: values go by their names.
            for (number, (value, _)) in values.entries().iter().enumerate() {
                put(text, depth + 1, format_args!("{value} @{number};"));
            }
            put(text, depth, format_args!("}}"));
            inner
        }
        plain => match name_of(plain) {
            Some(name) => name.to_owned(),
            None => {
                bail!(BAD_ARGUMENTS, "Type {plain} is not supported for conversion into CapnProto schema")
            }
        },
    })
}

/// The format's own types.
fn name_of(ty: &DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match ty {
        Bool => "Bool",
        Int8 => "Int8",
        UInt8 => "UInt8",
        Int16 => "Int16",
        UInt16 | Date => "UInt16",
        Int32 | Date32 => "Int32",
        UInt32 | DateTime(_) | IPv4 => "UInt32",
        Int64 | DateTime64(..) => "Int64",
        UInt64 => "UInt64",
        Float32 => "Float32",
        Float64 => "Float64",
        Decimal { precision: 0..=9, .. } => "Int32",
        Decimal { precision: 10..=18, .. } => "Int64",
        Decimal { .. } | String | FixedString(_) | Uuid | IPv6 => "Data",
        Int128 | UInt128 | Int256 | UInt256 => "Data",
        _ => return None,
    })
}
