//! `FirstMatch`: matches of an expression with their groups, for one thread. Short texts are most texts, and a general engine
//! takes longer to begin with one than to go through it: an expression that is a path of preferred choices is followed by itself there.

use super::greedy::{GreedyPath, Outcome};
use regex::bytes::{CaptureLocations, Regex};
use std::ops::Range;

/// Longer texts are left to the engine, which skips what cannot match.
const SHORT: usize = 256;

/// So many texts are tried before the path is judged.
const TRIED: u32 = 64;

/// Finds matches with their groups.
pub struct FirstMatch<'a> {
    regex: &'a Regex,
    path: Option<&'a GreedyPath>,
    locations: CaptureLocations,
    ranges: Vec<Range<usize>>,
    by_path: bool,
    /// Searches that the path told the outcome of, and the others.
    n_known: u32,
    n_unknown: u32,
}

impl<'a> FirstMatch<'a> {
    pub fn new(regex: &'a Regex, path: Option<&'a GreedyPath>) -> FirstMatch<'a> {
        let (locations, ranges) = (regex.capture_locations(), Vec::new());
        FirstMatch { regex, path, locations, ranges, by_path: false, n_known: 0, n_unknown: 0 }
    }

    /// Is the expression an empty one?
    pub fn is_of_nothing(&self) -> bool {
        self.regex.as_str().is_empty()
    }

    /// The next match from a place on; with its groups, where they are asked for.
    #[inline]
    pub fn find(&mut self, text: &[u8], place: usize, asks_groups: bool) -> Option<Range<usize>> {
        self.by_path = false;
        if let Some(path) = self.path.filter(|path| text.len() <= SHORT || path.is_lone()) {
            match path.find(text, place, &mut self.ranges) {
                Outcome::Match => {
                    self.by_path = true;
                    self.n_known += 1;
                    return Some(self.ranges[0].clone());
                }
                Outcome::NoMatch => {
                    self.n_known += 1;
                    return None;
                }
                Outcome::Unknown => self.count_unknown(),
            }
        }
        // Where a match begins and ends is found faster than its groups.
        if !asks_groups {
            return self.regex.find_at(text, place).map(|found| found.range());
        }
        self.regex.captures_read_at(&mut self.locations, text, place).map(|found| found.range())
    }

    /// Is there a match?
    #[inline]
    pub fn is_match(&mut self, text: &[u8]) -> bool {
        if let Some(path) = self.path.filter(|path| text.len() <= SHORT || path.is_lone()) {
            match path.find(text, 0, &mut self.ranges) {
                Outcome::Unknown => self.count_unknown(),
                known => {
                    self.n_known += 1;
                    return known == Outcome::Match;
                }
            }
        }
        self.regex.is_match(text)
    }

    fn count_unknown(&mut self) {
        self.n_unknown += 1;
        if self.n_unknown > TRIED && self.n_unknown > self.n_known {
            self.path = None;
        }
    }

    /// A group of the last match, of which groups were asked for.
    pub fn group(&self, group: usize) -> Option<Range<usize>> {
        if self.by_path {
            return self.ranges.get(group).cloned();
        }
        self.locations.get(group).map(|(start, end)| start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_tells_nothing_is_left() {
        // The digits that are taken first have to be given back.
        let (regex, path) = (Regex::new("[0-9]+5").unwrap(), GreedyPath::anywhere("[0-9]+5").unwrap());
        let mut matches = FirstMatch::new(&regex, Some(&path));
        for _ in 0..=TRIED {
            assert_eq!(matches.find(b"a1255b", 0, false), Some(1..5));
        }
        assert!(matches.path.is_none());
        assert_eq!(matches.find(b"a1255b", 0, true), Some(1..5));
        assert_eq!((matches.group(0), matches.group(1)), (Some(1..5), None));
    }
}
