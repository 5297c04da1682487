//! Fuzzy matching with all states of an automaton in one word: for those of few states and without assertions, which most are.

/// Most edits, and one more for none.
const LEVELS: usize = 17;

/// An automaton whose states are bits.
pub struct BitAutomaton {
    /// The states that take a byte.
    takes: Box<[u64; 256]>,
    /// Where states lead to: for each byte of a set of states, the union of their followers.
    followers: Vec<[u64; 256]>,
    start: u64,
    accept: u64,
    edits: usize,
}

impl BitAutomaton {
    /// Of states with their byte ranges and followers; the last bit that is used is that of acceptance. None of more than 63 states.
    pub fn new(states: &[(&[(u8, u8)], u64)], start: u64, edits: u8) -> Option<BitAutomaton> {
        let n = states.len();
        if n > 63 || usize::from(edits) >= LEVELS {
            return None;
        }
        let mut takes = Box::new([0; 256]);
        for (bit, (ranges, _)) in states.iter().enumerate() {
            for (low, high) in *ranges {
                (*low..=*high).for_each(|byte| takes[usize::from(byte)] |= 1 << bit);
            }
        }
        let followers = states.chunks(8).map(|eight| {
            let of_byte = |byte: usize| {
                let set = eight.iter().enumerate().filter(|(bit, _)| byte >> bit & 1 == 1);
                set.fold(0, |union, (_, (_, followers))| union | followers)
            };
            std::array::from_fn(of_byte)
        });
        let followers = followers.collect();
        Some(BitAutomaton { takes, followers, start, accept: 1 << n, edits: edits.into() })
    }

    #[inline(always)]
    fn follow(&self, states: u64) -> u64 {
        let of_byte = |(at, union): (usize, &[u64; 256])| union[usize::from((states >> (8 * at)) as u8)];
        self.followers.iter().enumerate().map(of_byte).fold(0, |union, some| union | some)
    }

    /// The states that take a byte.
    pub fn takes(&self, byte: u8) -> u64 {
        self.takes[usize::from(byte)]
    }

    /// What is reached before the first byte; nothing if that is a match already.
    pub fn first(&self) -> Option<Front> {
        let (mut states, mut next) = ([0; LEVELS], [0; LEVELS]);
        let mut union = self.start;
        for level in 0..=self.edits {
            states[level] = union;
            next[level] = self.follow(union);
            // A byte too few is an edit.
            union |= next[level];
        }
        (states[self.edits] & self.accept == 0).then_some(Front { states, next })
    }

    /// Goes on by a byte. Is a match complete?
    #[inline(always)]
    pub fn step(&self, front: &mut Front, byte: u8) -> bool {
        let Front { states, next } = front;
        let takes = self.takes[usize::from(byte)];
        let mut fewer = self.start;
        for level in 0..=self.edits {
            let reached = self.follow(states[level] & takes) | fewer;
            // With one more: another byte in the place of this one, this one too many, or one too few behind it.
            let one_more = next[level] | states[level];
            states[level] = reached;
            next[level] = self.follow(reached);
            fewer = reached | one_more | next[level];
        }
        states[self.edits] & self.accept != 0
    }

    /// Where the match ends that ends first.
    pub fn earliest_end(&self, text: &[u8]) -> Option<usize> {
        let Some(mut front) = self.first() else { return Some(0) };
        text.iter().position(|&byte| self.step(&mut front, byte)).map(|at| at + 1)
    }
}

/// The states that so many edits lead to, and their followers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Front {
    states: [u64; LEVELS],
    next: [u64; LEVELS],
}
