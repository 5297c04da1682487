//! Blocks as bytes, close to the machine's own layout, for temporary files of this process: no types are needed to read them back.
//! Constants and dictionaries stay what they are. Every length is checked, because a disk may give anything back.

use crate::frame_of_reference::{put_values, take_values};
use crate::wire::{put_len, take, take_count, take_len, take_u8};
use crate::{Block, Buf, Column, Data, Fixed, List, StringBuilder, Strings, Struct, Vector, each_native};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::{Result, bail, ensure};
use chalet_types::{I256, U256, bf16};
use std::sync::Arc;

const FLAT: u8 = 0;
const CONST: u8 = 1;
const DICT: u8 = 2;

/// Appends the bytes of a block.
pub fn write_block(block: &Block, out: &mut Vec<u8>) {
    put_len(block.n_rows(), out);
    put_len(block.columns().len(), out);
    block.columns().iter().for_each(|column| write_column(column, out));
}

/// Takes what [`write_block`] wrote. Fails when the bytes are of no block.
pub fn read_block(bytes: &mut &[u8]) -> Result<Block> {
    let n_rows = take_len(bytes)?;
    let n_columns = take_count(bytes, 1)?;
    let mut columns = Vec::with_capacity(n_columns);
    for _ in 0..n_columns {
        let column = read_column(bytes)?;
        ensure!(column.len() == n_rows, CORRUPTED_DATA, "Columns of a temporary block differ in length");
        columns.push(column);
    }
    Ok(Block::new(columns, n_rows))
}

/// Are all columns integers, whose bytes are packed as they are written?
pub fn is_packed(block: &Block) -> bool {
    use Data::{I16, I32, I64, I128, U16, U32, U64, U128};
    block.columns().iter().all(|column| match column {
        Column::Flat(vector) => {
            matches!(vector.data, U16(_) | U32(_) | U64(_) | U128(_) | I16(_) | I32(_) | I64(_) | I128(_))
        }
        Column::Const { .. } => true,
        Column::Dict { .. } => false,
    })
}

fn write_column(column: &Column, out: &mut Vec<u8>) {
    match column {
        // A part of a block may have a dictionary that is larger than the part.
        Column::Dict { codes, values } if values.len() <= codes.len() => {
            out.push(DICT);
            put_values(codes, out);
            write_vector(values, out);
        }
        Column::Const { value, len } => {
            out.push(CONST);
            put_len(*len, out);
            write_vector(value, out);
        }
        other => {
            out.push(FLAT);
            write_vector(&other.flat(), out);
        }
    }
}

fn read_column(bytes: &mut &[u8]) -> Result<Column> {
    Ok(match take_u8(bytes)? {
        FLAT => Column::Flat(read_vector(bytes)?),
        CONST => {
            let len = take_len(bytes)?;
            let value = read_vector(bytes)?;
            ensure!(
                value.len() == 1,
                CORRUPTED_DATA,
                "A constant of a temporary block has {} rows",
                value.len()
            );
            Column::Const { value, len }
        }
        DICT => {
            let codes: Buf<u32> = take_values(bytes)?;
            let values = read_vector(bytes)?;
            let in_range = codes.iter().all(|&code| (code as usize) < values.len());
            ensure!(in_range, CORRUPTED_DATA, "A dictionary of a temporary block is too short");
            Column::Dict { codes, values }
        }
        tag => bail!(CORRUPTED_DATA, "Unknown column {tag} in a temporary block"),
    })
}

/// Variants of fixed width, with the numbers that they are written as.
macro_rules! with_natives {
    ($macro:ident) => {
        $macro! {
            1 => U8: u8, 2 => U16: u16, 3 => U32: u32, 4 => U64: u64, 5 => U128: u128, 6 => U256: U256,
            7 => I8: i8, 8 => I16: i16, 9 => I32: i32, 10 => I64: i64, 11 => I128: i128, 12 => I256: I256,
            13 => BF16: bf16, 14 => F32: f32, 15 => F64: f64
        }
    };
}

const NOTHING: u8 = 0;
const STR: u8 = 16;
const FIXED: u8 = 17;
const LIST: u8 = 18;
const STRUCT: u8 = 19;

macro_rules! tag_of {
    ($($tag:literal => $variant:ident: $ty:ty),*) => {
        fn tag(data: &Data) -> u8 {
            match data {
                $(Data::$variant(_) => $tag,)*
                Data::Nothing(_) => NOTHING,
                Data::Str(_) => STR,
                Data::Fixed(_) => FIXED,
                Data::List(_) => LIST,
                Data::Struct(_) => STRUCT,
            }
        }
    };
}
with_natives!(tag_of);

macro_rules! read_natives {
    ($($tag:literal => $variant:ident: $ty:ty),*) => {
        fn read_native(tag: u8, bytes: &mut &[u8]) -> Result<Data> {
            Ok(match tag {
                $($tag => Data::$variant(take_values::<$ty>(bytes)?),)*
                other => bail!(CORRUPTED_DATA, "Unknown values {other} in a temporary block"),
            })
        }
    };
}
with_natives!(read_natives);

fn write_vector(vector: &Vector, out: &mut Vec<u8>) {
    out.push(tag(&vector.data));
    write_data(&vector.data, out);
    // Behind the values, so that their number is known when it is read.
    out.push(u8::from(vector.validity.is_some()));
    if let Some(validity) = &vector.validity {
        out.extend_from_slice(&validity.inner().sliced()[..validity.len().div_ceil(8)]);
    }
}

