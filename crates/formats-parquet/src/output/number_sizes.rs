//! What values of a fixed width take in each way to encode them, estimated of some that follow each other.

use super::encoding::{ChunkEncoding, Pack, Sizes};
use super::shred::Entries;
use crate::encoding::alp::{Float, Scale};
use chalet_base::hash::{hash_bytes, hash_u64};
use chalet_columns::Data;

/// Values whose differences have a width of their own.
const WIDTH_GROUP: usize = 32;
/// Floats that share their exponents.
const VECTOR: usize = 1 << 10;
/// Floats by which exponents are chosen.
const EXPONENT_SAMPLE: usize = 64;

/// The values `from..from + n` of a block, as the file has them.
enum Values {
    /// As numbers, and the width in bytes that they have there.
    Integers(Vec<i64>, usize),
    Singles(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<u8>, usize),
}

/// Sizes of the `n` values of a block from one on, where the chunk has `total` values of which `distinct` may be different; none of
/// types that have no width.
pub(super) fn of_run(
    entries: &Entries<'_>,
    from: usize,
    n: usize,
    total: usize,
    distinct: Option<usize>,
    pack: Pack,
) -> Option<Sizes> {
    let values = Values::of(entries, from, n)?;
    let width = values.width();
    let mut sizes = values.sizes(pack);
    if let Some(distinct) = distinct {
        let own_share = width * distinct * n / total.max(1);
        sizes
            .0
            .push((ChunkEncoding::Dictionary, own_share + pack(&codes_of_run(&values.hashes(), distinct))));
    }
    Some(sizes)
}

impl Values {
    fn of(entries: &Entries<'_>, from: usize, n: usize) -> Option<Values> {
        let rows = entries.row_numbers(from, n);
        Some(match &entries.vector.data {
            Data::U8(values) => Values::Integers(rows.map(|row| values[row].into()).collect(), 4),
            Data::U16(values) => Values::Integers(rows.map(|row| values[row].into()).collect(), 4),
            Data::U32(values) => Values::Integers(rows.map(|row| i64::from(values[row] as i32)).collect(), 4),
            Data::U64(values) => Values::Integers(rows.map(|row| values[row] as i64).collect(), 8),
            Data::I8(values) => Values::Integers(rows.map(|row| values[row].into()).collect(), 4),
            Data::I16(values) => Values::Integers(rows.map(|row| values[row].into()).collect(), 4),
            Data::I32(values) => Values::Integers(rows.map(|row| values[row].into()).collect(), 4),
            Data::I64(values) => Values::Integers(rows.map(|row| values[row]).collect(), 8),
            Data::F32(values) => Values::Singles(rows.map(|row| values[row]).collect()),
            Data::F64(values) => Values::Doubles(rows.map(|row| values[row]).collect()),
            Data::Fixed(fixed) if fixed.width > 0 => {
                Values::Bytes(rows.flat_map(|row| fixed.get(row)).copied().collect(), fixed.width)
            }
            _ => return None,
        })
    }

