//! Byte strings: lengths and bytes in turn (PLAIN), delta-coded lengths, or suffixes of the string before.
//!
//! Views point into the page where its bytes lie in one piece; nothing is copied and nothing is checked to be UTF-8.

use super::{cut_short, delta};
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure};
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

/// DELTA_BYTE_ARRAY: how many bytes each string shares with the one before, and what follows; at most `max` strings. They are built anew,
/// one behind the other: views into buffer 0, which is the one that comes with them.
pub fn delta_prefix(bytes: &[u8], max: usize) -> Result<(Vec<u128>, Vec<u8>)> {
    let (prefixes, used) = delta::decode::<i64>(bytes, max)?;
    let rest = &bytes[used..];
    let (suffixes, used) = delta::decode::<i64>(rest, max)?;
    ensure!(
        prefixes.len() == suffixes.len(),
        INCORRECT_DATA,
        "Parquet page has {} string prefixes and {} suffixes",
        prefixes.len(),
        suffixes.len()
    );
    // Shared prefixes can blow a page up beyond all bounds, and views count bytes in 32 bits.
    let limit = bytes.len().saturating_mul(1024).clamp(1 << 30, u32::MAX as usize);
    let rest = &rest[used..];
    let lengths = || prefixes.iter().zip(&suffixes);
    let total = lengths().try_fold(0usize, |total, (&prefix, &suffix)| {
        let len = usize::try_from(prefix.checked_add(suffix)?).ok()?;
        total.checked_add(len).filter(|&total| total <= limit)
    });
    let Some(total) = total else { bail!(TOO_LARGE_STRING_SIZE, "Strings of a Parquet page are too large") };
    let mut text = vec![0u8; total + SHORT];
    let mut views = Vec::with_capacity(prefixes.len());
    let (mut last, mut last_len, mut start, mut at) = (0, 0, 0, 0);
    // The first bytes of the string before: those that were just written cannot be read again at once.
    let mut head = 0u128;
    for (&prefix, &suffix) in lengths() {
        let suffix = usize::try_from(suffix).ok().filter(|&len| len <= rest.len() - at);
        let Some(suffix) = suffix else { return Err(cut_short("string")) };
        let Some(prefix) = usize::try_from(prefix).ok().filter(|&len| len <= last_len) else {
            bail!(INCORRECT_DATA, "Parquet string shares {prefix} bytes with one of {last_len} bytes");
        };
        last_len = prefix + suffix;
        match rest.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) if last_len <= SHORT => {
                let tail = u128::from_le_bytes(*bytes).checked_shl(8 * prefix as u32).unwrap_or(0);
                head = (head & first_bytes(prefix) | tail) & first_bytes(last_len);
                text[start..start + SHORT].copy_from_slice(&head.to_le_bytes());
            }
            _ => {
                if prefix > SHORT {
                    text.copy_within(last..last + prefix, start);
                } else {
                    text[start..start + SHORT].copy_from_slice(&head.to_le_bytes());
                }
                text[start + prefix..start + last_len].copy_from_slice(&rest[at..at + suffix]);
                head = text[start..].first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
            }
        }
        last = start;
        views.push(match last_len <= INLINE {
            true => (head & first_bytes(last_len)) << 32 | last_len as u128,
            false => u128::from(head as u32) << 32 | last_len as u32 as u128 | (start as u128) << 96,
        });
        start += last_len;
        at += suffix;
    }
    Ok((views, text))
}

/// A mask of the first bytes of 16.
fn first_bytes(n: usize) -> u128 {
    1u128.checked_shl(8 * n as u32).unwrap_or(0).wrapping_sub(1)
}

/// Bytes that are copied at once.
const SHORT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::put_differences;

    fn encoded(prefixes: &[i64], suffixes: &[i64], rest: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_differences(prefixes, true, &mut bytes);
        put_differences(suffixes, true, &mut bytes);
        bytes.extend_from_slice(rest);
        bytes
    }

    fn text_of(view: u128, text: &[u8]) -> Vec<u8> {
        let len = view as u32 as usize;
        match len > INLINE {
            true => text[(view >> 96) as usize..][..len].to_vec(),
            false => (view >> 32).to_le_bytes()[..len].to_vec(),
        }
    }

    #[test]
    fn strings_of_all_lengths_with_shared_prefixes() {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for n in 0..200usize {
            let shared = texts.last().map_or(0, |last| last.len().min(n * 7 % 43));
            let start = texts.last().map_or_else(Vec::new, |last| last[..shared].to_vec());
            texts.push([start, (0..n * 11 % 37).map(|x| (x * n) as u8).collect()].concat());
        }
        let (mut prefixes, mut suffixes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: &[u8] = b"";
        for text in &texts {
            let shared = text.iter().zip(last).take_while(|(a, b)| a == b).count();
            prefixes.push(shared as i64);
            suffixes.push((text.len() - shared) as i64);
            rest.extend_from_slice(&text[shared..]);
            last = text;
        }
        let (views, buffer) = delta_prefix(&encoded(&prefixes, &suffixes, &rest), texts.len()).unwrap();
        let read: Vec<Vec<u8>> = views.iter().map(|&view| text_of(view, &buffer)).collect();
        assert_eq!(read, texts);
    }

    #[test]
    fn lengths_that_cannot_be_are_errors() {
        for (prefixes, suffixes, rest) in [
            (vec![1], vec![1], &b"a"[..]),
            (vec![0, 2], vec![1, 0], b"a"),
            (vec![0], vec![2], b"a"),
            (vec![0, -1], vec![1, 1], b"ab"),
            (vec![0], vec![-1], b"a"),
            (vec![0, 1, 1], vec![1, 1], b"ab"),
        ] {
            let error = delta_prefix(&encoded(&prefixes, &suffixes, rest), 3).unwrap_err();
            assert_ne!(error.code().name, "LOGICAL_ERROR", "{prefixes:?}, {suffixes:?}");
        }
        let mut prefixes = vec![0];
        prefixes.resize(100_000, 20_000);
        let mut suffixes = vec![20_000];
        suffixes.resize(100_000, 1);
        let rest = vec![7; 120_000];
        delta_prefix(&encoded(&prefixes, &suffixes, &rest), 100_000).unwrap_err();
    }
}