fn read_vector(bytes: &mut &[u8]) -> Result<Vector> {
    let tag = take_u8(bytes)?;
    let data = read_data(tag, bytes)?;
    let n_rows = data.len();
    let validity = match take_u8(bytes)? {
        0 => None,
        _ => {
            let bits = Buffer::from(take(bytes, n_rows.div_ceil(8))?);
            Some(NullBuffer::new(BooleanBuffer::new(bits, 0, n_rows)))
        }
    };
    Ok(Vector::new(data, validity))
}

fn write_data(data: &Data, out: &mut Vec<u8>) {
    each_native!(data, values => put_values(values, out),
    Data::Nothing(n) => put_len(*n, out),
    Data::Str(strings) => write_strings(strings, out),
    Data::Fixed(fixed) => {
        put_len(fixed.width, out);
        put_values(&fixed.bytes, out);
    }
    Data::List(list) => {
        let list = list.normalised();
        put_values(&list.offsets, out);
        write_vector(&list.values, out);
    }
    Data::Struct(tuple) => {
        put_len(tuple.len, out);
        put_len(tuple.fields.len(), out);
        tuple.fields.iter().for_each(|field| write_vector(field, out));
    })
}

fn read_data(tag: u8, bytes: &mut &[u8]) -> Result<Data> {
    Ok(match tag {
        NOTHING => Data::Nothing(take_len(bytes)?),
        STR => Data::Str(read_strings(bytes)?),
        FIXED => {
            let width = take_len(bytes)?;
            let values: Buf<u8> = take_values(bytes)?;
            let whole = width > 0 && values.len().is_multiple_of(width);
            ensure!(whole, CORRUPTED_DATA, "Fixed strings of a temporary block are cut off");
            Data::Fixed(Fixed { width, bytes: values })
        }
        LIST => {
            let offsets: Buf<i64> = take_values(bytes)?;
            let values = read_vector(bytes)?;
            let last = usize::try_from(offsets.last().copied().unwrap_or(-1)).ok();
            let ascending = offsets.first() == Some(&0) && offsets.is_sorted() && last == Some(values.len());
            ensure!(ascending, CORRUPTED_DATA, "Lists of a temporary block overlap");
            Data::List(List { offsets, values: Arc::new(values) })
        }
        STRUCT => {
            let len = take_len(bytes)?;
            let n_fields = take_count(bytes, 1)?;
            let fields = (0..n_fields).map(|_| read_vector(bytes)).collect::<Result<Vec<_>>>()?;
            let even = fields.iter().all(|field| field.len() == len);
            ensure!(even, CORRUPTED_DATA, "Tuples of a temporary block are cut off");
            Data::Struct(Struct { fields, len })
        }
        native => read_native(native, bytes)?,
    })
}

/// All lengths, then all bytes: both compress better so.
fn write_strings(strings: &Strings, out: &mut Vec<u8>) {
    put_len(strings.len(), out);
    strings.views().iter().for_each(|view| put_len(*view as u32 as usize, out));
    strings.iter().for_each(|string| out.extend_from_slice(string));
}

fn read_strings(bytes: &mut &[u8]) -> Result<Strings> {
    let n = take_count(bytes, 1)?;
    let lens = (0..n).map(|_| take_len(bytes)).collect::<Result<Vec<_>>>()?;
    let mut builder = StringBuilder::with_capacity(n);
    for len in lens {
        builder.push(take(bytes, len)?);
    }
    Ok(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use chalet_types::Value;

    fn vector(ty: &str, values: &[Value]) -> Vector {
        let mut builder = Builder::new(&ty.parse().unwrap());
        values.iter().for_each(|value| builder.push_value(value).unwrap());
        builder.finish()
    }

    #[test]
    fn blocks_come_back() {
        let list = |items: &[&str]| Value::Array(items.iter().map(|&item| Value::from(item)).collect());
        let long = "a string that is longer than its view";
        let columns = vec![
            Column::Flat(vector("Nullable(Int64)", &[Value::Int(1), Value::Null, Value::Int(-3)])),
            Column::Flat(vector("String", &["", long, "ab"].map(Value::from))),
            Column::Flat(vector("FixedString(3)", &["abc", "d", "ef"].map(Value::from))),
            Column::Flat(vector("Array(Nullable(String))", &[list(&[]), list(&["a", long]), list(&["b"])])),
            Column::constant(vector("UInt128", &[Value::UInt(7)]), 3),
            Column::Dict {
                codes: vec![1u32, 0, 1].into(),
                values: vector("String", &["x", long].map(Value::from)),
            },
            Column::Flat(Data::Nothing(3).into()),
        ];
        // A slice does not begin where its buffers do.
        for block in [Block::new(columns.clone(), 3), Block::new(columns, 3).slice(1, 2)] {
            let mut bytes = Vec::new();
            write_block(&block, &mut bytes);
            let mut rest = &bytes[..];
            let back = read_block(&mut rest).unwrap();
            assert!(rest.is_empty());
            for (before, after) in block.columns().iter().zip(back.columns()) {
                let (before, after) = (before.flat(), after.flat());
                assert_eq!(before.len(), after.len());
                (0..before.len()).for_each(|row| assert_eq!(before.value(row), after.value(row)));
            }
            for end in 0..bytes.len() {
                assert!(read_block(&mut &bytes[..end]).is_err(), "{end}");
            }
        }
    }
}
