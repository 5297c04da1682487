//! `extract`, `extractAll`, `regexpExtract`: what a regular expression matched.

use super::regexp::compile;
use super::shared_regex::SharedRegex;
use crate::plain::Plain;
use crate::string_args::{Kind, constant_text, expect, integers, part_lists, parts};
use chalet_base::{Result, ensure};
use chalet_function_api::{Argument, Bound, Constants, Example, Record};
use chalet_types::DataType;
use regex::bytes::Regex;
use std::ops::Range;

pub static ONE: Plain = Plain {
    record: Record {
        name: "extract",
        case_insensitive: true,
        summary: "The first match of a constant regular expression, or of its first group when it has one; empty when there is none.",
        syntax: "extract(haystack, pattern)",
        examples: &[Example { sql: "SELECT extract('number: 1, number: 2', '\\\\d+')", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String),
    execute: |call| {
        let regex = &call.state::<SharedRegex>()?.of_thread();
        parts(call, |_, text| group_at(regex, text, 0, wanted(regex)).map_or(0..0, |(_, group)| group))
    },
};

pub static ALL: Plain = Plain {
    record: Record {
        name: "extractAll",
        summary: "All matches of a constant regular expression, or of its first group when it has one.",
        syntax: "extractAll(haystack, pattern)",
        examples: &[Example {
            sql: "SELECT extractAll('number: 1, number: 2', '\\\\d+')",
            result: "['1','2']",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String.array()),
    execute: |call| {
        let regex = &call.state::<SharedRegex>()?.of_thread();
        part_lists(call, 0, |_, text, out| {
            let mut place = 0;
            while place < text.len()
                && let Some((whole, group)) = group_at(regex, text, place, wanted(regex))
            {
                if whole.is_empty() {
                    // An empty match ends the search, as in the kernel.
                    break;
                }
                out.push(group);
                place = whole.end;
            }
            Ok(())
        })
    },
};

pub static BY_INDEX: Plain = Plain {
    record: Record {
        name: "regexpExtract",
        any_case_aliases: &["REGEXP_EXTRACT", "REGEXP_SUBSTR"],
        summary: "The group of the given number (1 when left out, 0 for the whole) of the first match of a constant regular expression.",
        syntax: "regexpExtract(haystack, pattern[, index])",
        examples: &[Example {
            sql: "SELECT regexpExtract('100-200', '(\\\\d+)-(\\\\d+)', 2)",
            result: "200",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 2, &[Kind::String, Kind::ConstText, Kind::Integer])?;
        Ok(Bound::with_state(DataType::String, compile(constant_text(name, args, 1)?, "")?))
    },
    execute: |call| {
        let regex = &call.state::<SharedRegex>()?.of_thread();
        let default = i64::from(regex.captures_len() > 1);
        let indexes = if call.args.len() == 3 { integers(call, 2)? } else { vec![default; call.n_rows] };
        let most = regex.captures_len() as i64 - 1;
        for &index in &indexes {
            ensure!(
                (0..=most).contains(&index),
                INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
                "Index value {index} is out of range, should be in [0, {most}]"
            );
        }
        parts(call, |row, text| {
            group_at(regex, text, 0, indexes[row] as usize).map_or(0..0, |(_, group)| group)
        })
    },
};

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    expect(name, args, 2, &[Kind::String, Kind::ConstText])?;
    Ok(Bound::with_state(result, compile(constant_text(name, args, 1)?, "")?))
}

/// The first group if there is one.
fn wanted(regex: &Regex) -> usize {
    usize::from(regex.captures_len() > 1)
}

/// The next match and one of its groups, which is empty when it took no part.
fn group_at(regex: &Regex, text: &[u8], start: usize, group: usize) -> Option<(Range<usize>, Range<usize>)> {
    if group == 0 {
        let found = regex.find_at(text, start)?;
        return Some((found.range(), found.range()));
    }
    let found = regex.captures_at(text, start)?;
    let whole = found.get(0)?.range();
    Some((whole, found.get(group).map_or(0..0, |group| group.range())))
}
