//! Bytes that are 0 or something else as bits, and bits as row numbers.

use arrow_buffer::{BooleanBuffer, Buffer};

/// The bits of the rows whose byte is not 0, eight rows at a time.
pub fn nonzero(values: &[u8]) -> BooleanBuffer {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    /// Moves the lowest bits of eight bytes next to each other, into the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, rest) = values.as_chunks::<8>();
    let bits = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        // The highest bit of a byte is set when any bit is: the sum carries into it, or it was set before.
        let any = ((word & LOW_BITS) + LOW_BITS) | word;
        (((any & !LOW_BITS) >> 7).wrapping_mul(GATHER) >> 56) as u8
    };
    let mut out: Vec<u8> = Vec::with_capacity(values.len().div_ceil(8));
    out.extend(eights.iter().map(bits));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        out.push(bits(&last));
    }
    BooleanBuffer::new(Buffer::from_vec(out), 0, values.len())
}

/// The numbers of the set bits, ascending.
pub fn set_rows(bits: &BooleanBuffer) -> Vec<u32> {
    let mut rows = Vec::with_capacity(bits.count_set_bits());
    rows.extend(bits.set_indices().map(|row| row as u32));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place() {
        let values: Vec<u8> =
            (0..5000u32).map(|i| if i * 7 % 5 < 2 { 0 } else { (i * 31 % 256) as u8 }).collect();
        for n in [0, 1, 7, 8, 9, 63, 64, 65, 5000] {
            let expected = BooleanBuffer::collect_bool(n, |row| values[row] != 0);
            assert_eq!(nonzero(&values[..n]), expected);
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
