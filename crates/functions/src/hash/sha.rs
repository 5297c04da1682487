//! SHA-1 and SHA-2 of strings that are there as a whole: their last bytes and the padding are put together once, and no buffer
//! stands between them and the compression.

use sha1::block_api::compress as compress160;
use sha2::block_api::{compress256, compress512};

pub const SHA1: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

const SHA224: [u32; 8] =
    [0xc105_9ed8, 0x367c_d507, 0x3070_dd17, 0xf70e_5939, 0xffc0_0b31, 0x6858_1511, 0x64f9_8fa7, 0xbefa_4fa4];

const SHA256: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

const SHA384: [u64; 8] = [
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
];

const SHA512: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

const SHA512_256: [u64; 8] = [
    0x2231_2194_fc2b_f72c,
    0x9f55_5fa3_c84c_64c2,
    0x2393_b86b_6f53_b151,
    0x9638_7719_5940_eabd,
    0x9628_3ee2_a88e_ffe3,
    0xbe5e_1e25_5386_3992,
    0x2b01_99fc_2c85_b8aa,
    0x0eb7_2ddc_81c5_2ca2,
];

pub fn sha1(text: &[u8], out: &mut Vec<u8>) {
    put32(SHA1, 20, compress160, text, out);
}

pub fn sha224(text: &[u8], out: &mut Vec<u8>) {
    put32(SHA224, 28, compress256, text, out);
}

pub fn sha256(text: &[u8], out: &mut Vec<u8>) {
    put32(SHA256, 32, compress256, text, out);
}

pub fn sha384(text: &[u8], out: &mut Vec<u8>) {
    put64(SHA384, 48, text, out);
}

pub fn sha512(text: &[u8], out: &mut Vec<u8>) {
    put64(SHA512, 64, text, out);
}

pub fn sha512_256(text: &[u8], out: &mut Vec<u8>) {
    put64(SHA512_256, 32, text, out);
}

/// Appends the first `width` bytes of the digest.
#[inline(always)]
fn put32<const N: usize>(
    mut state: [u32; N],
    width: usize,
    compress: fn(&mut [u32; N], &[[u8; 64]]),
    text: &[u8],
    out: &mut Vec<u8>,
) {
    each_run::<64, 8>(text, |blocks| compress(&mut state, blocks));
    out.extend_from_slice(&state.map(u32::to_be_bytes).as_flattened()[..width]);
}

#[inline(always)]
fn put64(mut state: [u64; 8], width: usize, text: &[u8], out: &mut Vec<u8>) {
    each_run::<128, 16>(text, |blocks| compress512(&mut state, blocks));
    out.extend_from_slice(&state.map(u64::to_be_bytes).as_flattened()[..width]);
}

/// The blocks of a text, and those with its end, the padding and its length in bits, which takes `LENGTH` bytes.
#[inline(always)]
fn each_run<const BLOCK: usize, const LENGTH: usize>(text: &[u8], mut run: impl FnMut(&[[u8; BLOCK]])) {
    let (blocks, _) = text.as_chunks::<BLOCK>();
    if !blocks.is_empty() {
        run(blocks);
    }
    let (last, n) = ending::<BLOCK, LENGTH>(text);
    run(&last[..n]);
}

/// The last blocks, with the end of a text behind its whole blocks, the padding and its length, and how many they are.
#[inline(always)]
pub fn ending<const BLOCK: usize, const LENGTH: usize>(text: &[u8]) -> ([[u8; BLOCK]; 2], usize) {
    let (_, rest) = text.as_chunks::<BLOCK>();
    let mut last = [[0u8; BLOCK]; 2];
    let n = if rest.len() < BLOCK - LENGTH { 1 } else { 2 };
    let bytes = last.as_flattened_mut();
    bytes[..rest.len()].copy_from_slice(rest);
    bytes[rest.len()] = 0x80;
    bytes[n * BLOCK - 8..n * BLOCK].copy_from_slice(&(text.len() as u64 * 8).to_be_bytes());
    (last, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    #[test]
    fn digests_are_those_of_the_crates() {
        for n in 0..300 {
            let text: Vec<u8> = (0..n).map(|i| (i * 7 + n) as u8).collect();
            let of = |digest: fn(&[u8], &mut Vec<u8>)| {
                let mut out = Vec::new();
                digest(&text, &mut out);
                out
            };
            assert_eq!(of(sha1), sha1::Sha1::digest(&text)[..]);
            assert_eq!(of(sha224), sha2::Sha224::digest(&text)[..]);
            assert_eq!(of(sha256), sha2::Sha256::digest(&text)[..]);
            assert_eq!(of(sha384), sha2::Sha384::digest(&text)[..]);
            assert_eq!(of(sha512), sha2::Sha512::digest(&text)[..]);
            assert_eq!(of(sha512_256), sha2::Sha512_256::digest(&text)[..]);
        }
    }
}
