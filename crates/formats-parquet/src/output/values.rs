//! Values of a leaf as Parquet stores them.

use super::cannot_write;
use super::schema::storage;
use super::shred::Entries;
use bytes::Bytes;
use chalet_base::{Result, bail};
use chalet_columns::{Data, Native, Vector};
use chalet_formats::FormatSettings;
use chalet_types::{DataType, I256, U256, decimal};
use parquet::basic::Type as Stored;
use parquet::column::writer::ColumnWriter;
use parquet::data_type as stored;

/// Values of a block as they are stored.
pub enum StoredValues<'a> {
    Booleans(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    ByteArrays(Vec<&'a [u8]>),
    /// One behind the other, and the length of each.
    Fixed(Vec<u8>, usize),
}

/// Do all values of a type that is stored as INT32 have at most 16 bits?
pub fn is_narrow(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, UInt8 | UInt16 | Date | Int8 | Enum8(_) | Int16 | Enum16(_))
}

/// The values of the entries of one block.
pub fn stored<'a>(entries: &'a Entries, settings: &FormatSettings) -> Result<StoredValues<'a>> {
    use DataType::*;
    let Entries { vector, ty, rows, .. } = entries;
    let Some(storage) = storage(ty, settings) else {
        bail!(LOGICAL_ERROR, "{ty} cannot be stored in Parquet");
    };
    Ok(match storage.stored {
        Stored::BOOLEAN => StoredValues::Booleans(picked::<u8, bool>(vector, rows, |x| x != 0)?),
        Stored::INT32 => StoredValues::I32(match ty {
            UInt8 => picked::<u8, i32>(vector, rows, i32::from)?,
            UInt16 | Date => picked::<u16, i32>(vector, rows, i32::from)?,
            UInt32 | IPv4 | DateTime(_) => picked::<u32, i32>(vector, rows, |x| x as i32)?,
            Int8 | Enum8(_) => picked::<i8, i32>(vector, rows, i32::from)?,
            Int16 | Enum16(_) => picked::<i16, i32>(vector, rows, i32::from)?,
            _ => picked::<i32, i32>(vector, rows, |x| x)?,
        }),
        Stored::INT64 => StoredValues::I64(match ty {
            DateTime(_) => picked::<u32, i64>(vector, rows, |x| i64::from(x) * 1000)?,
            DateTime64(scale, _) => {
                let factor = decimal::pow10_i64((scale.div_ceil(3).max(1) * 3 - scale).into());
                picked::<i64, i64>(vector, rows, |x| x.wrapping_mul(factor))?
            }
            UInt64 => picked::<u64, i64>(vector, rows, |x| x as i64)?,
            _ => picked::<i64, i64>(vector, rows, |x| x)?,
        }),
        Stored::FLOAT => StoredValues::F32(picked::<f32, f32>(vector, rows, |x| x)?),
        Stored::DOUBLE => StoredValues::F64(picked::<f64, f64>(vector, rows, |x| x)?),
        Stored::BYTE_ARRAY => StoredValues::ByteArrays(texts(vector, ty, rows)?),
        Stored::FIXED_LEN_BYTE_ARRAY => {
            let width = storage.length as usize;
            StoredValues::Fixed(fixed(vector, ty, rows, width)?, width)
        }
        Stored::INT96 => bail!(LOGICAL_ERROR, "INT96 is not written"),
    })
}

/// Appends the entries of one block to a column of the `parquet` crate.
pub fn write(column: &mut ColumnWriter<'_>, entries: &Entries, settings: &FormatSettings) -> Result<()> {
    match stored(entries, settings)? {
        StoredValues::Booleans(values) => batch::<stored::BoolType>(column, &values, entries),
        StoredValues::I32(values) => batch::<stored::Int32Type>(column, &values, entries),
        StoredValues::I64(values) => batch::<stored::Int64Type>(column, &values, entries),
        StoredValues::F32(values) => batch::<stored::FloatType>(column, &values, entries),
        StoredValues::F64(values) => batch::<stored::DoubleType>(column, &values, entries),
        StoredValues::ByteArrays(values) => {
            let lengths: Vec<usize> = values.iter().map(|text| text.len()).collect();
            let values = byte_arrays(values.concat(), &lengths);
            batch::<stored::ByteArrayType>(column, &values, entries)
        }
        StoredValues::Fixed(bytes, width) => {
            let lengths = vec![width; bytes.len() / width.max(1)];
            let values = byte_arrays(bytes, &lengths).into_iter().map(stored::FixedLenByteArray::from);
            batch::<stored::FixedLenByteArrayType>(column, &values.collect::<Vec<_>>(), entries)
        }
    }
}

/// Slices of one buffer.
fn byte_arrays(bytes: Vec<u8>, lengths: &[usize]) -> Vec<stored::ByteArray> {
    let bytes = Bytes::from(bytes);
    let mut at = 0;
    let next = |&len: &usize| {
        at += len;
        stored::ByteArray::from(bytes.slice(at - len..at))
    };
    lengths.iter().map(next).collect()
}

