//! `extractGroups`, `extractAllGroupsVertical`, `extractAllGroupsHorizontal`: the groups of matches.

use super::regexp::compile;
use super::shared_regex::SharedRegex;
use crate::lists::list;
use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, constant_text, expect, part_lists};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Parts, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Example, Record};
use chalet_types::DataType;
use regex::bytes::Captures;
use std::ops::Range;

pub static FIRST: Plain = Plain {
    record: Record {
        name: "extractGroups",
        summary: "The groups of the first match of a constant regular expression.",
        syntax: "extractGroups(haystack, pattern)",
        examples: &[Example {
            sql: "SELECT extractGroups('hello abc=111 world', '(\\\\w+)=(\\\\w+)')",
            result: "['abc','111']",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String.array()),
    execute: |call| {
        let regex = &call.state::<SharedRegex>()?.of_thread();
        part_lists(call, 0, |_, text, out| {
            out.extend(regex.captures(text).iter().flat_map(groups));
            Ok(())
        })
    },
};

pub static VERTICAL: Plain = Plain {
    record: Record {
        name: "extractAllGroupsVertical",
        aliases: &["extractAllGroups"],
        summary: "For each match of a constant regular expression the array of its groups.",
        syntax: "extractAllGroupsVertical(haystack, pattern)",
        examples: &[Example {
            sql: "SELECT extractAllGroupsVertical('abc=111, def=222', '(\\\\w+)=(\\\\w+)')",
            result: "[['abc','111'],['def','222']]",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String.array().array()),
    execute: |call| execute(call, false),
};

pub static HORIZONTAL: Plain = Plain {
    record: Record {
        name: "extractAllGroupsHorizontal",
        summary: "For each group of a constant regular expression the array of what it matched.",
        syntax: "extractAllGroupsHorizontal(haystack, pattern)",
        examples: &[Example {
            sql: "SELECT extractAllGroupsHorizontal('abc=111, def=222', '(\\\\w+)=(\\\\w+)')",
            result: "[['abc','def'],['111','222']]",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, DataType::String.array().array()),
    execute: |call| execute(call, true),
};

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    expect(name, args, 2, &[Kind::Text, Kind::ConstAnyText])?;
    let pattern = constant_text(name, args, 1)?;
    ensure!(!pattern.is_empty(), BAD_ARGUMENTS, "Length of 'needle' argument must be greater than 0");
    let regex = compile(pattern, "")?;
    ensure!(
        regex.captures_len() > 1,
        BAD_ARGUMENTS,
        "There are no groups in regexp: {}",
        String::from_utf8_lossy(pattern)
    );
    Ok(Bound::with_state(result, regex))
}

/// The groups of a match; those that took no part are empty.
fn groups(found: &Captures) -> Vec<Range<usize>> {
    found.iter().skip(1).map(|group| group.map_or(0..0, |group| group.range())).collect()
}

fn execute(call: &Call, by_group: bool) -> Result<Column> {
    let regex = &call.state::<SharedRegex>()?.of_thread();
    let n_groups = regex.captures_len() - 1;
    let most = call.ctx.settings.regexp_max_matches_per_row;
    let strings = StringArg::of(call, 0)?.strings(call.n_rows);
    let mut out = Parts::of(&strings, call.n_rows);
    let (mut inner, mut outer) = (vec![0i64], vec![0i64]);
    for row in 0..call.n_rows {
        let matches: Vec<Vec<Range<usize>>> =
            regex.captures_iter(strings.get(row)).map(|found| groups(&found)).collect();
        ensure!(
            !by_group || matches.len() as u64 <= most,
            TOO_LARGE_ARRAY_SIZE,
            "Too many matches per row (> {most}) in the result of function extractAllGroupsHorizontal"
        );
        if by_group {
            for group in 0..n_groups {
                matches.iter().for_each(|groups| out.push(row, groups[group].clone()));
                inner.push(out.len() as i64);
            }
        } else {
            for groups in matches {
                groups.into_iter().for_each(|group| out.push(row, group));
                inner.push(out.len() as i64);
            }
        }
        outer.push(inner.len() as i64 - 1);
    }
    Ok(list(outer, list(inner, Vector::from(out.finish()))).into())
}
