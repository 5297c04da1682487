//! `countSubstrings`, `countMatches` and their forms: how often something occurs in a string, without overlap.

use super::pattern::is_literal;
use super::position::{Fold, find_once, find_prepared, skip};
use super::regexp::compile;
use super::shared_regex::SharedRegex;
use crate::string_args::{Kind, StringArg, constant_text, expect, integers};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::DataType;
use memchr::memmem::Finder;
use regex::bytes::Regex;

struct Count {
    record: Record,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Substring { fold: Fold, chars: bool },
    Match { flags: &'static str },
}

macro_rules! counts {
    ($($name:literal $any_case:literal $what:expr, $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Count] = &[$(Count {
            record: Record {
                name: $name,
                case_insensitive: $any_case,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                takes_enum: matches!($what, What::Substring { .. }),
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            what: $what,
        }),*];
    };
}

counts! {
    "countSubstrings" true What::Substring { fold: Fold::Exact, chars: false },
        "How often a needle occurs in a string, from a start on when one is given."
        "countSubstrings(haystack, needle[, start])" "SELECT countSubstrings('aaaa', 'aa')" => "2";
    "countSubstringsCaseInsensitive" false What::Substring { fold: Fold::Ascii, chars: false },
        "As countSubstrings, without regard to the case of ASCII letters."
        "countSubstringsCaseInsensitive(haystack, needle[, start])" "SELECT countSubstringsCaseInsensitive('AAAA', 'aa')" => "2";
    "countSubstringsCaseInsensitiveUTF8" false What::Substring { fold: Fold::Unicode, chars: true },
        "As countSubstrings, without regard to case."
        "countSubstringsCaseInsensitiveUTF8(haystack, needle[, start])" "SELECT countSubstringsCaseInsensitiveUTF8('ложка, КОШКА', 'ка')" => "2";
    "countMatches" false What::Match { flags: "" },
        "How often a regular expression matches in a string."
        "countMatches(haystack, pattern)" "SELECT countMatches('foobar.com', 'o+')" => "2";
    "countMatchesCaseInsensitive" false What::Match { flags: "i" },
        "As countMatches, without regard to case."
        "countMatchesCaseInsensitive(haystack, pattern)" "SELECT countMatchesCaseInsensitive('AAAA', 'aa')" => "2";
}

struct Matches {
    /// Of a pattern that matches itself alone.
    literal: Option<Finder<'static>>,
    regex: SharedRegex,
    /// `count_matches_stop_at_empty_match`: nothing counts behind an empty match.
    stops_at_empty: bool,
}

impl ScalarFunction for &'static Count {
    fn record(&self) -> &'static Record {
        let function: &'static Count = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        match self.what {
            What::Substring { .. } => {
                expect(self.record.name, args, 2, &[Kind::StringColumn, Kind::String, Kind::Integer])?;
                let is_constant = |index: usize| args.get(index).is_none_or(|arg| arg.constant.is_some());
                ensure!(
                    !(is_constant(0) && is_constant(1)) || is_constant(2),
                    ILLEGAL_COLUMN,
                    "Illegal columns Const(String) and Const(String) of arguments of function {}",
                    self.record.name
                );
                Ok(DataType::UInt64.into())
            }
            What::Match { flags } => {
                expect(self.record.name, args, 2, &[Kind::Text, Kind::ConstText])?;
                let pattern = constant_text(self.record.name, args, 1)?;
                let regex = compile(pattern, flags)?;
                let literal = flags.is_empty() && !pattern.is_empty() && is_literal(pattern);
                let literal = literal.then(|| Finder::new(pattern).into_owned());
                let stop = (ctx.settings.all.0)("count_matches_stop_at_empty_match");
                let stops_at_empty = stop.is_some_and(|(value, _)| value.as_u64() == Some(1));
                Ok(Bound::with_state(DataType::UInt64, Matches { literal, regex, stops_at_empty }))
            }
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        let mut counts: Vec<u64> = Vec::with_capacity(call.n_rows);
        match self.what {
            What::Match { .. } => {
                let Matches { literal, regex, stops_at_empty } = call.state()?;
                let regex = &regex.of_thread();
                let count = |row: usize| match (literal, stops_at_empty) {
                    (Some(finder), _) => {
                        count(texts.get(row), finder.needle(), |text| find_prepared(text, finder))
                    }
                    (None, true) => up_to_empty(regex, texts.get(row)),
                    (None, false) => regex.find_iter(texts.get(row)).filter(|m| !m.is_empty()).count() as u64,
                };
                counts.extend((0..call.n_rows).map(count));
            }
            What::Substring { fold, chars } => {
                let needles = StringArg::of(call, 1)?;
                let starts = if call.args.len() == 3 { Some(integers(call, 2)?) } else { None };
                let constant = needles.constant().map(|needle| Finder::new(&fold.apply(needle)).into_owned());
                let (mut scratch, mut needle_scratch) = (Vec::new(), Vec::new());
                for row in 0..call.n_rows {
                    let text = fold.apply_in(texts.get(row), &mut scratch);
                    let start =
                        starts.as_ref().map_or(0, |starts| (starts[row].max(0) as u64).saturating_sub(1));
                    let Some(from) = skip(text, start, chars) else {
                        counts.push(0);
                        continue;
                    };
                    counts.push(match &constant {
                        Some(finder) => {
                            count(&text[from..], finder.needle(), |text| find_prepared(text, finder))
                        }
                        None => {
                            let needle = fold.apply_in(needles.get(row), &mut needle_scratch);
                            count(&text[from..], needle, |text| find_once(text, needle))
                        }
                    });
                }
            }
        }
        Ok(Vector::from(counts).into())
    }
}

/// Occurrences of a needle without overlap; none of an empty one.
fn count(mut text: &[u8], needle: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> u64 {
    let mut count = 0;
    while !needle.is_empty()
        && let Some(place) = find(text)
    {
        count += 1;
        text = &text[place + needle.len()..];
    }
    count
}

/// Matches before the first empty one, which may stand right behind another.
fn up_to_empty(regex: &Regex, text: &[u8]) -> u64 {
    let (mut count, mut start) = (0, 0);
    while let Some(found) = regex.find_at(text, start).filter(|found| !found.is_empty()) {
        count += 1;
        start = found.end();
    }
    count
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
