//! Reading Native blocks: column by column, numbers in one copy.

use super::layout::{BlockLayout, Kind, Serialization};
use super::several_reader;
use crate::binary::{Cursor, Source, swapped_uuids};
use crate::binary_types::take_shown_type;
use crate::input::{BlockReader, ReadRequest, Schema};
use arrow_buffer::{Buffer, NullBuffer};
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::strings::INLINE;
use chalet_columns::{Block, Buf, Column, Data, Fixed, List, Native, StringBuilder, Struct, Vector, qbit};
use chalet_types::{DataType, Physical};
use std::sync::Arc;

/// Rows that builders have room for before the first value has arrived.
const MAX_CAPACITY: usize = 1 << 16;
/// Rows of a sparse column, whose defaults take no bytes.
const MAX_SPARSE_ROWS: usize = 1 << 24;
const MAX_SPARSE_BYTES: usize = 1 << 30;

/// Names, types and columns of the next block; `None` at the end of the data.
pub fn read_block(from: &mut Cursor<'_>, layout: BlockLayout) -> Result<Option<(Schema, Block)>> {
    if from.rest.is_empty() {
        return Ok(None);
    }
    read_block_of(from, layout).map(Some)
}

/// Names, types and columns of a block, as they arrive.
pub fn read_block_of(from: &mut impl Source, layout: BlockLayout) -> Result<(Schema, Block)> {
    let (mut schema, block) = read_shown_block(from, layout)?;
    for (_, ty) in schema.iter_mut().filter(|(_, ty)| ty.shows_simple_aggregates()) {
        *ty = ty.without_simple_aggregates();
    }
    Ok((schema, block))
}

/// The same with what columns show in place of their types.
pub(super) fn read_shown_block(from: &mut impl Source, layout: BlockLayout) -> Result<(Schema, Block)> {
    let n_columns = from.var_uint()?;
    let n_rows = from.var_uint()?;
    let n_rows = usize::try_from(n_rows).unwrap_or(usize::MAX);
    let mut schema = Schema::new();
    let mut columns = Vec::new();
    for _ in 0..n_columns {
        let name = from.text()?.to_string();
        let ty = match layout.binary_types {
            true => take_shown_type(from),
            false => DataType::parse_shown(from.text()?),
        };
        let shown = ty.map_err(|e: Error| e.context(format!("column {name}")))?;
        let plain = shown.shows_simple_aggregates().then(|| shown.without_simple_aggregates());
        let ty = plain.as_ref().unwrap_or(&shown);
        let serialization = match layout.has_serialization_kinds && from.array::<1>()? != [0] {
            true => Serialization::read(from, ty)?,
            false => Serialization::PLAIN,
        };
        let available = from.at_most();
        ensure!(
            n_rows <= available,
            CANNOT_READ_ALL_DATA,
            "Cannot read all data in NativeReader. Rows read: {available}. Rows expected: {n_rows}"
        );
        let column = match n_rows {
            0 => Vector::defaults(ty, 0).into(),
            _ if ty.contains_several_types() => {
                ensure!(
                    serialization.is_plain(),
                    NOT_IMPLEMENTED,
                    "Sparse serialization of type {ty} is not supported"
                );
                let inside = several_reader::Layout::read(from, ty, layout)?;
                several_reader::values(from, ty, &inside, n_rows)?.into()
            }
            _ => serialised_column(from, ty, &serialization, n_rows)?,
        };
        schema.push((name, shown));
        columns.push(column);
    }
    let n_rows = if columns.is_empty() { 0 } else { n_rows };
    Ok((schema, Block::new(columns, n_rows)))
}

/// The values of a column of at least one row.
pub fn read_column(from: &mut impl Source, ty: &DataType, n_rows: usize) -> Result<Column> {
    prefix(from, ty)?;
    column(from, ty, n_rows)
}

fn serialised_column(
    from: &mut impl Source,
    ty: &DataType,
    serialization: &Serialization,
    n_rows: usize,
) -> Result<Column> {
    prefix(from, ty)?;
    if serialization.is_plain() {
        column(from, ty, n_rows)
    } else {
        Ok(serialised(from, ty, serialization, n_rows)?.into())
    }
}

