//! `multiSearchAny` and its kin: several needles in one string.

use super::masks;
use super::position::{Fold, SHORT, find_once, find_prepared};
use super::sweep;
use crate::lists::list_of;
use crate::string_args::{StringArg, count_chars};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Strings, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction, Search,
};
use chalet_types::{DataType, Value};
use memchr::memmem::Finder;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Any,
    FirstPosition,
    FirstIndex,
    AllPositions,
}

struct MultiSearch {
    record: Record,
    answer: Answer,
    fold: Fold,
    chars: bool,
}

macro_rules! searches {
    ($($name:literal $answer:ident $fold:ident $chars:literal $search:ident $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[MultiSearch] = &[$(MultiSearch {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                search: Search::$search,
                ..Record::DEFAULT
            },
            answer: Answer::$answer,
            fold: Fold::$fold,
            chars: $chars,
        }),*];
    };
}

searches! {
    "multiSearchAny" Any Exact false AnySubstring
        "Whether any of the needles occurs in a string." "multiSearchAny(haystack, [needle1, ...])"
        "SELECT multiSearchAny('ClickHouse', ['C', 'H'])" => "1";
    "multiSearchAnyCaseInsensitive" Any Ascii false No
        "As multiSearchAny, without regard to the case of ASCII letters." "multiSearchAnyCaseInsensitive(haystack, [needle1, ...])"
        "SELECT multiSearchAnyCaseInsensitive('ClickHouse', ['c', 'x'])" => "1";
    "multiSearchAnyUTF8" Any Exact true No
        "As multiSearchAny, for UTF-8." "multiSearchAnyUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchAnyUTF8('ClickHouse', ['C', 'H'])" => "1";
    "multiSearchAnyCaseInsensitiveUTF8" Any Unicode true No
        "As multiSearchAny, without regard to case." "multiSearchAnyCaseInsensitiveUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchAnyCaseInsensitiveUTF8('Привет', ['ВЕТ'])" => "1";
    "multiSearchFirstPosition" FirstPosition Exact false No
        "The leftmost position of any of the needles; 0 when there is none." "multiSearchFirstPosition(haystack, [needle1, ...])"
        "SELECT multiSearchFirstPosition('Hello World', ['llo', 'Wor', 'ld'])" => "3";
    "multiSearchFirstPositionCaseInsensitive" FirstPosition Ascii false No
        "As multiSearchFirstPosition, without regard to the case of ASCII letters." "multiSearchFirstPositionCaseInsensitive(haystack, [needle1, ...])"
        "SELECT multiSearchFirstPositionCaseInsensitive('HELLO', ['llo'])" => "3";
    "multiSearchFirstPositionUTF8" FirstPosition Exact true No
        "As multiSearchFirstPosition, in characters." "multiSearchFirstPositionUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchFirstPositionUTF8('Привет', ['вет'])" => "4";
    "multiSearchFirstPositionCaseInsensitiveUTF8" FirstPosition Unicode true No
        "As multiSearchFirstPositionUTF8, without regard to case." "multiSearchFirstPositionCaseInsensitiveUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchFirstPositionCaseInsensitiveUTF8('Привет', ['ВЕТ'])" => "4";
    "multiSearchFirstIndex" FirstIndex Exact false No
        "The number of the first of the needles that occurs, from 1; 0 when none does." "multiSearchFirstIndex(haystack, [needle1, ...])"
        "SELECT multiSearchFirstIndex('Hello World', ['World', 'Hello'])" => "1";
    "multiSearchFirstIndexCaseInsensitive" FirstIndex Ascii false No
        "As multiSearchFirstIndex, without regard to the case of ASCII letters." "multiSearchFirstIndexCaseInsensitive(haystack, [needle1, ...])"
        "SELECT multiSearchFirstIndexCaseInsensitive('Hello', ['x', 'LLO'])" => "2";
    "multiSearchFirstIndexUTF8" FirstIndex Exact true No
        "As multiSearchFirstIndex, for UTF-8." "multiSearchFirstIndexUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchFirstIndexUTF8('Hello', ['x', 'llo'])" => "2";
    "multiSearchFirstIndexCaseInsensitiveUTF8" FirstIndex Unicode true No
        "As multiSearchFirstIndex, without regard to case." "multiSearchFirstIndexCaseInsensitiveUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchFirstIndexCaseInsensitiveUTF8('Привет', ['x', 'ВЕТ'])" => "2";
    "multiSearchAllPositions" AllPositions Exact false No
        "The positions of the first occurrences of the needles." "multiSearchAllPositions(haystack, [needle1, ...])"
        "SELECT multiSearchAllPositions('Hello, World!', ['hello', '!', 'world'])" => "[0,13,0]";
    "multiSearchAllPositionsCaseInsensitive" AllPositions Ascii false No
        "As multiSearchAllPositions, without regard to the case of ASCII letters." "multiSearchAllPositionsCaseInsensitive(haystack, [needle1, ...])"
        "SELECT multiSearchAllPositionsCaseInsensitive('Hello', ['hello', 'LO'])" => "[1,4]";
    "multiSearchAllPositionsUTF8" AllPositions Exact true No
        "As multiSearchAllPositions, in characters." "multiSearchAllPositionsUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchAllPositionsUTF8('Привет', ['вет', 'x'])" => "[4,0]";
    "multiSearchAllPositionsCaseInsensitiveUTF8" AllPositions Unicode true No
        "As multiSearchAllPositionsUTF8, without regard to case." "multiSearchAllPositionsCaseInsensitiveUTF8(haystack, [needle1, ...])"
        "SELECT multiSearchAllPositionsCaseInsensitiveUTF8('Привет', ['ВЕТ', 'x'])" => "[4,0]";
}

