//! MD5 of many strings side by side.

use super::digest_lanes::LaneDigest;
use super::lane_words::Words;

pub struct Md5;

impl LaneDigest<4> for Md5 {
    const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    const BIG_ENDIAN: bool = false;

    #[inline(always)]
    fn compress<const L: usize, W: Words<L>>(block: &[W; 16], state: [W; 4]) -> [W; 4] {
        let state = round::<0, L, W>(block, state);
        let state = round::<1, L, W>(block, state);
        let state = round::<2, L, W>(block, state);
        round::<3, L, W>(block, state)
    }
}

/// The integer parts of 2^32 times the sines of 1 to 64.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// How far each step of a round rotates.
const ROTATIONS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// Sixteen steps, each written out: the places of words and the rotations are constants then.
#[inline(always)]
fn round<const ROUND: usize, const L: usize, W: Words<L>>(
    block: &[W; 16],
    [mut a, mut b, mut c, mut d]: [W; 4],
) -> [W; 4] {
    macro_rules! steps {
        ($($step:literal)*) => {$(
            let (mixed, word) = match ROUND {
                0 => (d.xor(b.and(c.xor(d))), $step),
                1 => (c.xor(d.and(b.xor(c))), 5 * $step + 1),
                2 => (b.xor(c).xor(d), 3 * $step + 5),
                _ => (c.xor(b.or(d.not())), 7 * $step),
            };
            let sum = a.add(block[word % 16].add(W::each(SINES[16 * ROUND + $step]))).add(mixed);
            (a, d, c, b) = (d, c, b, b.add(sum.rotate_left(ROTATIONS[ROUND][$step % 4])));
        )*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::super::digest_lanes::digests_at_each_level;
    use super::*;
    use md5::Digest;

    #[test]
    fn digests_are_those_of_the_crate() {
        let texts: Vec<Vec<u8>> = (0..300).map(|n| (0..n).map(|i| (i * 7 + n) as u8).collect()).collect();
        let expected: Vec<u8> = texts.iter().flat_map(md5::Md5::digest).collect();
        let found = digests_at_each_level::<4, Md5>(&texts);
        assert!(found.iter().all(|digests| *digests == expected));
    }
}
