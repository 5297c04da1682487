//! `editDistance`, `damerauLevenshteinDistance`, `byteHammingDistance`: how many changes lie between two strings.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

const DISTANCE: Record = Record { constants: Constants::Seen, ..Record::DEFAULT };

/// Strings beyond this many bytes would take too long.
const MAX_BYTES: usize = 1 << 16;

pub static EDIT: Plain = Plain {
    record: Record {
        name: "editDistance",
        aliases: &["levenshteinDistance"],
        summary: "The least number of insertions, removals and replacements of bytes that turn one string into the other.",
        syntax: "editDistance(s1, s2)",
        examples: &[Example { sql: "SELECT editDistance('clickhouse', 'mouse')", result: "6" }],
        ..DISTANCE
    },
    bind,
    execute: |call| of_bytes(call, false),
};

pub static EDIT_UTF8: Plain = Plain {
    record: Record {
        name: "editDistanceUTF8",
        aliases: &["levenshteinDistanceUTF8"],
        summary: "As editDistance, of characters.",
        syntax: "editDistanceUTF8(s1, s2)",
        examples: &[Example { sql: "SELECT editDistanceUTF8('我是谁', '我是我')", result: "1" }],
        ..DISTANCE
    },
    bind,
    execute: |call| {
        let chars = |text: &[u8]| String::from_utf8_lossy(text).chars().collect::<Vec<char>>();
        each(call, move |a, b| edit(&chars(a), &chars(b)))
    },
};

pub static DAMERAU: Plain = Plain {
    record: Record {
        name: "damerauLevenshteinDistance",
        summary: "As editDistance, where swapping two neighbouring bytes is one change.",
        syntax: "damerauLevenshteinDistance(s1, s2)",
        examples: &[Example {
            sql: "SELECT damerauLevenshteinDistance('clickhouse', 'lcickhouse')",
            result: "1",
        }],
        ..DISTANCE
    },
    bind,
    execute: |call| of_bytes(call, true),
};

pub static HAMMING: Plain = Plain {
    record: Record {
        name: "byteHammingDistance",
        aliases: &["mismatches"],
        summary: "The number of places at which two strings have different bytes; what one is longer counts.",
        syntax: "byteHammingDistance(s1, s2)",
        examples: &[Example { sql: "SELECT byteHammingDistance('karolin', 'kathrin')", result: "3" }],
        ..DISTANCE
    },
    bind,
    execute: |call| {
        each(call, |a, b| {
            a.iter().zip(b).filter(|(x, y)| x != y).count() as u64 + a.len().abs_diff(b.len()) as u64
        })
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::String, Kind::String])?;
    Ok(DataType::UInt64.into())
}

fn each(call: &Call, mut distance: impl FnMut(&[u8], &[u8]) -> u64) -> Result<Column> {
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let mut out: Vec<u64> = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (x, y) = (a.get(row), b.get(row));
        ensure!(
            x.len() <= MAX_BYTES && y.len() <= MAX_BYTES,
            TOO_LARGE_STRING_SIZE,
            "The string size is too big for this function, should be at most {MAX_BYTES}"
        );
        out.push(if x == y { 0 } else { distance(x, y) });
    }
    Ok(Vector::from(out).into())
}

fn edit<T: PartialEq>(a: &[T], b: &[T]) -> u64 {
    let mut previous: Vec<u64> = (0..=b.len() as u64).collect();
    for x in a {
        let mut diagonal = previous[0];
        previous[0] += 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + u64::from(x != y);
            diagonal = previous[j + 1];
            previous[j + 1] = replaced.min(diagonal + 1).min(previous[j] + 1);
        }
    }
    previous[b.len()]
}

/// A string of at most this many bytes has a bit for each in one word.
const WORD: usize = u64::BITS as usize;

/// For each byte, the places of the shorter string that have it.
struct Places([u64; 256]);

impl Places {
    fn new() -> Places {
        Places([0; 256])
    }

    /// The distance of two strings, one of them of at most [`WORD`] bytes. A column of the table of distances is two words, the
    /// places where it rises and where it falls (Myers, 1999), so that a step takes a byte of the longer string and not a pair
    /// of bytes. With `swaps`, two neighbours that changed places are one change (Hyyrö, 2003).
    fn distance(&mut self, a: &[u8], b: &[u8], swaps: bool) -> u64 {
        let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        if short.is_empty() {
            return long.len() as u64;
        }
        short.iter().enumerate().for_each(|(place, byte)| self.0[usize::from(*byte)] |= 1 << place);
        let last = 1u64 << (short.len() - 1);
        let (mut rises, mut falls) = (u64::MAX, 0u64);
        let (mut diagonal, mut equal_before) = (0u64, 0u64);
        let mut distance = short.len() as u64;
        for byte in long {
            let equal = self.0[usize::from(*byte)];
            let swapped = if swaps { ((!diagonal & equal) << 1) & equal_before } else { 0 };
            diagonal = ((equal & rises).wrapping_add(rises) ^ rises) | equal | falls | swapped;
            let rises_ahead = falls | !(diagonal | rises);
            let falls_ahead = diagonal & rises;
            distance += u64::from(rises_ahead & last != 0);
            distance -= u64::from(falls_ahead & last != 0);
            let rises_ahead = rises_ahead << 1 | 1;
            rises = (falls_ahead << 1) | !(diagonal | rises_ahead);
            falls = rises_ahead & diagonal;
            equal_before = equal;
        }
        short.iter().for_each(|byte| self.0[usize::from(*byte)] = 0);
        distance
    }
}

fn of_bytes(call: &Call, swaps: bool) -> Result<Column> {
    let mut places = Places::new();
    each(call, move |a, b| match (a.len().min(b.len()), swaps) {
        (..=WORD, _) => places.distance(a, b, swaps),
        (_, true) => damerau(a, b),
        (_, false) => edit(a, b),
    })
}

fn damerau(a: &[u8], b: &[u8]) -> u64 {
    let mut before: Vec<u64> = vec![0; b.len() + 1];
    let mut previous: Vec<u64> = (0..=b.len() as u64).collect();
    let mut current = before.clone();
    for (i, x) in a.iter().enumerate() {
        current[0] = i as u64 + 1;
        for (j, y) in b.iter().enumerate() {
            let mut least = (previous[j] + u64::from(x != y)).min(previous[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            current[j + 1] = least;
        }
        // Rows trade places: none is allocated for each byte.
        std::mem::swap(&mut before, &mut previous);
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}
