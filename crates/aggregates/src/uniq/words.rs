//! Rows as the 64-bit words that the kernel's sketches count: a number's own bits, CityHash64 of strings, hashes of
//! several arguments joined. Arrays, and what contains NULL, have a hash of our own, so that there (and in uniqHLL12 of
//! floats) estimates differ from the kernel's.

use chalet_base::city_hash::{city_hash64, hash_16};
use chalet_base::hash::hash_bytes;
use chalet_columns::rows::RowCodec;
use chalet_columns::{Data, Vector};
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
}

fn contiguous(ty: &DataType) -> bool {
    match ty {
        DataType::Tuple(fields) => fields.iter().all(|field| contiguous(&field.ty)),
        DataType::Array(_) | DataType::Map(..) | DataType::Nullable(_) | DataType::Nothing => false,
        _ => true,
    }
}

impl Words {
    pub fn new(args: &[Argument]) -> Words {
        Words {
            codecs: args.iter().map(|arg| RowCodec::new(&arg.ty)).collect(),
            number: args.len() == 1 && args[0].ty.is_comparable_by_number() && !args[0].ty.is_decimal(),
            contiguous: args.iter().all(|arg| contiguous(&arg.ty)),
        }
    }

    /// Is a word the value itself?
    pub fn is_number(&self) -> bool {
        self.number
    }

    /// Calls `f` with every row of the range and its word.
    #[inline]
    pub fn for_each(&self, args: &[Vector], rows: Range<usize>, mut f: impl FnMut(usize, u64)) {
        match args {
            [one] if self.number => numbers(&one.data, rows, f),
            [Vector { data: Data::Str(strings), .. }] if self.contiguous => {
                rows.for_each(|row| f(row, city_hash64(strings.get(row))));
            }
            _ if self.contiguous => rows.for_each(|row| {
                f(row, args.iter().fold(None, |hash, arg| Some(words_of(arg, row, hash))).unwrap_or(0));
            }),
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

/// The hash of a value, joined to that of the values before; a tuple's fields count one by one.
fn words_of(vector: &Vector, row: usize, before: Option<u64>) -> u64 {
    if let Data::Struct(fields) = &vector.data {
        let hash = fields.fields.iter().fold(before, |hash, field| Some(words_of(field, row, hash)));
        return hash.unwrap_or(0);
    }
    let hash = match &vector.data {
        Data::Str(strings) => city_hash64(strings.get(row)),
        Data::Fixed(fixed) => city_hash64(fixed.get(row)),
        data => {
            let width = data.physical().width().unwrap_or(0);
            chalet_columns::each_native!(data,
                values => city_hash64(&values.as_bytes()[row * width..(row + 1) * width]),
                _ => 0)
        }
    };
    before.map_or(hash, |before| hash_16(hash, before))
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
