//! CRC-32C (Castagnoli), without the inversions at the beginning and the end: by the processor's instruction where it has one.

/// The sum over one byte, for each byte.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// Goes on with a sum over bytes.
#[inline]
pub fn crc32c(start: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if !bytes.is_empty() && is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { bytes_by_instruction(start, bytes) };
    }
    bytes_by_table(start, bytes)
}

/// Goes on with a sum over the eight little-endian bytes of a word.
#[inline]
pub fn crc32c_of_word(start: u32, word: u64) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { word_by_instruction(start, word) };
    }
    bytes_by_table(start, &word.to_le_bytes())
}

/// Work that takes many sums of words.
pub trait SumsWords {
    type Output;

    /// Does the work with a function that is [`crc32c_of_word`]. To be compiled for the instruction, it must be inlined.
    fn run(self, sum: impl Fn(u32, u64) -> u32 + Copy) -> Self::Output;
}

/// Asks once, for all sums of the work, whether the processor has the instruction.
#[inline]
pub fn dispatch_crc32c<W: SumsWords>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { sums_by_instruction(work) };
    }
    work.run(|start, word| bytes_by_table(start, &word.to_le_bytes()))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn sums_by_instruction<W: SumsWords>(work: W) -> W::Output {
    work.run(|start, word| std::arch::x86_64::_mm_crc32_u64(start.into(), word) as u32)
}

/// Calls `found` with each run of `size` bytes, from its first byte on, and the sum from `start` over it.
#[inline]
pub fn crc32c_of_windows(start: u32, bytes: &[u8], size: usize, found: impl FnMut(usize, u32)) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { windows_by_instruction(start, bytes, size, found) };
    }
    let mut found = found;
    bytes.windows(size).enumerate().for_each(|(at, run)| found(at, bytes_by_table(start, run)));
}

fn bytes_by_table(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn bytes_by_instruction(start: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let crc =
        words.iter().fold(u64::from(start), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word))) as u32;
    rest.iter().fold(crc, |crc, byte| _mm_crc32_u8(crc, *byte))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn windows_by_instruction(start: u32, bytes: &[u8], size: usize, mut found: impl FnMut(usize, u32)) {
    for (at, run) in bytes.windows(size).enumerate() {
        found(at, bytes_by_instruction(start, run));
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn word_by_instruction(start: u32, word: u64) -> u32 {
    std::arch::x86_64::_mm_crc32_u64(start.into(), word) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_sum_of_castagnoli() {
        assert_eq!(!crc32c(u32::MAX, b"123456789"), 0xe306_9283);
    }

    struct OneWord(u64);

    impl SumsWords for OneWord {
        type Output = u32;

        #[inline(always)]
        fn run(self, sum: impl Fn(u32, u64) -> u32 + Copy) -> u32 {
            sum(9, self.0)
        }
    }

    #[test]
    fn instruction_and_table_agree() {
        let bytes: Vec<u8> = (0..100u8).map(|i| i.wrapping_mul(7) ^ 0x5a).collect();
        for end in 0..bytes.len() {
            assert_eq!(crc32c(7, &bytes[..end]), bytes_by_table(7, &bytes[..end]));
        }
        for size in 1..20 {
            let mut sums = Vec::new();
            crc32c_of_windows(5, &bytes, size, |at, sum| sums.push((at, sum)));
            let by_table = bytes.windows(size).map(|run| bytes_by_table(5, run)).enumerate();
            assert!(sums.into_iter().eq(by_table));
        }
        let word = 0x0123_4567_89ab_cdef_u64;
        assert_eq!(crc32c_of_word(9, word), bytes_by_table(9, &word.to_le_bytes()));
        assert_eq!(dispatch_crc32c(OneWord(word)), bytes_by_table(9, &word.to_le_bytes()));
    }
}
