//! `stringJaccardIndex`, `jaroSimilarity`, `jaroWinklerSimilarity`: how alike two strings are.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use std::hash::Hash;

const SIMILARITY: Record = Record { constants: Constants::Seen, ..Record::DEFAULT };

pub static JACCARD: Plain = Plain {
    record: Record {
        name: "stringJaccardIndex",
        summary: "The number of different bytes that two strings share, divided by that of either.",
        syntax: "stringJaccardIndex(s1, s2)",
        examples: &[Example { sql: "SELECT stringJaccardIndex('clickhouse', 'mouse')", result: "0.4" }],
        ..SIMILARITY
    },
    bind,
    execute: |call| each(call, jaccard_of_bytes),
};

pub static JACCARD_UTF8: Plain = Plain {
    record: Record {
        name: "stringJaccardIndexUTF8",
        summary: "As stringJaccardIndex, of characters.",
        syntax: "stringJaccardIndexUTF8(s1, s2)",
        examples: &[Example {
            sql: "SELECT stringJaccardIndexUTF8('我爱你', '我也爱你')", result: "0.75"
        }],
        ..SIMILARITY
    },
    bind,
    execute: |call| {
        let chars = |text: &[u8]| String::from_utf8_lossy(text).chars().collect::<Vec<char>>();
        each(call, move |a, b| jaccard(&chars(a), &chars(b)))
    },
};

pub static JARO: Plain = Plain {
    record: Record {
        name: "jaroSimilarity",
        summary: "Jaro's similarity of two strings, between 0 and 1.",
        syntax: "jaroSimilarity(s1, s2)",
        examples: &[Example {
            sql: "SELECT jaroSimilarity('clickhouse', 'click')",
            result: "0.8333333333333333",
        }],
        ..SIMILARITY
    },
    bind,
    execute: |call| {
        let mut places = [0; 256];
        each(call, |a, b| jaro(a, b, &mut places))
    },
};

pub static JARO_WINKLER: Plain = Plain {
    record: Record {
        name: "jaroWinklerSimilarity",
        summary: "Jaro's similarity with Winkler's bonus for a common prefix.",
        syntax: "jaroWinklerSimilarity(s1, s2)",
        examples: &[Example {
            sql: "SELECT jaroWinklerSimilarity('clickhouse', 'click')",
            result: "0.8999999999999999",
        }],
        ..SIMILARITY
    },
    bind,
    execute: |call| {
        let mut places = [0; 256];
        each(call, |a, b| {
            let similarity = jaro(a, b, &mut places);
            if similarity <= 0.7 {
                return similarity;
            }
            let prefix = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count();
            similarity + 0.1 * prefix as f64 * (1.0 - similarity)
        })
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::String, Kind::String])?;
    Ok(DataType::Float64.into())
}

fn each(call: &Call, mut similarity: impl FnMut(&[u8], &[u8]) -> f64) -> Result<Column> {
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let values = (0..call.n_rows).map(|row| similarity(a.get(row), b.get(row)));
    Ok(Vector::from(values.collect::<Vec<f64>>()).into())
}

/// [`jaccard`] of bytes. Long texts have a flag for each byte, since a set of bits waits for its own last change; short ones have the bits,
/// of which there are fewer to count.
fn jaccard_of_bytes(a: &[u8], b: &[u8]) -> f64 {
    const SHORT: usize = 128;
    let (both, either) = if a.len() + b.len() <= SHORT {
        let set = |text: &[u8]| {
            let mut set = [0u64; 4];
            text.iter().for_each(|&byte| set[usize::from(byte >> 6)] |= 1 << (byte & 63));
            set
        };
        let (x, y) = (set(a), set(b));
        let count =
            |both: fn(u64, u64) -> u64| x.iter().zip(y).map(|(&x, y)| both(x, y).count_ones()).sum::<u32>();
        (count(|x, y| x & y), count(|x, y| x | y))
    } else {
        let set = |text: &[u8]| {
            let mut set = [0u8; 256];
            text.iter().for_each(|&byte| set[usize::from(byte)] = 1);
            set
        };
        let (x, y) = (set(a), set(b));
        let count = |both: fn(u8, u8) -> u8| {
            let flags = x.iter().zip(y).map(|(&x, y)| u16::from(both(x, y)));
            u32::from(flags.sum::<u16>())
        };
        (count(|x, y| x & y), count(|x, y| x | y))
    };
    f64::from(both) / f64::from(either.max(1))
}

fn jaccard<T: Copy + Eq + Hash>(a: &[T], b: &[T]) -> f64 {
    let (x, y): (HashSet<T>, HashSet<T>) = (a.iter().copied().collect(), b.iter().copied().collect());
    let both = x.intersection(&y).count();
    both as f64 / (x.len() + y.len() - both).max(1) as f64
}

/// Bits for the places of each byte.
type Places = [u64; 256];

fn jaro(a: &[u8], b: &[u8], places: &mut Places) -> f64 {
    // As the kernel has it: the length of the other one.
    if a.is_empty() || b.is_empty() {
        return (a.len() + b.len()) as f64;
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
    if a.len().max(b.len()) <= 64 {
        return jaro_of_short(a, b, reach, places);
    }
    let mut taken = vec![false; b.len()];
    let mut matched = Vec::new();
    for (i, x) in a.iter().enumerate() {
        let window = i.saturating_sub(reach)..(i + reach + 1).min(b.len());
        if let Some(j) = window.clone().find(|&j| !taken[j] && b[j] == *x) {
            taken[j] = true;
            matched.push(*x);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let others = b.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(y, _)| y);
    let swapped = matched.iter().zip(others).filter(|(x, y)| x != y).count();
    of_matches(a, b, matched.len(), swapped)
}

/// Jaro's similarity of strings with so many matching bytes, of which so many stand elsewhere.
fn of_matches(a: &[u8], b: &[u8], matched: usize, swapped: usize) -> f64 {
    let (m, swapped) = (matched as f64, swapped as f64 / 2.0);
    (m / a.len() as f64 + m / b.len() as f64 + (m - swapped) / m) * (1.0 / 3.0)
}

/// [`jaro`] of strings of at most 64 bytes: what is taken are bits. `places` are bits for the places of each byte, none of which is
/// set before and after.
fn jaro_of_short(a: &[u8], b: &[u8], reach: usize, places: &mut Places) -> f64 {
    let (mut taken, mut matched) = (0u64, 0u64);
    b.iter().enumerate().for_each(|(j, y)| places[usize::from(*y)] |= 1 << j);
    // As many bits from the least on; no more than 64 are asked for.
    let ones = |n: usize| if n == 0 { 0 } else { u64::MAX >> (64 - n) };
    for (i, x) in a.iter().enumerate() {
        let near = ones((i + reach + 1).min(b.len())) & !ones(i.saturating_sub(reach));
        let free = &mut places[usize::from(*x)];
        let found = *free & near;
        // The first of them, or no bit.
        let first = found & found.wrapping_neg();
        *free ^= first;
        taken |= first;
        matched |= u64::from(found != 0) << i;
    }
    b.iter().for_each(|y| places[usize::from(*y)] = 0);
    if matched == 0 {
        return 0.0;
    }
    let n = matched.count_ones() as usize;
    let mut swapped = 0;
    while matched != 0 {
        swapped += usize::from(a[matched.trailing_zeros() as usize] != b[taken.trailing_zeros() as usize]);
        matched &= matched - 1;
        taken &= taken - 1;
    }
    of_matches(a, b, n, swapped)
}
