//! Rows as byte strings: equal rows give equal bytes, and with [`Order`] the bytes sort as the rows do.
//!
//! Integers are written big-endian with the sign bit flipped, floats with the usual bit trick (NaN above the
//! numbers), strings with 0 escaped and a terminator, lists element by element with a continuation byte.
//! A descending column is written with all bits inverted. One leading byte places NULL.

use crate::{Column, Data, Native, Vector, each_native};
use chalet_types::{I256, U256, bf16};

/// Direction of one sort column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    pub descending: bool,
    /// NULL (and NaN) before the values.
    pub nulls_first: bool,
}

impl Order {
    /// Ascending, NULL and NaN last: ORDER BY without a word.
    pub const ASCENDING: Order = Order { descending: false, nulls_first: false };
}

/// Fixed-width values as bytes that sort.
trait KeyBytes: Native {
    fn put(self, out: &mut Vec<u8>);

    /// Bytes that are equal when the bits are; they need not sort.
    fn put_bits(self, out: &mut Vec<u8>) {
        self.put(out);
    }
}

macro_rules! unsigned_keys {
    ($($ty:ty),*) => {$(
        impl KeyBytes for $ty {
            #[inline(always)]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
        }
    )*};
}

macro_rules! signed_keys {
    ($($ty:ty => $unsigned:ty),*) => {$(
        impl KeyBytes for $ty {
            #[inline(always)]
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&((self as $unsigned) ^ (1 << (<$unsigned>::BITS - 1))).to_be_bytes());
            }
        }
    )*};
}

macro_rules! float_keys {
    ($($ty:ty),*) => {$(
        impl KeyBytes for $ty {
            #[inline(always)]
            fn put(self, out: &mut Vec<u8>) {
                let x = if f64::from(self) == 0.0 { <$ty>::default() } else { self };
                let bits = if self.is_nan() { <$ty>::NAN.to_bits() } else { x.to_bits() };
                let top = !(!0 >> 1);
                out.extend_from_slice(&(if bits & top == 0 { bits | top } else { !bits }).to_be_bytes());
            }

            #[inline(always)]
            fn put_bits(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_bits().to_be_bytes());
            }
        }
    )*};
}

unsigned_keys!(u8, u16, u32, u64, u128, U256);
signed_keys!(i8 => u8, i16 => u16, i32 => u32, i64 => u64, i128 => u128);
float_keys!(bf16, f32, f64);

impl KeyBytes for I256 {
    fn put(self, out: &mut Vec<u8>) {
        (self.as_u256() ^ (U256::ONE << 255u32)).put(out);
    }
}

/// Byte strings of all rows of a block: row `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct RowKeys {
    pub bytes: Vec<u8>,
    pub offsets: Vec<usize>,
}

impl RowKeys {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that the keys take.
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.offsets.len() * 8
    }

    /// The key of a row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row]..self.offsets[row + 1]]
    }
}

/// Keys that sort as the rows do under the given orders, and are equal when the rows are.
pub fn sort_keys(columns: &[(&Column, Order)], n_rows: usize) -> RowKeys {
    row_keys(columns, n_rows, |(column, order), row, bytes| {
        let (vector, row) = column.locate(row);
        put_row(vector, row, *order, bytes);
    })
}

/// Keys that are equal when the rows are, bit by bit: 0 and -0 differ, as in the kernel.
pub fn group_keys(columns: &[&Column], n_rows: usize) -> RowKeys {
    row_keys(columns, n_rows, |column, row, bytes| {
        let (vector, row) = column.locate(row);
        put_bits(vector, row, bytes);
    })
}

#[inline(always)]
fn row_keys<C>(columns: &[C], n_rows: usize, put: impl Fn(&C, usize, &mut Vec<u8>)) -> RowKeys {
    let mut keys = RowKeys {
        bytes: Vec::with_capacity(n_rows * columns.len() * 9),
        offsets: Vec::with_capacity(n_rows + 1),
    };
    keys.offsets.push(0);
    for row in 0..n_rows {
        columns.iter().for_each(|column| put(column, row, &mut keys.bytes));
        keys.offsets.push(keys.bytes.len());
    }
    keys
}

