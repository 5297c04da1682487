//! Rows as byte strings: equal rows give equal bytes, and with [`Order`] the bytes sort as the rows do.
//!
//! Integers are written big-endian with the sign bit flipped, floats with the usual bit trick (NaN above the
//! numbers), strings with 0 escaped and a terminator, lists element by element with a continuation byte.
//! A descending column is written with all bits inverted. One leading byte places NULL, where a column can have any; NaN is
//! the least or the greatest of all bit patterns, which no number has.

mod mixed;

use crate::{Buf, Column, Data, Native, Vector, bits, each_native};
use chalet_types::{DataType, I256, Physical, U256, bf16};
use mixed::mixed_keys;
use std::borrow::Cow;

/// Direction of one sort column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    pub descending: bool,
    /// NULL (and NaN) before the values.
    pub nulls_first: bool,
    /// Can there be a NULL? If so, whether there is one in a column or not, its keys have a byte for it.
    pub nullable: bool,
}

impl Order {
    /// Ascending, NULL and NaN last: ORDER BY without a word.
    pub const ASCENDING: Order = Order::new(false, false);

    /// A direction of any type.
    pub const fn new(descending: bool, nulls_first: bool) -> Order {
        Order { descending, nulls_first, nullable: true }
    }

    /// The same of a column of this type, whose keys are shorter where it has no NULL.
    pub fn of(self, ty: &DataType) -> Order {
        Order { nullable: ty.is_nullable() || matches!(ty.physical(), Physical::Nothing), ..self }
    }
}

/// Fixed-width values as bytes that sort.
trait KeyBytes: Native {
    fn put(self, out: &mut Vec<u8>);

    /// The same under an order, in the first bytes of `out`.
    fn put_at(self, order: Order, out: &mut [u8]);

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

