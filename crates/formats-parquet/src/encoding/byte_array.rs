//! Byte strings: lengths and bytes in turn (PLAIN), delta-coded lengths, or suffixes of the string before.
//!
//! Views point into the page where its bytes lie in one piece; nothing is copied and nothing is checked to be UTF-8.

use super::{cut_short, delta};
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::StringBuilder;
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

/// DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes. Views into buffer 0, which is `page`.
pub fn delta_length(page: &Buffer, from: usize, n: usize) -> Result<Vec<u128>> {
    let (lengths, used) = delta::decode::<i64>(&page[from..], n)?;
    ensure!(lengths.len() == n, INCORRECT_DATA, "Parquet page has {} string lengths, not {n}", lengths.len());
    let mut at = from + used;
    let mut views = Vec::with_capacity(n);
    for len in lengths {
        let end =
            usize::try_from(len).ok().and_then(|len| at.checked_add(len)).filter(|&end| end <= page.len());
        let Some(end) = end else { return Err(cut_short("string")) };
        views.push(view_at(page, at, end - at, 0));
        at = end;
    }
    Ok(views)
}

/// DELTA_BYTE_ARRAY: how much of the string before is kept, and what follows.
pub fn delta_prefix(bytes: &[u8], n: usize, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let (prefixes, used) = delta::decode::<i64>(bytes, n)?;
    let rest = &bytes[used..];
    let (suffixes, used) = delta::decode::<i64>(rest, n)?;
    if prefixes.len() != n || suffixes.len() != n {
        bail!(
            INCORRECT_DATA,
            "Parquet page has {} string prefixes and {} suffixes, not {n}",
            prefixes.len(),
            suffixes.len()
        );
    }
    let (mut text, mut rest) = (Vec::new(), &rest[used..]);
    for (prefix, suffix) in prefixes.into_iter().zip(suffixes) {
        let suffix = usize::try_from(suffix)
            .ok()
            .filter(|&len| len <= rest.len())
            .ok_or_else(|| cut_short("string"))?;
        ensure!(
            (0..=text.len() as i64).contains(&prefix),
            INCORRECT_DATA,
            "Parquet string shares {prefix} bytes with one of {} bytes",
            text.len()
        );
        text.truncate(prefix as usize);
        text.extend_from_slice(&rest[..suffix]);
        rest = &rest[suffix..];
        each(&text)?;
    }
    Ok(())
}

/// The strings of a DELTA_BYTE_ARRAY page, built anew.
pub fn delta_prefix_strings(bytes: &[u8], n: usize) -> Result<chalet_columns::Strings> {
    let mut builder = StringBuilder::with_capacity(n.min(bytes.len()));
    let (mut total, limit) = (0usize, bytes.len().saturating_mul(1024).max(1 << 30));
    delta_prefix(bytes, n, |text| {
        // Shared prefixes can blow a page up beyond all bounds.
        total += text.len();
        ensure!(total <= limit, TOO_LARGE_STRING_SIZE, "Strings of a Parquet page are too large");
        builder.push(text);
        Ok(())
    })?;
    Ok(builder.finish())
}
