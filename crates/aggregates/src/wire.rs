//! Reading serialised states back: every length is checked, because the bytes may come from a file.

use chalet_base::{Result, err};

/// Splits `n` bytes off the front.
pub fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(n).ok_or_else(|| {
        err!(CANNOT_READ_ALL_DATA, "Aggregate state ends after {} of {n} bytes", bytes.len())
    })?;
    *bytes = rest;
    Ok(head)
}

pub fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let mut out = [0; N];
    out.copy_from_slice(take(bytes, N)?);
    Ok(out)
}

pub fn take_u64(bytes: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(take_array(bytes)?))
}
