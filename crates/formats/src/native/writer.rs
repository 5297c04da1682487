//! Writing Native blocks.

use super::layout::BlockLayout;
use super::several_writer;
use crate::binary::{put_string, put_value, put_var_uint, swapped_uuids};
use crate::binary_types::put_type;
use crate::output::{BlockWriter, Out, Sink, Statistics, WriteRequest};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::strings::INLINE;
use chalet_columns::{Block, Column, Data, Strings, Vector, each_native, qbit};
use chalet_types::DataType;

/// Appends one block. A block without rows is written too: a header, to those who want one. Types of the header may be what columns show.
pub fn write_block(
    out: &mut Vec<u8>,
    header: &[(String, DataType)],
    block: &Block,
    layout: BlockLayout,
) -> Result<()> {
    out.reserve(block.columns().iter().map(|column| expected_bytes(column, block.n_rows())).sum());
    put_var_uint(out, header.len() as u64);
    put_var_uint(out, block.n_rows() as u64);
    for ((name, ty), column) in header.iter().zip(block.columns()) {
        put_string(out, name.as_bytes());
        match ty {
            _ if layout.binary_types => put_type(out, ty),
            DataType::DateTime(_) if !layout.has_zones => put_string(out, b"DateTime"),
            _ => put_string(out, ty.to_string().as_bytes()),
        }
        if layout.has_serialization_kinds {
            out.push(0);
        }
        let plain = ty.shows_simple_aggregates().then(|| ty.without_simple_aggregates());
        let ty = plain.as_ref().unwrap_or(ty);
        match block.is_empty() {
            true => {}
            false if ty.contains_several_types() => several_writer::write_column(out, ty, column, layout)?,
            false => write_column(out, ty, column)?,
        }
    }
    Ok(())
}

/// About what a column takes. Parts of a larger one share its buffers, so that what they hold says little of a long one.
fn expected_bytes(column: &Column, n_rows: usize) -> usize {
    const LONG: usize = 64;
    column.memory().min(n_rows * LONG)
}

/// Appends the values of a column that has rows, without its name and type.
///
/// Values of Variant, Dynamic and JSON are written as they are in columns: for tables, not for files and the protocol.
pub fn write_column(out: &mut Vec<u8>, ty: &DataType, column: &Column) -> Result<()> {
    prefix(out, ty);
    match (ty, column) {
        (DataType::LowCardinality(inner), Column::Dict { codes, values }) if values.len() <= codes.len() => {
            dictionary(out, inner, values, Some(&codes[..]))
        }
        _ => write_vector(out, ty, &column.flat()),
    }
}

fn prefix(out: &mut Vec<u8>, ty: &DataType) {
    match ty {
        DataType::LowCardinality(_) => out.extend_from_slice(&1u64.to_le_bytes()),
        DataType::Array(inner) => prefix(out, inner),
        DataType::Nullable(inner) => prefix(out, inner),
        DataType::Map(key, value) => {
            prefix(out, key);
            prefix(out, value);
        }
        DataType::Tuple(fields) => fields.iter().for_each(|f| prefix(out, &f.ty)),
        _ => {}
    }
}

fn write_vector(out: &mut Vec<u8>, ty: &DataType, vector: &Vector) -> Result<()> {
    match ty {
        DataType::Nullable(inner) => {
            put_null_map(out, vector);
            write_data(out, inner, &vector.data)
        }
        DataType::Variant(_) | DataType::Dynamic(_) => {
            put_null_map(out, vector);
            write_data(out, ty, &vector.data)
        }
        DataType::LowCardinality(_) if vector.is_empty() => Ok(()),
        DataType::LowCardinality(inner) => dictionary(out, inner, vector, None),
        _ => write_data(out, ty, &vector.data),
    }
}

/// A byte a row, 1 for NULL.
fn put_null_map(out: &mut Vec<u8>, vector: &Vector) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Bit n in byte n.
    const DIAGONAL: u64 = 0x8040_2010_0804_0201;
    let end = out.len() + vector.len();
    if let Some(validity) = &vector.validity {
        let chunks = validity.inner().bit_chunks();
        for valid in chunks.iter().chain(std::iter::once(chunks.remainder_bits())) {
            // Eight bits become eight bytes: each keeps its bit, and a carry into the highest one says whether it was set.
            let spread = (!valid).to_le_bytes().map(|bits| {
                let kept = (u64::from(bits) * ONES) & DIAGONAL;
                ((kept + 0x7f * ONES) >> 7) & ONES
            });
            spread.iter().for_each(|bytes| out.extend_from_slice(&bytes.to_le_bytes()));
        }
    }
    out.resize(end, 0);
}

/// Strings behind their lengths.
fn put_strings(out: &mut Vec<u8>, strings: &Strings) {
    for (row, &view) in strings.views().iter().enumerate() {
        let len = view as u32 as usize;
        if len > INLINE {
            put_string(out, strings.get(row));
            continue;
        }
        // As many bytes each time, so that copying is no call; those that do not belong are zero, and written over.
        let end = out.len() + 1 + len;
        out.push(len as u8);
        out.extend_from_slice(&(view >> 32).to_le_bytes());
        out.truncate(end);
    }
}

