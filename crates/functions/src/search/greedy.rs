//! `GreedyPath`: a regular expression whose preferred choices are followed straight ahead, without a general
//! engine. Where they lead to a match it is the one that the engine finds; where they do not, the engine is asked.

use super::masks::{self, ByteRanges};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::ops::Range;

pub struct GreedyPath {
    steps: Vec<Step>,
    n_groups: usize,
    /// What matches that are not anchored begin with.
    begins: Begins,
    /// Matches are runs of these characters of ASCII, as they are.
    lone: Option<ByteRanges>,
    /// Matches begin with the text.
    is_anchored: bool,
}

/// The first bytes of matches.
enum Begins {
    Anywhere,
    Byte(u8),
    /// Several bytes.
    Text(Vec<u8>),
    OneOf(Box<[bool; 256]>),
}

impl Begins {
    /// Where a match may begin from a place on.
    #[inline(always)]
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = &text[from..];
        let at = match self {
            Begins::Anywhere => (!rest.is_empty()).then_some(0),
            Begins::Byte(byte) => position(*byte, rest),
            Begins::Text(text) => masks::find(rest, text),
            Begins::OneOf(has) => rest.iter().position(|&byte| has[usize::from(byte)]),
        };
        at.map(|at| from + at)
    }
}

enum Step {
    Literal(Literal),
    /// Characters of a set, as many as there are.
    Run {
        set: Set,
        min: usize,
        max: Option<usize>,
        /// What follows cannot begin with one of the characters: fewer of them than there are lead to no match.
        is_all_or_none: bool,
    },
    /// If it is there.
    OptionalLiteral(Literal),
    Optional(Vec<Step>),
    Open(usize),
    Close(usize),
    End,
}

struct Set {
    /// By byte; those from 128 on are all alike.
    has: Box<[bool; 256]>,
    /// The one byte that is not in it.
    all_but: Option<u8>,
    is_all: bool,
    /// It has no character beyond ASCII.
    is_ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Match,
    NoMatch,
    /// Another choice than the preferred one may still match.
    Unknown,
}

impl GreedyPath {
    /// Of a pattern as the `regex` crate reads it with the point matching line feeds; `None` when it is not anchored to
    /// both ends or has more to it than this knows.
    pub fn new(pattern: &str) -> Option<GreedyPath> {
        let hir = ParserBuilder::new().utf8(false).dot_matches_new_line(true).build().parse(pattern).ok()?;
        let HirKind::Concat(parts) = hir.kind() else { return None };
        let [first, rest @ ..] = &parts[..] else { return None };
        let HirKind::Look(Look::Start) = first.kind() else { return None };
        let mut steps = Vec::new();
        rest.iter().try_for_each(|part| add(part, true, &mut steps))?;
        settle(&mut steps);
        let n_groups = hir.properties().explicit_captures_len() + 1;
        matches!(steps.last(), Some(Step::End)).then_some(GreedyPath {
            steps,
            n_groups,
            begins: Begins::Anywhere,
            lone: None,
            is_anchored: true,
        })
    }

    /// Of a pattern that is not anchored, or to its beginning alone: for [`find`](Self::find). Matches of the former begin with a
    /// character of ASCII.
    pub fn anywhere(pattern: &str) -> Option<GreedyPath> {
        let hir = ParserBuilder::new().utf8(false).dot_matches_new_line(true).build().parse(pattern).ok()?;
        let mut steps = Vec::new();
        if let HirKind::Concat(parts) = hir.kind()
            && let [first, rest @ ..] = &parts[..]
            && let HirKind::Look(Look::Start) = first.kind()
        {
            rest.iter().try_for_each(|part| add(part, true, &mut steps))?;
            settle(&mut steps);
            let (n_groups, begins) = (hir.properties().explicit_captures_len() + 1, Begins::Anywhere);
            let has_end = steps.iter().any(|step| matches!(step, Step::End));
            return (!has_end).then_some(GreedyPath {
                steps,
                n_groups,
                begins,
                lone: None,
                is_anchored: true,
            });
        }
        add(&hir, true, &mut steps)?;
        settle(&mut steps);
        let begins = match steps.iter().find(|step| !matches!(step, Step::Open(_)))? {
            Step::Literal(literal) => match literal.bytes[..] {
                [byte] if byte.is_ascii() => Begins::Byte(byte),
                [0..128, ..] => Begins::Text(literal.bytes.clone()),
                _ => return None,
            },
            Step::Run { set, min: 1.., .. } if set.is_ascii => Begins::OneOf(set.has.clone()),
            _ => return None,
        };
        let has_end = steps.iter().any(|step| matches!(step, Step::End));
        let n_groups = hir.properties().explicit_captures_len() + 1;
        let lone = lone_run(&steps).and_then(|set| ByteRanges::of(&set.has));
        (!has_end).then_some(GreedyPath { steps, n_groups, begins, lone, is_anchored: false })
    }

