//! The schema that columns have when the user gives none.

use chalet_base::{Result, bail, ensure};
use chalet_types::DataType;
use std::fmt::Write;

/// The text of a schema of which a message of this name has the columns.
pub fn schema_text(columns: &[(String, DataType)], name: &str) -> Result<String> {
    let mut text = String::from("syntax = \"proto3\";\n\n");
    message(&mut text, &declared(name), columns, 0)?;
    Ok(text)
}

fn message(text: &mut String, name: &str, columns: &[(String, DataType)], depth: usize) -> Result<()> {
    let indent = " ".repeat(4 * depth);
    put(text, format_args!("{indent}message {name}\n{indent}{{\n"));
    for (i, (name, ty)) in columns.iter().enumerate() {
        let starts_with_digit = name.starts_with(|c: char| c.is_ascii_digit());
        ensure!(
            !starts_with_digit,
            BAD_ARGUMENTS,
            "Format Protobuf doesn't support field names that starts with a digit: '{name}'"
        );
        field(text, name, ty, i + 1, depth + 1)?;
    }
    put(text, format_args!("{indent}}}\n"));
    Ok(())
}

/// Writing to a String cannot fail.
fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(line);
}

fn field(text: &mut String, name: &str, ty: &DataType, number: usize, depth: usize) -> Result<()> {
    let of = field_type(text, name, ty, depth)?;
    put(text, format_args!("{}{of} {name} = {number};\n", " ".repeat(4 * depth)));
    Ok(())
}

/// The name of what is declared for a field: as the field, with a capital.
fn declared(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect::<String>())
}

/// The type of a field; messages and enumerations that it needs are declared before it.
fn field_type(text: &mut String, name: &str, ty: &DataType, depth: usize) -> Result<String> {
    let indent = " ".repeat(4 * depth);
    Ok(match ty.bare() {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => "uint32".into(),
        DataType::Date | DataType::DateTime(_) | DataType::IPv4 => "uint32".into(),
        DataType::UInt64 | DataType::DateTime64(..) => "uint64".into(),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32 => "int32".into(),
        DataType::Int64 => "int64".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Bool => "bool".into(),
        DataType::String | DataType::FixedString(_) | DataType::Decimal { .. } => "bytes".into(),
        DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256 => "bytes".into(),
        DataType::Uuid | DataType::IPv6 => "bytes".into(),
        DataType::Enum8(values) | DataType::Enum16(values) => {
            let name = declared(name);
            put(text, format_args!("{indent}enum {name}\n{indent}{{\n"));
            // Numbers begin with zero, whatever those of the column are: values go by their names.
            for (i, (value, _)) in values.entries().iter().enumerate() {
                put(text, format_args!("{indent}    {value} = {i};\n"));
            }
            put(text, format_args!("{indent}}}\n"));
            name
        }
        DataType::Array(element) => match element.bare() {
            // Repeated fields have no repeated values: they are inside of a message.
            DataType::Array(_) | DataType::Map(..) => {
                let inner = declared(name);
                message(text, &inner, &[(name.to_string(), DataType::clone(element))], depth)?;
                format!("repeated {inner}")
            }
            _ => format!("repeated {}", field_type(text, name, element, depth)?),
        },
        DataType::Map(key, value) => {
            let key = field_type(text, &format!("{name}Key"), key, depth)?;
            let name = &format!("{name}Value");
            let inner = match value.bare() {
                DataType::Array(_) | DataType::Map(..) => {
                    let inner = declared(name);
                    message(text, &inner, &[(name.to_string(), DataType::clone(value))], depth)?;
                    inner
                }
                _ => field_type(text, name, value, depth)?,
            };
            let key = if key == "bytes" { "string".to_string() } else { key };
            format!("map<{key}, {inner}>")
        }
        DataType::Tuple(fields) => {
            let named = fields.iter().enumerate().map(|(i, field)| {
                let name = field.name.as_deref().map_or_else(|| format!("e{}", i + 1), str::to_string);
                (name, field.ty.clone())
            });
            let inner = declared(name);
            message(text, &inner, &named.collect::<Vec<_>>(), depth)?;
            inner
        }
        other => bail!(BAD_ARGUMENTS, "Type {other} is not supported for conversion into Protobuf schema"),
    })
}
