//! `Pattern`: what LIKE and `match` ask, reduced to substring search where that gives the same answer.

use super::any_case::AnyCasePieces;
use super::first_match::FirstMatch;
use super::greedy::GreedyPath;
use super::regexp::{compile, in_rust_syntax};
use super::shared_regex::SharedRegex;
use super::sweep;
use chalet_base::Result;
use chalet_columns::Strings;
use memchr::memchr2_iter;
use memchr::memmem::Finder;
use std::sync::OnceLock;

/// Bytes with a meaning in regular expressions.
const SPECIAL: &[u8] = b"\\|()^$.[]?*+{}";

/// Does a regular expression match nothing but itself?
pub fn is_literal(pattern: &[u8]) -> bool {
    !pattern.iter().any(|byte| SPECIAL.contains(byte))
}

pub enum Pattern {
    Equal(Vec<u8>),
    /// Begins with one string, ends with another, and has the others between them in order without overlap.
    Pieces {
        prefix: Vec<u8>,
        middle: Vec<Finder<'static>>,
        suffix: Vec<u8>,
    },
    /// Text of ASCII without regard to case.
    AnyCase(AnyCase),
    /// The same in pieces, as [`Pieces`](Self::Pieces).
    AnyCasePieces(AnyCasePieces),
    Regex(SharedRegex),
    /// An expression with the way through short texts.
    Path(SharedRegex, GreedyPath),
}

/// A text that is looked for in few strings: nothing is prepared, which takes longer than such a search.
pub struct AnyCase {
    text: Vec<u8>,
    /// For strings with letters beyond ASCII that have case in common with those of the text.
    regex: OnceLock<SharedRegex>,
}

impl AnyCase {
    fn matches(&self, string: &[u8]) -> bool {
        let Some((first, rest)) = self.text.split_first() else { return true };
        let folds_beyond_ascii = |byte: &u8| matches!(byte, b'k' | b'K' | b's' | b'S');
        if self.text.iter().any(folds_beyond_ascii) && !string.is_ascii() {
            // Of letters alone a regular expression can always be made.
            let regex = || compile(&self.text, "i").ok();
            return match self.regex.get() {
                Some(regex) => regex.is_match(string),
                None => regex().is_some_and(|made| self.regex.get_or_init(|| made).is_match(string)),
            };
        }
        let Some(last) = string.len().checked_sub(self.text.len()) else { return false };
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        memchr2_iter(lower, upper, &string[..=last])
            .any(|at| string[at + 1..at + 1 + rest.len()].eq_ignore_ascii_case(rest))
    }
}

impl Pattern {
    /// A regular expression, or the literal text that it is.
    pub fn of_regexp(pattern: &[u8], flags: &str) -> Result<Pattern> {
        if !flags.contains('i') && is_literal(pattern) {
            return Ok(Pattern::contains(pattern));
        }
        let regex = compile(pattern, flags)?;
        let path = if flags.is_empty() { GreedyPath::anywhere(&in_rust_syntax(pattern)) } else { None };
        Ok(match path {
            Some(path) => Pattern::Path(regex, path),
            None => Pattern::Regex(regex),
        })
    }

    /// The same for patterns that few strings are matched with.
    pub fn of_regexp_for_few(pattern: &[u8], flags: &str) -> Result<Pattern> {
        let plain = |byte: &u8| byte.is_ascii() && !SPECIAL.contains(byte);
        if flags.contains('i') && pattern.iter().all(plain) {
            return Ok(Pattern::AnyCase(AnyCase { text: pattern.to_vec(), regex: OnceLock::new() }));
        }
        Pattern::of_regexp(pattern, flags)
    }

    pub fn contains(text: &[u8]) -> Pattern {
        let middle = if text.is_empty() { Vec::new() } else { vec![Finder::new(text).into_owned()] };
        Pattern::Pieces { prefix: Vec::new(), middle, suffix: Vec::new() }
    }

