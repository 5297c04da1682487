//! Reading Avro files: runs of blocks are units.

use super::json::Json;
use super::schema::{Node, Parser, position};
use crate::input::{BlockReader, FileScan, ReadRequest, Schema};
use crate::integers;
use crate::protobuf_wire::{take, take_varint, unzigzag};
use crate::sliced::Sliced;
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Block, Builder, Column, Vector};
use chalet_text::read::{Reader, Syntax};
use chalet_types::{DataType, I256};
use std::io::Read;
use std::sync::Arc;

const MAGIC: &[u8] = b"Obj\x01";

/// Blocks are read together up to this many bytes.
const UNIT: usize = 1 << 20;

/// A block has no more bytes when decompressed.
const MAX_BLOCK: u64 = 1 << 30;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

/// What stands before the blocks.
pub struct Header {
    codec: Codec,
    fields: Arc<[(String, Node)]>,
    sync: [u8; 16],
}

fn long(rest: &mut &[u8]) -> Result<i64> {
    take_varint(rest).map(unzigzag)
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let n = long(rest)?;
    let n = u64::try_from(n).map_err(|_| err!(INCORRECT_DATA, "Avro string has a length of {n}"))?;
    take(rest, n)
}

/// How many items follow; 0 at the end of an array or map.
fn items(rest: &mut &[u8]) -> Result<usize> {
    let mut n = long(rest)?;
    if n < 0 {
        // The number of bytes is for those who skip.
        long(rest)?;
        n = n.saturating_neg();
    }
    ensure!(
        n as u64 <= rest.len() as u64,
        CANNOT_READ_ALL_DATA,
        "Cannot read all data. Bytes read: {}. Items expected: {n}",
        rest.len()
    );
    Ok(n as usize)
}

impl Header {
    /// The header and its length.
    pub fn read(whole: &[u8]) -> Result<(Header, usize)> {
        let mut rest = whole;
        let magic = take(&mut rest, MAGIC.len() as u64).map_err(|_| err!(AVRO_EXCEPTION, "EOF reached"))?;
        ensure!(magic == MAGIC, AVRO_EXCEPTION, "Invalid data file. Magic does not match");
        let (mut codec, mut schema) = (Codec::Null, None);
        loop {
            let n = items(&mut rest)?;
            if n == 0 {
                break;
            }
            for _ in 0..n {
                let key = bytes(&mut rest)?;
                let value = bytes(&mut rest)?;
                match key {
                    b"avro.schema" => schema = Some(Json::parse(value)?),
                    b"avro.codec" => {
                        codec = match value {
                            b"null" | b"" => Codec::Null,
                            b"deflate" => Codec::Deflate,
                            b"snappy" => Codec::Snappy,
                            b"zstandard" => Codec::Zstandard,
                            other => bail!(
                                AVRO_EXCEPTION,
                                "Unknown codec in data file: {}",
                                String::from_utf8_lossy(other)
                            ),
                        }
                    }
                    _ => {}
                }
            }
        }
        let mut sync = [0; 16];
        sync.copy_from_slice(take(&mut rest, 16)?);
        let Some(schema) = schema else { bail!(AVRO_EXCEPTION, "No schema in metadata") };
        match Parser::default().node(&schema, 0)? {
            Node::Record(fields) => Ok((Header { codec, fields, sync }, whole.len() - rest.len())),
            _ => bail!(TYPE_MISMATCH, "Root schema must be a record"),
        }
    }

    pub fn columns(&self) -> Result<Schema> {
        self.fields.iter().map(|(name, node)| Ok((name.clone(), node.data_type()?))).collect()
    }
}

/// What is done with a field of a record.
enum Action {
    Skip,
    /// The field is this wanted column.
    Read(usize),
    /// Wanted columns are fields inside of the record.
    Inside(Vec<Action>),
}

struct File {
    header: Header,
    actions: Vec<Action>,
    types: Vec<DataType>,
    absent: Vec<bool>,
    request: ReadRequest,
}

