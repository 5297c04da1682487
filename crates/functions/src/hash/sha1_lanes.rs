//! SHA-1 of many strings side by side.

use super::digest_lanes::LaneDigest;
use super::lane_words::Words;
use chalet_base::simd_dispatch::{Level, level};

pub struct Sha1;

/// Strings that lanes of AVX2 are worth it for.
const LEAST: usize = 8;

/// The mean length up to which many strings are quicker side by side than one after the other, without registers of 256 bits: those of one
/// block.
const SHORT: usize = 55;

/// Are strings so many, and the longest of them so short, that lanes pay? Eight lanes of AVX2 take half the time that the processor's
/// instructions for the digest take (2026-11-27, AMD EPYC: 25 and 57 ns for a word); without AVX2 these are quicker.
pub fn pays<'a>(strings: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
    let n = strings.len();
    let (total, longest) =
        strings.map(<[u8]>::len).fold((0, 0), |(total, longest), len| (total + len, len.max(longest)));
    match level() {
        Level::Plain => !has_instructions() && n >= LEAST && total <= n * SHORT,
        // While the longest is taken alone, the other lanes idle.
        _ => n >= LEAST && longest <= SHORT + total / 4,
    }
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
    fn compress<const L: usize, W: Words<L>>(block: &[W; 16], state: [W; 5]) -> [W; 5] {
        let mut words = *block;
        let state = twenty_steps::<0, L, W>(&mut words, state);
        let state = twenty_steps::<1, L, W>(&mut words, state);
        let state = twenty_steps::<2, L, W>(&mut words, state);
        twenty_steps::<3, L, W>(&mut words, state)
    }
}

/// What each twenty steps add.
const CONSTANTS: [u32; 4] = [0x5a82_7999, 0x6ed9_eba1, 0x8f1b_bcdc, 0xca62_c1d6];

/// Twenty steps with one function, each written out: the places of words are constants then.
#[inline(always)]
fn twenty_steps<const ROUND: usize, const L: usize, W: Words<L>>(
    words: &mut [W; 16],
    [mut a, mut b, mut c, mut d, mut e]: [W; 5],
) -> [W; 5] {
    macro_rules! steps {
        ($($number:literal)*) => {$(
            let step: usize = 20 * ROUND + $number;
            let at = step % 16;
            if step >= 16 {
                let [x, y, z] = [13, 8, 2].map(|before| words[(step + before) % 16]);
                words[at] = x.xor(y).xor(z.xor(words[at])).rotate_left(1);
            }
            let mixed = match ROUND {
                0 => d.xor(b.and(c.xor(d))),
                2 => b.and(c).or(d.and(b.or(c))),
                _ => b.xor(c).xor(d),
            };
            let sum = e.add(words[at].add(W::each(CONSTANTS[ROUND]))).add(mixed);
            (a, b, c, d, e) = (a.rotate_left(5).add(sum), a, b.rotate_left(30), c, d);
        )*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
    [a, b, c, d, e]
}

#[cfg(test)]
mod tests {
    use super::super::digest_lanes::digests_at_each_level;
    use super::*;
    use sha1::Digest;

    #[test]
    fn digests_are_those_of_the_crate() {
        let texts: Vec<Vec<u8>> = (0..300).map(|n| (0..n).map(|i| (i * 7 + n) as u8).collect()).collect();
        let expected: Vec<u8> = texts.iter().flat_map(sha1::Sha1::digest).collect();
        let found = digests_at_each_level::<5, Sha1>(&texts);
        assert!(found.iter().all(|digests| *digests == expected));
    }

    #[test]
    fn lanes_are_for_many_strings() {
        let is_wide = level() > Level::Plain;
        assert_eq!(pays([&[0u8; 20][..]; 100].into_iter()), is_wide || !has_instructions());
        assert!(!pays([&[0u8; 20][..]; 3].into_iter()));
        assert_eq!(pays([&[0u8; 300][..]; 100].into_iter()), is_wide);
        let long = [0u8; 5000];
        assert!(!pays([&long[..], b"", b"a", b"b", b"c", b"d", b"e", b"f", b"g"].into_iter()));
    }
}