/// As many needles are taken, as in the kernel.
const MOST_NEEDLES: usize = 255;

impl ScalarFunction for &'static MultiSearch {
    fn record(&self) -> &'static Record {
        let function: &'static MultiSearch = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 2..=2)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}",
            args[0].ty
        );
        let needles = args[1].ty.element();
        ensure!(
            matches!(needles, Some(DataType::String)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}",
            args[1].ty
        );
        match &args[1].constant {
            Some(Value::Array(items)) if self.answer == Answer::AllPositions => ensure!(
                items.len() <= MOST_NEEDLES,
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Number of arguments for function {name} doesn't match: passed {}, should be at most {MOST_NEEDLES}",
                items.len()
            ),
            _ => {}
        }
        Ok(match self.answer {
            Answer::Any => DataType::UInt8,
            Answer::FirstPosition | Answer::FirstIndex => DataType::UInt64,
            Answer::AllPositions => DataType::UInt64.array(),
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let haystacks = StringArg::of(call, 0)?;
        let is_constant = call.args[1].constant;
        // A constant list has one row, which is that of all.
        let lists = match is_constant {
            true => call.vector(1).list()?.normalised(),
            false => list_of(&call.args[1], call.n_rows)?,
        };
        let needles = if lists.values.is_empty() { None } else { Some(lists.values.strings()?) };
        // What is the same for all rows is prepared once.
        let constant: Option<Vec<Finder>> = is_constant.then(|| {
            let folded = lists
                .range(0)
                .map(|needle| self.fold.apply(needles.map_or(b"", |needles| needles.get(needle))));
            folded.map(|needle| Finder::new(&needle).into_owned()).collect()
        });
        if let (Some(needles), Fold::Exact, Answer::Any | Answer::FirstIndex) =
            (&constant, self.fold, self.answer)
        {
            let haystacks = haystacks.strings(call.n_rows);
            return Ok(self.swept(&haystacks, needles));
        }
        let starts = constant.as_ref().and_then(|needles| self.starts(needles));
        let mut positions: Vec<u64> = Vec::new();
        let mut offsets = vec![0i64];
        let mut answers: Vec<u64> = Vec::with_capacity(call.n_rows);
        let (mut scratch, mut needle_scratch) = (Vec::new(), Vec::new());
        for row in 0..call.n_rows {
            if let (Some(starts), text @ [_, ..]) = (&starts, haystacks.get(row))
                && text.len() <= SHORT
            {
                let place = starts.first(text).map_or(0, |place| place as u64 + 1);
                answers.push(if self.answer == Answer::Any { place.min(1) } else { place });
                continue;
            }
            let (haystack, is_any_case) = self.fold.searched(haystacks.get(row), &mut scratch);
            let range = lists.range(if is_constant { 0 } else { row });
            let start = range.start;
            let mut places = range.map(|needle| {
                let found = match &constant {
                    Some(finders) if is_any_case => {
                        masks::find_any_case(haystack, finders[needle - start].needle())
                    }
                    Some(finders) => find_prepared(haystack, &finders[needle - start]),
                    None => {
                        let needle = needles.map_or(&b""[..], |needles| needles.get(needle));
                        let needle = self.fold.apply_in(needle, &mut needle_scratch);
                        match is_any_case {
                            true => masks::find_any_case(haystack, needle),
                            false => find_once(haystack, needle),
                        }
                    }
                };
                match found {
                    // Nothing is found in an empty string, not even another one.
                    _ if haystack.is_empty() => 0,
                    None => 0,
                    Some(place) if self.chars => count_chars(&haystack[..place]) as u64 + 1,
                    Some(place) => place as u64 + 1,
                }
            });
            match self.answer {
                Answer::FirstPosition => answers.push(places.filter(|&place| place > 0).min().unwrap_or(0)),
                Answer::FirstIndex => {
                    answers.push(places.position(|place| place > 0).map_or(0, |index| index as u64 + 1));
                }
                Answer::Any => answers.push(u64::from(places.any(|place| place > 0))),
                Answer::AllPositions => {
                    positions.extend(places);
                    offsets.push(positions.len() as i64);
                }
            }
        }
        Ok(match self.answer {
            Answer::AllPositions => crate::lists::list(offsets, positions.into()).into(),
            Answer::Any => Vector::from(answers.into_iter().map(|x| x as u8).collect::<Vec<u8>>()).into(),
            _ => Vector::from(answers).into(),
        })
    }
}