pub fn open(bytes: Buffer, request: ReadRequest) -> Result<Box<dyn FileScan>> {
    let (header, at) = Header::read(&bytes)?;
    let wanted: Vec<(String, DataType)> =
        request.wanted.iter().map(|&index| request.structure[index].clone()).collect();
    let mut found = vec![false; wanted.len()];
    let actions = actions(&header.fields, "", &wanted, &mut found)?;
    for ((name, _), found) in wanted.iter().zip(&found) {
        ensure!(
            *found || request.settings.input_format_avro_allow_missing_fields,
            THERE_IS_NO_COLUMN,
            "Field {name} not found in Avro schema"
        );
    }
    let types = wanted.into_iter().map(|c| c.1).collect();
    let absent = found.iter().map(|found| !found).collect();
    let file = Arc::new(File { header, actions, types, absent, request });
    Ok(Box::new(Blocks { file, bytes, at }))
}

/// Finds the wanted columns among the fields, and inside of records by their paths.
fn actions(
    fields: &[(String, Node)],
    prefix: &str,
    wanted: &[(String, DataType)],
    found: &mut [bool],
) -> Result<Vec<Action>> {
    let action = |(name, node): &(String, Node)| {
        let path = format!("{prefix}{name}");
        if let Some(column) = wanted.iter().position(|c| c.0 == path) {
            let ty = &wanted[column].1;
            ensure!(
                node.fits(ty),
                ILLEGAL_COLUMN,
                "Type {ty} is not compatible with Avro {}: column {path}: (while reading header)",
                node.name()
            );
            found[column] = true;
            return Ok(Action::Read(column));
        }
        let inside = format!("{path}.");
        match node {
            Node::Record(fields) if wanted.iter().any(|c| c.0.starts_with(&inside)) => {
                self::actions(fields, &inside, wanted, found).map(Action::Inside)
            }
            _ => Ok(Action::Skip),
        }
    };
    fields.iter().map(action).collect()
}

struct Blocks {
    file: Arc<File>,
    bytes: Buffer,
    at: usize,
}

impl FileScan for Blocks {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        let mut blocks = Vec::new();
        let start = self.at;
        while self.at < self.bytes.len() && self.at - start < UNIT {
            let mut rest = &self.bytes[self.at..];
            let n_rows = long(&mut rest)?;
            let n_rows = u64::try_from(n_rows);
            let Ok(n_rows) = n_rows else { bail!(AVRO_EXCEPTION, "Avro block has less than no rows") };
            let packed = bytes(&mut rest)?;
            let sync = take(&mut rest, 16)?;
            ensure!(sync == self.file.header.sync, AVRO_EXCEPTION, "Sync mismatch");
            let end = self.bytes.len() - rest.len();
            let data = self.bytes.slice_with_length(end - 16 - packed.len(), packed.len());
            blocks.push((n_rows, data));
            self.at = end;
        }
        if blocks.is_empty() {
            return Ok(None);
        }
        let file = self.file.clone();
        let absent = file.absent.clone();
        Ok(Some(Box::new(Sliced::new(Box::new(move || file.rows(blocks)), absent))))
    }
}

impl File {
    fn rows(&self, blocks: Vec<(u64, Buffer)>) -> Result<Block> {
        let mut builders: Vec<Builder> = self.types.iter().map(Builder::new).collect();
        let mut total = 0usize;
        for (n_rows, packed) in blocks {
            let plain = decompressed(&packed, self.header.codec)?;
            let mut rest: &[u8] = &plain;
            // Rows take bytes, but for those of nothing.
            ensure!(
                n_rows <= (plain.len() as u64).max(1 << 20),
                INCORRECT_DATA,
                "Avro block of {} bytes claims to have {n_rows} rows",
                plain.len()
            );
            for _ in 0..n_rows {
                self.record(&mut rest, &self.header.fields, &self.actions, &mut builders)?;
            }
            total += n_rows as usize;
        }
        let columns = builders.into_iter().zip(&self.types).zip(&self.absent);
        let column = |((builder, ty), absent): ((Builder, &DataType), &bool)| match absent {
            true => Column::constant(Vector::defaults(ty, 1), total),
            false => builder.finish().into(),
        };
        Ok(Block::new(columns.map(column).collect(), total))
    }

