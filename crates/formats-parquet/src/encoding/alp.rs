//! ALP: floats of few decimal digits as the integers that these digits are, bit-packed (Adaptive Lossless floating-Point).
//!
//! A page has a header of seven bytes, where each vector of values begins, and the vectors. A vector has its exponents, the least integer
//! and the width of what the others are above it, these packed, and then what is no such number: places and bits.

use super::{cut_short, rle};
use chalet_base::{Result, bail, ensure};

/// Exponents of `f32` and `f64`, at most.
const MAX_EXPONENT_32: usize = 10;
const MAX_EXPONENT_64: usize = 18;

/// Floats that may be stored so.
pub trait Float: Copy + Default + PartialEq {
    const BYTES: usize;
    const MAX_EXPONENT: usize;

    /// The float that an integer of its width means: two products, each rounded for itself, as the format demands.
    fn of_integer(integer: u64, scale: Scale<Self>) -> Self;
    /// The float of these bits.
    fn of_bits(bits: u64) -> Self;
    /// `10^exponent` and `10^-exponent`.
    fn powers(exponent: usize) -> (Self, Self);
    /// The integer nearest to what would mean the float; none where there is none, or writers would not find it.
    fn to_integer(self, exponent: usize, factor: usize) -> Option<i64>;
}

/// What integers are multiplied by, one after the other.
#[derive(Clone, Copy)]
pub struct Scale<F> {
    up: F,
    down: F,
}

impl<F: Float> Scale<F> {
    pub fn new(exponent: usize, factor: usize) -> Scale<F> {
        Scale { up: F::powers(factor).0, down: F::powers(exponent).1 }
    }
}

macro_rules! floats {
    ($($float:ident, $integer:ident, $max:ident, $limit:literal, [$($up:literal)*], [$($down:literal)*];)*) => {$(
        impl Float for $float {
            const BYTES: usize = size_of::<$float>();
            const MAX_EXPONENT: usize = $max;

            #[inline(always)]
            fn of_integer(integer: u64, scale: Scale<$float>) -> $float {
                (integer as $integer as $float * scale.up) * scale.down
            }

            fn of_bits(bits: u64) -> $float {
                $float::from_bits(bits as _)
            }

            fn powers(exponent: usize) -> ($float, $float) {
                const UP: [$float; $max + 1] = [$($up),*];
                const DOWN: [$float; $max + 1] = [$($down),*];
                (UP[exponent], DOWN[exponent])
            }

            fn to_integer(self, exponent: usize, factor: usize) -> Option<i64> {
                let scaled = (self * $float::powers(exponent).0) * $float::powers(factor).1;
                let is_negative_zero = self == 0.0 && self.is_sign_negative();
                (scaled.abs() < $limit && !is_negative_zero).then(|| scaled.round_ties_even() as i64)
            }
        }
    )*};
}

floats! {
    f32, i32, MAX_EXPONENT_32, 4_194_304.0,
        [1e0 1e1 1e2 1e3 1e4 1e5 1e6 1e7 1e8 1e9 1e10],
        [1e0 1e-1 1e-2 1e-3 1e-4 1e-5 1e-6 1e-7 1e-8 1e-9 1e-10];
    f64, i64, MAX_EXPONENT_64, 2_251_799_813_685_248.0,
        [1e0 1e1 1e2 1e3 1e4 1e5 1e6 1e7 1e8 1e9 1e10 1e11 1e12 1e13 1e14 1e15 1e16 1e17 1e18],
        [1e0 1e-1 1e-2 1e-3 1e-4 1e-5 1e-6 1e-7 1e-8 1e-9 1e-10 1e-11 1e-12 1e-13 1e-14 1e-15 1e-16 1e-17 1e-18];
}

/// Bytes of a page before the places of its vectors.
const HEADER: usize = 7;

/// At most `max` values.
pub fn decode<F: Float>(page: &[u8], max: usize) -> Result<Vec<F>> {
    let (Some(header), Some(body)) = (page.first_chunk::<HEADER>(), page.get(HEADER..)) else {
        return Err(cut_short("floats"));
    };
    let [mode, integers, log_size, n @ ..] = *header;
    ensure!(
        mode == 0 && integers == 0 && (3..=15).contains(&log_size),
        NOT_IMPLEMENTED,
        "Parquet floats of ALP mode {mode}, integers {integers} and vectors of 2^{log_size} are not supported"
    );
    let n = usize::try_from(i32::from_le_bytes(n)).ok().filter(|&n| n <= max);
    let Some(n) = n else { bail!(INCORRECT_DATA, "Parquet page has more floats than its {max} entries") };
    let size = 1 << log_size;
    let Some((places, _)) = body.split_at_checked(n.div_ceil(size) * 4) else {
        return Err(cut_short("floats"));
    };
    // A broken page may promise any number of values.
    let mut values = Vec::with_capacity(n.min(1 << 20));
    let mut scratch = Vec::with_capacity(size);
    for &place in places.as_chunks::<4>().0 {
        let vector = body.get(u32::from_le_bytes(place) as usize..).unwrap_or_default();
        decode_vector(vector, size.min(n - values.len()), &mut values, &mut scratch)?;
    }
    Ok(values)
}

