//! Regular expressions that match within an edit distance: a nondeterministic automaton whose states carry the fewest edits that
//! lead to them (Wu and Manber, 1992). Works on bytes, and reports the earliest end of a match.

use super::fuzzy_bits::BitAutomaton;
use super::fuzzy_table::TableAutomaton;
use chalet_base::{Result, bail, ensure, err};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::sync::OnceLock;

/// Edits that a pattern may allow, as in the kernel.
const MAX_EDITS: u32 = 16;

/// Larger automata are refused: repetitions are unrolled.
const MAX_STATES: usize = 100_000;

/// More edits than any match has.
const NEVER: u8 = u8::MAX;

pub enum Fuzzy {
    Automaton(Automaton),
    /// The second is made when there are many texts, if it can be.
    Bits(BitAutomaton, OnceLock<Option<TableAutomaton>>),
    /// Of no edits, with assertions that only the regular expressions have.
    Exact(Regex),
}

enum State {
    /// Takes a byte of the given ranges.
    Byte(Vec<(u8, u8)>, u32),
    Split(Vec<u32>),
    Start(u32),
    End(u32),
    Accept,
}

pub struct Automaton {
    states: Vec<State>,
    start: u32,
    edits: u8,
}

impl Fuzzy {
    pub fn new(pattern: &[u8], edits: u32) -> Result<Fuzzy> {
        let text = std::str::from_utf8(pattern)
            .map_err(|_| err!(BAD_ARGUMENTS, "A pattern of a fuzzy match is not UTF-8"))?;
        let fails = |why: String| err!(BAD_ARGUMENTS, "Pattern '{text}' failed with error '{why}'");
        if edits > MAX_EDITS {
            return Err(fails("Edit distance is too big.".into()));
        }
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).dot_matches_new_line(true).build();
        let hir = parser.parse(text).map_err(|e| fails(e.to_string()))?;
        let looks = hir.properties().look_set();
        if looks.iter().any(|look| !matches!(look, Look::Start | Look::End)) {
            if edits > 0 {
                return Err(fails("Zero-width assertions are disallowed for approximate matching.".into()));
            }
            let regex = RegexBuilder::new(text).unicode(false).dot_matches_new_line(true).build();
            return Ok(Fuzzy::Exact(regex.map_err(|e| fails(e.to_string()))?));
        }
        let shortest = hir.properties().minimum_len();
        if edits > 0 && shortest.is_some_and(|len| len <= edits as usize) {
            return Err(fails(
                "Approximate matching patterns that reduce to vacuous patterns are disallowed.".into(),
            ));
        }
        let mut automaton = Automaton { states: vec![State::Accept], start: 0, edits: edits as u8 };
        automaton.start = automaton.before(&hir, 0)?;
        Ok(match automaton.in_bits() {
            Some(bits) => Fuzzy::Bits(bits, OnceLock::new()),
            None => Fuzzy::Automaton(automaton),
        })
    }

    /// Many texts follow.
    pub fn prepare(&self) {
        if let Fuzzy::Bits(bits, table) = self {
            table.get_or_init(|| TableAutomaton::of(bits));
        }
    }

    /// Where the match ends that ends first.
    pub fn earliest_end(&self, text: &[u8]) -> Option<usize> {
        match self {
            Fuzzy::Automaton(automaton) => automaton.earliest_end(text),
            Fuzzy::Bits(bits, table) => match table.get() {
                Some(Some(table)) => table.earliest_end(text),
                _ => bits.earliest_end(text),
            },
            Fuzzy::Exact(regex) => regex.shortest_match(text),
        }
    }
}

impl Automaton {
    fn push(&mut self, state: State) -> Result<u32> {
        ensure!(self.states.len() < MAX_STATES, BAD_ARGUMENTS, "A pattern of a fuzzy match is too large");
        self.states.push(state);
        Ok(self.states.len() as u32 - 1)
    }