    fn record(
        &self,
        rest: &mut &[u8],
        fields: &[(String, Node)],
        actions: &[Action],
        to: &mut [Builder],
    ) -> Result<()> {
        for ((_, node), action) in fields.iter().zip(actions) {
            match (action, node) {
                (Action::Skip, _) => skip(rest, node)?,
                (Action::Read(column), _) => {
                    self.value(rest, node, &self.types[*column], &mut to[*column])?;
                }
                (Action::Inside(actions), Node::Record(fields)) => self.record(rest, fields, actions, to)?,
                (Action::Inside(_), _) => {}
            }
        }
        Ok(())
    }

    fn value(&self, rest: &mut &[u8], node: &Node, ty: &DataType, to: &mut Builder) -> Result<()> {
        let refused = || err!(ILLEGAL_COLUMN, "Type {ty} is not compatible with Avro {}", node.name());
        match node {
            Node::Null => {
                ensure!(
                    ty.is_nullable()
                        || self.request.settings.input_format_null_as_default
                        || self.request.settings.input_format_avro_null_as_default,
                    TYPE_MISMATCH,
                    "Cannot insert Avro null into a column of type {ty}"
                );
                to.push_default();
                return Ok(());
            }
            Node::Union(branches) => {
                let index = long(rest)?;
                let branch = usize::try_from(index).ok().and_then(|index| branches.get(index));
                let Some(branch) = branch else { bail!(AVRO_EXCEPTION, "Avro union has no branch {index}") };
                return self.value(rest, branch, ty, to);
            }
            Node::Boolean => {
                let byte = take(rest, 1)?[0];
                return number(to, ty, i64::from(byte != 0), None);
            }
            Node::Int | Node::Date | Node::Long | Node::Timestamp(_) => {
                let scale = if let Node::Timestamp(scale) = node { Some(*scale) } else { None };
                return number(to, ty, long(rest)?, scale);
            }
            Node::Float => {
                let value = f32::from_le_bytes(take(rest, 4)?.try_into().unwrap_or_default());
                return float(to, value.into());
            }
            Node::Double => {
                let value = f64::from_le_bytes(take(rest, 8)?.try_into().unwrap_or_default());
                return float(to, value);
            }
            Node::Bytes | Node::String | Node::Uuid => {
                let text = bytes(rest)?;
                match &mut to.values {
                    Values::Str(strings) => strings.push(text),
                    _ if *ty.bare() == DataType::Uuid => {
                        let reader = Reader::new(&DataType::Uuid, Syntax::Plain, &Default::default());
                        return reader.read(&mut chalet_text::read::cursor::Cursor::new(text), to).map(drop);
                    }
                    _ => return Err(refused()),
                }
            }
            Node::Decimal { fixed, .. } => {
                let raw = match fixed {
                    Some(size) => take(rest, *size as u64)?,
                    None => bytes(rest)?,
                };
                decimal(raw, to)?;
            }
            Node::Fixed(size) => {
                let raw = take(rest, *size as u64)?;
                if integers::push_raw(to, ty, raw) {
                    return Ok(());
                }
                match &mut to.values {
                    Values::Str(strings) => strings.push(raw),
                    _ => return Err(refused()),
                }
            }
            Node::Enum(symbols) => {
                let index = long(rest)?;
                let symbol = usize::try_from(index).ok().and_then(|index| symbols.get(index));
                let Some(symbol) = symbol else { bail!(AVRO_EXCEPTION, "Avro enum has no symbol {index}") };
                return enumerated(symbol, ty, to);
            }
            Node::Array(_) | Node::Map(_) | Node::Record(_) => self.nested(rest, node, ty, to)?,
        }
        to.mark_valid();
        Ok(())
    }

