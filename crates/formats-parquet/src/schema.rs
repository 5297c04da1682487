//! The Parquet schema as our types, by the kernel's rules, and how each column's leaves make it up.

use chalet_base::{Result, bail, ensure};
use chalet_types::{DataType, Physical, TimeZone, TupleField};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Stored};
use parquet::schema::types::Type;

/// One column of the file.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub ty: DataType,
    pub node: Node,
}

/// How a column, or a part of one, is put together from leaves.
#[derive(Clone, Debug)]
pub enum Node {
    Leaf(Leaf),
    /// Also maps: their element is a struct of key and value.
    List(List),
    Struct {
        fields: Vec<Node>,
        validity: Option<i16>,
    },
}

/// A stored column.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Its number among all leaves of the file.
    pub index: usize,
    pub conversion: Conversion,
    /// Without wrappers.
    pub ty: DataType,
    pub nullable: bool,
    pub max_definition: i16,
    pub max_repetition: i16,
    /// The definition level from which on an entry stands for a value or a NULL, not for an empty list around it.
    pub slot_definition: i16,
}

#[derive(Clone, Debug)]
pub struct List {
    /// An entry of a lower repetition level begins a list; one of this level continues it.
    pub repetition: i16,
    /// The definition level from which on an entry has an element.
    pub definition: i16,
    /// The definition level from which on the list itself has a place.
    pub slot_definition: i16,
    pub element: Box<Node>,
}

/// How stored values become ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    Bool,
    /// INT32 or INT64 cut or widened to the type's width.
    Int32,
    Int64,
    Float32,
    Float64,
    /// Two bytes as Float32.
    Float16,
    /// INT32 that must be a legal Date32.
    Days,
    /// Nanoseconds of a day and a Julian day.
    Int96,
    /// Big-endian two's complement of this many bytes as a Decimal.
    BigEndian(usize),
    /// The same with a length before each value.
    BigEndianText,
    /// Bytes as they are.
    Fixed(usize),
    Text,
}

impl Node {
    /// The leaves in file order.
    pub fn leaves<'a>(&'a self, out: &mut Vec<&'a Leaf>) {
        match self {
            Node::Leaf(leaf) => out.push(leaf),
            Node::List(list) => list.element.leaves(out),
            Node::Struct { fields, .. } => fields.iter().for_each(|f| f.leaves(out)),
        }
    }

    pub fn has_lists(&self) -> bool {
        match self {
            Node::Leaf(_) => false,
            Node::List(_) => true,
            Node::Struct { fields, .. } => fields.iter().any(Node::has_lists),
        }
    }
}

/// Levels above a node.
#[derive(Clone, Copy)]
struct Place {
    definition: i16,
    repetition: i16,
    slot_definition: i16,
}

struct Walker {
    next_leaf: usize,
    /// Texts that are annotated as JSON are of type JSON.
    json: bool,
}

/// Deeper schemas are refused before they can exhaust the stack.
const MAX_DEPTH: usize = 100;

/// The columns of a file, and for those that have no type of ours the reason.
///
/// Texts that are annotated as JSON are String where they are read, and of type JSON where `json` asks what they are.
pub fn columns(root: &Type, json: bool) -> Vec<(String, Result<Field>)> {
    let mut walker = Walker { next_leaf: 0, json };
    let top = Place { definition: 0, repetition: 0, slot_definition: 0 };
    let fields = root.get_fields().iter();
    fields
        .map(|field| {
            let first = walker.next_leaf;
            let made = walker.node(field, top, 0);
            walker.next_leaf = first + count_leaves(field);
            let name = field.name().to_owned();
            let column = made
                .map(|(node, ty)| Field { name: name.clone(), ty, node })
                .map_err(|e| e.context(format!("(column '{name}')")));
            (name, column)
        })
        .collect()
}

fn count_leaves(ty: &Type) -> usize {
    if ty.is_primitive() { 1 } else { ty.get_fields().iter().map(|f| count_leaves(f)).sum() }
}