fn batch<T: stored::DataType>(
    column: &mut ColumnWriter<'_>,
    values: &[T::T],
    entries: &Entries,
) -> Result<()> {
    let Some(writer) = T::get_column_writer_mut(column) else {
        bail!(LOGICAL_ERROR, "A Parquet column has another type than its values")
    };
    writer
        .write_batch(values, entries.definition.as_deref(), entries.repetition.as_deref())
        .map(|_| ())
        .map_err(cannot_write)
}

/// The values of the rows that have one, converted.
fn picked<T: Native, P>(
    vector: &Vector,
    rows: &Option<Vec<u32>>,
    convert: impl Fn(T) -> P,
) -> Result<Vec<P>> {
    let values = vector.values::<T>()?;
    Ok(match rows {
        Some(rows) => rows.iter().map(|&row| convert(values[row as usize])).collect(),
        None => values.iter().map(|&x| convert(x)).collect(),
    })
}

/// Rows as numbers, whichever there are.
fn each(vector: &Vector, rows: &Option<Vec<u32>>, mut use_row: impl FnMut(usize)) {
    match rows {
        Some(rows) => rows.iter().for_each(|&row| use_row(row as usize)),
        None => (0..vector.len()).for_each(use_row),
    }
}

/// Byte strings.
fn texts<'a>(vector: &'a Vector, ty: &'a DataType, rows: &Option<Vec<u32>>) -> Result<Vec<&'a [u8]>> {
    let mut texts = Vec::with_capacity(rows.as_ref().map_or(vector.len(), Vec::len));
    match (&vector.data, ty) {
        (Data::Str(strings), _) => each(vector, rows, |row| texts.push(strings.get(row))),
        (Data::Fixed(fixed), _) => each(vector, rows, |row| texts.push(fixed.get(row))),
        (Data::I8(numbers), DataType::Enum8(names)) => each(vector, rows, |row| {
            texts.push(names.name_of(numbers[row].into()).unwrap_or_default().as_bytes());
        }),
        (Data::I16(numbers), DataType::Enum16(names)) => each(vector, rows, |row| {
            texts.push(names.name_of(numbers[row]).unwrap_or_default().as_bytes());
        }),
        _ => bail!(LOGICAL_ERROR, "{ty} is not a string"),
    }
    Ok(texts)
}

/// Values of one width, one behind the other.
fn fixed(vector: &Vector, ty: &DataType, rows: &Option<Vec<u32>>, width: usize) -> Result<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::new();
    let wide = matches!(width, 17 | 33);
    // Big-endian, with the sign in front when there is room for it.
    let mut number = |sign: bool, big_endian: &[u8]| {
        bytes.resize(bytes.len() + width - big_endian.len(), if sign { 0xff } else { 0 });
        bytes.extend_from_slice(big_endian);
    };
    match (&vector.data, ty) {
        (Data::I32(x), DataType::Decimal { .. }) => {
            each(vector, rows, |r| number(x[r] < 0, &x[r].to_be_bytes()))
        }
        (Data::I64(x), DataType::Decimal { .. }) => {
            each(vector, rows, |r| number(x[r] < 0, &x[r].to_be_bytes()))
        }
        (Data::I128(x), DataType::Decimal { .. }) => {
            each(vector, rows, |r| number(x[r] < 0, &x[r].to_be_bytes()))
        }
        (Data::I256(x), DataType::Decimal { .. }) => {
            each(vector, rows, |r| number(x[r] < I256::ZERO, &x[r].to_be_bytes()));
        }
        (Data::I128(x), _) if wide => each(vector, rows, |r| number(x[r] < 0, &x[r].to_be_bytes())),
        (Data::U128(x), _) if wide => each(vector, rows, |r| number(false, &x[r].to_be_bytes())),
        (Data::I256(x), _) if wide => each(vector, rows, |r| number(x[r] < I256::ZERO, &x[r].to_be_bytes())),
        (Data::U256(x), _) if wide => each(vector, rows, |r| number(false, &U256::to_be_bytes(x[r]))),
        (Data::I128(x), _) => each(vector, rows, |r| bytes.extend_from_slice(&x[r].to_le_bytes())),
        (Data::U128(x), _) => each(vector, rows, |r| bytes.extend_from_slice(&x[r].to_le_bytes())),
        (Data::I256(x), _) => each(vector, rows, |r| bytes.extend_from_slice(&x[r].to_le_bytes())),
        (Data::U256(x), _) => each(vector, rows, |r| bytes.extend_from_slice(&x[r].to_le_bytes())),
        (Data::Fixed(x), _) => each(vector, rows, |r| bytes.extend_from_slice(x.get(r))),
        _ => bail!(LOGICAL_ERROR, "{ty} has no fixed width"),
    }
    Ok(bytes)
}