/// What stands before the data of a column: the version of each dictionary in it.
pub(super) fn prefix(from: &mut impl Source, ty: &DataType) -> Result<()> {
    match ty {
        DataType::LowCardinality(_) => {
            let version = from.u64()?;
            ensure!(
                version == 1,
                INCORRECT_DATA,
                "Invalid version for SerializationLowCardinality key column: {version}"
            );
            Ok(())
        }
        DataType::Array(inner) => prefix(from, inner),
        DataType::Nullable(inner) => prefix(from, inner),
        DataType::Map(key, value) => {
            prefix(from, key)?;
            prefix(from, value)
        }
        DataType::Tuple(fields) => fields.iter().try_for_each(|f| prefix(from, &f.ty)),
        _ => Ok(()),
    }
}

fn column(from: &mut impl Source, ty: &DataType, n: usize) -> Result<Column> {
    match ty {
        DataType::LowCardinality(inner) => {
            let (codes, values) = dictionary(from, inner, n)?;
            Ok(Column::Dict { codes: Buf::from_vec(codes), values })
        }
        _ => Ok(vector(from, ty, n)?.into()),
    }
}

/// A column of which the sender says how it is serialised.
fn serialised(
    from: &mut impl Source,
    ty: &DataType,
    serialization: &Serialization,
    n: usize,
) -> Result<Vector> {
    match (serialization.kind, ty) {
        (Kind::Sparse, _) => sparse(from, ty, n),
        (Kind::Default, DataType::Tuple(types)) if !serialization.elements.is_empty() => {
            let elements = types.iter().zip(&serialization.elements);
            let fields = elements.map(|(f, s)| serialised(from, &f.ty, s, n)).collect::<Result<_>>()?;
            Ok(Data::Struct(Struct { fields, len: n }).into())
        }
        (Kind::Default, _) => vector(from, ty, n),
    }
}

/// Rows that are not the default, each behind the number of defaults before it; then the defaults behind the last.
fn sparse(from: &mut impl Source, ty: &DataType, n: usize) -> Result<Vector> {
    const END: u64 = 1 << 62;
    // Rows without bytes: a few bytes could ask for any amount of memory.
    ensure!(
        n <= MAX_SPARSE_ROWS,
        TOO_LARGE_ARRAY_SIZE,
        "Too many rows in a sparse column (maximum: {MAX_SPARSE_ROWS}): {n}"
    );
    let width = if let Physical::Fixed(width) = ty.physical() { width as usize } else { 1 };
    ensure!(
        n.saturating_mul(width) <= MAX_SPARSE_BYTES,
        TOO_LARGE_ARRAY_SIZE,
        "Too many bytes in a sparse column (maximum: {MAX_SPARSE_BYTES}): {n} rows of {ty}"
    );
    let damaged = || err!(INCORRECT_DATA, "Offsets of a sparse column do not add up to {n} rows");
    let mut rows = vec![0u32; n];
    let mut next = 0usize;
    let mut n_values = 0u32;
    loop {
        let group = from.var_uint()?;
        let defaults = usize::try_from(group & !END).unwrap_or(usize::MAX);
        next = next.checked_add(defaults).filter(|next| *next <= n).ok_or_else(damaged)?;
        if group & END != 0 {
            break;
        }
        n_values += 1;
        *rows.get_mut(next).ok_or_else(damaged)? = n_values;
        next += 1;
    }
    ensure!(next == n, INCORRECT_DATA, "Offsets of a sparse column do not add up to {n} rows");
    let values = vector(from, ty, n_values as usize)?;
    Ok(Vector::concat(&[&Vector::defaults(ty, 1), &values]).gather(&rows))
}

/// The values of a dictionary, row by row.
pub(super) fn dictionary_values(from: &mut impl Source, inner: &DataType, n: usize) -> Result<Vector> {
    let (codes, values) = dictionary(from, inner, n)?;
    Ok(values.gather(&codes))
}

const GLOBAL_DICTIONARY: u64 = 1 << 8;
const ADDITIONAL_KEYS: u64 = 1 << 9;

