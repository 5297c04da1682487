//! Byte strings: lengths and bytes in turn (PLAIN), or delta-coded lengths before all bytes.
//!
//! Views point into the page where its bytes lie in one piece; nothing is copied and nothing is checked to be UTF-8.

use super::{cut_short, delta};
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::strings::{INLINE, inline_view, pointer_view};

/// The view of a string that stands at `offset` of `bytes`.
#[inline(always)]
fn view_at(bytes: &[u8], offset: usize, len: usize, buffer: u32) -> u128 {
    if len > INLINE {
        return pointer_view(&bytes[offset..offset + len], buffer, offset as u32);
    }
    // Twelve bytes can be loaded at once nearly everywhere; what does not belong is masked off.
    if let Some(twelve) = bytes.get(offset..offset + INLINE) {
        let low = u64::from_le_bytes([
            twelve[0], twelve[1], twelve[2], twelve[3], twelve[4], twelve[5], twelve[6], twelve[7],
        ]);
        let high = u32::from_le_bytes([twelve[8], twelve[9], twelve[10], twelve[11]]);
        let text = u128::from(low) | u128::from(high) << 64;
        return (text & ((1u128 << (8 * len)) - 1)) << 32 | len as u128;
    }
    inline_view(&bytes[offset..offset + len])
}

/// Appends the views of `n` plain strings from `at` on; returns where the next one begins.
pub fn plain(bytes: &[u8], mut at: usize, n: usize, buffer: u32, views: &mut Vec<u128>) -> Result<usize> {
    views.reserve(n);
    for _ in 0..n {
        let len = length_at(bytes, at)?;
        views.push(view_at(bytes, at + 4, len, buffer));
        at += 4 + len;
    }
    Ok(at)
}

/// Where the string after the next `n` begins.
pub fn skip_plain(bytes: &[u8], mut at: usize, n: usize) -> Result<usize> {
    for _ in 0..n {
        at += 4 + length_at(bytes, at)?;
    }
    Ok(at)
}

/// The length of the string whose length stands at `at`, after a check that its bytes are there.
#[inline(always)]
fn length_at(bytes: &[u8], at: usize) -> Result<usize> {
    let Some(prefix) = bytes.get(at..at + 4) else { return Err(cut_short("string length")) };
    let len = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
    if len > bytes.len() - at - 4 {
        return Err(cut_short("string"));
    }
    Ok(len)
}

/// DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. Views of at most `max` strings into buffer 0, which is `page`.
pub fn delta_length(page: &Buffer, max: usize) -> Result<Vec<u128>> {
    let (lengths, mut at) = delta::decode::<i64>(page, max)?;
    let mut views = Vec::with_capacity(lengths.len());
    for len in lengths {
        let end =
            usize::try_from(len).ok().and_then(|len| at.checked_add(len)).filter(|&end| end <= page.len());
        let Some(end) = end else { return Err(cut_short("string")) };
        views.push(view_at(page, at, end - at, 0));
        at = end;
    }
    Ok(views)
}
