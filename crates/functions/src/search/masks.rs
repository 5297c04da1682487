//! Sixteen bytes of a text at a time, as bits that say which of them are wanted: what short texts are searched with, where preparing
//! a search would take longer than the search.

use std::ops::Range;

const LANES: usize = 16;

/// Up to sixteen bytes from a place on, with zeros behind the end of the text.
#[inline(always)]
fn sixteen(text: &[u8], place: usize) -> [u8; LANES] {
    let rest = &text[place..];
    if let Some(chunk) = rest.first_chunk() {
        return *chunk;
    }
    let n_bits = 8 * rest.len() as u32;
    let bytes = if let Some(last) = text.last_chunk() {
        u128::from_le_bytes(*last).checked_shr(u128::BITS - n_bits).unwrap_or(0)
    } else if let (Some(first), Some(last)) = (rest.first_chunk(), rest.last_chunk()) {
        // Where the halves overlap, they are equal.
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (n_bits - u64::BITS)
    } else {
        super::position::short_word(rest).into()
    };
    bytes.to_le_bytes()
}

/// A bit for each byte that `is` true of.
#[inline(always)]
fn bits_of(bytes: &[u8; LANES], is: impl Fn(u8) -> bool) -> u32 {
    // A loop over all bytes becomes one instruction for each step.
    let hits = bytes.map(|byte| if is(byte) { u8::MAX } else { 0 });
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has SSE2; sixteen bytes are read.
    let bits = unsafe {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};
        _mm_movemask_epi8(_mm_loadu_si128(hits.as_ptr().cast())).cast_unsigned()
    };
    #[cfg(not(target_arch = "x86_64"))]
    let bits = (0..LANES).fold(0u32, |bits, at| bits | u32::from(hits[at] & 1) << at);
    bits
}

/// The bits of the bytes from a place on that `is` true of; none behind the end.
#[inline(always)]
fn bits_at(text: &[u8], place: usize, is: impl Fn(u8) -> bool) -> u32 {
    let bits = bits_of(&sixteen(text, place), is);
    let n = text.len() - place;
    if n < LANES { bits & ((1 << n) - 1) } else { bits }
}

/// The first place of a needle in a text: places where its first and its last byte stand are looked at.
#[inline]
pub fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, &last) = needle.first().zip(needle.last()).map_or((&0, &0), |ends| ends);
    find_by_ends(text, needle.len(), |byte| byte == first, |byte| byte == last, |some| some == needle)
}

/// The same without regard to the case of ASCII letters, of a needle in lower case.
#[inline]
pub fn find_any_case(text: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, &last) = needle.first().zip(needle.last()).map_or((&0, &0), |ends| ends);
    let case = |byte: u8| if byte.is_ascii_lowercase() { 0x20 } else { 0 };
    let (of_first, of_last) = (case(first), case(last));
    find_by_ends(
        text,
        needle.len(),
        |byte| byte | of_first == first,
        |byte| byte | of_last == last,
        |some| some.eq_ignore_ascii_case(needle),
    )
}

#[inline(always)]
fn find_by_ends(
    text: &[u8],
    len: usize,
    is_first: impl Fn(u8) -> bool + Copy,
    is_last: impl Fn(u8) -> bool + Copy,
    is_needle: impl Fn(&[u8]) -> bool,
) -> Option<usize> {
    if len == 0 {
        return Some(0);
    }
    let last_place = text.len().checked_sub(len)?;
    let mut from = 0;
    while from <= last_place {
        let mut places = bits_at(text, from, is_first) & bits_at(text, from + len - 1, is_last);
        while places != 0 {
            let place = from + places.trailing_zeros() as usize;
            if len == 1 || is_needle(&text[place..place + len]) {
                return Some(place);
            }
            places &= places - 1;
        }
        from += LANES;
    }
    None
}

/// Calls `found` with all places of a byte.
#[inline(always)]
pub fn each_place(text: &[u8], byte: u8, mut found: impl FnMut(usize)) {
    for from in (0..text.len()).step_by(LANES) {
        let mut places = bits_at(text, from, |other| other == byte);
        while places != 0 {
            found(from + places.trailing_zeros() as usize);
            places &= places - 1;
        }
    }
}

/// A set of bytes as ranges, each as its first byte and how far the last one is from it.
pub struct ByteRanges(Vec<(u8, u8)>);

impl ByteRanges {
    /// Of the bytes that a table has; none where these are many ranges, for which a look at the table is cheaper.
    pub fn of(has: &[bool; 256]) -> Option<ByteRanges> {
        const MOST: usize = 4;
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in (0..=u8::MAX).filter(|&byte| has[usize::from(byte)]) {
            match ranges.last_mut() {
                Some((first, more)) if *first + *more + 1 == byte => *more += 1,
                _ => ranges.push((byte, 0)),
            }
        }
        (ranges.len() <= MOST).then_some(ByteRanges(ranges))
    }

