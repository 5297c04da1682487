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

/// Appends the entries of one block.
pub fn write(column: &mut ColumnWriter<'_>, entries: &Entries, settings: &FormatSettings) -> Result<()> {
    use DataType::*;
    let Entries { vector, ty, rows, .. } = entries;
    let Some(storage) = storage(ty, settings) else {
        bail!(LOGICAL_ERROR, "{ty} cannot be stored in Parquet");
    };
    match storage.stored {
        Stored::BOOLEAN => {
            let values = picked::<u8, bool>(vector, rows, |x| x != 0)?;
            batch::<stored::BoolType>(column, &values, entries)
        }
        Stored::INT32 => {
            let values = match ty {
                UInt8 => picked::<u8, i32>(vector, rows, i32::from)?,
                UInt16 | Date => picked::<u16, i32>(vector, rows, i32::from)?,
                UInt32 | IPv4 | DateTime(_) => picked::<u32, i32>(vector, rows, |x| x as i32)?,
                Int8 | Enum8(_) => picked::<i8, i32>(vector, rows, i32::from)?,
                Int16 | Enum16(_) => picked::<i16, i32>(vector, rows, i32::from)?,
                _ => picked::<i32, i32>(vector, rows, |x| x)?,
            };
            batch::<stored::Int32Type>(column, &values, entries)
        }
        Stored::INT64 => {
            let values = match ty {
                DateTime(_) => picked::<u32, i64>(vector, rows, |x| i64::from(x) * 1000)?,
                DateTime64(scale, _) => {
                    let factor = decimal::pow10_i64((scale.div_ceil(3).max(1) * 3 - scale).into());
                    picked::<i64, i64>(vector, rows, |x| x.wrapping_mul(factor))?
                }
                UInt64 => picked::<u64, i64>(vector, rows, |x| x as i64)?,
                _ => picked::<i64, i64>(vector, rows, |x| x)?,
            };
            batch::<stored::Int64Type>(column, &values, entries)
        }
        Stored::FLOAT => {
            batch::<stored::FloatType>(column, &picked::<f32, f32>(vector, rows, |x| x)?, entries)
        }
        Stored::DOUBLE => {
            batch::<stored::DoubleType>(column, &picked::<f64, f64>(vector, rows, |x| x)?, entries)
        }
        Stored::BYTE_ARRAY => {
            let values = texts(vector, ty, rows)?;
            batch::<stored::ByteArrayType>(column, &values, entries)
        }
        Stored::FIXED_LEN_BYTE_ARRAY => {
            let values = fixed(vector, ty, rows, storage.length as usize)?;
            batch::<stored::FixedLenByteArrayType>(column, &values, entries)
        }
        Stored::INT96 => bail!(LOGICAL_ERROR, "INT96 is not written"),
    }
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

/// Byte strings as slices of one buffer.
fn texts(vector: &Vector, ty: &DataType, rows: &Option<Vec<u32>>) -> Result<Vec<stored::ByteArray>> {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let mut push = |text: &[u8]| {
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
    };
    match (&vector.data, ty) {
        (Data::Str(strings), _) => each(vector, rows, |row| push(strings.get(row))),
        (Data::Fixed(fixed), _) => each(vector, rows, |row| push(fixed.get(row))),
        (Data::I8(numbers), DataType::Enum8(names)) => {
            each(vector, rows, |row| push(names.name_of(numbers[row].into()).unwrap_or_default().as_bytes()));
        }
        (Data::I16(numbers), DataType::Enum16(names)) => {
            each(vector, rows, |row| push(names.name_of(numbers[row]).unwrap_or_default().as_bytes()));
        }
        _ => bail!(LOGICAL_ERROR, "{ty} is not a string"),
    }
    let bytes = Bytes::from(bytes);
    let mut start = 0;
    Ok(ends
        .into_iter()
        .map(|end| stored::ByteArray::from(bytes.slice(std::mem::replace(&mut start, end)..end)))
        .collect())
}

fn fixed(
    vector: &Vector,
    ty: &DataType,
    rows: &Option<Vec<u32>>,
    width: usize,
) -> Result<Vec<stored::FixedLenByteArray>> {
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
    let bytes = Bytes::from(bytes);
    Ok((0..bytes.len() / width)
        .map(|i| {
            stored::FixedLenByteArray::from(stored::ByteArray::from(bytes.slice(i * width..(i + 1) * width)))
        })
        .collect())
}
