//! Snappy's block format, decompressed with wide copies: most of a scan of text is spent here.
//!
//! The `snap` crate, which checks and copies more finely, took 56 % of the time of reading a column of URLs.

use chalet_base::{Error, Result, ensure, err};
use std::hint::select_unpredictable;

#[cold]
fn broken() -> Error {
    err!(INCORRECT_DATA, "Cannot decompress Parquet page (snappy): corrupt input")
}

/// What a page holds. Either is right for any input; the other one is slower.
#[derive(Clone, Copy, PartialEq)]
pub enum Content {
    /// Numbers of fixed width: most come as a few bytes of their own and the high bytes of one before.
    Numbers,
    /// Strings and everything else: whether a literal or a copy comes next, and how long it is, cannot be predicted.
    Bytes,
}

/// Bytes behind the end of the output that copies may scribble over.
const SLOP: usize = 64;

/// The length before the compressed bytes, and where they begin.
fn header(input: &[u8]) -> Option<(usize, usize)> {
    let mut len = 0u64;
    for (i, &byte) in input.iter().take(5).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(len).ok()?, i + 1));
        }
    }
    None
}

/// Fills `out` with the `size` bytes that `input` expands to; what it held is lost.
pub fn decompress(input: &[u8], size: usize, content: Content, out: &mut Vec<u8>) -> Result<()> {
    let (len, start) = header(input).ok_or_else(broken)?;
    ensure!(len == size, INCORRECT_DATA, "Parquet page has {len} bytes where its header says {size}");
    out.clear();
    out.try_reserve_exact(size + SLOP)
        .map_err(|_| err!(CANNOT_ALLOCATE_MEMORY, "Cannot allocate {size} bytes for a Parquet page"))?;
    // SAFETY: the room was just made.
    let written = unsafe { expand(&input[start..], out.as_mut_ptr(), size, content) }.ok_or_else(broken)?;
    if written != size {
        return Err(broken());
    }
    // SAFETY: `expand` has initialised the first `written` bytes, for which there is room.
    unsafe { out.set_len(written) };
    Ok(())
}

/// Writes at most `size` bytes to `out`, and scribbles over at most [`SLOP`] behind them; returns how many it wrote.
///
/// # Safety
/// `out` has room for `size + SLOP` bytes.
unsafe fn expand(input: &[u8], out: *mut u8, size: usize, content: Content) -> Option<usize> {
    let (mut from, mut to) = (0, 0);
    loop {
        // SAFETY: the same contract, and `out` is written up to `to`.
        (from, to) = unsafe {
            match content {
                Content::Numbers => expand_numbers(input, out, size, from, to),
                Content::Bytes => expand_inside(input, out, size, from, to),
            }
        };
        if from == input.len() {
            return Some(to);
        }
        let tag = usize::from(input[from]);
        from += 1;
        let (offset, len);
        match tag & 3 {
            0 => {
                let mut n = (tag >> 2) + 1;
                if n <= 16 && from + 16 <= input.len() && to + n <= size {
                    // SAFETY: 16 bytes can be read, as just checked, and written: `to < size`, and SLOP follows.
                    unsafe { copy::<16>(input.as_ptr().add(from), out.add(to)) };
                } else {
                    if n > 60 {
                        let extra = n - 60;
                        let bytes = input.get(from..from + extra)?;
                        n = bytes.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte)) + 1;
                        from += extra;
                    }
                    let literal = input.get(from..from.checked_add(n)?)?;
                    if n > size - to {
                        return None;
                    }
                    // SAFETY: `n` bytes of input lie at `from`, and `n` bytes fit behind `to`.
                    unsafe { std::ptr::copy_nonoverlapping(literal.as_ptr(), out.add(to), n) };
                }
                from += n;
                to += n;
                continue;
            }
            1 => {
                len = (tag >> 2 & 7) + 4;
                offset = (tag >> 5) << 8 | usize::from(*input.get(from)?);
                from += 1;
            }
            2 => {
                len = (tag >> 2) + 1;
                let bytes = input.get(from..from + 2)?;
                offset = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
                from += 2;
            }
            _ => {
                len = (tag >> 2) + 1;
                let bytes = input.get(from..from + 4)?;
                offset = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
                from += 4;
            }
        }
        if offset == 0 || offset > to || len > size - to {
            return None;
        }
        // SAFETY: `offset <= to`, so the source lies in what was written. At most 64 bytes are written from `to`,
        // or `len` rounded up to 16, both within `size + SLOP` because `to + len <= size`. Pieces of 16 (or 8)
        // bytes do not overlap their source, because it lies at least as far back.
        unsafe {
            let target = out.add(to);
            let source = target.sub(offset);
            if offset >= 16 {
                copy::<16>(source, target);
                if len > 16 {
                    copy::<16>(source.add(16), target.add(16));
                    if len > 32 {
                        copy::<16>(source.add(32), target.add(32));
                        copy::<16>(source.add(48), target.add(48));
                    }
                }
            } else if offset >= 8 {
                let mut done = 0;
                while done < len {
                    copy::<8>(source.add(done), target.add(done));
                    done += 8;
                }
            } else {
                for i in 0..len {
                    target.add(i).write(source.add(i).read());
                }
            }
        }
        to += len;
    }
}

