//! `replaceRegexpOne` and `replaceRegexpAll`: matches of a regular expression replaced.

use super::first_match::FirstMatch;
use super::greedy::{GreedyPath, Outcome};
use super::matching::Cache;
use super::regexp::{compile, in_rust_syntax};
use super::shared_regex::SharedRegex;
use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, char_len, check_replaced, expect, parts, try_build};
use chalet_base::{Result, ensure, err};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use regex::bytes::Regex;
use std::ops::Range;

pub static ONE: Plain = Plain {
    record: Record {
        name: "replaceRegexpOne",
        summary: "The string with the first match of a regular expression replaced. In the replacement \\0 stands for the match and \\1 to \\9 for its groups.",
        syntax: "replaceRegexpOne(haystack, pattern, replacement)",
        examples: &[Example {
            sql: "SELECT replaceRegexpOne('2014-03-17', '(\\\\d{4})-(\\\\d{2})-(\\\\d{2})', '\\\\2/\\\\3/\\\\1')",
            result: "03/17/2014",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, true),
};

pub static ALL: Plain = Plain {
    record: Record {
        name: "replaceRegexpAll",
        any_case_aliases: &["REGEXP_REPLACE"],
        summary: "The string with all matches of a regular expression replaced. In the replacement \\0 stands for the match and \\1 to \\9 for its groups.",
        syntax: "replaceRegexpAll(haystack, pattern, replacement)",
        examples: &[Example {
            sql: "SELECT replaceRegexpAll('Hello', '.', '\\\\0\\\\0')",
            result: "HHeelllloo",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, false),
};

/// The compiled pattern when it is the same for all rows.
struct Compiled(Option<Pattern>);

struct Pattern {
    regex: SharedRegex,
    greedy: Option<GreedyPath>,
    /// Where the pattern is not anchored.
    anywhere: Option<GreedyPath>,
}

impl Pattern {
    /// The bytes of a group of a pattern that is anchored to both ends; the whole text where it does not match.
    fn group(
        &self,
        path: &GreedyPath,
        group: usize,
        text: &[u8],
        found: &mut Vec<Range<usize>>,
    ) -> Range<usize> {
        match path.run(text, found) {
            Outcome::Match => found[group].clone(),
            Outcome::NoMatch => 0..text.len(),
            Outcome::Unknown => match self.regex.captures(text) {
                Some(captures) => captures.get(group).map_or(0..0, |group| group.range()),
                None => 0..text.len(),
            },
        }
    }
}

enum Piece<'a> {
    Literal(&'a [u8]),
    Group(usize),
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 3, &[Kind::Text, Kind::String, Kind::String])?;
    check_replaced(name, args)?;
    let constant = |index: usize| args[index].constant.as_ref().and_then(|value| value.as_bytes());
    let Some(pattern) = constant(1) else { return Ok(Bound::with_state(DataType::String, Compiled(None))) };
    let regex = compiled(pattern)?;
    if let Some(replacement) = constant(2) {
        parse(replacement, &regex)?;
    }
    let syntax = in_rust_syntax(pattern);
    let (greedy, anywhere) = (GreedyPath::new(&syntax), GreedyPath::anywhere(&syntax));
    Ok(Bound::with_state(DataType::String, Compiled(Some(Pattern { regex, greedy, anywhere }))))
}

/// A pattern that cannot be compiled has a code of its own in these functions, as in the kernel.
fn compiled(pattern: &[u8]) -> Result<SharedRegex> {
    compile(pattern, "").map_err(|error| {
        let reason = error.message();
        let reason = reason.split_once("error: ").map_or(reason, |(_, reason)| reason);
        let reason = reason.split_once(". Look at").map_or(reason, |(reason, _)| reason);
        let text = String::from_utf8_lossy(pattern);
        err!(BAD_ARGUMENTS, "The pattern argument is not a valid re2 pattern: {reason}: {text}")
    })
}

fn parse<'a>(replacement: &'a [u8], regex: &Regex) -> Result<Vec<Piece<'a>>> {
    check_groups(replacement, regex)?;
    let mut pieces = Vec::new();
    let (mut start, mut place) = (0, 0);
    while place + 1 < replacement.len() {
        let next = replacement[place + 1];
        if replacement[place] != b'\\' {
            place += 1;
            continue;
        }
        pieces.push(Piece::Literal(&replacement[start..place]));
        // Before anything but a digit a backslash stands for nothing.
        start = place + 1;
        place += 2;
        if next.is_ascii_digit() {
            pieces.push(Piece::Group(usize::from(next - b'0')));
            start = place;
        }
    }
    pieces.push(Piece::Literal(&replacement[start..]));
    Ok(pieces)
}

/// Fails for a group that the pattern lacks. A backslash counts whatever stands before it, and an empty pattern, which nothing
/// is replaced by, is not looked at: both as in the kernel.
fn check_groups(replacement: &[u8], regex: &Regex) -> Result<()> {
    if regex.as_str().is_empty() {
        return Ok(());
    }
    for pair in replacement.windows(2) {
        let &[b'\\', digit @ b'0'..=b'9'] = pair else { continue };
        let group = usize::from(digit - b'0');
        ensure!(
            group < regex.captures_len(),
            BAD_ARGUMENTS,
            "Substitution '\\{group}' in replacement argument is invalid, regexp has only {} capturing groups",
            regex.captures_len() - 1
        );
    }
    Ok(())
}

/// The group that is all of a replacement.
fn single_group(pieces: &[Piece]) -> Option<usize> {
    let mut pieces = pieces.iter().filter(|piece| !matches!(piece, Piece::Literal(b"")));
    match (pieces.next(), pieces.next()) {
        (Some(Piece::Group(group)), None) => Some(*group),
        _ => None,
    }
}

fn execute(call: &Call, first_only: bool) -> Result<Column> {
    let Compiled(compiled) = call.state()?;
    let (texts, patterns, replacements) =
        (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
    let mut cache = Cache::new(self::compiled);
    let constant = match (compiled, replacements.constant()) {
        (Some(pattern), Some(replacement)) => {
            let pieces = parse(replacement, &pattern.regex)?;
            if let (Some(path), Some(group)) = (&pattern.greedy, single_group(&pieces)) {
                // The match is the whole text, so that what is left of it is a part of the text.
                let mut found = Vec::new();
                return parts(call, |_, text| pattern.group(path, group, text, &mut found));
            }
            Some((pattern.regex.of_thread(), pieces, pattern.anywhere.as_ref()))
        }
        _ => None,
    };
    if let Some((regex, pieces, path)) = constant {
        let mut finder = FirstMatch::new(&regex, path);
        return try_build(call.n_rows, |row, out| {
            replace(texts.get(row), &mut finder, &pieces, first_only, out);
            Ok(())
        });
    }
    let compiled = compiled.as_ref().map(|pattern| pattern.regex.of_thread());
    try_build(call.n_rows, |row, out| {
        let regex = match &compiled {
            Some(regex) => regex,
            None => &**cache.get(patterns.get(row))?,
        };
        let pieces = parse(replacements.get(row), regex)?;
        replace(texts.get(row), &mut FirstMatch::new(regex, None), &pieces, first_only, out);
        Ok(())
    })
}

/// Puts a text out with its matches replaced.
fn replace(text: &[u8], finder: &mut FirstMatch, pieces: &[Piece], first_only: bool, out: &mut Vec<u8>) {
    // The kernel takes an empty pattern as none.
    if finder.is_of_nothing() {
        return out.extend_from_slice(text);
    }
    let asks_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
    let (mut copied, mut place) = (0, 0);
    while place <= text.len() {
        let Some(found) = finder.find(text, place, asks_groups) else { break };
        out.extend_from_slice(&text[copied..found.start]);
        for piece in pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Group(0) => out.extend_from_slice(&text[found.clone()]),
                Piece::Group(group) => {
                    if let Some(range) = finder.group(*group) {
                        out.extend_from_slice(&text[range]);
                    }
                }
            }
        }
        (copied, place) = (found.end, found.end);
        if first_only {
            break;
        }
        if found.is_empty() {
            // Behind an empty match, one character is copied as it is.
            let Some(&byte) = text.get(place) else { break };
            let end = (place + char_len(byte)).min(text.len());
            out.extend_from_slice(&text[place..end]);
            copied = end;
            place = end;
        }
    }
    out.extend_from_slice(&text[copied..]);
}
