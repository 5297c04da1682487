//! Rows as the 64-bit words that the kernel's sketches count: a number's own bits, CityHash64 of strings, hashes of
//! several arguments joined. Arrays of tuples, maps, and what contains NULL, have a hash of our own, so that estimates differ there.

use crate::hashes::int_hash64;
use chalet_base::city_hash::{city_hash64, hash_16};
use chalet_base::hash::hash_bytes;
use chalet_columns::rows::RowCodec;
use chalet_columns::{Buf, Data, Native, Vector, each_native};
use chalet_function_api::Argument;
use chalet_types::DataType;
use std::ops::Range;

#[derive(Clone)]
pub struct Words {
    codecs: Vec<RowCodec>,
    /// One argument that is a number, not a decimal.
    number: bool,
    /// The value's bytes lie together in memory, in the kernel.
    contiguous: bool,
    /// The words of numbers of 128 and 256 bits join their words of 64 bits by exclusive or.
    folds_wide: bool,
}

fn contiguous(ty: &DataType) -> bool {
    match ty {
        DataType::Tuple(fields) => fields.iter().all(|field| contiguous(&field.ty)),
        DataType::Array(element) => !matches!(**element, DataType::Tuple(_)) && contiguous(element),
        DataType::Map(..) | DataType::Nullable(_) | DataType::Nothing => false,
        _ => true,
    }
}

impl Words {
    pub fn new(args: &[Argument]) -> Words {
        Words {
            codecs: args.iter().map(|arg| RowCodec::new(&arg.ty)).collect(),
            number: args.len() == 1 && args[0].ty.is_comparable_by_number() && !args[0].ty.is_decimal(),
            contiguous: args.iter().all(|arg| contiguous(&arg.ty)),
            folds_wide: false,
        }
    }

    /// Hashes of numbers too.
    pub fn hashed(args: &[Argument]) -> Words {
        Words { number: false, ..Words::new(args) }
    }

    /// As uniqHLL12 has them.
    pub fn with_wide_numbers_folded(self) -> Words {
        Words { folds_wide: true, ..self }
    }

    /// Is a word the value itself?
    pub fn is_number(&self) -> bool {
        self.number
    }

    /// Calls `f` with every row of the range and its word.
    #[inline]
    pub fn for_each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(usize, u64)) {
        match args {
            [one] if self.number && self.folds_wide => match &one.data {
                Data::U128(v) => rows.for_each(|row| f(row, folded(&v[row].to_le_bytes()))),
                Data::I128(v) => rows.for_each(|row| f(row, folded(&v[row].to_le_bytes()))),
                Data::U256(v) => rows.for_each(|row| f(row, folded(&v[row].to_le_bytes()))),
                Data::I256(v) => rows.for_each(|row| f(row, folded(&v[row].to_le_bytes()))),
                data => numbers(data, rows, f),
            },
            [one] if self.number => numbers(&one.data, rows, f),
            [Vector { data: Data::Str(strings), .. }] if self.contiguous => {
                rows.for_each(|row| f(row, city_hash64(strings.get(row))));
            }
            _ if self.contiguous => {
                let mut words = [0; RUN];
                for start in rows.clone().step_by(RUN) {
                    let some = start..rows.end.min(start + RUN);
                    let words = &mut words[..some.len()];
                    words.fill(0);
                    args.iter().fold(true, |is_first, arg| join(arg, &some, words, is_first));
                    some.zip(words).for_each(|(row, word)| f(row, *word));
                }
            }
            _ => {
                let mut bytes = Vec::new();
                for row in rows {
                    bytes.clear();
                    self.codecs.iter().zip(args).for_each(|(codec, arg)| codec.put(arg, row, &mut bytes));
                    f(row, hash_bytes(&bytes));
                }
            }
        }
    }
}

/// Appends a value as it lies in the kernel's memory.
fn put_contiguous(vector: &Vector, row: usize, out: &mut Vec<u8>) {
    match &vector.data {
        Data::Str(strings) => out.extend_from_slice(strings.get(row)),
        Data::Fixed(fixed) => out.extend_from_slice(fixed.get(row)),
        Data::List(list) => list.range(row).for_each(|element| put_contiguous(&list.values, element, out)),
        data => {
            each_native!(data, values => out.extend_from_slice(&values.as_bytes()[row * size_of_val(&values[0])..(row + 1) * size_of_val(&values[0])]), _ => {})
        }
    }
}

/// The hash of a number of several words of 64 bits.
fn folded(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    int_hash64(words.iter().fold(0, |all, word| all ^ u64::from_le_bytes(*word)))
}

/// Rows whose hashes are joined column by column.
const RUN: usize = 256;

/// Joins the hashes of values to those of the values before, of which there may be none; a tuple's fields count one by one. Are
/// there still none?
fn join(vector: &Vector, rows: &Range<usize>, words: &mut [u64], is_first: bool) -> bool {
    fn each(words: &mut [u64], is_first: bool, hashes: impl Iterator<Item = u64>) {
        let words = words.iter_mut().zip(hashes);
        match is_first {
            true => words.for_each(|(word, hash)| *word = hash),
            false => words.for_each(|(word, hash)| *word = hash_16(hash, *word)),
        }
    }
    /// Numbers, whose widths are known here.
    fn numbers<T: Native>(values: &Buf<T>, rows: &Range<usize>) -> impl Iterator<Item = u64> {
        let bytes = &values.as_bytes()[rows.start * size_of::<T>()..rows.end * size_of::<T>()];
        bytes.chunks_exact(size_of::<T>()).map(city_hash64)
    }
    match &vector.data {
        Data::Struct(tuple) => {
            return tuple.fields.iter().fold(is_first, |is_first, field| join(field, rows, words, is_first));
        }
        Data::Str(strings) => each(words, is_first, rows.clone().map(|row| city_hash64(strings.get(row)))),
        Data::List(list) => {
            let mut bytes = Vec::new();
            let hashes = rows.clone().map(|row| {
                bytes.clear();
                list.range(row).for_each(|element| put_contiguous(&list.values, element, &mut bytes));
                city_hash64(&bytes)
            });
            each(words, is_first, hashes);
        }
        Data::Fixed(fixed) => each(words, is_first, rows.clone().map(|row| city_hash64(fixed.get(row)))),
        data => each_native!(data, values => each(words, is_first, numbers(values, rows)),
            _ => each(words, is_first, rows.clone().map(|_| 0))),
    }
    false
}

/// Calls `f` with every row of the range and the word of its number.
#[inline]
fn numbers(data: &Data, rows: Range<usize>, mut f: impl FnMut(usize, u64)) {
    macro_rules! each {
        ($($variant:ident $x:ident => $word:expr,)*) => {
            match data {
                $(Data::$variant(values) => rows.for_each(|row| {
                    let $x = values[row];
                    f(row, $word);
                }),)*
                _ => rows.for_each(|row| f(row, 0)),
            }
        };
    }
    each! {
        U8 x => x.into(),
        U16 x => x.into(),
        U32 x => x.into(),
        U64 x => x,
        I8 x => x as u64,
        I16 x => x as u64,
        I32 x => x as u64,
        I64 x => x as u64,
        BF16 x => x.to_bits().into(),
        F32 x => x.to_bits().into(),
        F64 x => x.to_bits(),
        U128 x => hash_16(x as u64, (x >> 64) as u64),
        I128 x => hash_16(x as u64, (x >> 64) as u64),
        U256 x => city_hash64(&x.to_le_bytes()),
        I256 x => city_hash64(&x.to_le_bytes()),
    }
}