    /// The values of an array, a map or a record; the row is closed, and marked by the caller.
    fn nested(&self, rest: &mut &[u8], node: &Node, ty: &DataType, to: &mut Builder) -> Result<()> {
        let refused = || err!(ILLEGAL_COLUMN, "Type {ty} is not compatible with Avro {}", node.name());
        match node {
            Node::Array(inner) => {
                let (DataType::Array(element), Values::List(list)) = (ty.bare(), &mut to.values) else {
                    return Err(refused());
                };
                loop {
                    let n = items(rest)?;
                    if n == 0 {
                        break;
                    }
                    for _ in 0..n {
                        self.value(rest, inner, element, &mut list.values)?;
                    }
                }
                list.close();
            }
            Node::Map(inner) => {
                let (DataType::Map(_, value), Values::List(list)) = (ty.bare(), &mut to.values) else {
                    return Err(refused());
                };
                let Values::Struct { fields, len } = &mut list.values.values else { return Err(refused()) };
                loop {
                    let n = items(rest)?;
                    if n == 0 {
                        break;
                    }
                    for _ in 0..n {
                        let key = bytes(rest)?;
                        let Values::Str(keys) = &mut fields[0].values else { return Err(refused()) };
                        keys.push(key);
                        fields[0].mark_valid();
                        self.value(rest, inner, value, &mut fields[1])?;
                        *len += 1;
                    }
                }
                list.close();
            }
            Node::Record(nodes) => {
                let (DataType::Tuple(types), Values::Struct { fields, len }) = (ty.bare(), &mut to.values)
                else {
                    return Err(refused());
                };
                for (index, (_, node)) in nodes.iter().enumerate() {
                    let element =
                        types.iter().enumerate().position(|(at, f)| position(nodes, f, at) == Some(index));
                    match element {
                        Some(at) => self.value(rest, node, &types[at].ty, &mut fields[at])?,
                        None => skip(rest, node)?,
                    }
                }
                *len += 1;
            }
            _ => return Err(refused()),
        }
        Ok(())
    }
}

/// Appends an integer, which may be ticks of a timestamp.
fn number(to: &mut Builder, ty: &DataType, value: i64, scale: Option<u8>) -> Result<()> {
    let value = match (scale, ty.bare()) {
        (Some(from), DataType::DateTime64(to, _)) if from < *to => {
            value.checked_mul(10i64.pow(u32::from(to - from))).ok_or_else(|| {
                err!(DECIMAL_OVERFLOW, "Timestamp of an Avro file exceeds the range of type {ty}")
            })?
        }
        (Some(from), DataType::DateTime64(to, _)) => value.div_euclid(10i64.pow(u32::from(from - to))),
        (Some(from), DataType::DateTime(_)) => value.div_euclid(10i64.pow(from.into())),
        _ => value,
    };
    match &mut to.values {
        Values::F32(values) => values.push(value as f32),
        Values::F64(values) => values.push(value as f64),
        Values::U8(values) if *ty.bare() == DataType::Bool => values.push(u8::from(value != 0)),
        _ => {
            ensure!(integers::push(to, value), ILLEGAL_COLUMN, "Type {ty} is not compatible with Avro long");
            return Ok(());
        }
    }
    to.mark_valid();
    Ok(())
}

fn float(to: &mut Builder, value: f64) -> Result<()> {
    match &mut to.values {
        Values::F32(values) => values.push(value as f32),
        Values::F64(values) => values.push(value),
        _ => {
            ensure!(
                integers::push(to, value as i64),
                ILLEGAL_COLUMN,
                "Column is not compatible with Avro double"
            );
            return Ok(());
        }
    }
    to.mark_valid();
    Ok(())
}

/// A big-endian number in two's complement.
fn decimal(raw: &[u8], to: &mut Builder) -> Result<()> {
    let too_large =
        || err!(INCORRECT_DATA, "Decimal of {} bytes in an Avro file is too large for its type", raw.len());
    if raw.len() > 32 {
        return Err(too_large());
    }
    let fill = if raw.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let mut wide = [fill; 32];
    for (to, from) in wide.iter_mut().zip(raw.iter().rev()) {
        *to = *from;
    }
    let wide = I256::from_le_bytes(wide);
    match &mut to.values {
        Values::I32(values) => values.push(i32::try_from(wide).map_err(|_| too_large())?),
        Values::I64(values) => values.push(i64::try_from(wide).map_err(|_| too_large())?),
        Values::I128(values) => values.push(i128::try_from(wide).map_err(|_| too_large())?),
        Values::I256(values) => values.push(wide),
        _ => bail!(ILLEGAL_COLUMN, "Column is not compatible with Avro decimal"),
    }
    Ok(())
}