fn dictionary(from: &mut impl Source, inner: &DataType, n: usize) -> Result<(Vec<u32>, Vector)> {
    let kind = from.u64()?;
    ensure!(
        kind & GLOBAL_DICTIONARY == 0 && kind & ADDITIONAL_KEYS != 0,
        INCORRECT_DATA,
        "Unsupported kind of dictionary in LowCardinality column: {kind}"
    );
    let n_keys = from.u64()?;
    let Some(n_keys) = usize::try_from(n_keys).ok().filter(|n| *n <= from.at_most()) else {
        bail!(CANNOT_READ_ALL_DATA, "Cannot read all data: dictionary of {n_keys} keys is cut short");
    };
    let mut values = vector(from, inner.without_nullable(), n_keys)?;
    if inner.is_nullable() {
        // The first key is NULL.
        let validity = NullBuffer::from_iter((0..n_keys).map(|i| i > 0));
        values = Vector::new(values.data, Some(validity));
    }
    let rows = from.u64()?;
    ensure!(rows == n as u64, INCORRECT_DATA, "LowCardinality column has {rows} indexes for {n} rows");
    let codes: Vec<u32> = match kind & 0xff {
        0 => from.take(n)?.iter().map(|x| u32::from(*x)).collect(),
        1 => words::<2>(from, n)?.map(|x| u16::from_le_bytes(x).into()).collect(),
        2 => words::<4>(from, n)?.map(u32::from_le_bytes).collect(),
        3 => words::<8>(from, n)?.map(|x| u32::try_from(u64::from_le_bytes(x)).unwrap_or(u32::MAX)).collect(),
        other => bail!(INCORRECT_DATA, "Unknown kind of index in LowCardinality column: {other}"),
    };
    if let Some(code) = codes.iter().find(|c| **c as usize >= n_keys) {
        bail!(INCORRECT_DATA, "Index {code} is out of range of a dictionary of {n_keys} keys");
    }
    Ok((codes, values))
}

pub(super) fn words<const N: usize>(
    from: &mut impl Source,
    n: usize,
) -> Result<impl Iterator<Item = [u8; N]>> {
    let bytes = from.take(n.saturating_mul(N))?;
    Ok(bytes.as_chunks::<N>().0.iter().copied())
}

pub(super) fn vector(from: &mut impl Source, ty: &DataType, n: usize) -> Result<Vector> {
    match ty {
        DataType::Nullable(inner) => {
            let nulls = from.take(n)?;
            let validity = NullBuffer::from_iter(nulls.iter().map(|b| *b == 0));
            Ok(Vector::new(data(from, inner, n)?, Some(validity)))
        }
        // Tables keep such values as they are in columns; for files and the protocol see `several_reader`.
        DataType::Variant(_) | DataType::Dynamic(_) => {
            let nulls = from.take(n)?;
            let validity = NullBuffer::from_iter(nulls.iter().map(|b| *b == 0));
            Ok(Vector::new(data(from, ty, n)?, Some(validity)))
        }
        DataType::LowCardinality(inner) => {
            if n == 0 {
                // A nested dictionary without rows has no bytes.
                return Ok(Vector::defaults(inner, 0));
            }
            dictionary_values(from, inner, n)
        }
        _ => Ok(data(from, ty, n)?.into()),
    }
}