            #[inline(always)]
            fn put_at(self, order: Order, out: &mut [u8]) {
                let bits = if order.descending { !self } else { self };
                out[..size_of::<$ty>()].copy_from_slice(&bits.to_be_bytes());
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

            #[inline(always)]
            fn put_at(self, order: Order, out: &mut [u8]) {
                ((self as $unsigned) ^ (1 << (<$unsigned>::BITS - 1))).put_at(order, out);
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
            fn put_at(self, order: Order, out: &mut [u8]) {
                let x = if f64::from(self) == 0.0 { <$ty>::default() } else { self };
                let top = !(!0 >> 1);
                let bits = x.to_bits();
                let ascending = if bits & top == 0 { bits | top } else { !bits };
                let bits = match (self.is_nan(), order.nulls_first) {
                    // On the side of NULL, whatever the direction.
                    (true, true) => 0,
                    (true, false) => !0,
                    _ if order.descending => !ascending,
                    _ => ascending,
                };
                out[..size_of::<$ty>()].copy_from_slice(&bits.to_be_bytes());
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

    fn put_at(self, order: Order, out: &mut [u8]) {
        (self.as_u256() ^ (U256::ONE << 255u32)).put_at(order, out);
    }
}

/// Byte strings of all rows of a block: row `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, Default)]
pub struct RowKeys {
    pub bytes: Vec<u8>,
    pub offsets: Vec<usize>,
}

impl RowKeys {
    /// Appends the key of the next row.
    pub fn push(&mut self, key: &[u8]) {
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.bytes.extend_from_slice(key);
        self.offsets.push(self.bytes.len());
    }

    /// Lets go of all keys, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.offsets.clear();
    }

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

impl<K: AsRef<[u8]>> FromIterator<K> for RowKeys {
    fn from_iter<I: IntoIterator<Item = K>>(of_rows: I) -> RowKeys {
        let mut keys = RowKeys::default();
        of_rows.into_iter().for_each(|key| keys.push(key.as_ref()));
        keys
    }
}

/// Keys that sort as the rows do under the given orders, and are equal when the rows are.
pub fn sort_keys(columns: &[(&Column, Order)], n_rows: usize) -> RowKeys {
    if let Some(keys) = fixed_keys(columns, n_rows).or_else(|| mixed_keys(columns, n_rows)) {
        return keys;
    }
    row_keys(columns, n_rows, |(column, order), row, bytes| {
        let (vector, row) = column.locate(row);
        put_row(vector, row, *order, bytes);
    })
}

/// Keys as those of [`sort_keys`], that need not be the beginnings of keys of more columns: where they can, they differ in fewer
/// bytes.
pub fn whole_sort_keys(columns: &[(&Column, Order)], n_rows: usize) -> RowKeys {
    match columns {
        [(column, order)] if has_nine_bytes(column, *order) => {
            let width = WORD + 1;
            let mut bytes = vec![0; n_rows * width];
            put_nine_bytes(&column.flat(), *order, &mut bytes);
            RowKeys { bytes, offsets: (0..=n_rows).map(|row| row * width).collect() }
        }
        _ => sort_keys(columns, n_rows),
    }
}

/// Is it one of Nullable values of eight bytes? By its type alone.
pub fn has_nine_bytes(column: &Column, order: Order) -> bool {
    let vector = match column {
        Column::Flat(vector) => vector,
        Column::Const { value, .. } => value,
        Column::Dict { values, .. } => values,
    };
    order.nullable && fixed_width(&vector.data) == Some(WORD)
}

const WORD: usize = 8;

/// The same where all keys have one length, column by column. Whether they do goes by the types of the columns alone: keys of
/// different blocks must compare.
fn fixed_keys(columns: &[(&Column, Order)], n_rows: usize) -> Option<RowKeys> {
    let flat: Vec<(Cow<'_, Vector>, Order)> =
        columns.iter().map(|(column, order)| (column.flat(), *order)).collect();
    let mut widths = Vec::with_capacity(flat.len());
    for (vector, order) in &flat {
        widths.push(fixed_width(&vector.data)? + usize::from(order.nullable));
    }
    let width: usize = widths.iter().sum();
    let mut bytes = vec![0; n_rows * width];
    let mut start = 0;
    for ((vector, order), own) in flat.iter().zip(widths) {
        put_column(vector, *order, &mut bytes, start, width);
        start += own;
    }
    Some(RowKeys { bytes, offsets: (0..=n_rows).map(|row| row * width).collect() })
}

/// Bytes of a value, where all values have as many.
fn fixed_width(data: &Data) -> Option<usize> {
    fn of<T: Native>(_: &Buf<T>) -> usize {
        size_of::<T>()
    }
    each_native!(data, values => Some(of(values)),
        Data::Fixed(fixed) => Some(fixed.width),
        _ => None)
}

/// Writes the values of a column, each at `start` of the `width` bytes of its row.
fn put_column(vector: &Vector, order: Order, bytes: &mut [u8], start: usize, width: usize) {
    let is_nullable = order.nullable;
    let at = start + usize::from(is_nullable);
    each_native!(&vector.data, values => {
        for (value, row) in values.iter().zip(bytes.chunks_exact_mut(width.max(1))) {
            value.put_at(order, &mut row[at..]);
        }
    },
        Data::Fixed(fixed) => {
            for (index, row) in bytes.chunks_exact_mut(width.max(1)).enumerate().take(fixed.len()) {
                let value = &mut row[at..at + fixed.width];
                value.copy_from_slice(fixed.get(index));
                if order.descending {
                    value.iter_mut().for_each(|byte| *byte = !*byte);
                }
            }
        }
        _ => {});
    if !is_nullable {
        return;
    }
    let (null, other) = if order.nulls_first { (0, 2) } else { (2, 0) };
    bytes.chunks_exact_mut(width).for_each(|row| row[start] = other);
    let len = fixed_width(&vector.data).unwrap_or(0);
    let nulls = vector.validity.as_ref().filter(|validity| validity.null_count() > 0);
    for index in nulls.iter().flat_map(|validity| bits::set_rows(&!validity.inner())) {
        let row = &mut bytes[index as usize * width..][..width];
        // Whatever the value is, it does not count.
        row[at..at + len].fill(0);
        row[start] = null;
    }
}

/// Writes the keys of one Nullable column of eight bytes: numbers of 72 bits in which the values make room for NULL by moving on one,
/// so that hardly ever the first byte differs, and all that is compared is eight bytes, as of columns without NULL.
fn put_nine_bytes(vector: &Vector, order: Order, bytes: &mut [u8]) {
    let mut words = vec![0; vector.len() * WORD];
    put_column(vector, Order { nullable: false, ..order }, &mut words, 0, WORD);
    let valid = vector.validity.as_ref().map(|validity| bits::to_bytes(validity.inner()));
    // NULL is 0 or the greatest number with a 1 in the first byte.
    let (null, step) = if order.nulls_first { (0, 1) } else { ((2 << 64) - 1, u128::from(u64::MAX)) };
    let mut rows = words.chunks_exact(WORD).zip(bytes.chunks_exact_mut(WORD + 1));
    let mut put = |valid: bool| {
        let Some((value, key)) = rows.next() else { return };
        let mut word = [0; WORD];
        word.copy_from_slice(value);
        let number = if valid { u128::from(u64::from_be_bytes(word)) + step } else { null };
        key[0] = (number >> 64) as u8;
        key[1..].copy_from_slice(&(number as u64).to_be_bytes());
    };
    match valid {
        Some(valid) => valid.iter().for_each(|&valid| put(valid != 0)),
        None => (0..vector.len()).for_each(|_| put(true)),
    }
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
    let is_null = vector.is_null(row) || matches!(vector.data, Data::Nothing(_));
    if order.nullable || is_null {
        out.push(if is_null == order.nulls_first { 0 } else { 2 });
    }
    if is_null {
        return;
    }
    let start = out.len();
    match fixed_width(&vector.data) {
        Some(width) if !matches!(vector.data, Data::Fixed(_)) => {
            out.resize(start + width, 0);
            each_native!(&vector.data, values => values[row].put_at(order, &mut out[start..]), _ => {});
        }
        _ => {
            // NULL and NaN inside of a value stand where those outside do, also when all bits are inverted below.
            let inside = Order::new(false, order.nulls_first != order.descending);
            put_value(&vector.data, row, inside, out);
            if order.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
}

fn put_value(data: &Data, row: usize, inside: Order, out: &mut Vec<u8>) {
    each_native!(data, values => values[row].put(out),
        Data::Nothing(_) => {}
        Data::Str(s) => put_bytes(s.get(row), out),
        Data::Fixed(f) => out.extend_from_slice(f.get(row)),
        Data::List(l) => {
            for element in l.range(row) {
                out.push(1);
                put_row(&l.values, element, inside, out);
            }
            out.push(0);
        }
        Data::Struct(s) => s.fields.iter().for_each(|field| put_row(field, row, inside, out)))
}

/// 0 becomes 0 255, the end is 0 0: so that a prefix sorts first and no key is a prefix of another.
fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(zero) = memchr::memchr(0, rest) {
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
            let order = Order::new(descending, descending);
            let columns = [(&column, order)];
            let keys = [sort_keys(&columns, ascending.len()), whole_sort_keys(&columns, ascending.len())];
            for (row, keys) in keys.iter().flat_map(|keys| (1..ascending.len()).map(move |row| (row, keys))) {
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
        check("Nullable(UInt64)", &[Value::UInt(0), Value::UInt(300), Value::UInt(u64::MAX), Value::Null]);
        check("Nullable(Int64)", &[Value::Int(i64::MIN), Value::Int(-1), Value::Int(i64::MAX), Value::Null]);
        let floats = [f64::NEG_INFINITY, -1.5, 0.0, 2.0, f64::INFINITY, f64::NAN];
        check("Nullable(Float64)", &[&floats.map(Value::Float)[..], &[Value::Null]].concat());
        check("String", &["", "\0", "\0a", "a", "a\0", "a\0b", "ab"].map(Value::from));
        let list = |items: &[u64]| Value::Array(items.iter().map(|&x| Value::UInt(x)).collect());
        check("Array(UInt8)", &[list(&[]), list(&[1]), list(&[1, 0]), list(&[1, 2]), list(&[2])]);
    }
}
