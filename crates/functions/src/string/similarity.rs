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
    execute: |call| each(call, jaccard),
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
    execute: |call| each(call, jaro),
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
        each(call, |a, b| {
            let similarity = jaro(a, b);
            if similarity <= 0.7 {
                return similarity;
            }
            let prefix = a.iter().zip(b).take(4).take_while(|(x, y)| x == y).count();
            similarity + 0.1 * prefix as f64 * (1.0 - similarity)
        })
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::Text, Kind::Text])?;
    Ok(DataType::Float64.into())
}

fn each(call: &Call, similarity: impl Fn(&[u8], &[u8]) -> f64) -> Result<Column> {
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    let values = (0..call.n_rows).map(|row| similarity(a.get(row), b.get(row)));
    Ok(Vector::from(values.collect::<Vec<f64>>()).into())
}

fn jaccard<T: Copy + Eq + Hash>(a: &[T], b: &[T]) -> f64 {
    let (x, y): (HashSet<T>, HashSet<T>) = (a.iter().copied().collect(), b.iter().copied().collect());
    let both = x.intersection(&y).count();
    both as f64 / (x.len() + y.len() - both).max(1) as f64
}

fn jaro(a: &[u8], b: &[u8]) -> f64 {
    // As the kernel has it: the length of the other one.
    if a.is_empty() || b.is_empty() {
        return (a.len() + b.len()) as f64;
    }
    let reach = (a.len().max(b.len()) / 2).saturating_sub(1);
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
    let swapped = matched.iter().zip(others).filter(|(x, y)| x != y).count() as f64 / 2.0;
    let m = matched.len() as f64;
    (m / a.len() as f64 + m / b.len() as f64 + (m - swapped) / m) * (1.0 / 3.0)
}
