//! What an ORC file says of itself: postscript, footer, types, and the footers of its stripes.

use super::compression::{Codec, decompressed};
use crate::protobuf_wire::{Fields, Message};
use chalet_base::{Result, bail, ensure};
use chalet_types::{DataType, TupleField};

pub const MAGIC: &[u8] = b"ORC";

/// Types nest no deeper.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    String,
    Binary,
    Timestamp,
    List,
    Map,
    Struct,
    Union,
    Decimal,
    Date,
    Varchar,
    Char,
    TimestampInstant,
}

impl Kind {
    const ALL: [Kind; 19] = {
        use Kind::*;
        [
            Boolean,
            Byte,
            Short,
            Int,
            Long,
            Float,
            Double,
            String,
            Binary,
            Timestamp,
            List,
            Map,
            Struct,
            Union,
            Decimal,
            Date,
            Varchar,
            Char,
            TimestampInstant,
        ]
    };

    pub fn number(self) -> u64 {
        self as u64
    }
}

/// One node of the tree of types, which the file lists in preorder.
#[derive(Clone, Debug)]
pub struct Node {
    pub kind: Kind,
    pub children: Vec<usize>,
    pub names: Vec<String>,
    pub precision: u8,
    pub scale: u8,
}

#[derive(Clone, Debug)]
pub struct StripeInfo {
    pub offset: u64,
    pub index_length: u64,
    pub data_length: u64,
    pub footer_length: u64,
    pub n_rows: u64,
}

/// The end of a file.
#[derive(Debug)]
pub struct Tail {
    pub codec: Codec,
    /// No chunk of a stream is longer when decompressed.
    pub block_size: usize,
    pub stripes: Vec<StripeInfo>,
    pub nodes: Vec<Node>,
    pub n_rows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    Present,
    Data,
    Length,
    DictionaryData,
    Secondary,
    Other,
}

pub struct Stream {
    pub kind: StreamKind,
    pub column: u64,
    pub length: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub dictionary: bool,
    /// Run-length encoding of the second version.
    pub v2: bool,
    pub dictionary_size: u64,
}

pub struct StripeFooter {
    pub streams: Vec<Stream>,
    pub encodings: Vec<Encoding>,
    pub time_zone: String,
}

impl Tail {
    pub fn read(bytes: &[u8]) -> Result<Tail> {
        ensure!(
            bytes.len() > MAGIC.len() && bytes.starts_with(MAGIC),
            INCORRECT_DATA,
            "Cannot open ORC file: the file does not begin with the magic bytes 'ORC'"
        );
        let length = usize::from(bytes[bytes.len() - 1]);
        let end = bytes.len() - 1;
        ensure!(length <= end, INCORRECT_DATA, "Cannot open ORC file: invalid postscript length {length}");
        let mut fields = Fields::new(&bytes[end - length..end]);
        let (mut footer_length, mut codec, mut block_size, mut magic) = (0, 0, 256 << 10, false);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => footer_length = value.number()?,
                2 => codec = value.number()?,
                3 => block_size = value.number()?,
                8000 => magic = value.bytes()? == MAGIC,
                _ => {}
            }
        }
        ensure!(
            magic,
            INCORRECT_DATA,
            "Cannot open ORC file: not an ORC file, its postscript has no magic bytes"
        );
        let codec = Codec::of_number(codec)?;
        // The length of a chunk has 23 bits; a block that shrinks is not much longer.
        let block_size = usize::try_from(block_size).unwrap_or(usize::MAX).clamp(1 << 10, 1 << 26);
        let footer_end = end - length;
        ensure!(
            footer_length <= footer_end as u64,
            INCORRECT_DATA,
            "Cannot open ORC file: invalid footer length {footer_length}"
        );
        let footer = &bytes[footer_end - footer_length as usize..footer_end];
        let footer = decompressed(footer, codec, block_size)?;
        let mut tail = Tail { codec, block_size, stripes: Vec::new(), nodes: Vec::new(), n_rows: 0 };
        let mut fields = Fields::new(&footer);
        while let Some((number, value)) = fields.next()? {
            match number {
                3 => tail.stripes.push(stripe(value.bytes()?)?),
                4 => tail.nodes.push(node(value.bytes()?)?),
                6 => tail.n_rows = value.number()?,
                _ => {}
            }
        }
        tail.check()?;
        Ok(tail)
    }

    /// The types are a tree whose root is a struct.
    fn check(&self) -> Result<()> {
        ensure!(
            self.nodes.first().is_some_and(|root| root.kind == Kind::Struct),
            INCORRECT_DATA,
            "Cannot open ORC file: the root type is not a struct"
        );
        let mut depth = vec![usize::MAX; self.nodes.len()];
        depth[0] = 0;
        for (index, node) in self.nodes.iter().enumerate() {
            let right = match node.kind {
                Kind::Struct => node.children.len() == node.names.len(),
                Kind::List => node.children.len() == 1,
                Kind::Map => node.children.len() == 2,
                Kind::Union => true,
                _ => node.children.is_empty(),
            };
            ensure!(right, INCORRECT_DATA, "ORC type {index} has the wrong number of subtypes");
            for &child in &node.children {
                ensure!(
                    child > index && child < self.nodes.len() && depth[child] == usize::MAX,
                    INCORRECT_DATA,
                    "ORC types are not a tree"
                );
                ensure!(
                    depth[index] < MAX_DEPTH,
                    INCORRECT_DATA,
                    "ORC types are nested deeper than {MAX_DEPTH}"
                );
                depth[child] = depth[index] + 1;
            }
        }
        Ok(())
    }

    /// The columns of the table: names and nodes.
    pub fn columns(&self) -> impl Iterator<Item = (&str, usize)> + Clone {
        let root = &self.nodes[0];
        root.names.iter().map(String::as_str).zip(root.children.iter().copied())
    }

    /// The type of a node. All but lists and maps may have NULLs.
    pub fn type_of(&self, index: usize) -> Result<DataType> {
        let node = &self.nodes[index];
        let child = |at: usize| self.type_of(node.children[at]);
        Ok(match node.kind {
            Kind::Boolean => DataType::Bool,
            Kind::Byte => DataType::Int8,
            Kind::Short => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::String | Kind::Binary | Kind::Varchar | Kind::Char => DataType::String,
            Kind::Timestamp | Kind::TimestampInstant => DataType::DateTime64(9, None),
            Kind::Date => DataType::Date32,
            Kind::Decimal => {
                ensure!(
                    (1..=38).contains(&node.precision) && node.scale <= node.precision,
                    INCORRECT_DATA,
                    "ORC type decimal({}, {}) does not exist",
                    node.precision,
                    node.scale
                );
                DataType::Decimal { precision: node.precision, scale: node.scale }
            }
            Kind::List => return Ok(child(0)?.array()),
            Kind::Map => {
                let key = DataType::clone(child(0)?.without_nullable());
                return Ok(DataType::map(key, child(1)?));
            }
            Kind::Struct => {
                ensure!(
                    !node.children.is_empty(),
                    UNKNOWN_TYPE,
                    "ORC struct without fields is not supported"
                );
                let field = |(at, name): (usize, &String)| -> Result<TupleField> {
                    Ok(TupleField { name: Some(name.as_str().into()), ty: child(at)? })
                };
                DataType::Tuple(node.names.iter().enumerate().map(field).collect::<Result<_>>()?)
            }
            Kind::Union => bail!(UNKNOWN_TYPE, "Unsupported ORC type 'uniontype'"),
        }
        .nullable())
    }
}