/// By tag: how many bytes come of it (bits 0-7), how many of the input it takes (8-15), the high bits of its offset
/// (16-26). A literal has an offset that is as good as any, but one of more than 60 bytes and copies with a long offset
/// have none, because they are not for [`expand_inside`].
const TAGS: [u32; 256] = {
    let mut table = [0; 256];
    let mut tag = 0u32;
    while tag < 256 {
        let len = (tag >> 2) + 1;
        table[tag as usize] = match tag & 3 {
            0 if len > 60 => 0,
            0 => len | (1 + len) << 8 | (NEAR as u32) << 16,
            1 => ((tag >> 2 & 7) + 4) | (2 << 8) | ((tag >> 5 << 8) << 16),
            2 => len | 3 << 8,
            _ => len,
        };
        tag += 1;
    }
    table
};

/// Copies from less far away overlap themselves.
const NEAR: usize = 32;

/// The bytes of the offset behind a tag, by its kind.
const OFFSETS: [u32; 4] = [0, 0xff, 0xffff, 0];

/// The part of [`expand`] that is far enough from both ends to need few checks. Stops where it is not, or where
/// something is unusual; returns how far it came in input and output. Whether a literal or a copy comes next cannot be
/// predicted, so the two differ only in where they copy from.
///
/// # Safety
/// As for [`expand`]; `out` is written up to `to`, and `from <= input.len()`.
#[inline(always)]
unsafe fn expand_inside(
    input: &[u8],
    out: *mut u8,
    size: usize,
    mut from: usize,
    mut to: usize,
) -> (usize, usize) {
    // A literal of up to 60 bytes behind its tag, or a copy of up to 64.
    let (safe_from, safe_to) = (input.len().saturating_sub(65), size.saturating_sub(64));
    let source = input.as_ptr();
    if from >= safe_from {
        return (from, to);
    }
    let mut tag = input[from];
    while from < safe_from && to < safe_to && to >= NEAR {
        // SAFETY: `from + 65 < input.len()` and `to + 64 <= size` hold here. A literal reads 64 bytes behind its
        // tag and writes 64; a copy reads what was written before `to` (checked) and writes 64.
        unsafe {
            let entry = TAGS[usize::from(tag)];
            let kind = usize::from(tag & 3);
            let is_literal = kind == 0;
            let step = select_unpredictable(is_literal, usize::from(tag >> 2) + 2, kind + 1);
            let next = *source.add(from + step);
            let word = u32::from_le_bytes(source.add(from + 1).cast::<[u8; 4]>().read());
            let offset = (word & OFFSETS[kind]) as usize | (entry >> 16) as usize;
            let len = (entry & 0xff) as usize;
            // One check for what is too near, too far or no offset at all.
            if offset.wrapping_sub(NEAR) > to - NEAR {
                if is_literal || offset == 0 || offset > to {
                    break;
                }
                copy_near(out.add(to), offset, len);
            } else {
                let target = out.add(to);
                let literal = source.add(from + 1);
                let place =
                    select_unpredictable(is_literal, literal, target.wrapping_sub(offset).cast_const());
                copy::<32>(place, target);
                if len > 32 {
                    copy::<32>(place.add(32), target.add(32));
                }
            }
            from += step;
            tag = next;
            to += len;
        }
    }
    (from, to)
}