/// Optional and repeated nodes are one level deeper.
fn repetition_of(ty: &Type) -> Repetition {
    let info = ty.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

impl Walker {
    fn node(&mut self, ty: &Type, mut place: Place, depth: usize) -> Result<(Node, DataType)> {
        ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "Parquet schema is nested too deeply");
        match repetition_of(ty) {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => place.definition += 1,
            Repetition::REPEATED => {
                // A repeated field outside of a list annotation is a list of required elements.
                return self.list(place, |walker, inner| walker.bare(ty, inner, depth + 1));
            }
        }
        self.bare(ty, place, depth)
    }

    fn list(
        &mut self,
        place: Place,
        element: impl FnOnce(&mut Self, Place) -> Result<(Node, DataType)>,
    ) -> Result<(Node, DataType)> {
        let inner = Place {
            definition: place.definition + 1,
            repetition: place.repetition + 1,
            slot_definition: place.definition + 1,
        };
        let (element, ty) = element(self, inner)?;
        let list = List {
            repetition: inner.repetition,
            definition: inner.definition,
            slot_definition: place.slot_definition,
            element: Box::new(element),
        };
        Ok((Node::List(list), ty.array()))
    }

    /// The node below its own repetition.
    fn bare(&mut self, ty: &Type, place: Place, depth: usize) -> Result<(Node, DataType)> {
        if ty.is_primitive() {
            return self.leaf(ty, place);
        }
        let info = ty.get_basic_info();
        let annotated = |logical: &LogicalType, converted: &[ConvertedType]| {
            info.logical_type_ref() == Some(logical) || converted.contains(&info.converted_type())
        };
        let fields = ty.get_fields();
        if let [middle] = fields
            && repetition_of(middle) == Repetition::REPEATED
        {
            if annotated(&LogicalType::List, &[ConvertedType::LIST]) {
                return self.list(place, |walker, inner| {
                    // Old writers made the repeated field the element itself.
                    let is_element = middle.is_primitive()
                        || middle.get_fields().len() != 1
                        || middle.name() == "array"
                        || middle.name() == format!("{}_tuple", ty.name());
                    match is_element {
                        true => walker.bare(middle, inner, depth + 1),
                        false => walker.node(&middle.get_fields()[0], inner, depth + 1),
                    }
                });
            }
            if annotated(&LogicalType::Map, &[ConvertedType::MAP, ConvertedType::MAP_KEY_VALUE])
                && middle.is_group()
                && middle.get_fields().len() == 2
            {
                return self.map(middle, place, depth);
            }
        }
        let parts: Result<Vec<(Node, DataType)>> =
            fields.iter().map(|f| self.node(f, place, depth + 1)).collect();
        let (nodes, types): (Vec<Node>, Vec<DataType>) = parts?.into_iter().unzip();
        let names = fields.iter().map(|f| Some(f.name().into()));
        let tuple = DataType::Tuple(names.zip(types).map(|(name, ty)| TupleField { name, ty }).collect());
        // A NULL struct can be told from a struct of NULLs only where all its leaves are required.
        let own = repetition_of(ty) == Repetition::OPTIONAL;
        let mut leaves = Vec::new();
        nodes.iter().for_each(|node| node.leaves(&mut leaves));
        let validity =
            (own && !leaves.is_empty() && leaves.iter().all(|leaf| leaf.max_definition == place.definition))
                .then_some(place.definition);
        let tuple = if validity.is_some() { tuple.nullable() } else { tuple };
        Ok((Node::Struct { fields: nodes, validity }, tuple))
    }

    fn map(&mut self, pair: &Type, place: Place, depth: usize) -> Result<(Node, DataType)> {
        let mut types = None;
        let (node, _) = self.list(place, |walker, inner| {
            let [key, value] = pair.get_fields() else { bail!(INCORRECT_DATA, "Parquet map has no pairs") };
            let (mut key_node, key_ty) = walker.node(key, inner, depth + 1)?;
            let (value_node, value_ty) = walker.node(value, inner, depth + 1)?;
            // Keys are never NULL, whatever the schema says.
            if let Node::Leaf(leaf) = &mut key_node {
                leaf.nullable = false;
            }
            types = Some((key_ty.without_nullable().clone(), value_ty));
            Ok((Node::Struct { fields: vec![key_node, value_node], validity: None }, DataType::Nothing))
        })?;
        match types {
            Some((key, value)) => Ok((node, DataType::map(key, value))),
            None => bail!(INCORRECT_DATA, "Parquet map has no pairs"),
        }
    }

    fn leaf(&mut self, ty: &Type, place: Place) -> Result<(Node, DataType)> {
        let index = self.next_leaf;
        self.next_leaf += 1;
        let (conversion, mut bare) = leaf_type(ty)?;
        let info = ty.get_basic_info();
        let is_json = info.logical_type_ref() == Some(&LogicalType::Json)
            || info.converted_type() == ConvertedType::JSON;
        if self.json && is_json && conversion == Conversion::Text {
            bare = DataType::Json(Default::default());
        }
        let nullable = place.definition > place.slot_definition;
        let leaf = Leaf {
            index,
            conversion,
            ty: bare.clone(),
            nullable,
            max_definition: place.definition,
            max_repetition: place.repetition,
            slot_definition: place.slot_definition,
        };
        Ok((Node::Leaf(leaf), if nullable { bare.nullable() } else { bare }))
    }
}