impl MultiSearch {
    /// Each needle in all strings at once, for answers that do not say where it is.
    fn swept(&self, haystacks: &Strings, needles: &[Finder<'static>]) -> Column {
        // Nothing is found in an empty string, not even another one.
        let is_searched = |row: usize| haystacks.views()[row] as u32 > 0;
        if self.answer == Answer::Any {
            let mut answers = vec![0u8; haystacks.len()];
            for needle in needles {
                sweep::contains(haystacks, needle, |row| answers[row] |= u8::from(is_searched(row)));
            }
            return Vector::from(answers).into();
        }
        let mut answers = vec![0u64; haystacks.len()];
        for (index, needle) in needles.iter().enumerate().rev() {
            let found = |row: usize| {
                if is_searched(row) {
                    answers[row] = index as u64 + 1;
                }
            };
            sweep::contains(haystacks, needle, found);
        }
        Vector::from(answers).into()
    }

    /// For short texts in which any of the needles will do, without regard to the case of ASCII letters.
    fn starts<'a>(&self, needles: &'a [Finder<'static>]) -> Option<Starts<'a>> {
        let any = matches!(self.answer, Answer::Any | Answer::FirstPosition) && self.fold == Fold::Ascii;
        let needles: Vec<&[u8]> = needles.iter().map(Finder::needle).collect();
        if !any || needles.is_empty() {
            return None;
        }
        let mut begins = [false; 256];
        for needle in &needles {
            let first = *needle.first()?;
            begins[usize::from(first)] = true;
            begins[usize::from(first.to_ascii_uppercase())] = true;
        }
        Some(Starts { needles, begins })
    }
}

/// Needles in lower case, none of which is empty, and the bytes that they begin with in either case.
struct Starts<'a> {
    needles: Vec<&'a [u8]>,
    begins: [bool; 256],
}

impl Starts<'_> {
    /// Where the first of the needles begins.
    fn first(&self, text: &[u8]) -> Option<usize> {
        let is_here = |&at: &usize| {
            self.begins[usize::from(text[at])]
                && self.needles.iter().any(|needle| {
                    let some = text[at..].get(..needle.len());
                    some.is_some_and(|some| some.eq_ignore_ascii_case(needle))
                })
        };
        (0..text.len()).find(is_here)
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
