//! Values as the kernel's states hold them, which differ from [`RowCodec`]'s: as it lays them out for its hash tables (lists and strings
//! behind lengths of eight bytes, and behind a string a zero, which its length counts), or as in the format RowBinary.
//!
//! [`RowCodec`]: chalet_columns::rows::RowCodec

use chalet_base::sip_hash::Sip;
use chalet_base::{Result, ensure};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_bytes, put_len, take, take_bytes, take_len, take_u8, take_u64};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::Argument;
use chalet_types::{DataType, Physical};
use std::ops::Range;

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// For hash tables.
    Arena,
    /// As in RowBinary.
    Binary,
    /// Numbers and strings as in RowBinary, anything else as for hash tables, behind its length.
    Node,
    /// The same, but lists of elements of one width are these alone.
    Key,
}

/// Writes values of one type as the kernel's states have them, and reads them back.
pub struct KernelCodec {
    ty: DataType,
    codec: RowCodec,
    layout: Layout,
    /// The type and the bytes of an element of a list whose elements lie one behind the other.
    plain_element: Option<(DataType, usize)>,
}

impl KernelCodec {
    /// Are values in states as the [`RowCodec`] of the type has them?
    pub fn is_plain(ty: &DataType) -> bool {
        is_number(ty) || *ty == DataType::String
    }

    pub fn new(ty: &DataType, layout: Layout) -> KernelCodec {
        let layout = match layout {
            Layout::Node | Layout::Key if is_number(ty) || *ty == DataType::String => Layout::Binary,
            layout => layout,
        };
        let plain_element = match ty {
            DataType::Array(element) if layout == Layout::Key => {
                let width = RowCodec::new(element).width().filter(|&width| width > 0);
                width.map(|width| (DataType::clone(element), width))
            }
            _ => None,
        };
        KernelCodec { ty: ty.clone(), codec: RowCodec::new(ty), layout, plain_element }
    }

    /// Appends a value of a vector of the type.
    pub fn put(&self, vector: &Vector, row: usize, out: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        self.codec.put(vector, row, &mut bytes);
        self.put_row(&bytes, out);
    }

    /// Appends a row that a [`RowCodec`] of the type made.
    pub fn put_row(&self, mut row: &[u8], out: &mut Vec<u8>) {
        // Nothing fails on a row of the type.
        let _ = match self.layout {
            Layout::Arena => put(&self.ty, &mut row, out),
            Layout::Binary => put_as(false, &self.ty, &mut row, out),
            Layout::Node | Layout::Key => {
                let mut node = Vec::new();
                let done = match &self.plain_element {
                    Some((element, _)) => take_len(&mut row)
                        .and_then(|n| (0..n).try_for_each(|_| put(element, &mut row, &mut node))),
                    None => put(&self.ty, &mut row, &mut node),
                };
                put_bytes(&node, out);
                done
            }
        };
    }

    /// Reads a value into a row as the [`RowCodec`] of the type has it.
    pub fn take_row(&self, bytes: &mut &[u8], row: &mut Vec<u8>) -> Result<()> {
        match self.layout {
            Layout::Arena => take_row(&self.ty, bytes, row),
            Layout::Binary => take_as(false, &self.ty, bytes, row),
            Layout::Node | Layout::Key => {
                let mut node = take_bytes(bytes)?;
                match &self.plain_element {
                    Some((element, width)) => {
                        let n = node.len() / width;
                        put_len(n, row);
                        (0..n).try_for_each(|_| take_row(element, &mut node, row))?;
                    }
                    None => take_row(&self.ty, &mut node, row)?,
                }
                ensure!(node.is_empty(), CANNOT_READ_ALL_DATA, "Aggregate state has bytes behind a value");
                Ok(())
            }
        }
    }

    /// Reads a value into a builder of the type.
    pub fn take(&self, bytes: &mut &[u8], out: &mut Builder) -> Result<()> {
        let mut row = Vec::new();
        self.take_row(bytes, &mut row)?;
        self.codec.take(&mut &row[..], out)
    }
}

/// Reads a row of a [`RowCodec`] and appends the kernel's, as in its hash tables.
pub fn put(ty: &DataType, row: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    put_as(true, ty, row, out)
}

/// The other way round.
pub fn take_row(ty: &DataType, bytes: &mut &[u8], row: &mut Vec<u8>) -> Result<()> {
    take_as(true, ty, bytes, row)
}

fn put_as(arena: bool, ty: &DataType, row: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    if ty.is_nullable() {
        let null = take_u8(row)?;
        out.push(null);
        if null != 0 {
            return Ok(());
        }
    }
    let bare = ty.bare();
    match bare.physical() {
        Physical::Str if !arena => put_bytes(take_bytes(row)?, out),
        Physical::Str => {
            let text = take_bytes(row)?;
            out.extend((text.len() as u64 + 1).to_le_bytes());
            out.extend_from_slice(text);
            out.push(0);
        }
        Physical::List => {
            let n = take_len(row)?;
            match arena {
                true => out.extend((n as u64).to_le_bytes()),
                false => put_len(n, out),
            }
            let element = bare.element().unwrap_or(DataType::Nothing);
            (0..n).try_for_each(|_| put_as(arena, &element, row, out))?;
        }
        Physical::Struct => {
            if let DataType::Tuple(fields) = bare {
                fields.iter().try_for_each(|field| put_as(arena, &field.ty, row, out))?;
            }
        }
        physical => out.extend_from_slice(&fixed(bare, take(row, physical.width().unwrap_or(0))?)),
    }
    Ok(())
}