    /// Are matches runs of some characters, which are found many bytes at a time?
    pub fn is_lone(&self) -> bool {
        self.lone.is_some()
    }

    /// Looks for the first match from a place on. When there is one, the groups are filled in, the whole of it as group 0.
    pub fn find(&self, text: &[u8], from: usize, groups: &mut Vec<Range<usize>>) -> Outcome {
        groups.clear();
        groups.resize(self.n_groups, 0..0);
        if self.is_anchored {
            return if from == 0 { self.run_from_start(text, groups) } else { Outcome::NoMatch };
        }
        if let Some(lone) = &self.lone {
            let Some(run) = lone.first_run(text, from) else { return Outcome::NoMatch };
            groups.fill(run);
            return Outcome::Match;
        }
        let mut next = from;
        // Many starts in one run would look at its characters again and again.
        let mut left = 4 * (text.len() - from) + 64;
        while let Some(place) = self.begins.next(text, next) {
            next = place + 1;
            let start = State { place, chose: false, unsure: false };
            let (state, matches) = start.follow(&self.steps, text, groups);
            if matches && !state.unsure {
                groups[0] = place..state.place;
                return Outcome::Match;
            }
            left = left.saturating_sub(state.place - place);
            if state.chose || state.unsure || left == 0 {
                return Outcome::Unknown;
            }
        }
        Outcome::NoMatch
    }

    /// As [`run`](Self::run) of a pattern that leaves open what follows.
    fn run_from_start(&self, text: &[u8], groups: &mut [Range<usize>]) -> Outcome {
        let start = State { place: 0, chose: false, unsure: false };
        let (state, matches) = start.follow(&self.steps, text, groups);
        if matches && !state.unsure {
            groups[0] = 0..state.place;
            return Outcome::Match;
        }
        if state.chose || state.unsure { Outcome::Unknown } else { Outcome::NoMatch }
    }

    /// Fills in the groups when it matches; all that are part of the pattern are then set.
    pub fn run(&self, text: &[u8], groups: &mut Vec<Range<usize>>) -> Outcome {
        groups.clear();
        groups.resize(self.n_groups, 0..text.len());
        let start = State { place: 0, chose: false, unsure: false };
        let (state, matches) = start.follow(&self.steps, text, groups);
        match (matches, state.chose || state.unsure) {
            _ if state.unsure => Outcome::Unknown,
            (true, _) => Outcome::Match,
            (false, true) => Outcome::Unknown,
            (false, false) => Outcome::NoMatch,
        }
    }
}

/// The set of ASCII of which a run, as long as it is, is all that the steps ask for, whatever groups are around it.
fn lone_run(steps: &[Step]) -> Option<&Set> {
    let mut inner = steps.iter().filter(|step| !matches!(step, Step::Open(_) | Step::Close(_)));
    match (inner.next()?, inner.next()) {
        (Step::Run { set, min: 1, max: None, .. }, None) if set.is_ascii => Some(set),
        _ => None,
    }
}

fn add(hir: &Hir, top: bool, steps: &mut Vec<Step>) -> Option<()> {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => steps.push(Step::Literal(Literal::new(&literal.0))),
        HirKind::Class(class) => {
            steps.push(Step::Run { set: Set::new(class)?, min: 1, max: Some(1), is_all_or_none: false })
        }
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| add(part, top, steps))?,
        HirKind::Look(Look::End) if top => steps.push(Step::End),
        HirKind::Capture(capture) if top => {
            steps.push(Step::Open(capture.index as usize));
            add(&capture.sub, top, steps)?;
            steps.push(Step::Close(capture.index as usize));
        }
        HirKind::Repetition(repetition) if repetition.greedy => {
            let max = repetition.max.map(|max| max as usize);
            let set = match repetition.sub.kind() {
                HirKind::Class(class) => Some(Set::new(class)?),
                // An optional letter is as well an optional literal, which may have any length.
                HirKind::Literal(literal) if max != Some(1) => Some(Set::of_byte(&literal.0)?),
                _ => None,
            };
            if let Some(set) = set {
                let min = repetition.min as usize;
                steps.push(Step::Run { set, min, max, is_all_or_none: false });
            } else if repetition.min == 0 && max == Some(1) {
                let mut inner = Vec::new();
                add(&repetition.sub, false, &mut inner)?;
                steps.push(match <[Step; 1]>::try_from(inner) {
                    Ok([Step::Literal(literal)]) => Step::OptionalLiteral(literal),
                    Ok(one) => Step::Optional(one.into()),
                    Err(inner) => Step::Optional(inner),
                });
            } else {
                return None;
            }
        }
        _ => return None,
    }
    Some(())
}