fn data(from: &mut impl Source, ty: &DataType, n: usize) -> Result<Data> {
    fn numbers<T: Native>(from: &mut impl Source, n: usize) -> Result<Data> {
        let bytes = from.take(n.saturating_mul(size_of::<T>()))?;
        Ok(T::wrap(Buf::from_arrow(Buffer::from(bytes))))
    }
    Ok(match ty.physical() {
        Physical::Nothing => {
            from.take(n)?;
            Data::Nothing(n)
        }
        Physical::U8 => numbers::<u8>(from, n)?,
        Physical::U16 => numbers::<u16>(from, n)?,
        Physical::U32 => numbers::<u32>(from, n)?,
        Physical::U64 => numbers::<u64>(from, n)?,
        Physical::U128 => numbers::<u128>(from, n)?,
        Physical::U256 => numbers::<chalet_types::U256>(from, n)?,
        Physical::I8 => numbers::<i8>(from, n)?,
        Physical::I16 => numbers::<i16>(from, n)?,
        Physical::I32 => numbers::<i32>(from, n)?,
        Physical::I64 => numbers::<i64>(from, n)?,
        Physical::I128 => numbers::<i128>(from, n)?,
        Physical::I256 => numbers::<chalet_types::I256>(from, n)?,
        Physical::BF16 => numbers::<chalet_types::bf16>(from, n)?,
        Physical::F32 => numbers::<f32>(from, n)?,
        Physical::F64 => numbers::<f64>(from, n)?,
        Physical::Str => {
            let mut strings = StringBuilder::with_capacity(n.min(from.at_most()).min(MAX_CAPACITY));
            if let DataType::AggregateFunction(states) = ty {
                for _ in 0..n {
                    strings.push(&from.state(states)?);
                }
                return Ok(Data::Str(strings.finish()));
            }
            while strings.len() < n {
                strings_at_hand(from, n, &mut strings)?;
                if strings.len() < n {
                    let row = strings.len();
                    strings.push(from.string().map_err(|e| in_row(e, row, n))?);
                }
            }
            Data::Str(strings.finish())
        }
        Physical::Fixed(width) => {
            if let DataType::QBit(vectors) = ty {
                let length = vectors.stride().div_ceil(8).saturating_mul(n);
                let planes = (0..vectors.planes()).map(|_| Ok(from.take(length)?.to_vec()));
                let planes = planes.collect::<Result<Vec<_>>>()?;
                return Ok(Data::Fixed(qbit::of_planes(&planes, *vectors, n)));
            }
            let bytes = from.take(n.saturating_mul(width as usize))?;
            let bytes: Vec<u8> = match ty {
                DataType::Uuid => swapped_uuids(bytes),
                _ => bytes.to_vec(),
            };
            Data::Fixed(Fixed { width: width as usize, bytes: Buf::from_vec(bytes) })
        }
        Physical::List => {
            let element = ty.element().unwrap_or(DataType::Nothing);
            Data::List(list(from, n, |from, total| vector(from, &element, total))?)
        }
        Physical::Struct => {
            let DataType::Tuple(types) = ty else { bail!(LOGICAL_ERROR, "{ty} is held as a tuple") };
            if types.is_empty() {
                from.take(n)?;
            }
            let fields = types.iter().map(|f| vector(from, &f.ty, n)).collect::<Result<_>>()?;
            Data::Struct(Struct { fields, len: n })
        }
    })
}

/// Takes the strings whose bytes are here as a whole, up to `n` in all: without a question to the source for each. It ends at one whose
/// length takes more than a byte, or is more than the source allows.
fn strings_at_hand(from: &mut impl Source, n: usize, strings: &mut StringBuilder) -> Result<()> {
    const ONE_BYTE: u64 = 0x7f;
    let longest = from.longest_string().min(ONE_BYTE) as usize;
    let hand = from.at_hand();
    let mut at = 0;
    while strings.len() < n {
        let Some((&len, rest)) = hand.get(at..).and_then(<[u8]>::split_first) else { break };
        let len = usize::from(len);
        if len > longest {
            break;
        }
        match rest.first_chunk::<16>() {
            // Sixteen bytes are loaded, whatever the length is.
            Some(bytes) if len <= INLINE => {
                strings.push_number(u128::from_le_bytes(*bytes) & ((1 << (8 * len)) - 1), len);
            }
            _ => {
                let Some(text) = rest.get(..len) else { break };
                strings.push(text);
            }
        }
        at += 1 + len;
    }
    from.take(at)?;
    Ok(())
}

/// The ends of lists, then their elements.
pub(super) fn list<S: Source>(
    from: &mut S,
    n: usize,
    elements: impl FnOnce(&mut S, usize) -> Result<Vector>,
) -> Result<List> {
    let ends: Vec<u64> = words::<8>(from, n)?.map(u64::from_le_bytes).collect();
    let ordered = ends.is_sorted() && ends.last().is_none_or(|end| *end <= i64::MAX as u64);
    ensure!(ordered, INCORRECT_DATA, "Offsets of an array are not ascending");
    let total = ends.last().map_or(0, |end| *end as usize);
    ensure!(
        total <= from.at_most(),
        CANNOT_READ_ALL_DATA,
        "Cannot read all array values: read just {} of {total}",
        from.at_most()
    );
    let offsets = std::iter::once(0).chain(ends.iter().map(|end| *end as i64)).collect();
    Ok(List { offsets, values: Arc::new(elements(from, total)?) })
}

