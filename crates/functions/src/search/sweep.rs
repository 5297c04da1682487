//! Substring search over the bytes of a whole column at once: strings that lie one behind the other in memory, as those
//! of a Parquet page do, are searched as one text, and what is found is traced back to its row.

use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_columns::Strings;
use chalet_columns::strings::INLINE;
use memchr::memmem::Finder;

/// Bytes between two strings that are searched along with them.
const MAX_GAP: usize = 64;

/// Fewer neighbours than this are searched one by one.
const MIN_RUN: usize = 8;

/// Calls `found` with the number of every row that contains the needle, once each, in any order.
pub fn contains(strings: &Strings, needle: &Finder, mut found: impl FnMut(usize)) {
    let len = needle.needle().len();
    if len == 0 {
        return (0..strings.len()).for_each(found);
    }
    if !switches::is_on(Switch::TwoByteSearch) {
        return (0..strings.len())
            .filter(|&row| contains_by_first_byte(strings.get(row), needle.needle()))
            .for_each(found);
    }
    let short = ShortNeedle::new(needle.needle());
    let mut run = Run::default();
    for (row, &view) in strings.views().iter().enumerate() {
        let size = view as u32 as usize;
        if size <= INLINE {
            if size >= len && short.as_ref().is_some_and(|short| short.is_inside(view, size)) {
                found(row);
            }
            continue;
        }
        let (buffer, start) = ((view >> 64) as u32, (view >> 96) as u32 as usize);
        if buffer != run.buffer || start < run.end || start - run.end > MAX_GAP {
            run.search(strings, needle, &mut found);
            run.buffer = buffer;
        }
        run.end = start + size;
        run.rows.push((row as u32, start as u32, run.end as u32));
    }
    run.search(strings, needle, &mut found);
}

/// A needle that is looked for in strings inside of their views: at all places at once, for one of its bytes after the other.
struct ShortNeedle {
    /// Each byte as often as a view has bytes.
    bytes: [Spread; INLINE],
    len: usize,
}

impl ShortNeedle {
    /// None where the needle is longer than such strings.
    fn new(needle: &[u8]) -> Option<ShortNeedle> {
        let len = needle.len();
        let byte = |at: usize| spread(needle.get(at).copied().unwrap_or_default());
        (len <= INLINE).then(|| ShortNeedle { bytes: std::array::from_fn(byte), len })
    }

    /// Is the needle, which is not empty and no longer, part of a string of that size?
    #[inline(always)]
    fn is_inside(&self, view: u128, size: usize) -> bool {
        // A bit for each place at which the needle may begin: it is left where all bytes that were looked at follow one another.
        let mut places = (1u32 << (size + 1 - self.len)) - 1;
        places &= equal_bytes(view, self.bytes[0]);
        if self.len > 1 {
            places &= equal_bytes(view, self.bytes[1]) >> 1;
        }
        for at in 2..self.len {
            if places == 0 {
                return false;
            }
            places &= equal_bytes(view, self.bytes[at]) >> at;
        }
        places != 0
    }
}

#[cfg(target_arch = "x86_64")]
type Spread = std::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Spread = u8;

#[inline(always)]
fn spread(byte: u8) -> Spread {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has SSE2.
    return unsafe { std::arch::x86_64::_mm_set1_epi8(byte.cast_signed()) };
    #[cfg(not(target_arch = "x86_64"))]
    byte
}

/// Bit `i`: byte `i` of the text of a view is this one.
#[inline(always)]
fn equal_bytes(view: u128, byte: Spread) -> u32 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has SSE2.
    let equal = unsafe {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x};
        let view = _mm_set_epi64x((view >> 64) as i64, view as i64);
        _mm_movemask_epi8(_mm_cmpeq_epi8(view, byte)).cast_unsigned()
    };
    #[cfg(not(target_arch = "x86_64"))]
    let equal = {
        let bytes = view.to_le_bytes();
        (0..bytes.len()).fold(0u32, |bits, at| bits | u32::from(bytes[at] == byte) << at)
    };
    // The length stands before the text.
    equal >> 4
}

