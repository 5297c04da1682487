//! `Pattern`: what LIKE and `match` ask, reduced to substring search where that gives the same answer.

use super::regexp::compile;
use super::sweep;
use chalet_base::Result;
use chalet_columns::Strings;
use memchr::memmem::Finder;
use regex::bytes::Regex;

pub enum Pattern {
    Equal(Vec<u8>),
    /// Begins with one string, ends with another, and has the others between them in order without overlap.
    Pieces {
        prefix: Vec<u8>,
        middle: Vec<Finder<'static>>,
        suffix: Vec<u8>,
    },
    Regex(Regex),
}

impl Pattern {
    /// A regular expression, or the literal text that it is.
    pub fn of_regexp(pattern: &[u8], flags: &str) -> Result<Pattern> {
        let special = |byte: &u8| b"\\|()^$.[]?*+{}".contains(byte);
        if !flags.contains('i') && !pattern.iter().any(special) {
            return Ok(Pattern::contains(pattern));
        }
        Ok(Pattern::Regex(compile(pattern, flags)?))
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
            Pattern::Regex(regex) => regex.is_match(text),
        }
    }
}