fn take_as(arena: bool, ty: &DataType, bytes: &mut &[u8], row: &mut Vec<u8>) -> Result<()> {
    if ty.is_nullable() {
        let null = u8::from(take_u8(bytes)? != 0);
        row.push(null);
        if null != 0 {
            return Ok(());
        }
    }
    let bare = ty.bare();
    match bare.physical() {
        Physical::Str if !arena => put_bytes(take_bytes(bytes)?, row),
        Physical::Str => {
            let n = take_u64(bytes)?;
            ensure!(n > 0, CANNOT_READ_ALL_DATA, "Aggregate state has a string without an end");
            let text = take(bytes, usize::try_from(n).unwrap_or(usize::MAX))?;
            put_bytes(&text[..text.len() - 1], row);
        }
        Physical::List => {
            let n = if arena { take_u64(bytes)? } else { take_len(bytes)? as u64 };
            ensure!(
                n <= bytes.len() as u64,
                CANNOT_READ_ALL_DATA,
                "Aggregate state has a list of {n} elements in fewer bytes"
            );
            put_len(n as usize, row);
            let element = bare.element().unwrap_or(DataType::Nothing);
            (0..n).try_for_each(|_| take_as(arena, &element, bytes, row))?;
        }
        Physical::Struct => {
            if let DataType::Tuple(fields) = bare {
                fields.iter().try_for_each(|field| take_as(arena, &field.ty, bytes, row))?;
            }
        }
        physical => row.extend_from_slice(&fixed(bare, take(bytes, physical.width().unwrap_or(0))?)),
    }
    Ok(())
}

/// A value of a fixed width: a UUID is two numbers there. Its own inverse.
fn fixed(ty: &DataType, bytes: &[u8]) -> Vec<u8> {
    match ty {
        DataType::Uuid => {
            let (high, low) = bytes.split_at(8);
            high.iter().rev().chain(low.iter().rev()).copied().collect()
        }
        _ => bytes.to_vec(),
    }
}

/// The kernel's 128-bit hash of such bytes.
pub fn hash(bytes: &[u8]) -> u128 {
    let [a, b, c, d] = Sip::new((0, 0)).whole(bytes, 0xff).words();
    u128::from(a ^ b) | u128::from(c ^ d) << 64
}

/// Rows as the kernel's keys of 128 bits.
#[derive(Clone)]
pub struct KernelKeys {
    types: Vec<DataType>,
    codecs: Vec<RowCodec>,
    /// One value of 128 bits is the key itself.
    is_plain: bool,
    /// The hash of one string is that of its bytes alone.
    is_raw: bool,
}

impl KernelKeys {
    pub fn new(args: &[Argument], is_plain: bool) -> KernelKeys {
        KernelKeys {
            types: args.iter().map(|arg| arg.ty.clone()).collect(),
            codecs: args.iter().map(|arg| RowCodec::new(&arg.ty)).collect(),
            is_plain,
            is_raw: false,
        }
    }

    /// The same, but a string alone is hashed without its length.
    pub fn of_raw_strings(self) -> KernelKeys {
        KernelKeys { is_raw: true, ..self }
    }

    /// Calls `f` with each row of the range and its key.
    pub fn for_each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(usize, u128)) {
        if let (true, [Vector { data: Data::Str(strings), .. }]) = (self.is_raw, args) {
            return rows.for_each(|row| f(row, hash(strings.get(row))));
        }
        let (mut row_bytes, mut bytes) = (Vec::new(), Vec::new());
        for row in rows {
            bytes.clear();
            for ((codec, ty), arg) in self.codecs.iter().zip(&self.types).zip(args) {
                row_bytes.clear();
                codec.put(arg, row, &mut row_bytes);
                // What the codec of the type made is a row of that type.
                let _ = put(ty, &mut &row_bytes[..], &mut bytes);
            }
            let key = match bytes.first_chunk() {
                Some(plain) if self.is_plain => u128::from_le_bytes(*plain),
                _ => hash(&bytes),
            };
            f(row, key);
        }
    }
}

/// Does the kernel hold single values of the type as numbers?
pub fn is_number(ty: &DataType) -> bool {
    use DataType as T;
    ty.is_integer()
        || ty.is_float()
        || matches!(
            ty,
            T::Bool | T::BFloat16 | T::IPv4 | T::Date | T::DateTime(_) | T::Enum8(_) | T::Enum16(_)
        )
}
