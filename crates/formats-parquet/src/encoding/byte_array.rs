//! Byte strings: lengths and bytes in turn (PLAIN), or delta-coded lengths before all bytes.
//!
//! Views point into the page where its bytes lie in one piece; nothing is copied and nothing is checked to be UTF-8.

use super::{cut_short, delta};
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::strings::view_at;

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
