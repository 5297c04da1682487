//! `extract`, `extractAll`, `regexpExtract`: what a regular expression matched.

use super::first_match::FirstMatch;
use super::greedy::GreedyPath;
use super::regexp::{compile, in_rust_syntax};
use super::shared_regex::SharedRegex;
use crate::plain::Plain;
use crate::string_args::{Kind, constant_text, expect, integers, part_lists, parts};
use chalet_base::{Result, ensure};
use chalet_function_api::{Argument, Bound, Constants, Example, Record};
use chalet_types::DataType;
use regex::bytes::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::HirKind;
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
        let compiled: &Compiled = call.state()?;
        let regex = compiled.regex.of_thread();
        let (mut matches, wanted) = (compiled.matches(&regex), compiled.wanted);
        parts(call, |_, text| group_at(&mut matches, text, 0, wanted).map_or(0..0, |(_, group)| group))
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
        let compiled: &Compiled = call.state()?;
        let regex = compiled.regex.of_thread();
        let (mut matches, wanted) = (compiled.matches(&regex), compiled.wanted);
        part_lists(call, 0, |_, text, out| {
            let mut place = 0;
            while place < text.len()
                && let Some((whole, group)) = group_at(&mut matches, text, place, wanted)
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
        Ok(Bound::with_state(DataType::String, Compiled::of(name, args)?))
    },
    execute: |call| {
        let compiled: &Compiled = call.state()?;
        let regex = compiled.regex.of_thread();
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
        let mut matches = compiled.matches(&regex);
        parts(call, |row, text| {
            group_at(&mut matches, text, 0, indexes[row] as usize).map_or(0..0, |(_, group)| group)
        })
    },
};

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    expect(name, args, 2, &[Kind::String, Kind::ConstText])?;
    Ok(Bound::with_state(result, Compiled::of(name, args)?))
}

struct Compiled {
    regex: SharedRegex,
    /// The way through short texts, where there is one.
    path: Option<GreedyPath>,
    /// The first group if there is one. One that is the whole expression is not asked for: a match alone is found several times as fast.
    wanted: usize,
}

impl Compiled {
    fn of(name: &str, args: &[Argument]) -> Result<Compiled> {
        let pattern = constant_text(name, args, 1)?;
        let regex = compile(pattern, "")?;
        let has_groups = regex.captures_len() > 1 && !is_one_group(regex.as_str());
        let path = GreedyPath::anywhere(&in_rust_syntax(pattern));
        Ok(Compiled { regex, path, wanted: usize::from(has_groups) })
    }

    fn matches<'a>(&'a self, regex: &'a Regex) -> FirstMatch<'a> {
        FirstMatch::new(regex, self.path.as_ref())
    }
}

/// The next match and one of its groups, which is empty when it took no part.
fn group_at(
    matches: &mut FirstMatch,
    text: &[u8],
    start: usize,
    group: usize,
) -> Option<(Range<usize>, Range<usize>)> {
    let whole = matches.find(text, start, group > 0)?;
    let of_group = if group == 0 { whole.clone() } else { matches.group(group).unwrap_or(0..0) };
    Some((whole, of_group))
}

/// Is all of an expression one group, whatever is inside?
fn is_one_group(expression: &str) -> bool {
    let parsed = ParserBuilder::new().utf8(false).build().parse(expression);
    parsed.is_ok_and(|parsed| match parsed.kind() {
        HirKind::Capture(group) => group.index == 1,
        _ => false,
    })
}