/// By tag of a copy with a short offset, as in [`TAGS`]: how many bytes come of it (bits 0-7) and the high bits of its
/// offset (16-26). Other tags have a length that no copy has.
const COPIES: [u32; 256] = {
    let mut table = [NO_COPY; 256];
    let mut tag = 0u32;
    while tag < 256 {
        match tag & 3 {
            1 => table[tag as usize] = ((tag >> 2 & 7) + 4) | ((tag >> 5 << 8) << 16),
            2 => table[tag as usize] = (tag >> 2) + 1,
            _ => {}
        }
        tag += 1;
    }
    table
};

const NO_COPY: u32 = 255;

/// [`expand_inside`] for numbers. A literal of at most four bytes and the copy that follows it, together at most a word, are
/// read as one word and written as one: the bytes of the literal over those of the word that the copy would have begun
/// in. That word was mostly written by one store too, so that the processor forwards it.
///
/// # Safety
/// As for [`expand`]; `out` is written up to `to`, and `from <= input.len()`.
#[inline(always)]
unsafe fn expand_numbers(
    input: &[u8],
    out: *mut u8,
    size: usize,
    mut from: usize,
    mut to: usize,
) -> (usize, usize) {
    // A literal of up to 60 bytes behind its tag, or a copy of up to 64.
    let (safe_from, safe_to) = (input.len().saturating_sub(65), size.saturating_sub(64));
    let source = input.as_ptr();
    while from < safe_from && to < safe_to && to >= 8 {
        // SAFETY: `from + 65 < input.len()` and `to + 64 <= size` hold here. 65 bytes are read from `from` and 64 are
        // written from `to` at most; a copy begins at least 8 bytes before `to` and not before the output (checked),
        // and reads what is written already.
        unsafe {
            let word = u64::from_le_bytes(source.add(from).cast::<[u8; 8]>().read());
            let tag = (word & 0xff) as u32;
            // A literal of one to four bytes.
            if tag & !0b1100 == 0 {
                let bits = tag * 2 + 8;
                let rest = word >> (bits + 8);
                let copy = (rest & 0xff) as usize;
                let kind = copy & 3;
                let literal_len = (tag >> 2) as usize + 1;
                let len = literal_len + (COPIES[copy] & 0xff) as usize;
                let offset = offset_of_copy(copy, rest);
                if len <= 8 && offset.wrapping_sub(8) <= to - 8 {
                    let mask = (1 << bits) - 1;
                    let before = u64::from_le_bytes(out.add(to - offset).cast::<[u8; 8]>().read());
                    let both = (word >> 8) & mask | before & !mask;
                    out.add(to).cast::<[u8; 8]>().write(both.to_le_bytes());
                    from += literal_len + kind + 2;
                    to += len;
                    continue;
                }
            }
            let target = out.add(to);
            if tag & 3 == 0 {
                let len = (tag >> 2) as usize + 1;
                if len > 60 {
                    break;
                }
                let literal = source.add(from + 1);
                copy::<16>(literal, target);
                if len > 16 {
                    copy::<16>(literal.add(16), target.add(16));
                    copy::<32>(literal.add(32), target.add(32));
                }
                from += len + 1;
                to += len;
            } else {
                let len = (COPIES[tag as usize] & 0xff) as usize;
                let offset = offset_of_copy(tag as usize, word);
                if len == NO_COPY as usize || offset.wrapping_sub(8) > to - 8 {
                    break;
                }
                let place = target.sub(offset);
                if len <= 8 {
                    copy::<8>(place, target);
                } else if offset >= NEAR {
                    copy::<32>(place, target);
                    if len > 32 {
                        copy::<32>(place.add(32), target.add(32));
                    }
                } else {
                    copy_near(target, offset, len);
                }
                from += (tag & 3) as usize + 1;
                to += len;
            }
        }
    }
    (from, to)
}

