//! Texts near the grammar: random edits of the corpus never panic, and what still parses prints and parses again.
//!
//! Deterministic, so that a failure repeats. A statement that failed once goes to `corpus/regressions.sql`.

use super::round_trip::round_trip_failure;
use crate::corpus;
use chalet_syntax::parse_statements;

/// Edited texts per run; the whole test takes a few seconds in an unoptimised build.
const ROUNDS: u32 = 100_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound.max(1)
    }
}

const PIECES: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ".",
    "*",
    "'",
    "\"",
    "`",
    "::",
    "->",
    "?",
    ":",
    " AS x ",
    " NOT ",
    " IN ",
    " BETWEEN 1 AND 2 ",
    "-",
    "1",
    "\\",
    "/*",
    "--",
    " FROM t ",
    " SELECT ",
    " EXCEPT ",
    " CASE ",
    " INTERVAL ",
    "é",
    " OVER ",
    "{p:UInt8}",
    "$$",
    "x'4",
    " ORDER BY ",
    " NULL ",
    " UNION ALL ",
    " LIMIT 1 ",
];

fn edit(text: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let at = random.below(text.len() + 1);
    match random.below(7) {
        0 => text.truncate(at),
        1 => {
            let end = (at + random.below(12)).min(text.len());
            text.drain(at..end);
        }
        2 if at < text.len() => text[at] = random.next() as u8,
        3 => {
            let from = random.below(other.len() + 1);
            let to = (from + random.below(30)).min(other.len());
            text.splice(at..at, other[from..to].iter().copied());
        }
        4 => {
            // A word of the other statement.
            let words: Vec<&[u8]> = other.split(|b| *b == b' ').collect();
            let word = words[random.below(words.len())];
            text.splice(at..at, word.iter().copied());
        }
        _ => {
            let piece = PIECES[random.below(PIECES.len())];
            text.splice(at..at, piece.bytes());
        }
    }
}

#[test]
fn edited_statements_never_panic() {
    let corpus = corpus();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut accepted, mut failures) = (0, Vec::new());
    for _ in 0..ROUNDS {
        let mut text = corpus[random.below(corpus.len())].as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let other = corpus[random.below(corpus.len())].as_bytes();
            edit(&mut text, other, &mut random);
        }
        let text = String::from_utf8_lossy(&text);
        match parse_statements(&text) {
            Ok(statements) => {
                accepted += 1;
                if let Some(failure) = round_trip_failure(&statements) {
                    failures.push(format!("{text}\n    {failure}"));
                }
            }
            // 36: names of a view's columns that are not as many as its query has. 476, 406: clauses that
            // the parser itself refuses together. 37: what engines of databases do not take.
            Err(error) => {
                assert!([62, 48, 306, 36, 37, 476, 406].contains(&error.code().number), "{text}: {error}")
            }
        }
    }
    // Most edits break a statement; if nearly all did, the round trip would be tested on nothing.
    assert!(accepted > ROUNDS / 10, "{accepted}");
    failures.truncate(20);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