    /// For every string: does it match?
    pub fn matches_all(&self, strings: &Strings) -> Vec<bool> {
        match self {
            Pattern::Pieces { prefix, middle, suffix } if prefix.is_empty() && suffix.is_empty() => {
                let [needle] = &middle[..] else { return self.each(strings) };
                let mut answers = vec![false; strings.len()];
                sweep::contains(strings, needle, |row| answers[row] = true);
                answers
            }
            Pattern::Pieces { prefix, middle, suffix } if middle.is_empty() && suffix.is_empty() => {
                begin_with(strings, prefix)
            }
            Pattern::Regex(regex) => {
                let regex = regex.of_thread();
                strings.iter().map(|text| regex.is_match(text)).collect()
            }
            Pattern::Path(regex, path) => {
                let regex = regex.of_thread();
                let mut matches = FirstMatch::new(&regex, Some(path));
                strings.iter().map(|text| matches.is_match(text)).collect()
            }
            Pattern::AnyCasePieces(pieces) => pieces.matches_all(strings.iter()),
            _ => self.each(strings),
        }
    }

    fn each(&self, strings: &Strings) -> Vec<bool> {
        strings.iter().map(|text| self.matches(text)).collect()
    }

    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        match self {
            Pattern::Equal(wanted) => text == &wanted[..],
            Pattern::Pieces { prefix, middle, suffix } => {
                // An empty vector points nowhere, and comparing with it, though of no bytes, can take a fault.
                if text.len() < prefix.len() + suffix.len()
                    || !(prefix.is_empty() || text.starts_with(prefix))
                    || !(suffix.is_empty() || text.ends_with(suffix))
                {
                    return false;
                }
                let mut rest = &text[prefix.len()..text.len() - suffix.len()];
                for finder in middle {
                    let Some(place) = finder.find(rest) else { return false };
                    rest = &rest[place + finder.needle().len()..];
                }
                true
            }
            Pattern::AnyCase(needle) => needle.matches(text),
            Pattern::AnyCasePieces(pieces) => pieces.matches(text),
            Pattern::Regex(regex) | Pattern::Path(regex, _) => regex.is_match(text),
        }
    }
}

/// For every string: does it begin with a text? Texts of 4 to 32 bytes are compared by two loads that may overlap, without a
/// call for each string.
fn begin_with(strings: &Strings, text: &[u8]) -> Vec<bool> {
    fn by_two<const N: usize>(strings: &Strings, text: &[u8]) -> Option<Vec<bool>> {
        let last = text.len().checked_sub(N)?;
        let (head, tail): (&[u8; N], &[u8; N]) = (text.first_chunk()?, text.last_chunk()?);
        let begins = |string: &[u8]| {
            string.len() >= text.len()
                && string.first_chunk() == Some(head)
                && string[last..].first_chunk() == Some(tail)
        };
        Some(strings.iter().map(begins).collect())
    }
    let by_loads = match text.len() {
        4..8 => by_two::<4>(strings, text),
        8..16 => by_two::<8>(strings, text),
        16..=32 => by_two::<16>(strings, text),
        _ => None,
    };
    // Comparing with no bytes can take a fault: an empty vector points nowhere.
    by_loads
        .unwrap_or_else(|| strings.iter().map(|string| text.is_empty() || string.starts_with(text)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::strings::StringBuilder;

    #[test]
    fn beginnings_of_every_length() {
        let whole: Vec<u8> = (0..40).collect();
        for len in 0..whole.len() {
            let text = &whole[..len];
            let mut others: Vec<Vec<u8>> = (0..=40).map(|n| whole[..n].to_vec()).collect();
            // One byte is another one.
            others.extend((0..len).map(|at| {
                let mut other = whole.clone();
                other[at] = 99;
                other
            }));
            let mut builder = StringBuilder::with_capacity(others.len());
            others.iter().for_each(|other| builder.push(other));
            let wanted: Vec<bool> = others.iter().map(|other| other.starts_with(text)).collect();
            assert_eq!(begin_with(&builder.finish(), text), wanted, "{len} bytes");
        }
    }
}
