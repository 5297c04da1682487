//! Bytes that are 0 or something else as bits, and bits as row numbers.

use arrow_buffer::{BooleanBuffer, Buffer};
use chalet_base::simd_dispatch::dispatch_simd;

/// The bits of rows whose bytes an iterator makes.
#[inline(always)]
pub fn of_bytes(bytes: impl Iterator<Item = u8>) -> BooleanBuffer {
    let bytes: Vec<u8> = bytes.collect();
    nonzero(&bytes)
}

/// A byte for each bit, 1 where it is set: loops over both values and their validity have no branch then, and can be vectorized.
pub fn to_bytes(bits: &BooleanBuffer) -> Vec<u8> {
    // The bits of a byte are spread to the highest bits of eight bytes by one multiplication, each then moved to the lowest.
    const PLACES: u64 = 0x8040_2010_0804_0201;
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOWER: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let mut out = Vec::with_capacity(bits.len() + 64);
    for word in bits.bit_chunks().iter_padded() {
        for byte in word.to_le_bytes() {
            let picked = u64::from(byte).wrapping_mul(ONES) & PLACES;
            // The sum carries into the highest bit where any of the others is set.
            let highest = ((picked & LOWER) + LOWER) | picked;
            out.extend(((highest >> 7) & ONES).to_le_bytes());
        }
    }
    out.truncate(bits.len());
    out
}

/// The bits of some rows, in that order. Panics where there are not as many bytes of bits.
pub fn gather(bits: &BooleanBuffer, rows: &[u32]) -> BooleanBuffer {
    let (bytes, offset) = (bits.values(), bits.offset());
    of_bytes(rows.iter().map(|&row| {
        let bit = row as usize + offset;
        bytes[bit / 8] >> (bit % 8) & 1
    }))
}

/// The bits of the rows whose byte is not 0.
pub fn nonzero(values: &[u8]) -> BooleanBuffer {
    let (sixteens, rest) = values.as_chunks::<16>();
    let mut out: Vec<u8> = Vec::with_capacity(values.len().div_ceil(16) * 2);
    sixteens.iter().for_each(|bytes| out.extend(nonzero_of_16(bytes).to_le_bytes()));
    if !rest.is_empty() {
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        out.extend(nonzero_of_16(&last).to_le_bytes());
    }
    BooleanBuffer::new(Buffer::from_vec(out), 0, values.len())
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn nonzero_of_16(bytes: &[u8; 16]) -> u16 {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128};
    // SAFETY: 16 bytes are read; every x86-64 has SSE2.
    unsafe {
        let bytes = _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>());
        !(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128())) as u16)
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn nonzero_of_16(bytes: &[u8; 16]) -> u16 {
    bytes.iter().enumerate().fold(0, |bits, (i, &byte)| bits | u16::from(byte != 0) << i)
}

/// The numbers of the set bits, ascending.
pub fn set_rows(bits: &BooleanBuffer) -> Vec<u32> {
    let mut rows: Vec<u32> = Vec::with_capacity(bits.count_set_bits() + AT_ONCE);
    dispatch_simd(|| {
        for (i, mut word) in bits.bit_chunks().iter_padded().enumerate() {
            let first = i as u32 * 64;
            let mut left = word.count_ones() as usize;
            // Some rows are written always, and counted only where there are so many: most words have few bits, and how many
            // cannot be foreseen.
            while left > 0 {
                let to = rows.spare_capacity_mut();
                for place in &mut to[..AT_ONCE] {
                    place.write(first + word.trailing_zeros());
                    word &= word.wrapping_sub(1);
                }
                let n = left.min(AT_ONCE);
                left -= n;
                // SAFETY: the places were written just now.
                unsafe { rows.set_len(rows.len() + n) };
            }
        }
    });
    rows
}

/// Rows that [`set_rows`] writes at once.
const AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathers_bits_behind_an_offset() {
        let bits = BooleanBuffer::collect_bool(300, |row| row * row % 7 < 3);
        for offset in [0, 1, 8, 77] {
            let part = bits.slice(offset, 200);
            let rows: Vec<u32> = (0..500).map(|i| i * 31 % 200).collect();
            let gathered = gather(&part, &rows);
            assert!(rows.iter().zip(&gathered).all(|(&row, bit)| part.value(row as usize) == bit));
            assert_eq!(gathered.len(), rows.len());
        }
    }

    #[test]
    fn every_byte_at_every_place() {
        let values: Vec<u8> =
            (0..5000u32).map(|i| if i * 7 % 5 < 2 { 0 } else { (i * 31 % 256) as u8 }).collect();
        for n in [0, 1, 7, 8, 9, 63, 64, 65, 5000] {
            let expected = BooleanBuffer::collect_bool(n, |row| values[row] != 0);
            assert_eq!(nonzero(&values[..n]), expected);
        }
        let mask = nonzero(&values);
        for (offset, len) in [(0, 5000), (1, 4999), (63, 64), (64, 63), (7, 0), (4999, 1), (100, 1000)] {
            let part = mask.slice(offset, len);
            let expected: Vec<u32> = (0..len as u32).filter(|&row| part.value(row as usize)).collect();
            assert_eq!(set_rows(&part), expected);
            let bytes: Vec<u8> = part.iter().map(u8::from).collect();
            assert_eq!(to_bytes(&part), bytes);
        }
        for all in [true, false] {
            let part = BooleanBuffer::collect_bool(130, |_| all);
            assert_eq!(set_rows(&part), if all { (0..130).collect::<Vec<u32>>() } else { vec![] });
        }
        let one = |byte: u8, place: usize| {
            let mut values = [0; 8];
            values[place] = byte;
            values
        };
        for byte in 1..=255 {
            (0..8).for_each(|place| {
                assert_eq!(nonzero(&one(byte, place)).set_indices().collect::<Vec<_>>(), [place])
            });
        }
    }
}
