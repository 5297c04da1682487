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
    execute: |call| each(call, edit),
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
    execute: |call| each(call, damerau),
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
    expect(name, args, 2, &[Kind::Text, Kind::Text])?;
    Ok(DataType::UInt64.into())
}

fn each(call: &Call, distance: impl Fn(&[u8], &[u8]) -> u64) -> Result<Column> {
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let mut out: Vec<u64> = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (x, y) = (a.get(row), b.get(row));
        ensure!(
            x.len() <= MAX_BYTES && y.len() <= MAX_BYTES,
            TOO_LARGE_STRING_SIZE,
            "The string size is too big for this function, should be at most {MAX_BYTES}"
        );
        out.push(distance(x, y));
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

fn damerau(a: &[u8], b: &[u8]) -> u64 {
    let mut before: Vec<u64> = vec![0; b.len() + 1];
    let mut previous: Vec<u64> = (0..=b.len() as u64).collect();
    for (i, x) in a.iter().enumerate() {
        let mut current = vec![i as u64 + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (previous[j] + u64::from(x != y)).min(previous[j + 1] + 1).min(current[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            current[j + 1] = least;
        }
        before = std::mem::replace(&mut previous, current);
    }
    previous[b.len()]
}