/// Finds the runs behind which something follows that none of their characters can begin.
fn settle(steps: &mut [Step]) {
    for at in 0..steps.len() {
        let (before, behind) = steps.split_at_mut(at + 1);
        let Some(Step::Run { set, is_all_or_none, .. }) = before.last_mut() else { continue };
        let next = behind.iter().find(|step| !matches!(step, Step::Open(_) | Step::Close(_)));
        *is_all_or_none = match next {
            Some(Step::Literal(literal)) => {
                literal.bytes.first().is_some_and(|&byte| !set.has[usize::from(byte)])
            }
            Some(Step::Run { set: other, min: 1.., .. }) => {
                set.has.iter().zip(&*other.has).all(|(&has, &other_has)| !(has && other_has))
            }
            Some(Step::End) => true,
            _ => false,
        };
    }
}

/// Some bytes, and up to eight of them as a word: short literals are many.
struct Literal {
    bytes: Vec<u8>,
    word: u64,
    mask: u64,
}

impl Literal {
    fn new(bytes: &[u8]) -> Literal {
        let mut word = [0; 8];
        let n = bytes.len().min(8);
        word[..n].copy_from_slice(&bytes[..n]);
        let mask = if n == 8 { !0 } else { (1 << (8 * n)) - 1 };
        Literal { bytes: bytes.to_vec(), word: u64::from_le_bytes(word), mask }
    }

    #[inline]
    fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk::<8>() {
            Some(first) if self.bytes.len() <= 8 => (u64::from_le_bytes(*first) ^ self.word) & self.mask == 0,
            _ => text.starts_with(&self.bytes),
        }
    }
}

impl Set {
    /// `None` when characters beyond ASCII are not all in it or all out of it.
    fn new(class: &Class) -> Option<Set> {
        let Class::Unicode(class) = class else { return None };
        let mut has = Box::new([false; 256]);
        let mut beyond = 0;
        for range in class.ranges() {
            let (start, end) = (u32::from(range.start()), u32::from(range.end()));
            (start..=end.min(127)).for_each(|c| has[c as usize] = true);
            if end >= 128 {
                beyond += end - start.max(128) + 1;
            }
        }
        /// Characters from 128 on; the surrogates are none.
        const BEYOND: u32 = 0x11_0000 - 128 - 0x800;
        match beyond {
            0 => {}
            // A range over the surrogates counts them.
            BEYOND => has[128..].fill(true),
            n if n == BEYOND + 0x800 => has[128..].fill(true),
            _ => return None,
        }
        let missing: Vec<u8> = (0..=255).filter(|&byte: &u8| !has[usize::from(byte)]).collect();
        let all_but = if let [one] = missing[..] { Some(one) } else { None };
        let is_ascii = beyond == 0;
        Some(Set { has, all_but, is_all: missing.is_empty(), is_ascii })
    }

    /// One character of ASCII.
    fn of_byte(literal: &[u8]) -> Option<Set> {
        let &[byte @ 0..128] = literal else { return None };
        let mut has = Box::new([false; 256]);
        has[usize::from(byte)] = true;
        Some(Set { has, all_but: None, is_all: false, is_ascii: true })
    }

    /// Bytes from the front that are in the set.
    fn run(&self, text: &[u8]) -> usize {
        if self.is_all {
            return text.len();
        }
        let end = match self.all_but {
            Some(byte) => position(byte, text),
            None => text.iter().position(|&byte| !self.has[usize::from(byte)]),
        };
        end.unwrap_or(text.len())
    }
}

/// Where a byte comes first. It is mostly near: words are looked at before the search through all is called.
#[inline]
fn position(byte: u8, text: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const NEAR: usize = 4;
    let (words, _) = text.as_chunks::<8>();
    let words = &words[..words.len().min(NEAR)];
    for (i, &word) in words.iter().enumerate() {
        let differs = u64::from_le_bytes(word) ^ (LOW * u64::from(byte));
        // The lowest bit set is of the first byte that does not differ; higher ones may be carries.
        let same = differs.wrapping_sub(LOW) & !differs & (LOW << 7);
        if same != 0 {
            return Some(8 * i + same.trailing_zeros() as usize / 8);
        }
    }
    let seen = 8 * words.len();
    memchr::memchr(byte, &text[seen..]).map(|place| seen + place)
}

