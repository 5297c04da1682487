//! Reading MsgPack.

use crate::binary::swap_uuid;
use crate::infer::typed::{Typed, array, merge};
use crate::input::{BlockReader, ReadRequest};
use crate::integers;
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Syntax};
use chalet_types::DataType;
use std::sync::Arc;

/// The number of the extension that a UUID is.
pub const UUID_EXTENSION: u8 = 2;

/// Values nest no deeper.
const MAX_DEPTH: usize = 100;

pub struct MsgPackFile {
    pub request: ReadRequest,
}

/// The head of a value; what strings and extensions hold follows it in the data.
#[derive(Clone, Copy, Debug)]
enum Head<'a> {
    Nil,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float32(f32),
    Float64(f64),
    Bytes(&'a [u8]),
    Array(usize),
    Map(usize),
    Extension(u8, &'a [u8]),
}

fn bytes<'a>(cur: &mut Cursor<'a>, n: usize) -> Result<&'a [u8]> {
    let Some(bytes) = cur.rest().get(..n) else {
        bail!(CANNOT_READ_ALL_DATA, "Unexpected end of file while parsing msgpack object");
    };
    cur.advance(n);
    Ok(bytes)
}

fn big_endian(cur: &mut Cursor<'_>, n: usize) -> Result<u64> {
    Ok(bytes(cur, n)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn head<'a>(cur: &mut Cursor<'a>) -> Result<Head<'a>> {
    let [first] = *bytes(cur, 1)? else { bail!(LOGICAL_ERROR, "One byte is one byte") };
    let size = |cur: &mut Cursor<'a>, n| big_endian(cur, n).map(|n| n as usize);
    Ok(match first {
        0x00..=0x7f => Head::Integer(first.into()),
        0x80..=0x8f => Head::Map(usize::from(first & 15)),
        0x90..=0x9f => Head::Array(usize::from(first & 15)),
        0xa0..=0xbf => Head::Bytes(bytes(cur, usize::from(first & 31))?),
        0xc0 => Head::Nil,
        0xc1 => bail!(INCORRECT_DATA, "Error occurred while parsing msgpack data"),
        0xc2 | 0xc3 => Head::Bool(first == 0xc3),
        0xc4..=0xc6 => {
            let n = size(cur, 1 << (first - 0xc4))?;
            Head::Bytes(bytes(cur, n)?)
        }
        0xc7..=0xc9 => {
            let n = size(cur, 1 << (first - 0xc7))?;
            let ty = bytes(cur, 1)?[0];
            Head::Extension(ty, bytes(cur, n)?)
        }
        0xca => Head::Float32(f32::from_bits(big_endian(cur, 4)? as u32)),
        0xcb => Head::Float64(f64::from_bits(big_endian(cur, 8)?)),
        0xcc..=0xce => Head::Integer(big_endian(cur, 1 << (first - 0xcc))? as i64),
        0xcf => Head::Unsigned(big_endian(cur, 8)?),
        0xd0 => Head::Integer((big_endian(cur, 1)? as i8).into()),
        0xd1 => Head::Integer((big_endian(cur, 2)? as i16).into()),
        0xd2 => Head::Integer((big_endian(cur, 4)? as i32).into()),
        0xd3 => Head::Integer(big_endian(cur, 8)? as i64),
        0xd4..=0xd8 => {
            let ty = bytes(cur, 1)?[0];
            Head::Extension(ty, bytes(cur, 1 << (first - 0xd4))?)
        }
        0xd9..=0xdb => {
            let n = size(cur, 1 << (first - 0xd9))?;
            Head::Bytes(bytes(cur, n)?)
        }
        0xdc | 0xdd => Head::Array(size(cur, 2 << (first - 0xdc))?),
        0xde | 0xdf => Head::Map(size(cur, 2 << (first - 0xde))?),
        0xe0..=0xff => Head::Integer((first as i8).into()),
    })
}

/// The type of the value at the cursor, which steps behind it.
pub fn type_of(cur: &mut Cursor<'_>, depth: usize) -> Result<Typed> {
    ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "MsgPack values are nested deeper than {MAX_DEPTH}");
    Ok(match head(cur)? {
        Head::Nil => None,
        Head::Bool(_) => Some(DataType::UInt8),
        Head::Integer(_) | Head::Unsigned(_) => Some(DataType::Int64),
        Head::Float32(_) => Some(DataType::Float32),
        Head::Float64(_) => Some(DataType::Float64),
        Head::Bytes(_) => Some(DataType::String),
        Head::Array(n) => {
            let mut elements = Vec::new();
            for _ in 0..n {
                elements.push(type_of(cur, depth + 1)?);
            }
            array(elements)
        }
        Head::Map(n) => {
            let (mut key, mut value) = (None, None);
            let differ = |(a, b)| err!(TYPE_MISMATCH, "MsgPack map has values of types {a} and {b}");
            for _ in 0..n {
                key = merge(key, type_of(cur, depth + 1)?).map_err(differ)?;
                value = merge(value, type_of(cur, depth + 1)?).map_err(differ)?;
            }
            key.zip(value).map(|(key, value)| DataType::map(key, value))
        }
        Head::Extension(UUID_EXTENSION, _) => Some(DataType::Uuid),
        Head::Extension(ty, _) => bail!(BAD_ARGUMENTS, "Msgpack extension type {ty:x} is not supported"),
    })
}

