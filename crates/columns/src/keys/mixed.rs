//! Keys of numbers and strings side by side, whose lengths differ. Values of numbers are made column by column, as eight bytes to
//! compare; then keys are put together row by row. Whatever is written reaches over its end, where the next value begins: writing
//! as many bytes as there are takes a call for each value.

use super::{KeyBytes, Order, RowKeys, fixed_width};
use crate::strings::INLINE;
use crate::{Buf, Column, Data, Strings, Vector, each_native};
use std::borrow::Cow;

/// A column of a key.
struct Part<'a> {
    vector: &'a Vector,
    order: Order,
    values: Values<'a>,
}

enum Values<'a> {
    /// Bytes to compare, the first of them in the highest bits; so many count.
    Numbers(Vec<u64>, usize),
    Strings(&'a Strings),
}

/// Bytes of a number, at most.
const WORD: usize = 8;
/// What is written at a place may reach so far over it.
const REACH: usize = 16;
/// Bytes behind a string.
const END: usize = 2;

/// Keys as those of [`sort_keys`](super::sort_keys), where all columns are strings or numbers of at most eight bytes.
pub(super) fn mixed_keys(columns: &[(&Column, Order)], n_rows: usize) -> Option<RowKeys> {
    let flat: Vec<(Cow<'_, Vector>, Order)> =
        columns.iter().map(|(column, order)| (column.flat(), *order)).collect();
    let parts: Vec<Part> = flat.iter().map(|(vector, order)| part(vector, *order)).collect::<Option<_>>()?;
    let room = parts.len() * (REACH + 1);
    let mut bytes = vec![0; n_rows * parts.len() * WORD + room];
    let mut offsets = Vec::with_capacity(n_rows + 1);
    let mut at = 0;
    offsets.push(0);
    for row in 0..n_rows {
        if bytes.len() < at + room {
            bytes.resize(2 * bytes.len() + room, 0);
        }
        for part in &parts {
            at = part.put(row, at, &mut bytes, room);
        }
        offsets.push(at);
    }
    bytes.truncate(at);
    Some(RowKeys { bytes, offsets })
}

fn part(vector: &Vector, order: Order) -> Option<Part<'_>> {
    fn words<T: KeyBytes>(values: &Buf<T>, order: Order) -> Vec<u64> {
        let word = |value: &T| {
            let mut bytes = [0; WORD];
            value.put_at(order, &mut bytes);
            u64::from_be_bytes(bytes)
        };
        values.iter().map(word).collect()
    }
    let values = match &vector.data {
        Data::Str(strings) => Values::Strings(strings),
        Data::Fixed(_) => return None,
        data => {
            let width = fixed_width(data).filter(|&width| width <= WORD)?;
            each_native!(data, values => Values::Numbers(words(values, order), width), _ => return None)
        }
    };
    Some(Part { vector, order, values })
}

impl Part<'_> {
    /// Writes the bytes of a row at `at`, and tells where the next ones belong. There is `room` for a number or a short string of each
    /// column, and is again behind a long one.
    #[inline(always)]
    fn put(&self, row: usize, mut at: usize, bytes: &mut Vec<u8>, room: usize) -> usize {
        let is_null = self.vector.is_null(row);
        if self.order.nullable || is_null {
            bytes[at] = if is_null == self.order.nulls_first { 0 } else { 2 };
            at += 1;
        }
        if is_null {
            return at;
        }
        match &self.values {
            Values::Numbers(words, width) => {
                bytes[at..at + WORD].copy_from_slice(&words[row].to_be_bytes());
                at + width
            }
            Values::Strings(strings) => {
                let view = strings.views()[row];
                let len = view as u32 as usize;
                if len > INLINE || has_zero(view >> 32, len) {
                    return self.put_escaped(strings.get(row), at, bytes, room);
                }
                // Behind the bytes of the string there are zeros, two of which are its end.
                let word = if self.order.descending { !(view >> 32) } else { view >> 32 };
                bytes[at..at + REACH].copy_from_slice(&word.to_le_bytes());
                at + len + END
            }
        }
    }

    fn put_escaped(&self, string: &[u8], at: usize, bytes: &mut Vec<u8>, room: usize) -> usize {
        let most = at + 2 * string.len() + END;
        if bytes.len() < most + room {
            bytes.resize(2 * bytes.len() + most - at + room, 0);
        }
        let (mut rest, mut end) = (string, at);
        while let Some(zero) = memchr::memchr(0, rest) {
            bytes[end..=end + zero].copy_from_slice(&rest[..=zero]);
            bytes[end + zero + 1] = 255;
            end += zero + 2;
            rest = &rest[zero + 1..];
        }
        bytes[end..end + rest.len()].copy_from_slice(rest);
        end += rest.len();
        bytes[end..end + END].fill(0);
        end += END;
        if self.order.descending {
            bytes[at..end].iter_mut().for_each(|byte| *byte = !*byte);
        }
        end
    }
}

/// Is one of the lowest `len` bytes zero? At most twelve are asked for.
#[inline(always)]
fn has_zero(bytes: u128, len: usize) -> bool {
    const ONES: u128 = u128::MAX / 255;
    let bytes = bytes | u128::MAX << (8 * len);
    bytes.wrapping_sub(ONES) & !bytes & (ONES << 7) != 0
}

#[cfg(test)]
mod tests {
    use super::super::{put_row, row_keys};
    use super::*;
    use crate::Builder;
    use chalet_types::Value;

    #[test]
    fn keys_are_those_made_row_by_row() {
        let long = "a string that is not held in its view\0, with a zero";
        let texts = ["", "a", "\0", "ab\0", "twelve bytes", "thirteen byte", long, "\u{ff}\u{ff}", "a\0\0b"];
        let column = |ty: &str, value: &dyn Fn(usize) -> Value| {
            let mut builder = Builder::new(&ty.parse().unwrap());
            (0..40).for_each(|row| builder.push_value(&value(row)).unwrap());
            Column::Flat(builder.finish())
        };
        let text = |row: usize| Value::from(texts[row % texts.len()]);
        let or_null = |row: usize, value: Value| if row % 3 == 0 { Value::Null } else { value };
        let columns = [
            column("String", &text),
            column("Nullable(String)", &|row| or_null(row + 1, text(row))),
            column("Int16", &|row| Value::Int(row as i64 * 777 - 9000)),
            column("Nullable(UInt64)", &|row| or_null(row, Value::UInt(u64::MAX / (row as u64 + 1)))),
            column("Float64", &|row| Value::Float([f64::NAN, -0.0, 0.0, -1.5, f64::INFINITY][row % 5])),
        ];
        for (descending, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let orders = columns.iter().enumerate().map(|(at, column)| {
                (column, Order { descending, nulls_first, nullable: [1, 3].contains(&at) })
            });
            let columns: Vec<(&Column, Order)> = orders.collect();
            let expected = row_keys(&columns, 40, |(column, order), row, bytes| {
                let (vector, row) = column.locate(row);
                put_row(vector, row, *order, bytes);
            });
            let found = mixed_keys(&columns, 40).unwrap();
            assert_eq!(found.offsets, expected.offsets);
            assert_eq!(found.bytes, expected.bytes);
        }
    }
}