/// Appends the `n` values of a vector, behind which other bytes may follow.
fn decode_vector<F: Float>(
    vector: &[u8],
    n: usize,
    values: &mut Vec<F>,
    scratch: &mut Vec<u32>,
) -> Result<()> {
    let (Some(&[exponent, factor, low, high]), Some(rest)) = (vector.first_chunk(), vector.get(4..)) else {
        return Err(cut_short("float vector"));
    };
    let (exponent, factor) = (usize::from(exponent), usize::from(factor));
    let n_exceptions = usize::from(u16::from_le_bytes([low, high]));
    let (Some((least, [width, rest @ ..])), true) = (
        rest.split_at_checked(F::BYTES),
        factor <= exponent && exponent <= F::MAX_EXPONENT && n_exceptions <= n,
    ) else {
        bail!(INCORRECT_DATA, "Invalid vector of floats in Parquet page");
    };
    let (least, width) = (little_endian(least), usize::from(*width));
    ensure!(width <= 8 * F::BYTES, INCORRECT_DATA, "Invalid bit width {width} of floats in Parquet page");
    let Some((packed, rest)) = rest.split_at_checked((n * width).div_ceil(8)) else {
        return Err(cut_short("float vector"));
    };
    let Some((places, rest)) = rest.split_at_checked(2 * n_exceptions) else {
        return Err(cut_short("float exceptions"));
    };
    let Some(bits) = rest.get(..F::BYTES * n_exceptions) else { return Err(cut_short("float exceptions")) };

    let start = values.len();
    let scale = Scale::new(exponent, factor);
    if width <= 32 {
        scratch.clear();
        rle::unpack(packed, width, 0, n, scratch);
        values
            .extend(scratch.iter().map(|&above| F::of_integer(least.wrapping_add(u64::from(above)), scale)));
    } else {
        rle::unpack_wide(packed, width, n, |above| {
            values.push(F::of_integer(least.wrapping_add(above), scale));
        });
    }
    for (&place, bits) in places.as_chunks::<2>().0.iter().zip(bits.chunks_exact(F::BYTES)) {
        let place = usize::from(u16::from_le_bytes(place));
        ensure!(place < n, INCORRECT_DATA, "Parquet float vector of {n} values has an exception at {place}");
        values[start + place] = F::of_bits(little_endian(bits));
    }
    Ok(())
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One page of one vector.
    fn page<F: Float>(
        least: u64,
        width: usize,
        above: &[u64],
        exponents: (u8, u8),
        exceptions: &[(u16, u64)],
    ) -> Vec<u8> {
        let mut out = vec![0, 0, 10];
        out.extend((above.len() as i32).to_le_bytes());
        out.extend(4u32.to_le_bytes());
        out.extend([exponents.0, exponents.1]);
        out.extend((exceptions.len() as u16).to_le_bytes());
        out.extend(&least.to_le_bytes()[..F::BYTES]);
        out.push(width as u8);
        let mut packed = vec![0u8; (above.len() * width).div_ceil(8)];
        for (i, value) in above.iter().enumerate() {
            for bit in (0..width).filter(|bit| value >> bit & 1 == 1) {
                packed[(i * width + bit) / 8] |= 1 << ((i * width + bit) % 8);
            }
        }
        out.extend(packed);
        exceptions.iter().for_each(|(place, _)| out.extend(place.to_le_bytes()));
        exceptions.iter().for_each(|(_, bits)| out.extend(&bits.to_le_bytes()[..F::BYTES]));
        out
    }

    #[test]
    fn prices_and_what_is_none() {
        let nan = f64::NAN.to_bits() ^ 1;
        let bytes = page::<f64>(1234, 7, &[0, 1, 100, 0], (14, 12), &[(3, nan)]);
        let values = decode::<f64>(&bytes, 4).unwrap();
        assert_eq!(values[..3], [12.34, 12.35, 13.34]);
        assert_eq!(values[3].to_bits(), nan);
        let bytes = page::<f32>((-5i32) as u32 as u64, 3, &[0, 5, 7], (10, 9), &[]);
        assert_eq!(decode::<f32>(&bytes, 3).unwrap(), [-0.5, 0.0, 0.2]);
    }

    #[test]
    fn integers_of_every_width() {
        for width in 0..=64usize {
            let mask = u64::MAX.checked_shr(64 - width as u32).unwrap_or(0);
            let above: Vec<u64> = (0..37u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
            let bytes = page::<f64>(-100i64 as u64, width, &above, (0, 0), &[]);
            let expected: Vec<f64> =
                above.iter().map(|&above| (-100i64).wrapping_add(above as i64) as f64).collect();
            assert_eq!(decode::<f64>(&bytes, 37).unwrap(), expected, "{width} bits");
            assert!(decode::<f64>(&bytes, 36).is_err(), "more values than entries");
            for cut in 0..bytes.len() {
                assert!(decode::<f64>(&bytes[..cut], 37).is_err(), "{width} bits, {cut} bytes");
            }
        }
    }

    #[test]
    fn integers_of_floats() {
        assert_eq!(12.34f64.to_integer(14, 12), Some(1234));
        assert_eq!(f64::of_integer(1234, Scale::new(14, 12)), 12.34);
        assert_eq!((-0.0f64).to_integer(14, 12), None);
        assert_eq!(f64::NAN.to_integer(14, 12), None);
        assert_eq!(f64::INFINITY.to_integer(0, 0), None);
    }
}