fn small(value: u64) -> u8 {
    u8::try_from(value).unwrap_or(u8::MAX)
}

fn node(bytes: &[u8]) -> Result<Node> {
    let mut node =
        Node { kind: Kind::Boolean, children: Vec::new(), names: Vec::new(), precision: 0, scale: 0 };
    let mut fields = Fields::new(bytes);
    let mut children = Vec::new();
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => {
                let kind = value.number()?;
                let known = usize::try_from(kind).ok().and_then(|kind| Kind::ALL.get(kind));
                let Some(known) = known else { bail!(UNKNOWN_TYPE, "Unknown ORC type {kind}") };
                node.kind = *known;
            }
            2 => value.numbers(&mut children)?,
            3 => node.names.push(String::from_utf8_lossy(value.bytes()?).into_owned()),
            5 => node.precision = small(value.number()?),
            6 => node.scale = small(value.number()?),
            _ => {}
        }
    }
    node.children = children.into_iter().map(|child| usize::try_from(child).unwrap_or(usize::MAX)).collect();
    Ok(node)
}

fn stripe(bytes: &[u8]) -> Result<StripeInfo> {
    let mut numbers = [0u64; 6];
    let mut fields = Fields::new(bytes);
    while let Some((number, value)) = fields.next()? {
        if let 1..=5 = number {
            numbers[number as usize] = value.number()?;
        }
    }
    let [_, offset, index_length, data_length, footer_length, n_rows] = numbers;
    ensure!(n_rows <= i64::MAX as u64, INCORRECT_DATA, "ORC stripe claims to have {n_rows} rows");
    Ok(StripeInfo { offset, index_length, data_length, footer_length, n_rows })
}

impl StripeFooter {
    pub fn read(bytes: &[u8]) -> Result<StripeFooter> {
        let mut footer =
            StripeFooter { streams: Vec::new(), encodings: Vec::new(), time_zone: String::new() };
        let mut fields = Fields::new(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => footer.streams.push(stream(value.bytes()?)?),
                2 => footer.encodings.push(encoding(value.bytes()?)?),
                3 => footer.time_zone = value.text()?.to_string(),
                _ => {}
            }
        }
        Ok(footer)
    }
}

fn stream(bytes: &[u8]) -> Result<Stream> {
    let mut numbers = [0u64; 4];
    let mut fields = Fields::new(bytes);
    while let Some((number, value)) = fields.next()? {
        if let 1..=3 = number {
            numbers[number as usize] = value.number()?;
        }
    }
    let kind = match numbers[1] {
        0 => StreamKind::Present,
        1 => StreamKind::Data,
        2 => StreamKind::Length,
        3 => StreamKind::DictionaryData,
        5 => StreamKind::Secondary,
        _ => StreamKind::Other,
    };
    Ok(Stream { kind, column: numbers[2], length: numbers[3] })
}

fn encoding(bytes: &[u8]) -> Result<Encoding> {
    let (mut kind, mut dictionary_size) = (0, 0);
    let mut fields = Fields::new(bytes);
    while let Some((number, value)) = fields.next()? {
        match number {
            1 => kind = value.number()?,
            2 => dictionary_size = value.number()?,
            _ => {}
        }
    }
    ensure!(kind <= 3, INCORRECT_DATA, "Unknown ORC column encoding {kind}");
    Ok(Encoding { dictionary: kind & 1 == 1, v2: kind >= 2, dictionary_size })
}

/// The type of a node as the footer of a file has it.
pub fn type_message(node: &Node) -> Message {
    let mut message = Message::default();
    message.number(1, node.kind.number());
    if !node.children.is_empty() {
        message.packed(2, node.children.iter().map(|child| *child as u64));
    }
    for name in &node.names {
        message.bytes(3, name.as_bytes());
    }
    if node.kind == Kind::Decimal {
        message.number(5, node.precision.into()).number(6, node.scale.into());
    }
    message
}