    fn width(&self) -> usize {
        match self {
            Values::Integers(_, width) | Values::Bytes(_, width) => *width,
            Values::Singles(_) => 4,
            Values::Doubles(_) => 8,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Values::Integers(values, 4) => {
                values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect()
            }
            Values::Integers(values, _) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::Singles(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::Doubles(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Values::Bytes(bytes, _) => bytes.clone(),
        }
    }

    fn hashes(&self) -> Vec<u64> {
        match self {
            Values::Integers(values, _) => values.iter().map(|&value| hash_u64(value as u64)).collect(),
            Values::Singles(values) => values.iter().map(|value| hash_u64(value.to_bits().into())).collect(),
            Values::Doubles(values) => values.iter().map(|value| hash_u64(value.to_bits())).collect(),
            Values::Bytes(bytes, width) => bytes.chunks_exact(*width).map(hash_bytes).collect(),
        }
    }

    fn sizes(&self, pack: Pack) -> Sizes {
        let bytes = self.bytes();
        let mut sizes = vec![(ChunkEncoding::Plain, bytes.len()), (ChunkEncoding::Compressed, pack(&bytes))];
        match self {
            Values::Integers(values, width) => {
                let differences = differences(values);
                let size = differences.len() + width;
                sizes.push((ChunkEncoding::Differences, size));
                // Bits are like each other where differences come again, or are multiples of a number.
                if size > values.len() / 4 {
                    sizes.push((ChunkEncoding::CompressedDifferences, pack(&differences) + width));
                }
            }
            Values::Singles(values) => sizes.push((ChunkEncoding::Decimals, decimals(values))),
            Values::Doubles(values) => sizes.push((ChunkEncoding::Decimals, decimals(values))),
            Values::Bytes(..) => {}
        }
        if !matches!(self, Values::Integers(..)) {
            sizes.push((ChunkEncoding::Split, pack(&split(&bytes, self.width()))));
        }
        Sizes(sizes)
    }
}

/// First bytes of all values, second bytes, and so on.
fn split(bytes: &[u8], width: usize) -> Vec<u8> {
    (0..width).flat_map(|place| bytes.iter().skip(place).step_by(width)).copied().collect()
}

/// Integers as the differences from those before, about as DELTA_BINARY_PACKED has them.
pub(super) fn differences(values: &[i64]) -> Vec<u8> {
    let deltas: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    let mut packed = Bits::default();
    for group in deltas.chunks(WIDTH_GROUP) {
        let (least, most) = group.iter().fold((i64::MAX, i64::MIN), |(a, b), &x| (a.min(x), b.max(x)));
        let width = u64::BITS - (most.wrapping_sub(least) as u64).leading_zeros();
        // The width itself, and a part of the least difference.
        packed.push(width.into(), 8);
        packed.push(least as u64 & 0xff, 8);
        group.iter().for_each(|delta| packed.push(delta.wrapping_sub(least) as u64, width));
    }
    packed.finish()
}

/// Bytes of floats as integers of few bits, by the exponents that are best for a few of them.
fn decimals<F: Float>(values: &[F]) -> usize {
    let few: Vec<F> = values.iter().copied().step_by((values.len() / EXPONENT_SAMPLE).max(1)).collect();
    let exponents = (0..=F::MAX_EXPONENT).flat_map(|exponent| (0..=exponent).map(move |f| (exponent, f)));
    let best = exponents.min_by_key(|&(exponent, factor)| bits_of_decimals(&few, exponent, factor));
    let (exponent, factor) = best.unwrap_or_default();
    let vectors = values.chunks(VECTOR);
    // Exponents, number of exceptions, least integer, width, and where the vector is.
    let heads = vectors.len() * (2 + 2 + F::BYTES + 1 + 4);
    heads + vectors.map(|vector| bits_of_decimals(vector, exponent, factor).div_ceil(8)).sum::<usize>()
}

fn bits_of_decimals<F: Float>(values: &[F], exponent: usize, factor: usize) -> usize {
    let scale = Scale::new(exponent, factor);
    let (mut least, mut most, mut n_exceptions) = (i64::MAX, i64::MIN, 0);
    for &value in values {
        match value.to_integer(exponent, factor) {
            Some(integer) if F::of_integer(integer as u64, scale) == value => {
                (least, most) = (least.min(integer), most.max(integer));
            }
            _ => n_exceptions += 1,
        }
    }
    let range = if least <= most { most.wrapping_sub(least) as u64 } else { 0 };
    let width = (u64::BITS - range.leading_zeros()) as usize;
    // An exception has its bits and its place.
    values.len() * width + n_exceptions * (8 * F::BYTES + 16)
}

/// The codes of values with these hashes, of which a chunk has so many distinct ones: equal values have equal codes, and no
/// other order is known of them.
fn codes_of_run(hashes: &[u64], distinct: usize) -> Vec<u8> {
    let width = usize::BITS - distinct.max(2).saturating_sub(1).leading_zeros();
    let mut packed = Bits::default();
    hashes.iter().for_each(|hash| packed.push(hash >> (u64::BITS - width), width));
    packed.finish()
}

/// Numbers of so many bits, one behind the other.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    held: u128,
    n_held: u32,
}

impl Bits {
    fn push(&mut self, value: u64, width: u32) {
        self.held |= u128::from(value) << self.n_held;
        self.n_held += width;
        while self.n_held >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.n_held -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.n_held > 0 {
            self.bytes.push(self.held as u8);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: usize = 1 << 13;
    const LZ4: Pack = |bytes| chalet_base::lz4::pack(bytes).unwrap().len();

    fn random() -> impl FnMut() -> i64 {
        let mut state = 1u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i64
        }
    }

    fn best(values: impl Iterator<Item = i64>) -> ChunkEncoding {
        Values::Integers(values.take(RUN).collect(), 8).sizes(LZ4).best()
    }

    fn best_of_floats(value: impl FnMut() -> f64) -> ChunkEncoding {
        let values: Vec<f64> = std::iter::repeat_with(value).take(RUN).collect();
        Values::Doubles(values).sizes(LZ4).best()
    }

    #[test]
    fn what_is_small_and_quick_is_chosen_for_integers() {
        let mut random = random();
        assert_eq!(best(0..), ChunkEncoding::Differences, "numbers in order");
        let times: Vec<i64> = (0..RUN).map(|_| 1_700_000_000 + random() % 86_400).collect();
        assert_eq!(best(times.into_iter()), ChunkEncoding::Differences, "times of a day");
        let hashes: Vec<i64> = (0..RUN).map(|_| random() << 33 ^ random()).collect();
        assert_eq!(best(hashes.into_iter()), ChunkEncoding::Plain, "hashes");
        let users: Vec<i64> = (0..RUN / 64).flat_map(|_| vec![random() << 33 ^ random(); 64]).collect();
        assert_eq!(best(users.into_iter()), ChunkEncoding::Compressed, "long runs");
        let seconds = (0..RUN as i64).map(|row| (1_700_000_000 + row / 4) * 1_000_000);
        assert_eq!(best(seconds), ChunkEncoding::CompressedDifferences, "seconds as microseconds");
    }

    #[test]
    fn what_is_small_and_quick_is_chosen_for_floats() {
        let mut random = random();
        assert_eq!(
            best_of_floats(|| (random() % 1_000_000) as f64 / 100.0),
            ChunkEncoding::Decimals,
            "prices"
        );
        assert_eq!(
            best_of_floats(|| f64::from_bits((random() << 33 ^ random()) as u64)),
            ChunkEncoding::Plain,
            "bits"
        );
        let near = || 40.0 + random() as f64 / (1u64 << 37) as f64;
        assert_eq!(best_of_floats(near), ChunkEncoding::Split, "numbers of one size");
    }

    #[test]
    fn decimals_of_single_width() {
        let mut random = random();
        let values: Vec<f32> = (0..RUN).map(|_| (random() % 10_000) as f32 / 10.0).collect();
        assert_eq!(Values::Singles(values).sizes(LZ4).best(), ChunkEncoding::Decimals);
    }
}
