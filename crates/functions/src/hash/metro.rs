//! MetroHash64, its first variant with seed 0.

const K0: u64 = 0xc83a_91e1;
const K1: u64 = 0x8648_dbdb;
const K2: u64 = 0x7bde_c03b;
const K3: u64 = 0x2f58_70a5;

fn word(s: &[u8]) -> u64 {
    s.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

pub fn metro_hash64(bytes: &[u8]) -> u64 {
    let mut hash = K2.wrapping_mul(K0).wrapping_add(bytes.len() as u64);
    let mut rest = bytes;
    if rest.len() >= 32 {
        let mut v = [hash; 4];
        while let Some((block, behind)) = rest.split_at_checked(32) {
            rest = behind;
            for (i, k) in [K0, K1, K2, K3].into_iter().enumerate() {
                v[i] = v[i].wrapping_add(word(&block[8 * i..8 * i + 8]).wrapping_mul(k));
                v[i] = v[i].rotate_right(29).wrapping_add(v[(i + 2) % 4]);
            }
        }
        let fold = |a: u64, b: u64, k: u64, c: u64| {
            a.wrapping_add(b).wrapping_mul(k).wrapping_add(c).rotate_right(33)
        };
        v[2] ^= fold(v[0], v[3], K0, v[1]).wrapping_mul(K1);
        v[3] ^= fold(v[1], v[2], K1, v[0]).wrapping_mul(K0);
        v[0] ^= fold(v[0], v[2], K0, v[3]).wrapping_mul(K1);
        v[1] ^= fold(v[1], v[3], K1, v[2]).wrapping_mul(K0);
        hash = hash.wrapping_add(v[0] ^ v[1]);
    }
    if let Some((block, behind)) = rest.split_at_checked(16) {
        rest = behind;
        let mut v0 = hash.wrapping_add(word(&block[..8]).wrapping_mul(K0)).rotate_right(33).wrapping_mul(K1);
        let mut v1 = hash.wrapping_add(word(&block[8..]).wrapping_mul(K1)).rotate_right(33).wrapping_mul(K2);
        v0 ^= v0.wrapping_mul(K0).rotate_right(35).wrapping_add(v1);
        v1 ^= v1.wrapping_mul(K3).rotate_right(35).wrapping_add(v0);
        hash = hash.wrapping_add(v1);
    }
    for (width, turn) in [(8, 33), (4, 15), (2, 13), (1, 25)] {
        if let Some((block, behind)) = rest.split_at_checked(width) {
            rest = behind;
            hash = hash.wrapping_add(word(block).wrapping_mul(K3));
            hash ^= hash.rotate_right(turn).wrapping_mul(K1);
        }
    }
    hash ^= hash.rotate_right(33);
    hash = hash.wrapping_mul(K0);
    hash ^ hash.rotate_right(33)
}