/// The search that experiments set beside the other: string by string, for one byte of the needle, which is not empty.
fn contains_by_first_byte(text: &[u8], needle: &[u8]) -> bool {
    memchr::memchr_iter(needle[0], text).any(|at| text[at..].starts_with(needle))
}

/// Neighbours in one buffer.
#[derive(Default)]
struct Run {
    buffer: u32,
    end: usize,
    /// Row, and where it begins and ends in the buffer.
    rows: Vec<(u32, u32, u32)>,
}

impl Run {
    /// Searches what was collected, and forgets it.
    fn search(&mut self, strings: &Strings, needle: &Finder, found: &mut impl FnMut(usize)) {
        let mut rows = self.rows.iter();
        if self.rows.len() < MIN_RUN {
            for &(row, ..) in rows {
                if needle.find(strings.get(row as usize)).is_some() {
                    found(row as usize);
                }
            }
            return self.rows.clear();
        }
        events::add(Event::StringsSearchedTogether, self.rows.len() as u64);
        let bytes = &strings.buffers()[self.buffer as usize].as_slice()[..self.end];
        let mut place = self.rows[0].1 as usize;
        while let Some(at) = needle.find(&bytes[place..]) {
            let at = place + at;
            let end = at + needle.needle().len();
            // The hit is in this row, in the bytes before it, or it reaches beyond its end.
            let Some(&(row, from, to)) = rows.by_ref().find(|(_, _, to)| *to as usize > at) else { break };
            if from as usize <= at && end <= to as usize {
                found(row as usize);
                place = to as usize;
            } else {
                place = at + 1;
                // The row may still have a hit of its own.
                if place < to as usize {
                    let rest = &bytes[place.max(from as usize)..to as usize];
                    if needle.find(rest).is_some() {
                        found(row as usize);
                    }
                    place = to as usize;
                }
            }
            // A hit that begins at the end of this row may be of the next.
            place = place.min(bytes.len());
        }
        self.rows.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::StringBuilder;
    use chalet_columns::strings::inline_view;

    #[test]
    fn short_strings_are_searched_as_long_ones() {
        let text = b"abcabdabbcab";
        for size in 1..=INLINE {
            for start in 0..=INLINE - size {
                let text = &text[start..start + size];
                let view = inline_view(text);
                for needle in
                    [&b"a"[..], b"d", b"ab", b"abd", b"bb", b"cab", b"abcabd", b"abcabdabbcab", b"\0"]
                {
                    let expected = memchr::memmem::find(text, needle).is_some();
                    if needle.len() <= size {
                        let short = ShortNeedle::new(needle).unwrap();
                        assert_eq!(short.is_inside(view, size), expected, "{text:?} {needle:?}");
                    }
                }
            }
        }
        let zero = ShortNeedle::new(b"\0").unwrap();
        assert!(zero.is_inside(inline_view(b"a\0"), 2) && !zero.is_inside(inline_view(b"a"), 1));
    }

    /// The same rows as a search of each string on its own.
    #[test]
    fn finds_what_single_searches_find() {
        // Numbers that are all but random, from a linear congruence.
        let mut state = 7u32;
        let mut next = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % n
        };
        for _ in 0..200 {
            let mut builder = StringBuilder::default();
            for _ in 0..next(300) {
                let text: Vec<u8> = (0..next(40)).map(|_| b'a' + next(2) as u8).collect();
                builder.push(&text);
            }
            let strings = builder.finish();
            let rows: Vec<u32> = (0..strings.len() as u32).filter(|_| next(4) > 0).collect();
            let shuffled = chalet_columns::Vector::from(strings.clone()).gather(&rows);
            for strings in [&strings, shuffled.strings().unwrap()] {
                for needle in [&b"a"[..], b"abab", b"aaaaaaa", b"bbbbbbbbb", b"abbaabbabbaabba"] {
                    let finder = Finder::new(needle);
                    let mut found = Vec::new();
                    contains(strings, &finder, |row| found.push(row));
                    found.sort_unstable();
                    let expected: Vec<usize> =
                        (0..strings.len()).filter(|&row| finder.find(strings.get(row)).is_some()).collect();
                    assert_eq!(found, expected);
                }
            }
        }
    }
}
