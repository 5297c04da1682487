//! `soundex`: how an English name sounds.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, plain_string_to_string};
use chalet_function_api::{Example, Record};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "soundex",
        case_insensitive: true,
        summary: "The Soundex code of a string: its first letter and three digits.",
        syntax: "soundex(s)",
        examples: &[Example { sql: "SELECT soundex('Robert')", result: "R163" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: plain_string_to_string,
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        Ok(build(call.n_rows, |row, out| {
            let start = out.len();
            code(texts.get(row), out);
            out.resize(start + 4, b'0');
        }))
    },
};

/// Digits of the letters A to Z; vowels and H, W, Y have none.
const DIGITS: &[u8; 26] = b"01230120022455012623010202";

fn code(text: &[u8], out: &mut Vec<u8>) {
    let mut letters = text.iter().filter(|byte| byte.is_ascii_alphabetic()).map(u8::to_ascii_uppercase);
    let Some(first) = letters.next() else { return };
    out.push(first);
    let digit = |letter: u8| DIGITS[usize::from(letter - b'A')];
    let mut last = digit(first);
    let mut n = 1;
    for letter in letters {
        let own = digit(letter);
        if own != last && own != b'0' {
            out.push(own);
            n += 1;
            if n == 4 {
                return;
            }
        }
        last = own;
    }
}
