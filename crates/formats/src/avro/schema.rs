//! Schemas of Avro as a tree, and as our types.

use super::json::Json;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure, err};
use chalet_types::{DataType, EnumValues, TupleField};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Null,
    Boolean,
    Int,
    /// Days since 1970.
    Date,
    Long,
    /// Ticks of 10^-scale seconds since 1970.
    Timestamp(u8),
    Float,
    Double,
    Bytes,
    String,
    Uuid,
    /// Big-endian, of this many bytes or with a length before it.
    Decimal {
        precision: u8,
        scale: u8,
        fixed: Option<usize>,
    },
    Fixed(usize),
    Enum(Arc<[String]>),
    Array(Arc<Node>),
    Map(Arc<Node>),
    Union(Arc<[Node]>),
    Record(Arc<[(String, Node)]>),
}

/// Types nest no deeper.
const MAX_DEPTH: usize = 100;

/// Reads schemas; knows the types that were named so far.
#[derive(Default)]
pub struct Parser {
    named: HashMap<String, Option<Node>>,
}

impl Parser {
    pub fn node(&mut self, json: &Json, depth: usize) -> Result<Node> {
        ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "Avro types are nested deeper than {MAX_DEPTH}");
        match json {
            Json::Text(name) => self.named(name),
            Json::Array(branches) => {
                let nodes = branches.iter().map(|branch| self.node(branch, depth + 1));
                Ok(Node::Union(nodes.collect::<Result<_>>()?))
            }
            Json::Object(_) => self.object(json, depth),
            other => bail!(INCORRECT_DATA, "Invalid Avro schema: {other:?} is no type"),
        }
    }

    fn named(&self, name: &str) -> Result<Node> {
        Ok(match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Int,
            "long" => Node::Long,
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes,
            "string" => Node::String,
            other => match self.named.get(short(other)) {
                Some(Some(node)) => node.clone(),
                Some(None) => {
                    bail!(NOT_IMPLEMENTED, "Avro type '{other}' contains itself, which is not supported")
                }
                None => bail!(INCORRECT_DATA, "Unknown Avro type '{other}'"),
            },
        })
    }

    fn object(&mut self, json: &Json, depth: usize) -> Result<Node> {
        let missing = |what: &str| err!(INCORRECT_DATA, "Invalid Avro schema: '{what}' is missing");
        let ty = json.get("type").ok_or_else(|| missing("type"))?;
        let Some(name) = ty.text() else { return self.node(ty, depth + 1) };
        let own_name = json.get("name").and_then(Json::text).map(|name| short(name).to_string());
        if matches!(name, "record" | "error" | "enum" | "fixed")
            && let Some(own_name) = &own_name
        {
            self.named.insert(own_name.clone(), None);
        }
        let node = match name {
            "record" | "error" => {
                let fields = json.get("fields").and_then(Json::array).ok_or_else(|| missing("fields"))?;
                let mut nodes = Vec::with_capacity(fields.len());
                for field in fields {
                    let name = field.get("name").and_then(Json::text).ok_or_else(|| missing("name"))?;
                    let ty = field.get("type").ok_or_else(|| missing("type"))?;
                    nodes.push((name.to_string(), self.node(ty, depth + 1)?));
                }
                Node::Record(nodes.into())
            }
            "enum" => {
                let symbols = json.get("symbols").and_then(Json::array).ok_or_else(|| missing("symbols"))?;
                let symbol = |s: &Json| s.text().map(str::to_string).ok_or_else(|| missing("symbols"));
                Node::Enum(symbols.iter().map(symbol).collect::<Result<_>>()?)
            }
            "fixed" => {
                let size = json.get("size").and_then(Json::number).ok_or_else(|| missing("size"))?;
                ensure!(size <= 1 << 24, INCORRECT_DATA, "Avro type fixed has a size of {size}");
                Node::Fixed(size as usize)
            }
            "array" => {
                let items = json.get("items").ok_or_else(|| missing("items"))?;
                Node::Array(Arc::new(self.node(items, depth + 1)?))
            }
            "map" => {
                let values = json.get("values").ok_or_else(|| missing("values"))?;
                Node::Map(Arc::new(self.node(values, depth + 1)?))
            }
            other => self.named(other)?,
        };
        let node = logical(node, json);
        if let Some(own_name) = own_name {
            self.named.insert(own_name, Some(node.clone()));
        }
        Ok(node)
    }
}

/// A name without its namespace.
fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The node with the meaning that the schema gives it; one that does not fit means nothing.
fn logical(node: Node, json: &Json) -> Node {
    let meaning = json.get("logicalType").and_then(Json::text).unwrap_or_default();
    match (meaning, &node) {
        ("date", Node::Int) => Node::Date,
        ("timestamp-millis", Node::Long) => Node::Timestamp(3),
        ("timestamp-micros", Node::Long) => Node::Timestamp(6),
        ("timestamp-nanos", Node::Long) => Node::Timestamp(9),
        ("uuid", Node::String) => Node::Uuid,
        ("decimal", Node::Bytes | Node::Fixed(_)) => {
            let number = |name: &str| json.get(name).and_then(Json::number);
            let (precision, scale) = (number("precision").unwrap_or(0), number("scale").unwrap_or(0));
            let fixed = if let Node::Fixed(size) = node { Some(size) } else { None };
            match (1..=76).contains(&precision) && scale <= precision {
                true => Node::Decimal { precision: precision as u8, scale: scale as u8, fixed },
                false => node,
            }
        }
        _ => node,
    }
}

