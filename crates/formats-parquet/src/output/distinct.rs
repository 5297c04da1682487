//! How many distinct values a column chunk has, by linear counting: each value sets a bit that its hash chooses, and the share of
//! bits that stay unset tells how many values there were (Whang, Vander-Zanden, Taylor 1990).

use super::shred::Entries;
use chalet_base::hash::{hash_bytes, hash_u64};
use chalet_columns::Data;

/// Bits for each value: with 4 the estimate is right to about one in a thousand.
const BITS: usize = 4;
/// Bits, at most: 2 MiB.
const MOST_BITS: usize = 1 << 24;

/// About how many of the `n` values are distinct; none of types of which it is not asked.
pub(super) fn estimate(entries: &[Entries<'_>], n: usize) -> Option<usize> {
    let n_bits = (n * BITS).next_power_of_two().clamp(1 << 10, MOST_BITS);
    let shift = u64::BITS - n_bits.trailing_zeros();
    let mut bits = vec![0u64; n_bits / 64];
    let mut add = |hash: u64| {
        let at = (hash >> shift) as usize;
        bits[at / 64] |= 1 << (at % 64);
    };
    for one in entries {
        let rows = one.row_numbers(0, one.len());
        match &one.vector.data {
            Data::Str(strings) => rows.for_each(|row| add(hash_bytes(strings.get(row)))),
            Data::U32(values) => rows.for_each(|row| add(hash_u64(values[row].into()))),
            Data::I32(values) => rows.for_each(|row| add(hash_u64(values[row] as u64))),
            Data::U64(values) => rows.for_each(|row| add(hash_u64(values[row]))),
            Data::I64(values) => rows.for_each(|row| add(hash_u64(values[row] as u64))),
            Data::U16(values) => rows.for_each(|row| add(hash_u64(values[row].into()))),
            Data::I16(values) => rows.for_each(|row| add(hash_u64(values[row] as u64))),
            Data::F32(values) => rows.for_each(|row| add(hash_u64(values[row].to_bits().into()))),
            Data::F64(values) => rows.for_each(|row| add(hash_u64(values[row].to_bits()))),
            Data::Fixed(fixed) => rows.for_each(|row| add(hash_bytes(fixed.get(row)))),
            _ => return None,
        }
    }
    let set: usize = bits.iter().map(|word| word.count_ones() as usize).sum();
    let unset = (n_bits - set).max(1) as f64 / n_bits as f64;
    Some(((-unset.ln() * n_bits as f64) as usize).clamp(1, n.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::Vector;
    use chalet_types::DataType;
    use std::borrow::Cow;

    fn estimate_of(values: Vec<u64>) -> usize {
        let n = values.len();
        let vector = Cow::Owned(Vector::from(values));
        let ty = DataType::UInt64;
        estimate(&[Entries { vector, ty, rows: None, definition: None, repetition: None }], n).unwrap()
    }

    #[test]
    fn close_to_the_number_of_distinct_values() {
        for (n, distinct) in
            [(10_000u64, 1), (10_000, 100), (262_144, 1000), (262_144, 60_000), (262_144, 262_144)]
        {
            let near = estimate_of((0..n).map(|x| x % distinct * 1_000_003).collect()) as f64;
            assert!(
                (near / distinct as f64 - 1.0).abs() < 0.02 + 2.0 / distinct as f64,
                "{near} of {distinct}"
            );
        }
    }
}