#[cold]
fn in_row(_: chalet_base::Error, row: usize, n: usize) -> chalet_base::Error {
    err!(CANNOT_READ_ALL_DATA, "Cannot read all data in NativeReader. Rows read: {row}. Rows expected: {n}")
}

/// The blocks of a file, as the table's columns.
pub struct NativeReader {
    bytes: Buffer,
    at: usize,
    request: ReadRequest,
    /// Rows of a file block that did not fit into what was asked for.
    left: Option<Block>,
}

impl NativeReader {
    pub fn new(bytes: Buffer, request: ReadRequest) -> NativeReader {
        NativeReader { bytes, at: 0, request, left: None }
    }

    /// The next file block that has rows, with the wanted columns in their types.
    fn file_block(&mut self) -> Result<Option<Block>> {
        loop {
            let mut cursor = Cursor::new(&self.bytes[self.at..]);
            let layout = BlockLayout::of_input(&self.request.settings);
            let Some((schema, block)) = read_block(&mut cursor, layout)? else { return Ok(None) };
            self.at = self.bytes.len() - cursor.rest.len();
            if block.is_empty() {
                continue;
            }
            return self.arrange(schema, block).map(Some);
        }
    }

    fn arrange(&self, schema: Schema, block: Block) -> Result<Block> {
        let n_rows = block.n_rows();
        let settings = &self.request.settings;
        if !settings.input_format_skip_unknown_fields {
            for (name, _) in &schema {
                ensure!(
                    self.request.structure.iter().any(|c| c.0 == *name),
                    INCORRECT_DATA,
                    "Unknown column with name {name} found while reading data in Native format"
                );
            }
        }
        let columns = self.request.wanted.iter().map(|&index| {
            let (name, ty) = &self.request.structure[index];
            match schema.iter().position(|c| c.0 == *name) {
                Some(found) => {
                    crate::convert::column(block.column(found), &schema[found].1, ty, &self.request)
                }
                None => Ok(Column::constant(Vector::defaults(ty, 1), n_rows)),
            }
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, n_rows))
    }
}

impl BlockReader for NativeReader {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        let block = match self.left.take() {
            Some(block) => block,
            None => match self.file_block()? {
                Some(block) => block,
                None => return Ok(None),
            },
        };
        let max_rows = max_rows.max(1);
        if block.n_rows() <= max_rows {
            return Ok(Some(block));
        }
        self.left = Some(block.slice(max_rows, block.n_rows() - max_rows));
        Ok(Some(block.slice(0, max_rows)))
    }

    fn bytes_read(&self) -> u64 {
        self.at as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_base::codes;

    /// Bytes of which some are here, and more when they are asked for.
    struct Arriving<'a> {
        cursor: Cursor<'a>,
        here: usize,
        piece: usize,
    }

    impl Source for Arriving<'_> {
        fn take(&mut self, n: usize) -> Result<&[u8]> {
            while self.here < n {
                self.here += self.piece;
            }
            self.here -= n;
            self.cursor.take(n)
        }

        fn at_most(&self) -> usize {
            usize::MAX
        }

        fn at_hand(&self) -> &[u8] {
            &self.cursor.rest[..self.here.min(self.cursor.rest.len())]
        }
    }

    #[test]
    fn strings_arrive_in_pieces_of_any_size() {
        let texts: Vec<Vec<u8>> = (0..300).map(|i| vec![b'a' + (i % 26) as u8; i * 7 % 301]).collect();
        let mut bytes = Vec::new();
        for text in &texts {
            crate::binary::put_string(&mut bytes, text);
        }
        for piece in (1..40).chain([1000, 1 << 20]) {
            let mut from = Arriving { cursor: Cursor::new(&bytes), here: 0, piece };
            let read = data(&mut from, &DataType::String, texts.len()).unwrap();
            let Data::Str(strings) = read else { panic!() };
            assert!(strings.iter().eq(texts.iter().map(|text| &text[..])), "{piece}");
            assert!(from.cursor.rest.is_empty());
            // One byte is missing.
            let mut from = Arriving { cursor: Cursor::new(&bytes[..bytes.len() - 1]), here: 0, piece };
            let error = data(&mut from, &DataType::String, texts.len()).err().unwrap();
            assert_eq!(error.code(), codes::CANNOT_READ_ALL_DATA);
        }
    }
}
