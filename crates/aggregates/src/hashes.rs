//! The kernel's integer hashes, where answers depend on them: which values a sample holds, how a sketch counts.

pub use chalet_base::table_order::murmur_mix as int_hash64;

/// Thomas Wang's hash of 64 bits to 32.
#[inline(always)]
pub fn int_hash32(mut key: u64) -> u32 {
    key = (!key).wrapping_add(key << 18);
    key ^= key.rotate_right(31);
    key = key.wrapping_mul(21);
    key ^= key.rotate_right(11);
    key = key.wrapping_add(key << 6);
    key ^= key.rotate_right(22);
    key as u32
}
