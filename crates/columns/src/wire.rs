//! Writing and reading serialised states: every length is checked, because the bytes may come from a file.

use chalet_base::{Result, ensure, err};

/// Splits `n` bytes off the front.
pub fn take<'a>(bytes: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(n).ok_or_else(|| {
        err!(CANNOT_READ_ALL_DATA, "Aggregate state ends after {} of {n} bytes", bytes.len())
    })?;
    *bytes = rest;
    Ok(head)
}

/// Splits `N` bytes off the front. Fails when there are fewer.
pub fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let mut out = [0; N];
    out.copy_from_slice(take(bytes, N)?);
    Ok(out)
}

/// Takes one byte. Fails when there is none.
pub fn take_u8(bytes: &mut &[u8]) -> Result<u8> {
    Ok(take_array::<1>(bytes)?[0])
}

/// Takes 8 bytes, lowest first. Fails when there are fewer.
pub fn take_u64(bytes: &mut &[u8]) -> Result<u64> {
    Ok(u64::from_le_bytes(take_array(bytes)?))
}

/// Takes a float of 8 bytes, lowest first. Fails when there are fewer.
pub fn take_f64(bytes: &mut &[u8]) -> Result<f64> {
    Ok(f64::from_le_bytes(take_array(bytes)?))
}

/// 7 bits a byte, lowest first, the high bit saying that more follow.
pub fn put_len(mut n: usize, out: &mut Vec<u8>) {
    while n >= 128 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A length or a count. It is not to be trusted for an allocation: see [`take_count`].
pub fn take_len(bytes: &mut &[u8]) -> Result<usize> {
    let mut n = 0usize;
    for shift in (0..63).step_by(7) {
        let byte = take_u8(bytes)?;
        n |= usize::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(n);
        }
    }
    Err(err!(CANNOT_READ_ALL_DATA, "Length in an aggregate state is too long"))
}

/// A count of items of at least `width` bytes each, no more of them than bytes are left for.
pub fn take_count(bytes: &mut &[u8], width: usize) -> Result<usize> {
    let n = take_len(bytes)?;
    ensure!(
        n.saturating_mul(width) <= bytes.len(),
        CANNOT_READ_ALL_DATA,
        "Aggregate state promises {n} items in {} bytes",
        bytes.len()
    );
    Ok(n)
}

/// Appends the length, as [`put_len`] does, and the bytes.
pub fn put_bytes(value: &[u8], out: &mut Vec<u8>) {
    put_len(value.len(), out);
    out.extend_from_slice(value);
}

/// Takes what [`put_bytes`] wrote. Fails when fewer bytes are left than the length says.
pub fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let n = take_len(bytes)?;
    take(bytes, n)
}