/// As `[u8]::is_ascii`, which looks at the last bytes one by one: short texts are little else.
#[inline]
pub fn is_ascii(text: &[u8]) -> bool {
    fn any_bits<const N: usize>(bytes: &[u8; N]) -> u64 {
        bytes.as_chunks::<8>().0.iter().fold(0, |bits, word| bits | u64::from_le_bytes(*word))
    }
    let bits = if let Some(last) = text.last_chunk::<32>() {
        text.as_chunks::<32>().0.iter().fold(any_bits(last), |bits, bytes| bits | any_bits(bytes))
    } else if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        any_bits(first) | any_bits(last)
    } else if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        any_bits(first) | any_bits(last)
    } else {
        text.iter().fold(0, |bits, &byte| bits | u64::from(byte))
    };
    bits & 0x8080_8080_8080_8080 == 0
}

/// Short texts are made longer, since only long ones are looked at many bytes at once.
pub fn is_utf8(text: &[u8]) -> bool {
    const LONG: usize = 64;
    if text.len() >= LONG {
        return simdutf8::basic::from_utf8(text).is_ok();
    }
    let mut padded = [0; LONG];
    padded[..text.len()].copy_from_slice(text);
    simdutf8::basic::from_utf8(&padded).is_ok()
}

#[derive(Clone, Copy)]
struct State {
    place: usize,
    /// There was another way to go.
    chose: bool,
    /// Bytes may count otherwise than as characters.
    unsure: bool,
}

