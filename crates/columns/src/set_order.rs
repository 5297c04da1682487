//! Sets in the order in which ClickHouse's hash tables give them: the order of the elements of `groupUniqArray` and its kin.

use crate::{Data, Vector, each_native};
use chalet_base::table_order::{TableOrder, hash_of_bytes, hash_of_words, murmur_mix};
use chalet_types::{DataType, TupleField};

/// How the values of a set are hashed.
#[derive(Clone, Copy, PartialEq)]
pub enum Keys {
    /// Numbers of one byte: each has its own slot.
    Bytes,
    /// Numbers, by CRC.
    Numbers,
    /// Numbers, by their bits.
    Bits,
    /// What lies there as bytes, or is written as bytes.
    Strings,
}

/// Sets of more values come from several threads in the kernel: there is no order to be followed.
const MOST: usize = 1 << 16;

/// The numbers of values, list by list, in the order of a table that had 2^`bits` slots in the beginning. The values of a list are different,
/// and come as they were inserted.
pub fn in_set_order(ty: &DataType, values: &Vector, offsets: &[i64], keys: Keys, bits: u32) -> Vec<u32> {
    let mut rows = Vec::with_capacity(values.len());
    let mut table = TableOrder::default();
    let mut present = Vec::new();
    let hash = hashes(ty, values, keys);
    for list in offsets.windows(2) {
        let (start, end) = (list[0] as u32, list[1] as u32);
        match end - start {
            2.. if (end - start) as usize <= MOST => {
                // NULL has no place in the table, and comes last.
                present.clear();
                present.extend((start..end).filter(|row| !values.is_null(*row as usize)));
                let hashes = present.iter().map(|row| hash(*row as usize));
                table.of(bits, hashes, |number| rows.push(present[number as usize]));
                rows.extend((start..end).filter(|row| values.is_null(*row as usize)));
            }
            _ => rows.extend(start..end),
        }
    }
    rows
}

/// The hash of a value, none of the zero.
fn hashes<'a>(ty: &'a DataType, values: &'a Vector, keys: Keys) -> Box<dyn Fn(usize) -> Option<u64> + 'a> {
    /// By the bits.
    macro_rules! numbers {
        ($values:ident, $bits:expr) => {
            return match keys {
                Keys::Bytes => Box::new(move |row| Some($bits($values[row]))),
                _ => Box::new(move |row| {
                    let bits: u64 = $bits($values[row]);
                    let hash =
                        |bits| if keys == Keys::Bits { murmur_mix(bits) } else { hash_of_words([bits]) };
                    (bits > 0).then(|| hash(bits))
                }),
            }
        };
    }
    if keys != Keys::Strings {
        match &values.data {
            Data::U8(v) => numbers!(v, u64::from),
            Data::U16(v) => numbers!(v, u64::from),
            Data::U32(v) => numbers!(v, u64::from),
            Data::U64(v) => numbers!(v, u64::from),
            Data::I8(v) => numbers!(v, |x: i8| u64::from(x as u8)),
            Data::I16(v) => numbers!(v, |x: i16| u64::from(x as u16)),
            Data::I32(v) => numbers!(v, |x: i32| u64::from(x as u32)),
            Data::I64(v) => numbers!(v, |x: i64| x as u64),
            Data::BF16(v) => numbers!(v, |x: half::bf16| u64::from(x.to_bits())),
            Data::F32(v) => numbers!(v, |x: f32| u64::from(x.to_bits())),
            Data::F64(v) => numbers!(v, f64::to_bits),
            _ => {}
        }
    }
    let wide = keys != Keys::Strings && each_native!(&values.data, _values => true, _ => false);
    Box::new(move |row| {
        let mut key = Vec::new();
        put_key(ty, values, row, &mut key);
        if wide {
            let words = key.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
            return words.clone().any(|word| word > 0).then(|| hash_of_words(words));
        }
        (!key.is_empty()).then(|| hash_of_bytes(&key))
    })
}

/// The bytes of a key: what has one width, strings, and lists of what has one width without their length.
fn put_key(ty: &DataType, values: &Vector, row: usize, out: &mut Vec<u8>) {
    match (ty, &values.data) {
        (DataType::String, Data::Str(strings)) => out.extend_from_slice(strings.get(row)),
        (DataType::Array(element), Data::List(list))
            if !matches!(**element, DataType::Nullable(_)) && has_width(&list.values) =>
        {
            list.range(row).for_each(|at| put(element, &list.values, at, out));
        }
        _ => put(ty, values, row, out),
    }
}

fn has_width(values: &Vector) -> bool {
    matches!(values.data, Data::Fixed(_)) || each_native!(&values.data, _values => true, _ => false)
}

/// The bytes of a value within others.
fn put(ty: &DataType, values: &Vector, row: usize, out: &mut Vec<u8>) {
    if let DataType::Nullable(inner) = ty {
        out.push(u8::from(values.is_null(row)));
        if !values.is_null(row) {
            put(inner, values, row, out);
        }
        return;
    }
    each_native!(&values.data, numbers => {
        let width = size_of_val(&numbers[row]);
        out.extend_from_slice(&numbers.as_bytes()[row * width..][..width]);
    },
    Data::Nothing(_) => {}
    Data::Fixed(fixed) => out.extend_from_slice(fixed.get(row)),
    Data::Str(strings) => {
        let bytes = strings.get(row);
        out.extend_from_slice(&(bytes.len() as u64 + 1).to_le_bytes());
        out.extend_from_slice(bytes);
        out.push(0);
    }
    Data::List(list) => {
        let range = list.range(row);
        out.extend_from_slice(&(range.len() as u64).to_le_bytes());
        let element = match ty {
            DataType::Array(element) => element,
            _ => &DataType::Nothing,
        };
        range.for_each(|at| put(element, &list.values, at, out));
    }
    Data::Struct(fields) => {
        let types: &[TupleField] = match ty {
            DataType::Tuple(types) => types,
            _ => &[],
        };
        for (at, field) in fields.fields.iter().enumerate() {
            put(types.get(at).map_or(&DataType::Nothing, |field| &field.ty), field, row, out);
        }
    });
}
