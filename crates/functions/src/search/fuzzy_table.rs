//! Fuzzy matching by a table: the sets of states that an automaton in bits goes through are numbered, and where each byte leads from
//! each of them is looked up. Worth its making where many texts are searched.

use super::fuzzy_bits::{BitAutomaton, Front};
use chalet_base::hash::HashMap;

/// Automata that go through more sets of states are left in bits.
const MOST_SETS: usize = 1024;

/// A deterministic automaton.
pub struct TableAutomaton {
    /// The class of each byte: those that the same states take.
    classes: Box<[u8; 256]>,
    /// By the place of a set and the class of a byte: the place of the set that follows. The first set is the start.
    followers: Vec<u32>,
}

/// The place of the set with which a match is complete.
const ACCEPT: u32 = u32::MAX;

impl TableAutomaton {
    /// The same automaton; none if it is too large.
    pub fn of(bits: &BitAutomaton) -> Option<TableAutomaton> {
        let (classes, examples) = classes(bits);
        let start = bits.first()?;
        let mut numbers: HashMap<Front, u32> = HashMap::default();
        numbers.insert(start, 0);
        let (mut sets, mut followers) = (vec![start], Vec::new());
        let mut at = 0;
        while let Some(&set) = sets.get(at) {
            for &byte in &examples {
                let mut next = set;
                if bits.step(&mut next, byte) {
                    followers.push(ACCEPT);
                    continue;
                }
                let number = *numbers.entry(next).or_insert_with(|| {
                    sets.push(next);
                    sets.len() as u32 - 1
                });
                followers.push(number * examples.len() as u32);
            }
            if sets.len() > MOST_SETS {
                return None;
            }
            at += 1;
        }
        Some(TableAutomaton { classes, followers })
    }

    /// Where the match ends that ends first.
    pub fn earliest_end(&self, text: &[u8]) -> Option<usize> {
        let mut place = 0;
        for (at, &byte) in text.iter().enumerate() {
            place = self.followers[place as usize + usize::from(self.classes[usize::from(byte)])];
            if place == ACCEPT {
                return Some(at + 1);
            }
        }
        None
    }
}

/// The class of each byte, and a byte of each class.
fn classes(bits: &BitAutomaton) -> (Box<[u8; 256]>, Vec<u8>) {
    let mut classes = Box::new([0; 256]);
    let mut examples: Vec<u8> = Vec::new();
    for byte in 0..=u8::MAX {
        let class = examples.iter().position(|&example| bits.takes(example) == bits.takes(byte));
        classes[usize::from(byte)] = class.unwrap_or(examples.len()) as u8;
        if class.is_none() {
            examples.push(byte);
        }
    }
    (classes, examples)
}
