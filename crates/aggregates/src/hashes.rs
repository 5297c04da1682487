//! The kernel's integer hashes, where answers depend on them: which values a sample holds, how a sketch counts.

/// The finaliser of MurmurHash3.
#[inline(always)]
pub fn int_hash64(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

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
