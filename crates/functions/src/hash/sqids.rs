//! `sqidEncode` and `sqidDecode`: numbers as short texts that look random (sqids.org), and back.

use crate::lanes::{Operand, unary};
use crate::lists::list;
use crate::plain::Plain;
use crate::string_args::{StringArg, build, check_type};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::sync::LazyLock;

pub static ENCODE: Plain = Plain {
    record: Record {
        name: "sqidEncode",
        aliases: &["sqid"],
        summary: "Numbers as a short text that looks random, from which sqidDecode makes them again.",
        syntax: "sqidEncode(n1[, n2, ...])",
        examples: &[Example { sql: "SELECT sqidEncode(1, 2, 3, 4, 5)", result: "gXHfJ1C6dN" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        ensure!(
            !args.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function {name} doesn't match: passed 0, should be at least 1"
        );
        for (index, arg) in args.iter().enumerate() {
            let native = arg.ty.is_unsigned() || arg.ty == DataType::Bool;
            ensure!(
                native && arg.ty.physical().width().is_some_and(|width| width <= 8),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {index} for function {name} must have datatype UInt*, given type: {}",
                arg.ty
            );
        }
        Ok(DataType::String.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let column = |index| unary::<u64, u64>(Operand::of(call, index), call.n_rows, |x| x);
        let columns: Vec<Vec<u64>> = (0..call.args.len()).map(column).collect::<Result<_>>()?;
        let mut numbers = vec![0; columns.len()];
        Ok(build(call.n_rows, |row, out| {
            numbers.iter_mut().zip(&columns).for_each(|(number, column)| *number = column[row]);
            encode(&numbers, out);
        }))
    },
};

pub static DECODE: Plain = Plain {
    record: Record {
        name: "sqidDecode",
        summary: "The numbers of a text that sqidEncode made; none of another text.",
        syntax: "sqidDecode(sqid)",
        examples: &[Example { sql: "SELECT sqidDecode('gXHfJ1C6dN')", result: "[1,2,3,4,5]" }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        check_type(args[0].ty == DataType::String, name, 0, "String", &args[0].ty)?;
        Ok(DataType::UInt64.array().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        let (mut numbers, mut offsets) = (Vec::new(), vec![0i64]);
        for row in 0..call.n_rows {
            decode(texts.get(row), &mut numbers);
            offsets.push(numbers.len() as i64);
        }
        Ok(list(offsets, Vector::from(numbers)).into())
    },
};

const LETTERS: usize = 62;

type Alphabet = [u8; LETTERS];

/// The usual alphabet, shuffled once.
static ALPHABET: LazyLock<Alphabet> = LazyLock::new(|| {
    let mut alphabet = *b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    shuffle(&mut alphabet);
    alphabet
});

/// Words that no text may contain: the list that the sqids libraries share (MIT licence).
static BLOCKED: LazyLock<Vec<&[u8]>> =
    LazyLock::new(|| include_str!("sqids_blocklist.txt").split_whitespace().map(str::as_bytes).collect());

fn shuffle(alphabet: &mut Alphabet) {
    for i in 0..LETTERS - 1 {
        let j = LETTERS - 1 - i;
        let place = (i * j + usize::from(alphabet[i]) + usize::from(alphabet[j])) % LETTERS;
        alphabet.swap(i, place);
    }
}

/// The alphabet of a text, which its first letter, the one at `offset`, tells.
fn turned(offset: usize) -> Alphabet {
    let mut alphabet = *ALPHABET;
    alphabet.rotate_left(offset);
    alphabet.reverse();
    alphabet
}

fn encode(numbers: &[u64], out: &mut Vec<u8>) {
    let start = out.len();
    let letter = |n: u64| usize::from(ALPHABET[(n % LETTERS as u64) as usize]);
    let sum: usize = numbers.iter().enumerate().map(|(i, &n)| letter(n) + i).sum();
    // A blocked text is made anew with the next alphabet; all of them are not blocked.
    for attempt in 0..=LETTERS {
        let offset = (sum + numbers.len() + attempt) % LETTERS;
        out.truncate(start);
        out.push(ALPHABET[offset]);
        let mut alphabet = turned(offset);
        for (i, &number) in numbers.iter().enumerate() {
            push_number(number, &alphabet, out);
            if i + 1 < numbers.len() {
                out.push(alphabet[0]);
                shuffle(&mut alphabet);
            }
        }
        if !is_blocked(&out[start..]) {
            return;
        }
    }
}

/// The first letter of the alphabet separates numbers, the others are digits.
fn push_number(mut number: u64, alphabet: &Alphabet, out: &mut Vec<u8>) {
    let (digits, base) = (&alphabet[1..], LETTERS as u64 - 1);
    let start = out.len();
    loop {
        out.push(digits[(number % base) as usize]);
        number /= base;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

fn is_blocked(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    BLOCKED.iter().filter(|word| word.len() <= text.len()).any(|word| {
        if text.len() <= 3 || word.len() <= 3 {
            text == *word
        } else if word.iter().any(u8::is_ascii_digit) {
            text.starts_with(word) || text.ends_with(word)
        } else {
            memchr::memmem::find(&text, word).is_some()
        }
    })
}

fn decode(text: &[u8], out: &mut Vec<u64>) {
    let Some((first, mut rest)) = text.split_first() else { return };
    let place = |letter: &u8| ALPHABET.iter().position(|known| known == letter);
    let Some(offset) = place(first) else { return };
    if rest.iter().any(|letter| place(letter).is_none()) {
        return;
    }
    let mut alphabet = turned(offset);
    while !rest.is_empty() {
        let (digits, after) = match rest.iter().position(|letter| *letter == alphabet[0]) {
            Some(end) => (&rest[..end], Some(&rest[end + 1..])),
            None => (rest, None),
        };
        if digits.is_empty() {
            return;
        }
        let digit = |letter: &u8| alphabet[1..].iter().position(|known| known == letter).unwrap_or(0) as u64;
        let base = LETTERS as u64 - 1;
        out.push(digits.iter().fold(0u64, |n, letter| n.wrapping_mul(base).wrapping_add(digit(letter))));
        let Some(after) = after else { return };
        shuffle(&mut alphabet);
        rest = after;
    }
}