    #[inline(always)]
    fn bits_at(&self, text: &[u8], place: usize) -> u32 {
        let bytes = sixteen(text, place);
        let all = self
            .0
            .iter()
            .fold(0, |bits, &(first, more)| bits | bits_of(&bytes, |byte| byte.wrapping_sub(first) <= more));
        let n = text.len() - place;
        if n < LANES { all & ((1 << n) - 1) } else { all }
    }

    /// The first run of such bytes from a place on.
    #[inline]
    pub fn first_run(&self, text: &[u8], mut place: usize) -> Option<Range<usize>> {
        while place < text.len() {
            let bits = self.bits_at(text, place);
            if bits == 0 {
                place += LANES;
                continue;
            }
            let start = place + bits.trailing_zeros() as usize;
            let mut end = start + (bits >> bits.trailing_zeros()).trailing_ones() as usize;
            // It may go on behind these bytes.
            while end < text.len() && (end - place).is_multiple_of(LANES) {
                let more = self.bits_at(text, end).trailing_ones() as usize;
                end += more;
                if more < LANES {
                    break;
                }
            }
            return Some(start..end);
        }
        None
    }
}

/// Calls `found` with all runs of bytes that `is` true of.
#[inline(always)]
pub fn each_run(text: &[u8], is: impl Fn(u8) -> bool + Copy, mut found: impl FnMut(Range<usize>)) {
    const WORD: usize = 4 * LANES;
    let mut start = None;
    for from in (0..text.len()).step_by(WORD) {
        let parts = (from..text.len().min(from + WORD)).step_by(LANES);
        let bits = parts.fold(0u64, |bits, at| bits | u64::from(bits_at(text, at, is)) << (at - from));
        // A bit where a run begins, and one where it ends.
        let mut changes = bits ^ (bits << 1 | u64::from(start.is_some()));
        while changes != 0 {
            let place = from + changes.trailing_zeros() as usize;
            match start.take() {
                Some(start) => found(start..place),
                None => start = Some(place),
            }
            changes &= changes - 1;
        }
    }
    if let Some(start) = start {
        found(start..text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are all but random, from a linear congruence.
    fn random() -> impl FnMut(u32) -> u32 {
        let mut state = 7u32;
        move |n| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % n
        }
    }

    #[test]
    fn needles_are_found_where_they_are() {
        let mut next = random();
        for _ in 0..20_000 {
            let letters = 2 + next(3);
            let mut some = |most: u32| -> Vec<u8> {
                (0..next(most)).map(|_| b"aB\0b\xc1A{["[next(letters) as usize]).collect()
            };
            let (text, needle) = (some(70), some(6));
            let mut places = Vec::new();
            each_place(&text, b'a', |place| places.push(place));
            assert_eq!(places, memchr::memchr_iter(b'a', &text).collect::<Vec<_>>(), "{text:?}");
            assert_eq!(find(&text, &needle), memchr::memmem::find(&text, &needle), "{text:?} {needle:?}");
            let (lower, needle) = (text.to_ascii_lowercase(), needle.to_ascii_lowercase());
            let expected = memchr::memmem::find(&lower, &needle);
            assert_eq!(find_any_case(&text, &needle), expected, "{text:?} {needle:?}");
        }
        // Bytes that differ from letters in the bit that case is.
        assert_eq!(find_any_case(b"@[`{", b"{"), Some(3));
        assert_eq!(find_any_case(b"@`", b"`"), Some(1));
    }

    #[test]
    fn runs_are_those_of_a_loop() {
        let mut next = random();
        let mut has = [false; 256];
        b"0123456789_xyz".iter().for_each(|&byte| has[usize::from(byte)] = true);
        let ranges = ByteRanges::of(&has).unwrap();
        for _ in 0..20_000 {
            let text: Vec<u8> = (0..next(150)).map(|_| b"09x_a\0\xff/:"[next(9) as usize]).collect();
            let text = if next(3) == 0 { text.iter().map(|_| b'5').collect() } else { text };
            let (mut expected, mut start) = (Vec::new(), 0);
            for run in text.chunk_by(|a, b| has[usize::from(*a)] == has[usize::from(*b)]) {
                if has[usize::from(run[0])] {
                    expected.push(start..start + run.len());
                }
                start += run.len();
            }
            let mut runs = Vec::new();
            each_run(
                &text,
                |byte| byte.is_ascii_digit() || matches!(byte, b'_' | b'x'..=b'z'),
                |run| {
                    runs.push(run);
                },
            );
            assert_eq!(runs, expected, "{text:?}");
            let (mut one_by_one, mut place) = (Vec::new(), 0);
            while let Some(run) = ranges.first_run(&text, place) {
                place = run.end;
                one_by_one.push(run);
            }
            assert_eq!(one_by_one, expected, "{text:?}");
            if let Some(first) = expected.first().filter(|first| first.len() > 1) {
                assert_eq!(ranges.first_run(&text, first.start + 1), Some(first.start + 1..first.end));
            }
        }
        let every_other: [bool; 256] = std::array::from_fn(|byte| byte % 2 == 0);
        assert!(ByteRanges::of(&every_other).is_none());
        assert_eq!(ByteRanges::of(&[true; 256]).unwrap().first_run(b"\0\xff", 0), Some(0..2));
    }
}
