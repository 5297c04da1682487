//! BYTE_STREAM_SPLIT: all first bytes, then all second bytes, and so on.

use super::cut_short;
use chalet_base::Result;
use chalet_base::simd_dispatch::dispatch_simd;
use std::array;

/// Values that are put together at once.
const BLOCK: usize = 64;

/// Values `from..from + n` of `total`, gathered byte by byte: for a few of many.
pub fn gather(bytes: &[u8], width: usize, total: usize, from: usize, n: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(n * width);
    for value in from..from + n {
        out.extend((0..width).map(|place| bytes[place * total + value]));
    }
    out
}

/// The values in their ordinary order of bytes.
pub fn decode(bytes: &[u8], width: usize, n: usize) -> Result<Vec<u8>> {
    let total =
        n.checked_mul(width).filter(|&total| total <= bytes.len()).ok_or_else(|| cut_short("split bytes"))?;
    let mut out = vec![0u8; total];
    let streams: Vec<&[u8]> = bytes[..total].chunks_exact(n.max(1)).collect();
    let whole = n - n % BLOCK;
    // Up to eight bytes of a value at a time.
    for (part, streams) in streams.chunks(8).enumerate() {
        let first = 8 * part;
        for at in (0..whole).step_by(BLOCK) {
            let words = dispatch_simd(|| words(streams, at));
            if width == 8 {
                let (values, _) = out[at * width..].as_chunks_mut::<8>();
                values.iter_mut().zip(words).for_each(|(value, word)| *value = word.to_le_bytes());
                continue;
            }
            for (value, word) in out[at * width..].chunks_exact_mut(width).zip(words) {
                value[first..first + streams.len()].copy_from_slice(&word.to_le_bytes()[..streams.len()]);
            }
        }
        for (place, stream) in streams.iter().enumerate() {
            for value in whole..n {
                out[value * width + first + place] = stream[value];
            }
        }
    }
    Ok(out)
}

/// The bytes at `at..at + BLOCK` of up to eight streams, put together: first bytes in pairs, then these in fours.
#[inline(always)]
fn words(streams: &[&[u8]], at: usize) -> [u64; BLOCK] {
    let bytes = |place: usize| -> [u8; BLOCK] {
        streams.get(place).and_then(|stream| stream[at..].first_chunk()).copied().unwrap_or([0; BLOCK])
    };
    let pairs = |place: usize| -> [u16; BLOCK] {
        let (low, high) = (bytes(place), bytes(place + 1));
        array::from_fn(|i| u16::from_le_bytes([low[i], high[i]]))
    };
    let fours = |place: usize| -> [u32; BLOCK] {
        let (low, high) = (pairs(place), pairs(place + 2));
        array::from_fn(|i| u32::from(low[i]) | u32::from(high[i]) << 16)
    };
    let (low, high) = (fours(0), fours(4));
    array::from_fn(|i| u64::from(low[i]) | u64::from(high[i]) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_width() {
        for width in [1, 2, 4, 7, 8, 12, 16, 17, 32] {
            for n in [0, 1, 63, 64, 65, 200] {
                let values: Vec<u8> = (0..n * width).map(|i| (i * 7 + i / 251) as u8).collect();
                let split: Vec<u8> = (0..width * n).map(|i| values[i % n * width + i / n]).collect();
                assert_eq!(decode(&split, width, n).unwrap(), values, "{n} values of {width} bytes");
                assert!(n == 0 || decode(&split[1..], width, n).is_err());
                for (from, some) in [(0, n), (n / 2, n / 3), (n, 0)] {
                    let part = &values[from * width..][..some * width];
                    assert_eq!(gather(&split, width, n, from, some), part, "{some} of {n} of {width} bytes");
                }
            }
        }
    }
}