/// The type of a stored column without wrappers.
fn leaf_type(ty: &Type) -> Result<(Conversion, DataType)> {
    use DataType::*;
    let info = ty.get_basic_info();
    let Type::PrimitiveType { physical_type, type_length, scale, precision, .. } = ty else {
        bail!(LOGICAL_ERROR, "A Parquet group is not a leaf");
    };
    let date_time = |unit: &TimeUnit| {
        let scale = match unit {
            TimeUnit::MILLIS => 3,
            TimeUnit::MICROS => 6,
            TimeUnit::NANOS => 9,
        };
        DateTime64(scale, Some(TimeZone::utc()))
    };
    let logical = info.logical_type_ref();
    let converted = info.converted_type();
    if let Some(LogicalType::Decimal(_)) = logical
        && *precision > 0
    {
        return decimal(*physical_type, *type_length, *precision, *scale);
    }
    if converted == ConvertedType::DECIMAL {
        return decimal(*physical_type, *type_length, *precision, *scale);
    }
    Ok(match physical_type {
        Stored::BOOLEAN => (Conversion::Bool, Bool),
        Stored::INT32 => {
            let ty = match (logical, converted) {
                (Some(LogicalType::Integer(int)), _) => match (int.bit_width, int.is_signed) {
                    (8, true) => Int8,
                    (8, false) => UInt8,
                    (16, true) => Int16,
                    (16, false) => UInt16,
                    (_, true) => Int32,
                    (_, false) => UInt32,
                },
                (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => {
                    return Ok((Conversion::Days, Date32));
                }
                (Some(LogicalType::Time(time)), _) => date_time(&time.unit),
                (None, ConvertedType::TIME_MILLIS) => date_time(&TimeUnit::MILLIS),
                (None, ConvertedType::INT_8) => Int8,
                (None, ConvertedType::INT_16) => Int16,
                (None, ConvertedType::UINT_8) => UInt8,
                (None, ConvertedType::UINT_16) => UInt16,
                (None, ConvertedType::UINT_32) => UInt32,
                _ => Int32,
            };
            (Conversion::Int32, ty)
        }
        Stored::INT64 => {
            let ty = match (logical, converted) {
                (Some(LogicalType::Integer(int)), _) if !int.is_signed => UInt64,
                (Some(LogicalType::Timestamp(time)), _) => date_time(&time.unit),
                (Some(LogicalType::Time(time)), _) => date_time(&time.unit),
                (None, ConvertedType::TIMESTAMP_MILLIS) => date_time(&TimeUnit::MILLIS),
                (None, ConvertedType::TIMESTAMP_MICROS | ConvertedType::TIME_MICROS) => {
                    date_time(&TimeUnit::MICROS)
                }
                (None, ConvertedType::UINT_64) => UInt64,
                _ => Int64,
            };
            (Conversion::Int64, ty)
        }
        Stored::INT96 => (Conversion::Int96, date_time(&TimeUnit::NANOS)),
        Stored::FLOAT => (Conversion::Float32, Float32),
        Stored::DOUBLE => (Conversion::Float64, Float64),
        Stored::BYTE_ARRAY => (Conversion::Text, String),
        Stored::FIXED_LEN_BYTE_ARRAY => {
            let width = fixed_width(*type_length)?;
            match logical {
                Some(LogicalType::Float16) if width == 2 => (Conversion::Float16, Float32),
                Some(LogicalType::Uuid) if width == 16 => (Conversion::Fixed(16), Uuid),
                _ => (Conversion::Fixed(width), FixedString(width as u32)),
            }
        }
    })
}

fn fixed_width(length: i32) -> Result<usize> {
    ensure!(
        (1..=1 << 24).contains(&length),
        INCORRECT_DATA,
        "Invalid length {length} of fixed-size Parquet column"
    );
    Ok(length as usize)
}

fn decimal(stored: Stored, length: i32, precision: i32, scale: i32) -> Result<(Conversion, DataType)> {
    ensure!(
        (1..=76).contains(&precision) && (0..=precision).contains(&scale),
        INCORRECT_DATA,
        "Invalid Parquet decimal: precision {precision}, scale {scale}"
    );
    let ty = DataType::Decimal { precision: precision as u8, scale: scale as u8 };
    let conversion = match stored {
        Stored::INT32 => Conversion::Int32,
        Stored::INT64 => Conversion::Int64,
        Stored::BYTE_ARRAY => Conversion::BigEndianText,
        Stored::FIXED_LEN_BYTE_ARRAY => Conversion::BigEndian(fixed_width(length)?),
        other => bail!(INCORRECT_DATA, "Parquet type {other} cannot be a decimal"),
    };
    let fits = match conversion {
        Conversion::Int32 => ty.physical() == Physical::I32 || ty.physical() == Physical::I64,
        Conversion::BigEndian(width) => width <= 32,
        _ => true,
    };
    ensure!(fits, INCORRECT_DATA, "Parquet type {stored} cannot hold {ty}");
    Ok((conversion, ty))
}
