//! The header of an array: the type of its elements, and its shape, as a literal of Python.

use chalet_base::{Result, bail, ensure, err};
use chalet_types::DataType;

pub const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers are padded to a multiple of this.
pub const ALIGNMENT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Signed,
    Unsigned,
    Float,
    Bytes,
    /// Characters of four bytes.
    Unicode,
}

/// The type of elements.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    pub big_endian: bool,
}

#[derive(Clone, Debug)]
pub struct Header {
    pub element: Element,
    pub shape: Vec<usize>,
}

impl Header {
    /// The header and its length.
    pub fn read(bytes: &[u8]) -> Result<(Header, usize)> {
        let short = || err!(INCORRECT_DATA, "Invalid header of Npy file: it is cut short");
        ensure!(
            bytes.starts_with(MAGIC),
            INCORRECT_DATA,
            "Invalid header of Npy file: the magic does not match"
        );
        let version = *bytes.get(MAGIC.len()).ok_or_else(short)?;
        let at = MAGIC.len() + 2;
        let (start, length) = match version {
            1 => {
                let length = bytes.get(at..at + 2).ok_or_else(short)?;
                (at + 2, usize::from(length[0]) | usize::from(length[1]) << 8)
            }
            2 | 3 => {
                let length = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or_else(short)?;
                (at + 4, u32::from_le_bytes(*length) as usize)
            }
            other => bail!(NOT_IMPLEMENTED, "Npy file of version {other} is not supported"),
        };
        let text = start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or_else(short)?;
        let text =
            std::str::from_utf8(text).map_err(|_| err!(INCORRECT_DATA, "Invalid header of Npy file"))?;
        let value = |name: &str| {
            let at = text.find(&format!("'{name}'")).or_else(|| text.find(&format!("\"{name}\"")))?;
            Some(text[at + name.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
        };
        let missing = |name: &str| err!(INCORRECT_DATA, "Header of Npy file has no '{name}'");
        let order = value("fortran_order").ok_or_else(|| missing("fortran_order"))?;
        ensure!(!order.starts_with("True"), INCORRECT_DATA, "Fortran order is not supported");
        let descr = value("descr").ok_or_else(|| missing("descr"))?;
        let descr = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
        let element = Element::parse(descr.ok_or_else(|| missing("descr"))?)?;
        let shape = value("shape").and_then(|text| text.strip_prefix('(')?.split(')').next());
        let shape = shape.ok_or_else(|| missing("shape"))?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let size = |text: &str| {
            text.parse::<usize>().map_err(|_| err!(INCORRECT_DATA, "Npy file has the shape ({shape})"))
        };
        let shape: Vec<usize> = sizes.map(size).collect::<Result<_>>()?;
        ensure!(
            !shape.is_empty() && shape.len() <= 100,
            INCORRECT_DATA,
            "Npy file has an array of {} dimensions",
            shape.len()
        );
        Ok((Header { element, shape }, start + length))
    }

    /// The type of the column: an element, in an array for each further dimension.
    pub fn data_type(&self) -> Result<DataType> {
        let element = self.element.data_type()?;
        Ok(self.shape[1..].iter().fold(element, |ty, _| ty.array()))
    }
}

impl Element {
    fn parse(descr: &str) -> Result<Element> {
        let unknown = || err!(BAD_ARGUMENTS, "Npy type '{descr}' is not supported");
        let (endianness, rest) = descr.split_at_checked(1).ok_or_else(unknown)?;
        let (kind, size) = rest.split_at_checked(1).ok_or_else(unknown)?;
        let size: usize = size.parse().map_err(|_| unknown())?;
        let (kind, size) = match (kind, size) {
            ("i", 1 | 2 | 4 | 8) => (Kind::Signed, size),
            ("u", 1 | 2 | 4 | 8) | ("b", 1) => (Kind::Unsigned, size),
            ("f", 4 | 8) => (Kind::Float, size),
            ("S", 1..=0x1000_0000) => (Kind::Bytes, size),
            ("U", 1..=0x1000_0000) => (Kind::Unicode, size * 4),
            _ => return Err(unknown()),
        };
        let big_endian = match endianness {
            "<" | "|" => false,
            ">" => true,
            _ => return Err(unknown()),
        };
        Ok(Element { kind, size, big_endian })
    }

    pub fn data_type(&self) -> Result<DataType> {
        Ok(match (self.kind, self.size) {
            (Kind::Signed, 1) => DataType::Int8,
            (Kind::Signed, 2) => DataType::Int16,
            (Kind::Signed, 4) => DataType::Int32,
            (Kind::Signed, _) => DataType::Int64,
            (Kind::Unsigned, 1) => DataType::UInt8,
            (Kind::Unsigned, 2) => DataType::UInt16,
            (Kind::Unsigned, 4) => DataType::UInt32,
            (Kind::Unsigned, _) => DataType::UInt64,
            (Kind::Float, 4) => DataType::Float32,
            (Kind::Float, _) => DataType::Float64,
            (Kind::Bytes | Kind::Unicode, _) => DataType::String,
        })
    }
}