fn enumerated(symbol: &str, ty: &DataType, to: &mut Builder) -> Result<()> {
    let number = match (ty.bare(), &mut to.values) {
        (_, Values::Str(strings)) => {
            strings.push(symbol.as_bytes());
            to.mark_valid();
            return Ok(());
        }
        (DataType::Enum8(values) | DataType::Enum16(values), _) => values.number_of(symbol.as_bytes()),
        _ => None,
    };
    let Some(number) = number else {
        bail!(ILLEGAL_COLUMN, "Type {ty} has no value for the Avro enum symbol '{symbol}'");
    };
    integers::push(to, number.into());
    Ok(())
}

fn skip(rest: &mut &[u8], node: &Node) -> Result<()> {
    match node {
        Node::Null => {}
        Node::Boolean => drop(take(rest, 1)?),
        Node::Int | Node::Date | Node::Long | Node::Timestamp(_) | Node::Enum(_) => drop(long(rest)?),
        Node::Float => drop(take(rest, 4)?),
        Node::Double => drop(take(rest, 8)?),
        Node::Bytes | Node::String | Node::Uuid | Node::Decimal { fixed: None, .. } => drop(bytes(rest)?),
        Node::Decimal { fixed: Some(size), .. } | Node::Fixed(size) => drop(take(rest, *size as u64)?),
        Node::Array(inner) => loop {
            let n = items(rest)?;
            if n == 0 {
                break;
            }
            (0..n).try_for_each(|_| skip(rest, inner))?;
        },
        Node::Map(inner) => loop {
            let n = items(rest)?;
            if n == 0 {
                break;
            }
            for _ in 0..n {
                bytes(rest)?;
                skip(rest, inner)?;
            }
        },
        Node::Union(branches) => {
            let index = long(rest)?;
            let branch = usize::try_from(index).ok().and_then(|index| branches.get(index));
            let Some(branch) = branch else { bail!(AVRO_EXCEPTION, "Avro union has no branch {index}") };
            skip(rest, branch)?;
        }
        Node::Record(fields) => fields.iter().try_for_each(|(_, node)| skip(rest, node))?,
    }
    Ok(())
}

fn decompressed(packed: &[u8], codec: Codec) -> Result<Vec<u8>> {
    let broken = |e: String| err!(CANNOT_DECOMPRESS, "Cannot decompress a block of an Avro file: {e}");
    let all = |from: Box<dyn Read + '_>| {
        let mut plain = Vec::new();
        from.take(MAX_BLOCK + 1).read_to_end(&mut plain).map_err(|e| broken(e.to_string()))?;
        ensure!(plain.len() as u64 <= MAX_BLOCK, CANNOT_DECOMPRESS, "A block of an Avro file is too long");
        Ok(plain)
    };
    match codec {
        Codec::Null => Ok(packed.to_vec()),
        Codec::Deflate => all(Box::new(flate2::read::DeflateDecoder::new(packed))),
        Codec::Zstandard => all(Box::new(zstd::Decoder::new(packed).map_err(|e| broken(e.to_string()))?)),
        Codec::Snappy => {
            let Some((packed, check)) = packed.split_last_chunk::<4>() else {
                bail!(AVRO_EXCEPTION, "Invalid Avro block: it is too short for a checksum");
            };
            let n = snap::raw::decompress_len(packed).map_err(|e| broken(e.to_string()))?;
            ensure!(n as u64 <= MAX_BLOCK, CANNOT_DECOMPRESS, "A block of an Avro file is too long");
            let plain =
                snap::raw::Decoder::new().decompress_vec(packed).map_err(|e| broken(e.to_string()))?;
            let mut crc = flate2::Crc::new();
            crc.update(&plain);
            ensure!(
                crc.sum() == u32::from_be_bytes(*check),
                AVRO_EXCEPTION,
                "Checksum of a block of an Avro file does not match"
            );
            Ok(plain)
        }
    }
}
