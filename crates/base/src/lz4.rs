//! Blocks of LZ4, by its own C library: it unpacks text and numbers 1.2 to 1.9 times as fast as the `lz4_flex` crate
//! (2026-11-25), and scans of tables spend a quarter of their time and more on it.

use std::ffi::{c_char, c_int};
use std::io;

/// Bytes that the packed form of so many bytes takes at most.
pub fn max_packed_len(len: usize) -> usize {
    len + len / 255 + 16
}

/// Up to so many bytes are a block without matches: the library would first clear its table of 16 KiB.
const MOST_LITERALS: usize = 64;

/// A block of all `bytes`. Fails for more than 2 GB.
pub fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    if bytes.len() <= MOST_LITERALS {
        return Ok(literals(bytes));
    }
    let mut packed = vec![0; max_packed_len(bytes.len())];
    let len = pack_into(bytes, &mut packed)?;
    packed.truncate(len);
    Ok(packed)
}

/// A block of one sequence: the upper half of its token says how many literals follow, 15 that more bytes say how many more.
fn literals(bytes: &[u8]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(bytes.len() + 2);
    match bytes.len() {
        few @ ..15 => packed.push((few as u8) << 4),
        more => packed.extend([0xf0, (more - 15) as u8]),
    }
    packed.extend_from_slice(bytes);
    packed
}

/// Writes a block of all `bytes` to the start of `out`, which has room for [`max_packed_len`]; returns how long it is. Fails
/// for more than 2 GB.
pub fn pack_into(bytes: &[u8], out: &mut [u8]) -> io::Result<usize> {
    lz4::block::compress_to_buffer(bytes, None, false, out)
}

/// Unpacks a block to the start of `out`; returns how many bytes it holds. Fails where it is damaged, or holds more than fit.
pub fn unpack_into(packed: &[u8], out: &mut [u8]) -> io::Result<usize> {
    narrow(packed.len())?;
    let room = narrow(out.len())?;
    lz4::block::decompress_to_buffer(packed, Some(room), out)
}

/// Appends the bytes of a block that holds at most `most`; returns how many it holds. Fails where it is damaged or holds more, or the
/// memory is not there. Fresh memory is not zeroed first, which would take a tenth of the time.
pub fn unpack_onto(packed: &[u8], most: usize, out: &mut Vec<u8>) -> io::Result<usize> {
    let (len, room) = (narrow(packed.len())?, narrow(most)?);
    out.try_reserve_exact(most).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: the library reads `len` bytes of `packed` and writes at most `room` behind the end of `out`, which has been reserved.
    let n = unsafe {
        let target = out.as_mut_ptr().add(out.len());
        lz4::liblz4::LZ4_decompress_safe(packed.as_ptr().cast(), target.cast(), len, room)
    };
    let n = usize::try_from(n).map_err(|_| damaged())?;
    // SAFETY: the library has written the first `n` of these bytes.
    unsafe { out.set_len(out.len() + n) };
    Ok(n)
}

unsafe extern "C" {
    /// Of the same library as the rest, whose bindings leave it out.
    fn LZ4_decompress_safe_partial(
        source: *const c_char,
        target: *mut c_char,
        compressed_size: c_int,
        target_size: c_int,
        capacity: c_int,
    ) -> c_int;
}

/// Appends the first `n` bytes of a block; returns how many it holds, if they are fewer. Fails where these are damaged, or the memory is
/// not there.
pub fn unpack_start_onto(packed: &[u8], n: usize, out: &mut Vec<u8>) -> io::Result<usize> {
    let (len, room) = (narrow(packed.len())?, narrow(n)?);
    out.try_reserve_exact(n).map_err(|_| io::ErrorKind::OutOfMemory)?;
    // SAFETY: the library reads `len` bytes of `packed` and writes at most `room` behind the end of `out`, which has been reserved.
    let got = unsafe {
        let target = out.as_mut_ptr().add(out.len());
        LZ4_decompress_safe_partial(packed.as_ptr().cast(), target.cast(), len, room, room)
    };
    let got = usize::try_from(got).map_err(|_| damaged())?;
    // SAFETY: the library has written the first `got` of these bytes.
    unsafe { out.set_len(out.len() + got) };
    Ok(got)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "corrupt LZ4 block")
}

/// The library counts in 32 bits.
fn narrow(len: usize) -> io::Result<i32> {
    i32::try_from(len)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "LZ4 blocks have less than 2 GB"))
}

/// The bytes of a block that holds at most `most`. Fails where it is damaged or holds more.
pub fn unpack(packed: &[u8], most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    unpack_onto(packed, most, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let short = [14, 15, 16, MOST_LITERALS, MOST_LITERALS + 1].map(|n| (1..=n as u8).collect());
        let long = [Vec::new(), vec![7; 100_000], (0..=255).cycle().take(1000).collect(), b"a".to_vec()];
        for bytes in short.into_iter().chain(long) {
            let packed = pack(&bytes).unwrap();
            assert!(packed.len() <= max_packed_len(bytes.len()));
            assert_eq!(unpack(&packed, bytes.len()).unwrap(), bytes);
            assert_eq!(unpack(&packed, bytes.len() + 100).unwrap(), bytes);
            for n in [0, 1, 10, 100, bytes.len(), bytes.len() + 100] {
                let mut start = b"before".to_vec();
                assert_eq!(unpack_start_onto(&packed, n, &mut start).unwrap(), n.min(bytes.len()));
                assert_eq!(start[6..], bytes[..n.min(bytes.len())]);
            }
        }
    }

    #[test]
    fn damage_is_an_error_or_other_bytes() {
        let bytes: Vec<u8> = (0..2000u32).flat_map(|n| (n / 3 * n).to_le_bytes()).collect();
        let packed = pack(&bytes).unwrap();
        unpack(&packed, bytes.len() - 1).unwrap_err();
        unpack(&packed[..packed.len() - 1], bytes.len()).unwrap_err();
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut damaged = packed.clone();
                damaged[at] ^= 1 << bit;
                let _ = unpack(&damaged, bytes.len());
            }
        }
    }
}
