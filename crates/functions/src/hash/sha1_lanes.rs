//! SHA-1 of many strings side by side.

use super::digest_lanes::{LANES, LaneDigest, Lanes, each};

pub struct Sha1;

/// The mean length up to which many strings are quicker side by side than one after the other: those of one block.
const SHORT: usize = 55;

/// Are strings so many and so short that lanes pay? Never beside instructions for the digest, which take a third of the time.
pub fn pays<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
    let n = strings.len();
    !has_instructions() && n >= LANES && strings.map(<[u8]>::len).sum::<usize>() <= n * SHORT
}

/// Has the processor instructions for SHA-1, which the crate uses then?
fn has_instructions() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

impl LaneDigest<5> for Sha1 {
    const START: [u32; 5] = super::sha::SHA1;
    const BIG_ENDIAN: bool = true;

    #[inline(always)]
    fn compress(block: &[Lanes; 16], state: [Lanes; 5]) -> [Lanes; 5] {
        let mut words = *block;
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for step in 0..80 {
            let at = step % 16;
            if step >= 16 {
                let [x, y, z] = [13, 8, 2].map(|before| words[(step + before) % 16]);
                let before = words[at];
                words[at] = each(|i| (x[i] ^ y[i] ^ z[i] ^ before[i]).rotate_left(1));
            }
            let (mixed, constant) = match step / 20 {
                0 => (each(|i| d[i] ^ (b[i] & (c[i] ^ d[i]))), 0x5a82_7999),
                1 => (each(|i| b[i] ^ c[i] ^ d[i]), 0x6ed9_eba1),
                2 => (each(|i| (b[i] & c[i]) | (d[i] & (b[i] | c[i]))), 0x8f1b_bcdc),
                _ => (each(|i| b[i] ^ c[i] ^ d[i]), 0xca62_c1d6_u32),
            };
            let word = &words[at];
            let constant = each(|i| word[i].wrapping_add(constant));
            let sum = each(|i| e[i].wrapping_add(constant[i]).wrapping_add(mixed[i]));
            let next = each(|i| a[i].rotate_left(5).wrapping_add(sum[i]));
            (a, b, c, d, e) = (next, a, each(|i| b[i].rotate_left(30)), c, d);
        }
        [a, b, c, d, e]
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest_lanes::digests;
    use super::*;
    use sha1::Digest;

    #[test]
    fn digests_are_those_of_the_crate() {
        let texts: Vec<Vec<u8>> = (0..300).map(|n| (0..n).map(|i| (i * 7 + n) as u8).collect()).collect();
        let expected: Vec<u8> = texts.iter().flat_map(sha1::Sha1::digest).collect();
        assert_eq!(digests::<5, Sha1>(texts.iter().map(|text| &text[..])), expected);
    }

    #[test]
    fn lanes_are_for_many_short_strings() {
        assert_eq!(pays([&[0u8; 20][..]; 100].into_iter()), !has_instructions());
        assert!(!pays([&[0u8; 20][..]; 3].into_iter()));
        assert!(!pays([&[0u8; 300][..]; 100].into_iter()));
    }
}
