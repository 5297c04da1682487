//! DELTA_BYTE_ARRAY ("front coding"): how many bytes each string shares with the one before, and what follows them.
//!
//! All lengths come first, so that strings are passed by without being built: one in the middle of a page is put together from
//! the suffixes before it, walking back. Lengths behind the last string that is wanted are not decoded.

use super::cut_short;
use super::delta::Lazy;
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::Strings;
use chalet_columns::strings::INLINE;

/// The strings of a page that are neither taken nor passed by.
pub struct FrontCoded {
    page: Buffer,
    /// Bytes shared with the string before, of each string of the page.
    prefixes: Lazy<i32>,
    /// Bytes that follow them.
    suffixes: Lazy<i32>,
    /// All suffixes.
    rest: Buffer,
    /// The next string, and where its suffix begins.
    next: usize,
    at: usize,
    /// Parts that were taken.
    taken: usize,
}

/// After so many parts of a page all that is left of it is taken at once: each part looks for its beginning anew.
const PARTS: usize = 3;

/// Bytes that are copied at once.
const SHORT: usize = 16;

impl FrontCoded {
    /// A page of at most `max` strings.
    pub fn open(page: &Buffer, max: usize) -> Result<FrontCoded> {
        let prefixes = Lazy::open(page, 0, max)?;
        let suffixes = Lazy::open(page, prefixes.end(page)?, max)?;
        let (n, n_suffixes) = (prefixes.len(), suffixes.len());
        ensure!(
            n == n_suffixes,
            INCORRECT_DATA,
            "Parquet page has {n} string prefixes and {n_suffixes} suffixes"
        );
        let rest = page.slice(suffixes.end(page)?);
        Ok(FrontCoded { page: page.clone(), prefixes, suffixes, rest, next: 0, at: 0, taken: 0 })
    }

    /// Strings that are left.
    pub fn len(&self) -> usize {
        self.prefixes.len() - self.next
    }

    /// Whether so much of the page was asked for in parts that the rest is better taken at once.
    pub fn is_in_parts(&self) -> bool {
        self.taken >= PARTS
    }

    /// Passes `n` strings by, which there are.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        self.suffixes.decode(&self.page, self.next + n)?;
        let lengths = &self.suffixes.decoded[self.next..self.next + n];
        // A negative length is a large one here; those that have 32 bits each cannot overflow.
        let total: u64 = lengths.iter().map(|&len| u64::from(len as u32)).sum();
        if total > (self.rest.len() - self.at) as u64 {
            return Err(cut_short("string"));
        }
        self.next += n;
        self.at += total as usize;
        Ok(())
    }

    /// The next `n` strings, which there are. They are built anew, one behind the other.
    pub fn take(&mut self, n: usize) -> Result<Strings> {
        self.prefixes.decode(&self.page, self.next + n)?;
        self.suffixes.decode(&self.page, self.next + n)?;
        let before = self.before()?;
        let lengths = || {
            let part = self.next..self.next + n;
            self.prefixes.decoded[part.clone()].iter().zip(&self.suffixes.decoded[part])
        };
        // Shared prefixes can blow a page up beyond all bounds, and views count bytes in 32 bits.
        let limit = self.rest.len().saturating_mul(1024).clamp(1 << 30, u32::MAX as usize);
        let total = lengths().try_fold(before.len(), |total, (&prefix, &suffix)| {
            let len = usize::try_from(i64::from(prefix) + i64::from(suffix)).ok()?;
            total.checked_add(len).filter(|&total| total <= limit)
        });
        let Some(total) = total else {
            bail!(TOO_LARGE_STRING_SIZE, "Strings of a Parquet page are too large")
        };
        let rest = &self.rest[..];
        let mut text = vec![0u8; total + SHORT];
        text[..before.len()].copy_from_slice(&before);
        // The first bytes of the string before: those that were just written cannot be read again at once.
        let mut head = text.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes));
        let mut views = Vec::with_capacity(n);
        let (mut last, mut last_len, mut start, mut at) = (0, before.len(), before.len(), self.at);
        let mut all_short = true;
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
            all_short &= last_len <= INLINE;
            views.push(match last_len <= INLINE {
                true => (head & first_bytes(last_len)) << 32 | last_len as u128,
                false => u128::from(head as u32) << 32 | last_len as u32 as u128 | (start as u128) << 96,
            });
            start += last_len;
            at += suffix;
        }
        self.next += n;
        self.at = at;
        self.taken += 1;
        let text = if all_short { Vec::new() } else { text };
        // SAFETY: each view holds its string, or was made from a slice of this text.
        Ok(unsafe { Strings::from_views(views.into(), [Buffer::from_vec(text)].into()) })
    }

    /// What the next string shares with the one before. Bytes behind those that a string shares are its own: they are
    /// collected from the last one to the first.
    fn before(&self) -> Result<Vec<u8>> {
        let (prefixes, suffixes) = (&self.prefixes.decoded, &self.suffixes.decoded);
        let shared = prefixes.get(self.next).map_or(0, |&len| u64::from(len as u32));
        // No string is longer than all suffixes up to it.
        ensure!(
            shared <= self.at as u64,
            INCORRECT_DATA,
            "Parquet string shares {shared} bytes with those before, which have {}",
            self.at
        );
        let mut bytes = vec![0; shared as usize];
        let (mut missing, mut at) = (bytes.len(), self.at);
        let before = prefixes[..self.next].iter().zip(&suffixes[..self.next]);
        for (&prefix, &suffix) in before.rev() {
            if missing == 0 {
                break;
            }
            // Suffixes were checked when they were passed by.
            at -= suffix as usize;
            if prefix as u32 as usize >= missing {
                continue;
            }
            let (prefix, len) = (prefix as usize, missing - prefix as usize);
            ensure!(
                len <= suffix as usize,
                INCORRECT_DATA,
                "Parquet string shares {missing} bytes with one of {} bytes",
                prefix + suffix as usize
            );
            bytes[prefix..missing].copy_from_slice(&self.rest[at..at + len]);
            missing = prefix;
        }
        ensure!(missing == 0, INCORRECT_DATA, "Parquet string shares bytes with one that is not there");
        Ok(bytes)
    }
}