    /// The state from which the expression leads to `next`.
    fn before(&mut self, hir: &Hir, next: u32) -> Result<u32> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let mut bytes = literal.0.iter().rev();
                bytes.try_fold(next, |next, byte| self.push(State::Byte(vec![(*byte, *byte)], next)))
            }
            HirKind::Class(Class::Bytes(class)) => {
                let ranges = class.ranges().iter().map(|range| (range.start(), range.end())).collect();
                self.push(State::Byte(ranges, next))
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ascii = |c: char| u8::try_from(c).unwrap_or(u8::MAX);
                let ranges =
                    class.ranges().iter().map(|range| (ascii(range.start()), ascii(range.end()))).collect();
                self.push(State::Byte(ranges, next))
            }
            HirKind::Look(Look::Start) => self.push(State::Start(next)),
            HirKind::Look(Look::End) => self.push(State::End(next)),
            HirKind::Look(look) => bail!(LOGICAL_ERROR, "Assertion {look:?} in a fuzzy match"),
            HirKind::Capture(capture) => self.before(&capture.sub, next),
            HirKind::Concat(parts) => parts.iter().rev().try_fold(next, |next, part| self.before(part, next)),
            HirKind::Alternation(branches) => {
                let starts: Result<Vec<u32>> =
                    branches.iter().map(|branch| self.before(branch, next)).collect();
                let starts = starts?;
                self.push(State::Split(starts))
            }
            HirKind::Repetition(repetition) => {
                let mut next = next;
                match repetition.max {
                    Some(max) => {
                        let end = next;
                        for _ in repetition.min..max {
                            let once = self.before(&repetition.sub, next)?;
                            next = self.push(State::Split(vec![once, end]))?;
                        }
                    }
                    None => {
                        let again = self.push(State::Split(Vec::new()))?;
                        let once = self.before(&repetition.sub, again)?;
                        self.states[again as usize] = State::Split(vec![once, next]);
                        next = again;
                    }
                }
                for _ in 0..repetition.min {
                    next = self.before(&repetition.sub, next)?;
                }
                Ok(next)
            }
        }
    }

    /// The same automaton with a bit for each state that takes a byte; none where there are assertions, or too many states.
    fn in_bits(&self) -> Option<BitAutomaton> {
        let mut bits = vec![None; self.states.len()];
        let mut n = 0;
        for (state, bit) in self.states.iter().zip(&mut bits) {
            match state {
                State::Byte(..) => {
                    *bit = Some(n);
                    n += 1;
                }
                State::Start(_) | State::End(_) => return None,
                State::Split(_) | State::Accept => {}
            }
        }
        if n > 63 {
            return None;
        }
        // The states with bits that a state is, or leads to without a byte.
        let closure = |state: u32| {
            let (mut set, mut pending) = (0u64, vec![state]);
            let mut seen = vec![false; self.states.len()];
            while let Some(state) = pending.pop() {
                if std::mem::replace(&mut seen[state as usize], true) {
                    continue;
                }
                match &self.states[state as usize] {
                    State::Split(branches) => pending.extend(branches),
                    State::Accept => set |= 1 << n,
                    _ => set |= bits[state as usize].map_or(0, |bit: usize| 1 << bit),
                }
            }
            set
        };
        let byte_states = self.states.iter().filter_map(|state| match state {
            State::Byte(ranges, next) => Some((&ranges[..], closure(*next))),
            _ => None,
        });
        BitAutomaton::new(&byte_states.collect::<Vec<_>>(), closure(self.start), self.edits)
    }

    fn earliest_end(&self, text: &[u8]) -> Option<usize> {
        let (mut now, mut then) = (Front::new(self.states.len()), Front::new(self.states.len()));
        for at in 0..=text.len() {
            if self.enter(&mut now, self.start, 0, at == 0, at == text.len()) {
                return Some(at);
            }
            let Some(&byte) = text.get(at) else { break };
            let last = at + 1 == text.len();
            then.clear();
            for &state in &now.reached {
                let edits = now.edits[state as usize];
                let mut accepts = false;
                match &self.states[state as usize] {
                    State::Byte(ranges, next) => {
                        let takes = ranges.iter().any(|(low, high)| (*low..=*high).contains(&byte));
                        // Another byte in its place is an edit.
                        let cost = edits + u8::from(!takes);
                        accepts |= self.enter(&mut then, *next, cost, false, last);
                    }
                    State::End(_) => {}
                    _ => continue,
                }
                // So is a byte too many.
                accepts |= self.enter(&mut then, state, edits + 1, false, last);
                if accepts {
                    return Some(at + 1);
                }
            }
            std::mem::swap(&mut now, &mut then);
        }
        None
    }

    /// Reaches a state, and what follows from it without taking a byte: with a byte too few, too. Is a match complete?
    fn enter(&self, front: &mut Front, state: u32, edits: u8, first: bool, last: bool) -> bool {
        front.pending.push((state, edits));
        let mut accepts = false;
        while let Some((state, edits)) = front.pending.pop() {
            if edits > self.edits || !front.lower(state, edits) {
                continue;
            }
            match &self.states[state as usize] {
                State::Byte(_, next) => front.pending.push((*next, edits + 1)),
                State::Split(branches) => {
                    front.pending.extend(branches.iter().map(|branch| (*branch, edits)));
                }
                State::Start(next) if first => front.pending.push((*next, edits)),
                State::End(next) if last => front.pending.push((*next, edits)),
                State::Start(_) | State::End(_) => {}
                State::Accept => accepts = true,
            }
        }
        accepts
    }
}

/// The states that are reached at one position, with the edits that it took.
struct Front {
    edits: Vec<u8>,
    reached: Vec<u32>,
    pending: Vec<(u32, u8)>,
}

impl Front {
    fn new(n_states: usize) -> Front {
        Front { edits: vec![NEVER; n_states], reached: Vec::new(), pending: Vec::new() }
    }

    fn clear(&mut self) {
        self.reached.drain(..).for_each(|state| self.edits[state as usize] = NEVER);
    }

    /// Is this a cheaper way to the state?
    fn lower(&mut self, state: u32, edits: u8) -> bool {
        let known = &mut self.edits[state as usize];
        if edits >= *known {
            return false;
        }
        if *known == NEVER {
            self.reached.push(state);
        }
        *known = edits;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All texts of up to five letters from two, against automata of all kinds.
    #[test]
    fn automata_of_all_kinds_agree() -> Result<()> {
        let texts = (0..6u32).flat_map(|len| {
            (0..1u32 << len).map(move |word| (0..len).map(|i| b"ab"[(word >> i & 1) as usize]).collect())
        });
        let texts: Vec<Vec<u8>> = texts.collect();
        for pattern in ["abba", "a.*bb", "(ab|ba)+b", "[^a]aa?b", "a{3}"] {
            for edits in 0..3 {
                let Ok(Fuzzy::Bits(bits, _)) = Fuzzy::new(pattern.as_bytes(), edits) else { continue };
                let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern);
                let hir = hir.map_err(|e| err!(BAD_ARGUMENTS, "{e}"))?;
                let mut states = Automaton { states: vec![State::Accept], start: 0, edits: edits as u8 };
                states.start = states.before(&hir, 0)?;
                let table = TableAutomaton::of(&bits);
                for text in &texts {
                    assert_eq!(bits.earliest_end(text), states.earliest_end(text), "{pattern} {text:?}");
                    let by_table = table.as_ref().and_then(|table| table.earliest_end(text));
                    assert!(table.is_none() || by_table == bits.earliest_end(text), "{pattern} {text:?}");
                }
            }
        }
        Ok(())
    }
}