/// Distinct values in order of appearance behind the default ones, then the number of each row's value. The rows are those of the
/// vector, or at these places of it.
pub(super) fn dictionary(
    out: &mut Vec<u8>,
    inner: &DataType,
    vector: &Vector,
    places: Option<&[u32]>,
) -> Result<()> {
    let bare = inner.without_nullable();
    let default = Vector::defaults(bare, 1);
    let mut keys: Vec<(&Vector, usize)> = vec![(&default, 0)];
    if inner.is_nullable() {
        keys.push((&default, 0));
    }
    let mut known: HashMap<Vec<u8>, u64> = HashMap::default();
    let mut key = Vec::new();
    put_value(&mut key, bare, &default, 0)?;
    known.insert(key.clone(), keys.len() as u64 - 1);
    let mut code_of = |row: usize| -> Result<u64> {
        if vector.is_null(row) {
            return Ok(0);
        }
        key.clear();
        put_value(&mut key, bare, vector, row)?;
        Ok(known.get(&*key).copied().unwrap_or_else(|| {
            let next = keys.len() as u64;
            known.insert(key.clone(), next);
            keys.push((vector, row));
            next
        }))
    };
    let codes: Vec<u64> = match places {
        None => (0..vector.len()).map(code_of).collect::<Result<_>>()?,
        Some(places) => {
            let mut code_at: Vec<Option<u64>> = vec![None; vector.len()];
            let mut codes = Vec::with_capacity(places.len());
            for &place in places {
                let code = match code_at[place as usize] {
                    Some(code) => code,
                    None => *code_at[place as usize].insert(code_of(place as usize)?),
                };
                codes.push(code);
            }
            codes
        }
    };
    // Codes of 1, 2, 4 or 8 bytes, whichever hold the number of keys.
    let kind = match keys.len() as u64 {
        0..=0xff => 0u64,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    };
    const ADDITIONAL_KEYS_AND_UPDATE: u64 = 1 << 9 | 1 << 10;
    out.extend_from_slice(&(kind | ADDITIONAL_KEYS_AND_UPDATE).to_le_bytes());
    out.extend_from_slice(&(keys.len() as u64).to_le_bytes());
    for (vector, row) in &keys {
        write_data(out, bare, &vector.slice(*row, 1).data)?;
    }
    out.extend_from_slice(&(codes.len() as u64).to_le_bytes());
    match kind {
        0 => out.extend(codes.iter().map(|&code| code as u8)),
        1 => codes.iter().for_each(|&code| out.extend_from_slice(&(code as u16).to_le_bytes())),
        2 => codes.iter().for_each(|&code| out.extend_from_slice(&(code as u32).to_le_bytes())),
        _ => codes.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes())),
    }
    Ok(())
}

pub(super) fn write_data(out: &mut Vec<u8>, ty: &DataType, data: &Data) -> Result<()> {
    each_native!(data, values => out.extend_from_slice(&values.to_arrow()),
        // A type without values still writes a byte a row.
        Data::Nothing(n) => out.resize(out.len() + n, b'0'),
        Data::Str(strings) if matches!(ty, DataType::AggregateFunction(_)) => {
            strings.iter().for_each(|state| out.extend_from_slice(state))
        }
        Data::Str(strings) => put_strings(out, strings),
        Data::Fixed(fixed) if *ty == DataType::Uuid => {
            out.extend_from_slice(&swapped_uuids(&fixed.bytes))
        }
        Data::Fixed(fixed) => match ty {
            DataType::QBit(vectors) => qbit::planes(fixed, *vectors)
                .iter()
                .for_each(|plane| out.extend_from_slice(&plane.bytes)),
            _ => out.extend_from_slice(&fixed.bytes),
        },
        Data::List(list) => {
            let list = list.normalised();
            list.offsets[1..].iter().for_each(|end| out.extend_from_slice(&end.to_le_bytes()));
            write_vector(out, &ty.element().unwrap_or(DataType::Nothing), &list.values)?;
        }
        Data::Struct(s) => match ty {
            DataType::Tuple(types) if !types.is_empty() => {
                types.iter().zip(&s.fields).try_for_each(|(f, v)| write_vector(out, &f.ty, v))?
            }
            _ => out.resize(out.len() + s.len, b'0'),
        },
    );
    Ok(())
}

pub struct NativeWriter {
    request: WriteRequest,
    /// Names of the columns and what they show as their types.
    header: Vec<(String, DataType)>,
    out: Out,
}

impl NativeWriter {
    pub fn new(request: WriteRequest, sink: Box<dyn Sink>) -> NativeWriter {
        let mut header = request.header.to_vec();
        header.iter_mut().zip(&*request.shown).for_each(|(column, shown)| column.1 = shown.clone());
        NativeWriter { request, header, out: Out::new(sink) }
    }
}

impl BlockWriter for NativeWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        if !block.is_empty() {
            let layout = BlockLayout::of_output(&self.request.settings);
            write_block(&mut self.out.text, &self.header, block, layout)?;
        }
        self.out.settle()
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.out.close()
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}
