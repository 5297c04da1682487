//! Sixteen bytes of a text at a time, as bits that say which of them are wanted: what short texts are searched with, where preparing
//! a search would take longer than the search.

use std::ops::Range;

const LANES: usize = 16;

/// Up to fifteen bytes from a place to the end of a text as those of a number, with zeros behind them.
#[inline(always)]
fn last_bytes(text: &[u8], place: usize) -> u128 {
    let rest = &text[place..];
    let n_bits = 8 * rest.len() as u32;
    if let Some(last) = text.last_chunk() {
        return u128::from_le_bytes(*last).checked_shr(u128::BITS - n_bits).unwrap_or(0);
    }
    match (rest.first_chunk(), rest.last_chunk()) {
        // Where the halves overlap, they are equal.
        (Some(first), Some(last)) => {
            u128::from(u64::from_le_bytes(*first))
                | u128::from(u64::from_le_bytes(*last)) << (n_bits - u64::BITS)
        }
        _ => super::position::short_word(rest).into(),
    }
}

/// The bits of bytes before the end of a text.
#[inline(always)]
fn before_end(bits: u32, text: &[u8], place: usize) -> u32 {
    let n = text.len() - place;
    if n < LANES { bits & ((1 << n) - 1) } else { bits }
}

/// Sixteen bytes. What is asked of them is answered by a bit for each.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Lanes(std::arch::x86_64::__m128i);

#[cfg(target_arch = "x86_64")]
impl Lanes {
    #[inline(always)]
    fn at(text: &[u8], place: usize) -> Lanes {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_set_epi64x};
        Lanes(match text[place..].first_chunk::<LANES>() {
            // SAFETY: every processor of this architecture has SSE2; the bytes that are read are a whole array.
            Some(whole) => unsafe { _mm_loadu_si128(whole.as_ptr().cast()) },
            None => {
                let bytes = last_bytes(text, place);
                // SAFETY: as above.
                unsafe { _mm_set_epi64x((bytes >> 64) as i64, bytes as i64) }
            }
        })
    }

    /// Which bytes are this one, with some bits set before?
    #[inline(always)]
    fn equal(self, set: u8, byte: u8) -> u32 {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};
        // SAFETY: as above.
        unsafe {
            let bytes = _mm_or_si128(self.0, _mm_set1_epi8(set.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed()))).cast_unsigned()
        }
    }

    /// Which bytes are at least `first`, and no more than `more` above it?
    #[inline(always)]
    fn within(self, first: u8, more: u8) -> u32 {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8, _mm_sub_epi8,
        };
        // SAFETY: as above.
        unsafe {
            let above = _mm_sub_epi8(self.0, _mm_set1_epi8(first.cast_signed()));
            let bounded = _mm_min_epu8(above, _mm_set1_epi8(more.cast_signed()));
            _mm_movemask_epi8(_mm_cmpeq_epi8(above, bounded)).cast_unsigned()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
struct Lanes([u8; LANES]);

#[cfg(not(target_arch = "x86_64"))]
impl Lanes {
    #[inline(always)]
    fn at(text: &[u8], place: usize) -> Lanes {
        Lanes(text[place..].first_chunk().copied().unwrap_or_else(|| last_bytes(text, place).to_le_bytes()))
    }

    #[inline(always)]
    fn bits(self, is: impl Fn(u8) -> bool) -> u32 {
        (0..LANES).fold(0, |bits, at| bits | u32::from(is(self.0[at])) << at)
    }

    #[inline(always)]
    fn equal(self, set: u8, byte: u8) -> u32 {
        self.bits(|other| other | set == byte)
    }

    #[inline(always)]
    fn within(self, first: u8, more: u8) -> u32 {
        self.bits(|byte| byte.wrapping_sub(first) <= more)
    }
}

/// The first place of a needle in a text: places where its first and its last byte stand are looked at.
#[inline]
pub fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    find_by_ends(text, needle, |_| 0, |some| some == needle)
}

/// The same without regard to the case of ASCII letters, of a needle in lower case.
#[inline]
pub fn find_any_case(text: &[u8], needle: &[u8]) -> Option<usize> {
    let case = |byte: u8| if byte.is_ascii_lowercase() { 0x20 } else { 0 };
    find_by_ends(text, needle, case, |some| some.eq_ignore_ascii_case(needle))
}

#[inline(always)]
fn find_by_ends(
    text: &[u8],
    needle: &[u8],
    case: impl Fn(u8) -> u8,
    is_needle: impl Fn(&[u8]) -> bool,
) -> Option<usize> {
    let (Some(&first), Some(&last)) = (needle.first(), needle.last()) else { return Some(0) };
    let len = needle.len();
    let (case_of_first, case_of_last) = (case(first), case(last));
    let n_places = (text.len() + 1).checked_sub(len)?;
    let mut from = 0;
    // Where there are so many places, the last ones are those before the end: some are looked at twice, and all that is fetched is text.
    let last_from = n_places.saturating_sub(LANES);
    while from < n_places {
        // No bits are set behind the end: the zeros there may be what is looked for.
        let ends = Lanes::at(text, from + len - 1).equal(case_of_last, last);
        let starts = Lanes::at(text, from).equal(case_of_first, first);
        let mut places = starts & before_end(ends, text, from + len - 1);
        while places != 0 {
            let place = from + places.trailing_zeros() as usize;
            if len <= 2 || is_needle(&text[place..place + len]) {
                return Some(place);
            }
            places &= places - 1;
        }
        from = if from < last_from { last_from.min(from + LANES) } else { n_places };
    }
    None
}

