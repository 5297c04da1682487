//! The hash of in-memory hash tables: fast, not stable across processes, never stored.

pub use foldhash::fast::FixedState;
use std::hash::BuildHasher;

pub type HashMap<K, V> = hashbrown::HashMap<K, V, FixedState>;
pub type HashSet<K> = hashbrown::HashSet<K, FixedState>;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes one 64-bit word by a folded 128-bit multiply (the core step of wyhash).
#[inline(always)]
pub fn hash_u64(x: u64) -> u64 {
    combine(x ^ 0x2d35_8dcc_aa6c_78a5, SEED)
}

/// Mixes a second word into a hash; not commutative.
#[inline(always)]
pub fn combine(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ SEED).wrapping_mul(u128::from(word ^ 0x8bb8_4b93_962e_acc9));
    (product as u64) ^ ((product >> 64) as u64)
}

/// Fetches a value into the cache.
#[inline(always)]
pub fn fetch<T>(value: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: fetching into the cache reads nothing as far as the program can tell, wherever the pointer points.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(value.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Hashes bytes of any length.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if len <= 16 {
        if len >= 8 {
            let a = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            let b = u64::from_le_bytes(bytes[len - 8..].try_into().unwrap());
            return combine(hash_u64(a), b ^ len as u64);
        }
        if len >= 4 {
            let a = u32::from_le_bytes(bytes[..4].try_into().unwrap());
            let b = u32::from_le_bytes(bytes[len - 4..].try_into().unwrap());
            return combine(hash_u64(u64::from(a) | u64::from(b) << 32), len as u64);
        }
        let mut word = 0u64;
        for &byte in bytes {
            word = word << 8 | u64::from(byte);
        }
        return combine(hash_u64(word), len as u64);
    }
    FixedState::with_seed(SEED).hash_one(bytes)
}
