//! Rows as bytes and back: how states hold and serialise values of any type. Equal bytes are equal values.

use crate::builder::Values;
use crate::wire::{put_len, take, take_array, take_count, take_len, take_u8};
use crate::{Builder, Data, Vector, each_native};
use chalet_base::{Result, ensure, err};
use chalet_types::{DataType, I256, Physical, U256, bf16};

/// As many elements a list may have whatever the number of bytes is.
const MAX_EMPTY: usize = 0xff_ffff;

/// The bytes of a row of several columns, from the front of `bytes`.
pub fn take_row<'a>(codecs: &[RowCodec], bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let row = *bytes;
    codecs.iter().try_for_each(|codec| codec.skip(bytes))?;
    Ok(&row[..row.len() - bytes.len()])
}

/// Writes values of one type, and reads them back.
#[derive(Clone, Debug)]
pub struct RowCodec {
    nullable: bool,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Bytes per value.
    Plain(usize),
    Str,
    List(Box<RowCodec>),
    Struct(Vec<RowCodec>),
    Nothing,
}

impl RowCodec {
    /// The codec of values of this type.
    pub fn new(ty: &DataType) -> RowCodec {
        let bare = ty.bare();
        let shape = match bare.physical() {
            Physical::Str => Shape::Str,
            Physical::List => {
                Shape::List(Box::new(RowCodec::new(&bare.element().unwrap_or(DataType::Nothing))))
            }
            Physical::Struct => match bare {
                DataType::Tuple(fields) => {
                    Shape::Struct(fields.iter().map(|f| RowCodec::new(&f.ty)).collect())
                }
                _ => Shape::Struct(Vec::new()),
            },
            other => other.width().map_or(Shape::Nothing, Shape::Plain),
        };
        RowCodec { nullable: ty.is_nullable(), shape }
    }

    /// The bytes that every value has, if all have as many.
    pub fn width(&self) -> Option<usize> {
        match self.shape {
            Shape::Plain(width) if !self.nullable => Some(width),
            _ => None,
        }
    }

    /// Appends the bytes of one row.
    pub fn put(&self, vector: &Vector, row: usize, out: &mut Vec<u8>) {
        if self.nullable {
            let null = vector.is_null(row);
            out.push(u8::from(null));
            if null {
                return;
            }
        }
        match (&self.shape, &vector.data) {
            (Shape::Plain(width), Data::Fixed(fixed)) => {
                debug_assert_eq!(*width, fixed.width);
                out.extend_from_slice(fixed.get(row));
            }
            (Shape::Plain(width), data) => each_native!(data, values => {
                out.extend_from_slice(&values.as_bytes()[row * width..(row + 1) * width]);
            }, _ => {}),
            (Shape::Str, Data::Str(strings)) => crate::wire::put_bytes(strings.get(row), out),
            (Shape::List(element), Data::List(list)) => {
                let range = list.range(row);
                put_len(range.len(), out);
                range.for_each(|e| element.put(&list.values, e, out));
            }
            (Shape::Struct(codecs), Data::Struct(s)) => {
                codecs.iter().zip(&s.fields).for_each(|(codec, field)| codec.put(field, row, out));
            }
            _ => {}
        }
    }

    /// Takes the bytes of one row from the front of `bytes`.
    pub fn skip(&self, bytes: &mut &[u8]) -> Result<()> {
        if self.nullable && take_u8(bytes)? != 0 {
            return Ok(());
        }
        match &self.shape {
            Shape::Plain(width) => drop(take(bytes, *width)?),
            Shape::Str => drop(crate::wire::take_bytes(bytes)?),
            Shape::List(element) => {
                for _ in 0..element.take_elements(bytes)? {
                    element.skip(bytes)?;
                }
            }
            Shape::Struct(codecs) => codecs.iter().try_for_each(|codec| codec.skip(bytes))?,
            Shape::Nothing => {}
        }
        Ok(())
    }

    /// The number of elements of a list. One may take no bytes at all only when it is Nothing, or a tuple of nothing.
    fn take_elements(&self, bytes: &mut &[u8]) -> Result<usize> {
        let n = match self.shape {
            Shape::Nothing | Shape::Struct(_) => take_len(bytes)?,
            _ => take_count(bytes, 1)?,
        };
        ensure!(
            n <= MAX_EMPTY || n <= bytes.len(),
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size {n} (maximum: {MAX_EMPTY})"
        );
        Ok(n)
    }

    /// Reads one row from the front of `bytes` into a builder of the same type.
    pub fn take(&self, bytes: &mut &[u8], out: &mut Builder) -> Result<()> {
        if self.nullable && take_u8(bytes)? != 0 {
            out.push_default();
            return Ok(());
        }
        /// One arm per fixed width.
        macro_rules! read {
            ($($variant:ident => $ty:ty),*) => {
                match (&self.shape, &mut out.values) {
                    $((_, Values::$variant(values)) => values.push(<$ty>::from_le_bytes(take_array(bytes)?)),)*
                    (_, Values::Nothing(n)) => *n += 1,
                    (_, Values::Str(strings)) => strings.push(crate::wire::take_bytes(bytes)?),
                    (_, Values::Fixed { width, bytes: to }) => to.extend_from_slice(take(bytes, *width)?),
                    (Shape::List(element), Values::List(list)) => {
                        for _ in 0..element.take_elements(bytes)? {
                            element.take(bytes, &mut list.values)?;
                        }
                        list.close();
                    }
                    (Shape::Struct(codecs), Values::Struct { fields, len }) => {
                        for (codec, field) in codecs.iter().zip(fields) {
                            codec.take(bytes, field)?;
                        }
                        *len += 1;
                    }
                    _ => return Err(err!(LOGICAL_ERROR, "Aggregate state is of another type")),
                }
            };
        }
        read!(U8 => u8, U16 => u16, U32 => u32, U64 => u64, U128 => u128, U256 => U256, I8 => i8, I16 => i16,
            I32 => i32, I64 => i64, I128 => i128, I256 => I256, BF16 => bf16, F32 => f32, F64 => f64);
        out.mark_valid();
        Ok(())
    }
    /// Reads rows of a type with a [`width`](Self::width) into a builder of it, as long as there are bytes.
    pub fn take_all(&self, mut bytes: &[u8], out: &mut Builder) -> Result<()> {
        let whole = |width: usize| {
            ensure!(
                bytes.len() % width == 0,
                CANNOT_READ_ALL_DATA,
                "Rows of {width} bytes end in the middle of one"
            );
            Ok(bytes.chunks_exact(width))
        };
        /// One arm per fixed width.
        macro_rules! read {
            ($($variant:ident => $ty:ty),*) => {
                match &mut out.values {
                    $(Values::$variant(values) if !self.nullable => {
                        const WIDTH: usize = size_of::<$ty>();
                        let native = |chunk: &[u8]| chunk.first_chunk::<WIDTH>().map(|&chunk| <$ty>::from_le_bytes(chunk));
                        values.extend(whole(WIDTH)?.filter_map(native));
                    })*
                    _ => while !bytes.is_empty() {
                        let before = bytes.len();
                        self.take(&mut bytes, out)?;
                        ensure!(bytes.len() < before, LOGICAL_ERROR, "Rows without bytes have no end");
                    },
                }
            };
        }
        read!(U8 => u8, U16 => u16, U32 => u32, U64 => u64, I8 => i8, I16 => i16, I32 => i32, I64 => i64,
            F32 => f32, F64 => f64);
        Ok(())
    }
}