/// The offset of the copy that `word` begins with, whose tag is `tag`.
#[inline(always)]
fn offset_of_copy(tag: usize, word: u64) -> usize {
    ((word >> 8) as u32 & OFFSETS[tag & 3] | COPIES[tag] >> 16) as usize
}

/// Copies `len` bytes from less than 32 bytes before.
///
/// # Safety
/// `0 < offset < 32`, `offset` bytes before `target` are written, and 64 behind it may be.
#[inline(always)]
unsafe fn copy_near(target: *mut u8, offset: usize, len: usize) {
    // SAFETY: as promised; pieces do not overlap their source, which lies at least their width back.
    unsafe {
        let source = target.sub(offset);
        if offset >= 16 {
            copy::<16>(source, target);
            copy::<16>(source.add(16), target.add(16));
            if len > 32 {
                copy::<16>(source.add(32), target.add(32));
                copy::<16>(source.add(48), target.add(48));
            }
            return;
        }
        // What is copied is still being written: repeat a multiple of the period that eight bytes fit in.
        let period = if offset >= 8 {
            copy::<8>(source, target);
            offset
        } else {
            for i in 0..8 {
                target.add(i).write(source.add(i).read());
            }
            PERIODS[offset]
        };
        let mut done = 8;
        while done < len {
            copy::<8>(target.add(done).sub(period), target.add(done));
            done += 8;
        }
    }
}

/// The least multiple of a small offset that is at least 8.
const PERIODS: [usize; 8] = [8, 8, 8, 9, 8, 10, 12, 14];

/// # Safety
/// `N` bytes can be read at `from` and written at `to`, and the two do not overlap.
#[inline(always)]
unsafe fn copy<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: promised by the caller; arrays of bytes need no alignment.
    unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<Vec<u8>> {
        let mut all = vec![vec![], b"a".to_vec(), vec![7; 100_000], (0..=255).collect()];
        for period in 1..40usize {
            all.push((0..3000).map(|i| (i % period * 7) as u8).collect());
        }
        let mut state = 1u64;
        for n in [10, 63, 64, 65, 1000, 70_000] {
            let words = (0..n).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                format!("http://example.com/{}?", state >> 58)
            });
            all.push(words.collect::<String>().into_bytes());
        }
        // Numbers of 2, 4 and 8 bytes, of which few bits are used, some of them again and again.
        for (bytes, bits, again) in
            [(8, 20, 0), (8, 9, 3), (8, 40, 1), (8, 64, 0), (4, 11, 1), (4, 30, 2), (2, 7, 1)]
        {
            let mut last = 0u64;
            let numbers = (0..600).flat_map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if state >> 62 >= again {
                    last = (state >> 3) >> (64 - bits.min(61));
                }
                last.to_le_bytes().into_iter().take(bytes)
            });
            all.push(numbers.collect());
        }
        all
    }

    #[test]
    fn agrees_with_the_other_implementation() {
        for text in texts() {
            let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
            for content in [Content::Bytes, Content::Numbers] {
                let mut out = b"old content".to_vec();
                decompress(&packed, text.len(), content, &mut out).unwrap();
                assert!(out == text);
                assert!(decompress(&packed, text.len() + 1, content, &mut out).is_err());
            }
        }
    }

    #[test]
    fn broken_input_is_refused_as_the_other_implementation_refuses_it() {
        let mut state = 3u64;
        for text in texts().into_iter().filter(|text| text.len() < 5000) {
            let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
            for _ in 0..200 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let mut broken = packed.clone();
                let at = (state >> 33) as usize % broken.len();
                broken[at] ^= 1 << (state >> 60 & 7);
                broken.truncate(broken.len() - (state >> 40 & 1) as usize);
                let theirs = snap::raw::Decoder::new().decompress_vec(&broken);
                for content in [Content::Bytes, Content::Numbers] {
                    let mut ours = Vec::new();
                    match &theirs {
                        Ok(theirs) => {
                            decompress(&broken, theirs.len(), content, &mut ours).unwrap();
                            assert!(&ours == theirs);
                        }
                        Err(_) => {
                            let len = header(&broken).map_or(0, |(len, _)| len.min(1 << 20));
                            assert!(decompress(&broken, len, content, &mut ours).is_err());
                        }
                    }
                }
            }
        }
    }
}
