//! wyhash, its third final version, with seed 0.

const SECRET: [u64; 4] =
    [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];

/// Both halves of a product, folded.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Up to 8 little-endian bytes.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    if let Ok(eight) = <[u8; 8]>::try_from(bytes) {
        return u64::from_le_bytes(eight);
    }
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return u32::from_le_bytes(four).into();
    }
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[inline]
pub fn wyhash64(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let mut seed = SECRET[0];
    let four = |at: usize| word(&bytes[at..at + 4]);
    let (a, b) = match len {
        0 => (0, 0),
        1..=3 => {
            let middle = u64::from(bytes[len >> 1]);
            (u64::from(bytes[0]) << 16 | middle << 8 | u64::from(bytes[len - 1]), 0)
        }
        4..=16 => {
            let step = len >> 3 << 2;
            (four(0) << 32 | four(step), four(len - 4) << 32 | four(len - 4 - step))
        }
        _ => {
            let mut rest = bytes;
            let lane = |block: &[u8], secret: u64, lane: u64| {
                mix(word(&block[..8]) ^ secret, word(&block[8..16]) ^ lane)
            };
            if len > 48 {
                let (mut second, mut third) = (seed, seed);
                while rest.len() > 48 {
                    seed = lane(&rest[..16], SECRET[1], seed);
                    second = lane(&rest[16..32], SECRET[2], second);
                    third = lane(&rest[32..48], SECRET[3], third);
                    rest = &rest[48..];
                }
                seed ^= second ^ third;
            }
            while rest.len() > 16 {
                seed = lane(&rest[..16], SECRET[1], seed);
                rest = &rest[16..];
            }
            // The last 16 bytes, which may have been seen already.
            (word(&bytes[len - 16..len - 8]), word(&bytes[len - 8..]))
        }
    };
    mix(SECRET[1] ^ len as u64, mix(a ^ SECRET[1], b ^ seed))
}