/// A mask of the first bytes of 16.
fn first_bytes(n: usize) -> u128 {
    1u128.checked_shl(8 * n as u32).unwrap_or(0).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::put_differences;

    fn encoded(prefixes: &[i64], suffixes: &[i64], rest: &[u8]) -> Buffer {
        let mut bytes = Vec::new();
        put_differences(prefixes, true, &mut bytes);
        put_differences(suffixes, true, &mut bytes);
        bytes.extend_from_slice(rest);
        bytes.into()
    }

    /// Each string but the first shares up to 43 bytes with the one before.
    fn texts() -> Vec<Vec<u8>> {
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for n in 0..200usize {
            let shared = texts.last().map_or(0, |last| last.len().min(n * 7 % 43));
            let start = texts.last().map_or_else(Vec::new, |last| last[..shared].to_vec());
            texts.push([start, (0..n * 11 % 37).map(|x| (x * n) as u8).collect()].concat());
        }
        texts
    }

    fn page_of(texts: &[Vec<u8>]) -> Buffer {
        let (mut prefixes, mut suffixes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut last: &[u8] = b"";
        for text in texts {
            let shared = text.iter().zip(last).take_while(|(a, b)| a == b).count();
            prefixes.push(shared as i64);
            suffixes.push((text.len() - shared) as i64);
            rest.extend_from_slice(&text[shared..]);
            last = text;
        }
        encoded(&prefixes, &suffixes, &rest)
    }

    fn read(strings: &Strings) -> Vec<Vec<u8>> {
        (0..strings.len()).map(|i| strings.get(i).to_vec()).collect()
    }

    #[test]
    fn strings_of_all_lengths_with_shared_prefixes() {
        let texts = texts();
        let mut page = FrontCoded::open(&page_of(&texts), texts.len()).unwrap();
        assert_eq!(read(&page.take(texts.len()).unwrap()), texts);
        assert_eq!(page.len(), 0);
    }

    #[test]
    fn strings_from_the_middle_of_a_page() {
        let texts = texts();
        let bytes = page_of(&texts);
        for (start, n, gap) in [(0, 1, 7), (1, 2, 1), (17, 1, 60), (63, 5, 2), (150, 20, 30), (199, 1, 0)] {
            let mut page = FrontCoded::open(&bytes, texts.len()).unwrap();
            page.skip(start).unwrap();
            assert_eq!(read(&page.take(n).unwrap()), texts[start..start + n], "{start}, {n}");
            page.skip(gap).unwrap();
            let left = page.len();
            assert_eq!(read(&page.take(left).unwrap()), texts[start + n + gap..], "{start}, {n}, {gap}");
        }
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
            (vec![0, 0, 2], vec![1, 1, 0], b"ab"),
            (vec![-1, 0, 1], vec![1, 1, 0], b"ab"),
            (vec![1, 1, 1], vec![1, 1, 0], b"ab"),
            (vec![0, 0, i64::MAX], vec![1, 1, 0], b"ab"),
            (vec![0, 0, 0], vec![1, i64::MAX, 2], b"ab"),
            (vec![0, 0, 0], vec![1, -1, 2], b"ab"),
        ] {
            let bytes = encoded(&prefixes, &suffixes, rest);
            let all = || {
                let mut page = FrontCoded::open(&bytes, 3)?;
                page.take(page.len())
            };
            assert_ne!(all().unwrap_err().code().name, "LOGICAL_ERROR", "{prefixes:?}, {suffixes:?}");
            // One string alone: what is wrong behind it, or does not concern it, is not looked at.
            for start in 0..prefixes.len() {
                let alone = || {
                    let mut page = FrontCoded::open(&bytes, 3)?;
                    page.skip(start)?;
                    page.take(1)
                };
                if let Err(error) = alone() {
                    assert_ne!(error.code().name, "LOGICAL_ERROR", "{prefixes:?}, {suffixes:?}, {start}");
                }
            }
        }
        let mut prefixes = vec![0];
        prefixes.resize(100_000, 20_000);
        let mut suffixes = vec![20_000];
        suffixes.resize(100_000, 1);
        let mut page = FrontCoded::open(&encoded(&prefixes, &suffixes, &vec![7; 120_000]), 100_000).unwrap();
        page.take(100_000).unwrap_err();
    }
}