impl Node {
    /// The type that the values have.
    pub fn data_type(&self) -> Result<DataType> {
        Ok(match self {
            Node::Null => DataType::Nothing.nullable(),
            Node::Boolean => DataType::Bool,
            Node::Int => DataType::Int32,
            Node::Date => DataType::Date32,
            Node::Long => DataType::Int64,
            Node::Timestamp(scale) => DataType::DateTime64(*scale, None),
            Node::Float => DataType::Float32,
            Node::Double => DataType::Float64,
            Node::Bytes | Node::String => DataType::String,
            Node::Uuid => DataType::Uuid,
            Node::Decimal { precision, scale, .. } => {
                DataType::Decimal { precision: *precision, scale: *scale }
            }
            Node::Fixed(0) => bail!(INCORRECT_DATA, "Avro type fixed has a size of 0"),
            Node::Fixed(size) => DataType::FixedString(*size as u32),
            Node::Enum(symbols) => {
                let entry = |(i, symbol): (usize, &String)| (symbol.as_str().into(), i as i16);
                ensure!(symbols.len() <= 1 << 15, INCORRECT_DATA, "Avro enum has {} symbols", symbols.len());
                let values = Arc::new(EnumValues::new(symbols.iter().enumerate().map(entry).collect())?);
                if symbols.len() < 128 { DataType::Enum8(values) } else { DataType::Enum16(values) }
            }
            Node::Array(items) => items.data_type()?.array(),
            Node::Map(values) => DataType::map(DataType::String, values.data_type()?),
            Node::Union(branches) => match &branches[..] {
                [only] => only.data_type()?,
                [Node::Null, other] | [other, Node::Null] => other.data_type()?.nullable(),
                _ => bail!(BAD_ARGUMENTS, "Avro type union of several types is not supported"),
            },
            Node::Record(fields) => {
                let field = |(name, node): &(String, Node)| -> Result<TupleField> {
                    Ok(TupleField { name: Some(name.as_str().into()), ty: node.data_type()? })
                };
                DataType::Tuple(fields.iter().map(field).collect::<Result<_>>()?)
            }
        })
    }

    /// The kind, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Node::Null => "null",
            Node::Boolean => "boolean",
            Node::Int | Node::Date => "int",
            Node::Long | Node::Timestamp(_) => "long",
            Node::Float => "float",
            Node::Double => "double",
            Node::Bytes => "bytes",
            Node::String | Node::Uuid => "string",
            Node::Decimal { .. } => "decimal",
            Node::Fixed(_) => "fixed",
            Node::Enum(_) => "enum",
            Node::Array(_) => "array",
            Node::Map(_) => "map",
            Node::Union(_) => "union",
            Node::Record(_) => "record",
        }
    }

    /// Do values of the node go into columns of the type?
    pub fn fits(&self, ty: &DataType) -> bool {
        use crate::integers;
        let bare = ty.bare();
        let number = || integers::fits(bare) || matches!(bare, DataType::Float32 | DataType::Float64);
        match self {
            Node::Null => true,
            Node::Boolean | Node::Int | Node::Date | Node::Long | Node::Timestamp(_) => number(),
            Node::Float | Node::Double => number(),
            Node::Bytes | Node::String | Node::Uuid => matches!(bare, DataType::String | DataType::Uuid),
            Node::Decimal { scale, .. } => match bare {
                DataType::Decimal { scale: wanted, .. } => wanted == scale,
                DataType::DateTime64(wanted, _) => wanted == scale,
                _ => false,
            },
            Node::Fixed(size) => match bare {
                DataType::FixedString(n) => *n as usize == *size,
                DataType::String => true,
                DataType::IPv6 | DataType::Int128 | DataType::UInt128 => *size == 16,
                DataType::Int256 | DataType::UInt256 => *size == 32,
                _ => false,
            },
            Node::Enum(_) => bare.is_enum() || *bare == DataType::String,
            Node::Array(items) => matches!(bare, DataType::Array(inner) if items.fits(inner)),
            Node::Map(values) => {
                matches!(bare, DataType::Map(key, value) if *key.bare() == DataType::String && values.fits(value))
            }
            Node::Union(branches) => branches.iter().all(|branch| branch.fits(ty)),
            Node::Record(nodes) => match bare {
                DataType::Tuple(fields) => fields.iter().enumerate().all(|(at, field)| {
                    position(nodes, field, at).is_some_and(|node| nodes[node].1.fits(&field.ty))
                }),
                _ => false,
            },
        }
    }
}

/// The field of a record that an element of a tuple is: of its name, or in its place.
pub fn position(nodes: &[(String, Node)], field: &TupleField, at: usize) -> Option<usize> {
    match &field.name {
        Some(name) => nodes.iter().position(|node| node.0 == **name),
        None => (at < nodes.len()).then_some(at),
    }
}