fn put_bits(vector: &Vector, row: usize, out: &mut Vec<u8>) {
    let null = vector.is_null(row) || matches!(vector.data, Data::Nothing(_));
    out.push(u8::from(null));
    if null {
        return;
    }
    each_native!(&vector.data, values => values[row].put_bits(out),
        Data::Nothing(_) => {}
        Data::Str(s) => put_bytes(s.get(row), out),
        Data::Fixed(f) => out.extend_from_slice(f.get(row)),
        Data::List(l) => {
            for element in l.range(row) {
                out.push(1);
                put_bits(&l.values, element, out);
            }
            out.push(0);
        }
        Data::Struct(s) => s.fields.iter().for_each(|field| put_bits(field, row, out)))
}

fn put_row(vector: &Vector, row: usize, order: Order, out: &mut Vec<u8>) {
    let null = vector.is_null(row) || matches!(vector.data, Data::Nothing(_));
    let nan = !null
        && match &vector.data {
            Data::F64(v) => v[row].is_nan(),
            Data::F32(v) => v[row].is_nan(),
            Data::BF16(v) => v[row].is_nan(),
            _ => false,
        };
    // NULL stands outside NaN, NaN outside the numbers, both on the side that `nulls_first` says.
    let rank: u8 = match (null, nan) {
        (true, _) => 2,
        (_, true) => 1,
        _ => 0,
    };
    out.push(if order.nulls_first { 2 - rank } else { rank });
    if null {
        return;
    }
    let start = out.len();
    put_value(&vector.data, row, out);
    if order.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn put_value(data: &Data, row: usize, out: &mut Vec<u8>) {
    each_native!(data, values => values[row].put(out),
        Data::Nothing(_) => {}
        Data::Str(s) => put_bytes(s.get(row), out),
        Data::Fixed(f) => out.extend_from_slice(f.get(row)),
        Data::List(l) => {
            for element in l.range(row) {
                out.push(1);
                put_row(&l.values, element, Order::ASCENDING, out);
            }
            out.push(0);
        }
        Data::Struct(s) => s.fields.iter().for_each(|field| put_row(field, row, Order::ASCENDING, out)))
}

/// 0 becomes 0 255, the end is 0 0: so that a prefix sorts first and no key is a prefix of another.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = rest.iter().position(|&b| b == 0) {
        out.extend_from_slice(&rest[..=zero]);
        out.push(255);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use chalet_types::Value;

    fn column(ty: &str, values: &[Value]) -> Column {
        let mut builder = Builder::new(&ty.parse().unwrap());
        values.iter().for_each(|v| builder.push_value(v).unwrap());
        Column::Flat(builder.finish())
    }

    /// Keys of ascending values ascend, of descending order descend.
    fn check(ty: &str, ascending: &[Value]) {
        let column = column(ty, ascending);
        for descending in [false, true] {
            let order = Order { descending, nulls_first: descending };
            let keys = sort_keys(&[(&column, order)], ascending.len());
            for row in 1..ascending.len() {
                let expected = if descending {
                    keys.get(row - 1) > keys.get(row)
                } else {
                    keys.get(row - 1) < keys.get(row)
                };
                assert!(expected, "{ty} {row} {descending}");
            }
        }
    }

    #[test]
    fn keys_sort_as_values() {
        check("Int8", &[Value::Int(-128), Value::Int(-1), Value::Int(0), Value::Int(127)]);
        check("Int256", &[Value::Int(-5), Value::Int(0), Value::Int(9)]);
        check("Nullable(UInt64)", &[Value::UInt(0), Value::UInt(300), Value::Null]);
        let floats = [f64::NEG_INFINITY, -1.5, 0.0, 2.0, f64::INFINITY, f64::NAN];
        check("Nullable(Float64)", &[&floats.map(Value::Float)[..], &[Value::Null]].concat());
        check("String", &["", "\0", "\0a", "a", "a\0", "a\0b", "ab"].map(Value::from));
        let list = |items: &[u64]| Value::Array(items.iter().map(|&x| Value::UInt(x)).collect());
        check("Array(UInt8)", &[list(&[]), list(&[1]), list(&[1, 0]), list(&[1, 2]), list(&[2])]);
    }
}
