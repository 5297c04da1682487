//! `AnyCasePieces`: what ILIKE asks where its pattern has letters of ASCII alone, without an engine for regular expressions.

use super::greedy::{is_ascii, is_utf8};
use super::shared_regex::SharedRegex;
use memchr::memchr2;

/// A string begins with one text, ends with another, and has the others between them in order without overlap.
pub struct AnyCasePieces {
    prefix: Text,
    middle: Vec<Text>,
    suffix: Text,
    /// Nothing stands between the prefix and the suffix, which is empty.
    is_whole: bool,
    /// It has letters that have case in common with letters beyond ASCII: K with the sign of Kelvin, S with the long s.
    folds_beyond_ascii: bool,
    /// For other strings than those of ASCII alone.
    regex: SharedRegex,
}

/// Bytes, and the bits of each that count: of a letter all but the one that its case is.
struct Text {
    bytes: Vec<u8>,
    masks: Vec<u8>,
}

impl Text {
    fn new(bytes: &[u8]) -> Text {
        let mask = |byte: &u8| if byte.is_ascii_alphabetic() { !0x20 } else { !0 };
        Text { bytes: bytes.to_vec(), masks: bytes.iter().map(mask).collect() }
    }

    /// Is it these bytes, which are as many?
    #[inline(always)]
    fn is(&self, other: &[u8]) -> bool {
        let bytes = self.bytes.iter().zip(&self.masks).zip(other);
        bytes.fold(0, |differing, ((byte, mask), other)| differing | ((byte ^ other) & mask)) == 0
    }

    /// Where it ends where it comes first.
    #[inline(always)]
    fn find_end(&self, text: &[u8]) -> Option<usize> {
        /// In fewer bytes a search that looks at many at once does not pay.
        const FEW: usize = 32;
        let len = self.bytes.len();
        let last = text.len().checked_sub(len)?;
        let (&first, &mask) = self.bytes.first().zip(self.masks.first())?;
        let begins = &text[..=last];
        let mut at = 0;
        loop {
            let rest = &begins[at..];
            let next = if rest.len() <= FEW {
                rest.iter().position(|&byte| (byte ^ first) & mask == 0)
            } else {
                memchr2(first, if mask == !0 { first } else { first ^ 0x20 }, rest)
            };
            at += next?;
            if self.is(&text[at..at + len]) {
                return Some(at + len);
            }
            at += 1;
        }
    }
}

impl AnyCasePieces {
    /// Of the texts between the percent signs of a pattern, and the same as a regular expression; None where there is more than ASCII.
    pub fn new(pieces: &[Vec<u8>], regex: SharedRegex) -> Result<AnyCasePieces, SharedRegex> {
        let mut all = pieces.iter().flatten();
        let (Some((prefix, rest)), true) = (pieces.split_first(), all.clone().all(u8::is_ascii)) else {
            return Err(regex);
        };
        let (suffix, middle) =
            rest.split_last().map_or((&[][..], rest), |(last, middle)| (&last[..], middle));
        let middle = middle.iter().filter(|piece| !piece.is_empty());
        Ok(AnyCasePieces {
            prefix: Text::new(prefix),
            middle: middle.map(|piece| Text::new(piece)).collect(),
            suffix: Text::new(suffix),
            is_whole: rest.is_empty(),
            folds_beyond_ascii: all.any(|byte| matches!(byte, b'k' | b'K' | b's' | b'S')),
            regex,
        })
    }

    /// Does it match, for each string?
    pub fn matches_all<'t>(&self, texts: impl Iterator<Item = &'t [u8]>) -> Vec<bool> {
        let regex = self.regex.of_thread();
        texts
            .map(|text| if self.is_plain(text) { self.matches_plain(text) } else { regex.is_match(text) })
            .collect()
    }

    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        if self.is_plain(text) { self.matches_plain(text) } else { self.regex.is_match(text) }
    }

    /// Do the bytes of a text tell whether it matches?
    #[inline(always)]
    fn is_plain(&self, text: &[u8]) -> bool {
        is_ascii(text) || !self.folds_beyond_ascii && is_utf8(text)
    }

    #[inline(always)]
    fn matches_plain(&self, text: &[u8]) -> bool {
        let (n_prefix, n_suffix) = (self.prefix.bytes.len(), self.suffix.bytes.len());
        if text.len() < n_prefix + n_suffix
            || self.is_whole && text.len() != n_prefix
            || !self.prefix.is(&text[..n_prefix])
            || !self.suffix.is(&text[text.len() - n_suffix..])
        {
            return false;
        }
        let mut rest = &text[n_prefix..text.len() - n_suffix];
        for piece in &self.middle {
            let Some(end) = piece.find_end(rest) else { return false };
            rest = &rest[end..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::regexp::compile;
    use super::*;

    #[test]
    fn matches_what_the_engine_matches() {
        let patterns: [&[&str]; 12] = [
            &["abc"],
            &["ab", ""],
            &["", "b1"],
            &["", "ab", ""],
            &["", "k", ""],
            &["a", "b", "c"],
            &["", "a", "a", ""],
            &[""],
            &["", ""],
            &["s[", "]{"],
            &["", "abcdefghijk", "xy", ""],
            &["ab", "ba"],
        ];
        let far = "x".repeat(50) + "AbCdefghijK" + &"y@".repeat(40) + "xY";
        let texts: [&[u8]; 22] = [
            b"",
            b"a",
            b"ab",
            b"AB",
            b"aBc",
            b"ABCD",
            b"xB1",
            b"b1",
            b"xxAb",
            b"xxaxb",
            b"a--B--C",
            b"aba",
            b"ABBA",
            b"s[ x ]{",
            b"S{ x ]{",
            "\u{212a}".as_bytes(),
            "\u{17f}[]{".as_bytes(),
            "\u{e9}ab\u{e9}".as_bytes(),
            b"ab\xff",
            b"a\nb\nc",
            b"K",
            far.as_bytes(),
        ];
        for pieces in patterns {
            let pattern = format!(
                "^{}$",
                pieces.iter().map(|piece| regex::escape(piece)).collect::<Vec<_>>().join(".*")
            );
            let engine = compile(pattern.as_bytes(), "i").unwrap();
            let pieces: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
            let made = AnyCasePieces::new(&pieces, compile(pattern.as_bytes(), "i").unwrap()).ok().unwrap();
            let answers = made.matches_all(texts.iter().copied());
            for (text, all) in texts.iter().zip(answers) {
                assert_eq!(made.matches(text), engine.is_match(text), "{pattern} {text:?}");
                assert_eq!(all, engine.is_match(text), "{pattern} {text:?}");
            }
        }
        assert!(AnyCasePieces::new(&["\u{e9}".as_bytes().to_vec()], compile(b"x", "").unwrap()).is_err());
    }
}
