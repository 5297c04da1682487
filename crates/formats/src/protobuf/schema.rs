//! Messages and enumerations of a schema, with the names of their types resolved.

use chalet_base::{Result, bail};
use chalet_types::{DataType, EnumValues, TupleField};
use std::sync::Arc;

/// All that a schema file and those that it imports declare.
#[derive(Debug, Default)]
pub struct Schema {
    pub messages: Vec<Message>,
    pub enums: Vec<Enumeration>,
}

#[derive(Debug)]
pub struct Message {
    /// With the package and the messages around it, separated by dots.
    pub full_name: String,
    pub fields: Vec<Field>,
}

#[derive(Debug)]
pub struct Enumeration {
    pub full_name: String,
    /// Names and numbers.
    pub values: Vec<(String, i32)>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub number: u64,
    pub kind: Kind,
    pub repeated: bool,
    pub packed: bool,
    pub is_map: bool,
    pub presence: Presence,
}

/// What says that a field is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// That its value is not the default one.
    Implicit,
    Explicit,
    Required,
}

/// The type of a field; messages and enumerations by their place in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    UInt32,
    UInt64,
    SInt32,
    SInt64,
    Fixed32,
    Fixed64,
    SFixed32,
    SFixed64,
    Bool,
    String,
    Bytes,
    Enum(usize),
    Message(usize),
}

impl Kind {
    pub fn scalar(name: &str) -> Option<Kind> {
        Some(match name {
            "double" => Kind::Double,
            "float" => Kind::Float,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "uint32" => Kind::UInt32,
            "uint64" => Kind::UInt64,
            "sint32" => Kind::SInt32,
            "sint64" => Kind::SInt64,
            "fixed32" => Kind::Fixed32,
            "fixed64" => Kind::Fixed64,
            "sfixed32" => Kind::SFixed32,
            "sfixed64" => Kind::SFixed64,
            "bool" => Kind::Bool,
            "string" => Kind::String,
            "bytes" => Kind::Bytes,
            _ => return None,
        })
    }

    /// The wire type of one value.
    pub fn wire_type(self) -> u64 {
        match self {
            Kind::Double | Kind::Fixed64 | Kind::SFixed64 => 1,
            Kind::Float | Kind::Fixed32 | Kind::SFixed32 => 5,
            Kind::String | Kind::Bytes | Kind::Message(_) => 2,
            _ => 0,
        }
    }

    /// May several values share one field?
    pub fn is_packable(self) -> bool {
        self.wire_type() != 2
    }
}

/// Deeper types are refused.
const MAX_DEPTH: usize = 100;

impl Schema {
    /// The message of a name, with or without its package.
    pub fn message(&self, name: &str) -> Option<usize> {
        let exact = self.messages.iter().position(|message| message.full_name == name);
        exact.or_else(|| {
            let ends = |full: &str| full.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
            self.messages.iter().position(|message| ends(&message.full_name))
        })
    }

    /// Names and types of the columns that a message is read as.
    pub fn columns(&self, message: usize, skip_unsupported: bool) -> Result<Vec<(String, DataType)>> {
        let mut columns = Vec::new();
        let mut above = vec![message];
        for field in &self.messages[message].fields {
            match self.column(field, &mut above) {
                Ok(column) => columns.push(column),
                Err(_) if skip_unsupported => {}
                Err(error) => return Err(error),
            }
        }
        if columns.is_empty() {
            bail!(BAD_ARGUMENTS, "Empty messages are not supported");
        }
        Ok(columns)
    }

    fn column(&self, field: &Field, above: &mut Vec<usize>) -> Result<(String, DataType)> {
        let (mut name, mut ty) = (field.name.clone(), DataType::Nothing);
        match field.kind {
            Kind::Message(message) => {
                if above.contains(&message) || above.len() > MAX_DEPTH {
                    let of = above.last().map_or("", |above| self.messages[*above].full_name.as_str());
                    bail!(BAD_ARGUMENTS, "ClickHouse doesn't support type recursion ({of}.{})", field.name);
                }
                above.push(message);
                let fields = &self.messages[message].fields;
                let parts = fields.iter().map(|field| self.column(field, above));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                above.pop();
                match <[(String, DataType); 2]>::try_from(parts) {
                    Ok([(_, key), (_, value)]) if field.is_map => {
                        return Ok((name, DataType::map(key, value)));
                    }
                    Ok(pair) => ty = tuple(pair.into()),
                    // A message of one field is that field.
                    Err(mut parts) if parts.len() == 1 => {
                        if let Some((inner, of)) = parts.pop() {
                            name = format!("{name}_{inner}");
                            ty = of;
                        }
                    }
                    Err(parts) if parts.is_empty() => {
                        bail!(BAD_ARGUMENTS, "Empty messages are not supported")
                    }
                    Err(parts) => ty = tuple(parts),
                }
            }
            Kind::Enum(number) => ty = self.enum_type(number)?,
            Kind::Double => ty = DataType::Float64,
            Kind::Float => ty = DataType::Float32,
            Kind::Int32 | Kind::SInt32 | Kind::SFixed32 => ty = DataType::Int32,
            Kind::Int64 | Kind::SInt64 | Kind::SFixed64 => ty = DataType::Int64,
            Kind::UInt32 | Kind::Fixed32 => ty = DataType::UInt32,
            Kind::UInt64 | Kind::Fixed64 => ty = DataType::UInt64,
            Kind::Bool => ty = DataType::UInt8,
            Kind::String | Kind::Bytes => ty = DataType::String,
        }
        Ok((name, if field.repeated { ty.array() } else { ty }))
    }

    fn enum_type(&self, number: usize) -> Result<DataType> {
        let Enumeration { full_name, values } = &self.enums[number];
        let mut entries: Vec<(Arc<str>, i16)> = Vec::new();
        for (name, value) in values {
            let Ok(value) = i16::try_from(*value) else {
                bail!(BAD_ARGUMENTS, "Value {value} of {full_name} is too large for an Enum");
            };
            // Names of the same number mean the same.
            if entries.iter().all(|known| known.1 != value) {
                entries.push((name.as_str().into(), value));
            }
        }
        let is_narrow = entries.iter().all(|(_, value)| i8::try_from(*value).is_ok());
        let values = Arc::new(EnumValues::new(entries)?);
        Ok(if is_narrow { DataType::Enum8(values) } else { DataType::Enum16(values) })
    }

    /// The type of a field as errors name it.
    pub fn kind_name(&self, kind: Kind) -> &'static str {
        match kind {
            Kind::Double => "double",
            Kind::Float => "float",
            Kind::Int32 => "int32",
            Kind::Int64 => "int64",
            Kind::UInt32 => "uint32",
            Kind::UInt64 => "uint64",
            Kind::SInt32 => "sint32",
            Kind::SInt64 => "sint64",
            Kind::Fixed32 => "fixed32",
            Kind::Fixed64 => "fixed64",
            Kind::SFixed32 => "sfixed32",
            Kind::SFixed64 => "sfixed64",
            Kind::Bool => "bool",
            Kind::String => "string",
            Kind::Bytes => "bytes",
            Kind::Enum(_) => "enum",
            Kind::Message(_) => "message",
        }
    }
}

fn tuple(parts: Vec<(String, DataType)>) -> DataType {
    let field = |(name, ty): (String, DataType)| TupleField { name: Some(name.into()), ty };
    DataType::Tuple(parts.into_iter().map(field).collect())
}
