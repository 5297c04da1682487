//! Rows as keys of sets: numbers as their bits, short strings as their bytes, everything else as a 128-bit hash.

use chalet_base::hash::{FixedState, hash_bytes};
use chalet_base::{Result, err};
use chalet_columns::rows::RowCodec;
use chalet_columns::{Buf, Data, Native, Vector, each_native};
use chalet_function_api::Argument;
use chalet_types::Physical;
use std::hash::BuildHasher;
use std::ops::Range;

/// Strings of at most this many bytes are their own key.
const PACKED: usize = 15;

/// The key of a byte string: itself and its length, or a hash.
#[inline]
pub fn bytes_key(bytes: &[u8]) -> u128 {
    if bytes.len() <= PACKED {
        let mut packed = [0u8; 16];
        packed[..bytes.len()].copy_from_slice(bytes);
        // One more than the length, so that no string is the empty slot.
        packed[15] = bytes.len() as u8 + 1;
        return u128::from_le_bytes(packed);
    }
    let high = FixedState::with_seed(0x517c_c1b7_2722_0a95).hash_one(bytes);
    // The top bit keeps hashes apart from packed strings.
    u128::from(hash_bytes(bytes)) | u128::from(high | 1 << 63) << 64
}

/// How rows become 128-bit keys when they are not single numbers.
#[derive(Clone)]
pub struct WideKeys(Vec<RowCodec>);

impl WideKeys {
    pub fn new(args: &[Argument]) -> WideKeys {
        WideKeys(args.iter().map(|arg| RowCodec::new(&arg.ty)).collect())
    }

    /// Calls `f` with every row of the range and its key.
    #[inline]
    pub fn for_each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(usize, u128)) {
        if let [Vector { data: Data::Str(strings), validity: None }] = args {
            return rows.for_each(|row| f(row, bytes_key(strings.get(row))));
        }
        if let [Vector { data, validity: None }] = args
            && data.physical().width().is_some()
        {
            // The width is known to the compiler only where it is the type's.
            fn each<T: Native>(values: &Buf<T>, rows: Range<usize>, mut f: impl FnMut(usize, u128)) {
                let (bytes, width) = (values.as_bytes(), size_of::<T>());
                rows.for_each(|row| f(row, bytes_key(&bytes[row * width..(row + 1) * width])));
            }
            each_native!(data, values => return each(values, rows, f), _ => {});
        }
        let mut bytes = Vec::new();
        for row in rows {
            bytes.clear();
            self.0.iter().zip(args).for_each(|(codec, arg)| codec.put(arg, row, &mut bytes));
            f(row, bytes_key(&bytes));
        }
    }
}

/// Single numbers of at most 64 bits as keys: their bits.
pub struct NarrowKeys {
    width: usize,
}

impl NarrowKeys {
    /// None where the arguments are something else.
    pub fn new(args: &[Argument]) -> Option<NarrowKeys> {
        let [Argument { ty, .. }] = args else { return None };
        let physical = ty.physical();
        let is_number = !ty.is_nullable() && !matches!(physical, Physical::Fixed(_));
        Some(NarrowKeys { width: physical.width().filter(|&width| width <= 8 && is_number)? })
    }

    /// Calls `f` with the key of each row of the range.
    #[inline]
    pub fn for_each(&self, values: &Vector, rows: Range<usize>, mut f: impl FnMut(u64)) {
        match &values.data {
            Data::U8(v) => v[rows].iter().for_each(|&x| f(x.into())),
            Data::I8(v) => v[rows].iter().for_each(|&x| f((x as u8).into())),
            Data::U16(v) => v[rows].iter().for_each(|&x| f(x.into())),
            Data::I16(v) => v[rows].iter().for_each(|&x| f((x as u16).into())),
            Data::BF16(v) => v[rows].iter().for_each(|x| f(x.to_bits().into())),
            Data::U32(v) => v[rows].iter().for_each(|&x| f(x.into())),
            Data::I32(v) => v[rows].iter().for_each(|&x| f((x as u32).into())),
            Data::F32(v) => v[rows].iter().for_each(|x| f(x.to_bits().into())),
            Data::U64(v) => v[rows].iter().for_each(|&x| f(x)),
            Data::I64(v) => v[rows].iter().for_each(|&x| f(x as u64)),
            Data::F64(v) => v[rows].iter().for_each(|x| f(x.to_bits())),
            _ => {}
        }
    }

    /// Bytes of a number.
    pub fn width(&self) -> usize {
        self.width
    }
}

/// Calls `f` with every row of the range and the bits of its number.
#[inline]
pub fn narrow_keys(vector: &Vector, rows: Range<usize>, mut f: impl FnMut(usize, u32)) -> Result<()> {
    match &vector.data {
        Data::U8(v) => rows.for_each(|row| f(row, v[row].into())),
        Data::I8(v) => rows.for_each(|row| f(row, u32::from(v[row] as u8))),
        Data::U16(v) => rows.for_each(|row| f(row, v[row].into())),
        Data::I16(v) => rows.for_each(|row| f(row, u32::from(v[row] as u16))),
        Data::BF16(v) => rows.for_each(|row| f(row, v[row].to_bits().into())),
        Data::U32(v) => rows.for_each(|row| f(row, v[row])),
        Data::I32(v) => rows.for_each(|row| f(row, v[row] as u32)),
        Data::F32(v) => rows.for_each(|row| f(row, v[row].to_bits())),
        _ => return Err(mismatch(vector)),
    }
    Ok(())
}

/// Calls `f` with every row of the range and the bits of its number of 64 bits.
#[inline]
pub fn word_keys(vector: &Vector, rows: Range<usize>, mut f: impl FnMut(usize, u64)) -> Result<()> {
    match &vector.data {
        Data::U64(v) => rows.for_each(|row| f(row, v[row])),
        Data::I64(v) => rows.for_each(|row| f(row, v[row] as u64)),
        Data::F64(v) => rows.for_each(|row| f(row, v[row].to_bits())),
        _ => return Err(mismatch(vector)),
    }
    Ok(())
}

#[cold]
fn mismatch(vector: &Vector) -> chalet_base::Error {
    err!(LOGICAL_ERROR, "Column is {:?} where keys of another width were expected", vector.data.physical())
}