impl State {
    /// Where the steps lead, and whether they lead to a match. The state is handed on by value: it stays in registers.
    fn follow(mut self, steps: &[Step], text: &[u8], groups: &mut [Range<usize>]) -> (State, bool) {
        for step in steps {
            let rest = &text[self.place..];
            let goes_on = match step {
                Step::Literal(literal) => {
                    let is_there = literal.begins(rest);
                    self.place += if is_there { literal.bytes.len() } else { 0 };
                    is_there
                }
                Step::Run { set, min, max, is_all_or_none } => {
                    let most = max.unwrap_or(usize::MAX).min(rest.len());
                    let run = set.run(&rest[..most]);
                    // Only whole characters count, each as one.
                    self.unsure |= !set.is_ascii
                        && !is_ascii(&rest[..run])
                        && (max.is_some() || *min > 1 || !is_utf8(&rest[..run]));
                    self.chose |= run > *min && !is_all_or_none;
                    self.place += run;
                    run >= *min
                }
                // Without a branch: whether it is there is hard to guess.
                Step::OptionalLiteral(literal) => {
                    let is_there = literal.begins(rest);
                    self.place += literal.bytes.len() * usize::from(is_there);
                    self.chose |= is_there;
                    true
                }
                Step::Optional(steps) => {
                    let (end, matches) = self.follow(steps, text, groups);
                    let place = if matches { end.place } else { self.place };
                    self = State { place, chose: end.chose | matches, unsure: end.unsure };
                    true
                }
                Step::Open(group) => {
                    groups[*group].start = self.place;
                    true
                }
                Step::Close(group) => {
                    groups[*group].end = self.place;
                    true
                }
                Step::End => self.place == text.len(),
            };
            if !goes_on {
                return (self, false);
            }
        }
        (self, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::bytes::RegexBuilder;

    #[test]
    fn ascii_is_told_at_every_length_and_place() {
        for n in 0..100 {
            let mut text = vec![b'a'; n];
            assert!(is_ascii(&text));
            for place in 0..n {
                text[place] = 0xd0;
                assert!(!is_ascii(&text), "{n} {place}");
                text[place] = 0x7f;
            }
        }
    }

    #[test]
    fn characters_are_told_from_bytes_at_every_length() {
        let text = "a\u{e9}\u{20ac}\u{1f600}".repeat(12).into_bytes();
        for start in 0..20 {
            for end in start..text.len() {
                let part = &text[start..end];
                assert_eq!(is_utf8(part), std::str::from_utf8(part).is_ok(), "{start}..{end}");
            }
        }
    }

    #[test]
    fn bytes_are_found_at_every_place() {
        for n in 0..60 {
            for place in 0..n {
                let mut text = vec![b'0'; n];
                // A carry out of the byte before must not count.
                text[place] = b'/';
                text[n - 1] = b'/';
                assert_eq!(position(b'/', &text), Some(place), "{n}");
                assert_eq!(position(b'.', &text), None);
            }
        }
    }

    #[test]
    fn finds_what_the_engine_finds() {
        let patterns = [
            r"(\d{4})-(\d{2})-(\d{2})",
            r"(a)(b?)([ab]{2})",
            r"x([0-9])",
            r"^o?n ",
            r"^([^ ]+) ",
            r"([a-c]+)(\d+)b",
            r"([0-9]+)-0",
            r"^[a-z]{1,2}1",
            r"^x*([0-9])",
            r"(a+)b(\d*)",
            r"([a-c])(\d+)",
            r"(\d+)",
            r"[ab]{2,}",
            r"\d",
        ];
        let texts: [&[u8]; 8] = [
            b"on 2014-03-17 and 12014-03-170",
            b"aabbaab",
            b"xx1",
            b"",
            b"c1b22",
            b"\xff2014-03-1",
            b"\xd0\xb0b1",
            b"ab",
        ];
        let mut matched = 0;
        for pattern in patterns {
            // Digits are those of ASCII, as the kernel has them.
            let pattern = pattern.replace(r"\d", "[0-9]");
            let engine = RegexBuilder::new(&pattern).dot_matches_new_line(true).build().unwrap();
            let path = GreedyPath::anywhere(&pattern).unwrap();
            let mut groups = Vec::new();
            for (text, from) in texts.iter().flat_map(|text| (0..=text.len()).map(move |from| (text, from))) {
                let captures = engine.captures_at(text, from);
                match path.find(text, from, &mut groups) {
                    Outcome::Unknown => {}
                    Outcome::NoMatch => assert!(captures.is_none(), "{pattern} {text:?} {from}"),
                    Outcome::Match => {
                        matched += 1;
                        let captures = captures.unwrap_or_else(|| panic!("{pattern} {text:?} {from}"));
                        let expected = captures.iter().map(|group| group.map(|group| group.range()));
                        assert!(groups.iter().cloned().map(Some).eq(expected), "{pattern} {text:?} {from}");
                    }
                }
            }
        }
        assert!(matched > 20, "{matched}");
        for other in [r"a*b", r"ab$", r"^ab$", r"\p{Greek}b", r"(?:ab)?c", r"\bab"] {
            assert!(GreedyPath::anywhere(other).is_none(), "{other}");
        }
    }

    /// What it finds is what the engine finds.
    #[test]
    fn agrees_with_the_engine() {
        let patterns = [
            r"^https?://(?:www\.)?([^/]+)/.*$",
            r"^([a-c]*)(b?)(.)$",
            r"^([0-9A-Za-z_]+)@([^.@]+)\.com$",
            r"^x?(?:ab)?([ab]{1,3})c*$",
            r"^.*$",
            r"^([^a]+)a([^a]*)$",
        ];
        let texts: [&[u8]; 17] = [
            b"http://www.example.com/x/y",
            b"https://example.com/",
            b"http://www./",
            b"http://www.",
            b"https:/x",
            b"",
            b"abc",
            b"abcb",
            b"b",
            b"xabab",
            b"abccc",
            b"joe@site.com",
            b"j\xc3\xb6e@s\xc3\xa4te.com",
            b"http://\xff/",
            b"http://\xd0\xbf\xd1\x80/\xff",
            b"\xc3\xa4a\xc3",
            b"line\nfeed",
        ];
        let mut matched = 0;
        for pattern in patterns {
            let engine = RegexBuilder::new(pattern).dot_matches_new_line(true).build().unwrap();
            let path = GreedyPath::new(pattern).unwrap();
            let mut groups = Vec::new();
            for text in texts {
                let captures = engine.captures(text);
                match path.run(text, &mut groups) {
                    Outcome::Unknown => {}
                    Outcome::NoMatch => assert!(captures.is_none(), "{pattern} {text:?}"),
                    Outcome::Match => {
                        matched += 1;
                        let captures = captures.unwrap_or_else(|| panic!("{pattern} {text:?}"));
                        for (i, group) in groups.iter().enumerate() {
                            assert_eq!(
                                captures.get(i).map(|m| m.range()),
                                Some(group.clone()),
                                "{pattern} {text:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(matched > 20, "{matched}");
        for other in ["abc", r"^(ab|c)$", r"^a*?$", r"^(?:(a)b)?$", r"^\p{Greek}+$", "^abc"] {
            assert!(GreedyPath::new(other).is_none(), "{other}");
        }
    }
}