/// [`find`] in a string that its view holds: behind four bytes with its length.
#[inline(always)]
pub fn find_in_view(view: u128, len: usize, needle: &[u8]) -> Option<usize> {
    let (Some(&first), Some(&last)) = (needle.first(), needle.last()) else { return Some(0) };
    let n_places = (len + 1).checked_sub(needle.len())?;
    let bytes = view.to_le_bytes();
    let lanes = Lanes::at(&bytes, 0);
    let (starts, ends) = (lanes.equal(0, first) >> 4, lanes.equal(0, last) >> (4 + needle.len() - 1));
    let mut places = starts & ends & ((1 << n_places) - 1);
    while places != 0 {
        let place = places.trailing_zeros() as usize;
        if needle.len() <= 2 || bytes[4 + place..].starts_with(needle) {
            return Some(place);
        }
        places &= places - 1;
    }
    None
}

/// Calls `found` with all places of a byte.
#[inline(always)]
pub fn each_place(text: &[u8], byte: u8, mut found: impl FnMut(usize)) {
    for from in (0..text.len()).step_by(LANES) {
        let mut places = before_end(Lanes::at(text, from).equal(0, byte), text, from);
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
        let bytes = Lanes::at(text, place);
        let bits = self.0.iter().fold(0, |bits, &(first, more)| bits | bytes.within(first, more));
        before_end(bits, text, place)
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

/// Calls `found` with all runs of letters and digits of ASCII, and bytes beyond it.
#[inline(always)]
pub fn each_word(text: &[u8], mut found: impl FnMut(Range<usize>)) {
    const WORD: usize = 4 * LANES;
    let mut start = None;
    for from in (0..text.len()).step_by(WORD) {
        let parts = (from..text.len().min(from + WORD)).step_by(LANES);
        let bits = parts.fold(0u64, |bits, at| bits | u64::from(word_bits(text, at)) << (at - from));
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

#[inline(always)]
fn word_bits(text: &[u8], place: usize) -> u32 {
    let bytes = Lanes::at(text, place);
    let ascii = bytes.within(b'0', 9) | bytes.within(b'A', 25) | bytes.within(b'a', 25);
    before_end(ascii | bytes.within(0x80, 0x7f), text, place)
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
            let (text, needle) = (some(70), some(if letters == 4 { 40 } else { 6 }));
            let mut places = Vec::new();
            each_place(&text, b'a', |place| places.push(place));
            assert_eq!(places, memchr::memchr_iter(b'a', &text).collect::<Vec<_>>(), "{text:?}");
            assert_eq!(find(&text, &needle), memchr::memmem::find(&text, &needle), "{text:?} {needle:?}");
            let short = &text[..text.len().min(12)];
            let mut view = [0xff; 16];
            view[0] = short.len() as u8;
            view[4..][..short.len()].copy_from_slice(short);
            let found = find_in_view(u128::from_le_bytes(view), short.len(), &needle);
            assert_eq!(found, memchr::memmem::find(short, &needle), "{short:?} {needle:?}");
            let (lower, needle) = (text.to_ascii_lowercase(), needle.to_ascii_lowercase());
            let expected = memchr::memmem::find(&lower, &needle);
            assert_eq!(find_any_case(&text, &needle), expected, "{text:?} {needle:?}");
        }
        // Bytes that differ from letters in the bit that case is.
        assert_eq!(find_any_case(b"@[`{", b"{"), Some(3));
        assert_eq!(find_any_case(b"@`", b"`"), Some(1));
    }

    #[test]
    fn words_are_those_of_a_loop() {
        let mut next = random();
        let is_of_word = |byte: u8| !byte.is_ascii() || byte.is_ascii_alphanumeric();
        for round in 0..20_000 {
            let n = next(200);
            let text: Vec<u8> = match round % 3 {
                0 => (0..n).map(|_| next(256) as u8).collect(),
                1 => (0..n).map(|_| b"a0Z_\xff"[next(5) as usize]).collect(),
                _ => (0..n).map(|_| if next(70) == 0 { b' ' } else { b'x' }).collect(),
            };
            let mut found = Vec::new();
            each_word(&text, |word| found.push(&text[word]));
            let expected = text.split(|&byte| !is_of_word(byte)).filter(|word| !word.is_empty());
            assert_eq!(found, expected.collect::<Vec<_>>(), "{text:?}");
        }
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