impl Rows for MsgPackFile {
    fn row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let position = |index: usize| self.request.wanted.iter().position(|w| *w == index);
        let wanted = (0..self.request.structure.len()).map(position).collect();
        let request = self.request.clone();
        let parser = MsgPackParser { file: self.clone(), wanted };
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct MsgPackParser {
    file: Arc<MsgPackFile>,
    wanted: Vec<Option<usize>>,
}

impl RowParser for MsgPackParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if cur.is_at_end() {
            return Ok(false);
        }
        let request = &self.file.request;
        for ((_, ty), wanted) in request.structure.iter().zip(&self.wanted) {
            ensure!(!cur.is_at_end(), INCORRECT_DATA, "Not enough values to complete the row");
            match wanted {
                Some(column) => {
                    if !value(cur, ty, &mut to.builders[*column], &request.settings)? {
                        to.mark_omitted(*column);
                    }
                }
                None => skip(cur, 0)?,
            }
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        cur.advance(cur.rest().len());
    }
}

fn skip(cur: &mut Cursor<'_>, depth: usize) -> Result<()> {
    ensure!(depth < MAX_DEPTH, INCORRECT_DATA, "MsgPack values are nested deeper than {MAX_DEPTH}");
    let n = match head(cur)? {
        Head::Array(n) => n,
        Head::Map(n) => n * 2,
        _ => 0,
    };
    for _ in 0..n {
        skip(cur, depth + 1)?;
    }
    Ok(())
}

#[cold]
fn refused(what: &str, ty: &DataType) -> Error {
    err!(ILLEGAL_COLUMN, "Cannot insert MessagePack {what} into column with type {ty}")
}

/// Appends the value at the cursor; false when a default stands for NULL.
fn value(
    cur: &mut Cursor<'_>,
    ty: &DataType,
    to: &mut Builder,
    settings: &crate::FormatSettings,
) -> Result<bool> {
    match head(cur)? {
        Head::Nil => {
            ensure!(
                ty.is_nullable() || settings.input_format_null_as_default,
                ILLEGAL_COLUMN,
                "Cannot insert MessagePack null into column with type {ty}"
            );
            to.push_default();
            return Ok(ty.is_nullable());
        }
        Head::Bool(value) if integers::fits(ty) => drop(integers::push(to, value.into())),
        Head::Bool(_) => return Err(refused("bool", ty)),
        Head::Integer(value) if integers::fits(ty) => drop(integers::push(to, value)),
        Head::Unsigned(value) if integers::fits(ty) => drop(integers::push(to, value as i64)),
        Head::Integer(_) | Head::Unsigned(_) => return Err(refused("integer", ty)),
        Head::Float32(value) => match &mut to.values {
            Values::F32(values) => values.push(value),
            Values::F64(values) => values.push(value.into()),
            _ => return Err(refused("float32", ty)),
        },
        Head::Float64(value) => match &mut to.values {
            Values::F32(values) => values.push(value as f32),
            Values::F64(values) => values.push(value),
            _ => return Err(refused("float64", ty)),
        },
        Head::Bytes(bytes) => return string(bytes, ty, to).map(|()| true),
        Head::Array(n) => list(cur, n, ty, to, settings)?,
        Head::Map(n) => {
            let (DataType::Map(key, item), Values::List(list)) = (ty.bare(), &mut to.values) else {
                return Err(refused("map", ty));
            };
            let Values::Struct { fields, len } = &mut list.values.values else {
                return Err(refused("map", ty));
            };
            for _ in 0..n {
                value(cur, key, &mut fields[0], settings)?;
                value(cur, item, &mut fields[1], settings)?;
                *len += 1;
            }
            list.close();
        }
        Head::Extension(UUID_EXTENSION, bytes) => match &mut to.values {
            Values::Fixed { bytes: out, .. } if *ty.bare() == DataType::Uuid && bytes.len() == 16 => {
                out.extend_from_slice(bytes);
            }
            _ => return Err(refused("UUID", ty)),
        },
        Head::Extension(extension, _) => {
            bail!(BAD_ARGUMENTS, "Msgpack extension type {extension:x} is not supported")
        }
    }
    // Integers and strings are marked where they are appended.
    let marked = !matches!(
        to.values,
        Values::F32(_) | Values::F64(_) | Values::List(_) | Values::Struct { .. } | Values::Fixed { .. }
    );
    if !marked {
        to.mark_valid();
    }
    Ok(true)
}

fn string(bytes: &[u8], ty: &DataType, to: &mut Builder) -> Result<()> {
    if integers::push_raw(to, ty, bytes) {
        return Ok(());
    }
    match (&mut to.values, ty.bare()) {
        (Values::Str(strings), DataType::String) => strings.push(bytes),
        (Values::Fixed { bytes: out, .. }, DataType::Uuid) if bytes.len() == 16 => {
            out.extend_from_slice(&swap_uuid(bytes));
        }
        (_, DataType::Uuid) => {
            let reader = Reader::new(&DataType::Uuid, Syntax::Plain, &Default::default());
            return reader.read(&mut Cursor::new(bytes), to).map(|_| ());
        }
        _ => return Err(refused("string", ty)),
    }
    to.mark_valid();
    Ok(())
}

fn list(
    cur: &mut Cursor<'_>,
    n: usize,
    ty: &DataType,
    to: &mut Builder,
    settings: &crate::FormatSettings,
) -> Result<()> {
    match (ty.bare(), &mut to.values) {
        (DataType::Array(inner), Values::List(list)) => {
            for _ in 0..n {
                value(cur, inner, &mut list.values, settings)?;
            }
            list.close();
        }
        (DataType::Tuple(types), Values::Struct { fields, len }) => {
            ensure!(
                n == fields.len(),
                INCORRECT_DATA,
                "Cannot insert MessagePack array with size {n} into Tuple column with {} elements",
                fields.len()
            );
            for (field, to) in types.iter().zip(fields) {
                value(cur, &field.ty, to, settings)?;
            }
            *len += 1;
        }
        _ => return Err(refused("array", ty)),
    }
    Ok(())
}
