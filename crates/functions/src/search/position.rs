//! `position` and its kin, `locate`: where a string occurs in another one.

use super::masks;
use crate::string_args::{Kind, StringArg, begins_char, count_chars, expect, integers};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, INLINE, Strings, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::DataType;
use memchr::memmem::{self, Finder};
use std::borrow::Cow;

/// How two strings are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    Exact,
    /// Without regard to the case of ASCII letters.
    Ascii,
    /// Without regard to the case of any letters.
    Unicode,
}

impl Fold {
    /// The text in the form in which it compares.
    pub fn apply<'a>(self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            Fold::Exact => Cow::Borrowed(text),
            Fold::Ascii => Cow::Owned(text.to_ascii_lowercase()),
            Fold::Unicode if text.is_ascii() => Cow::Owned(text.to_ascii_lowercase()),
            Fold::Unicode => match String::from_utf8_lossy(text) {
                Cow::Borrowed(valid) => Cow::Owned(valid.to_lowercase().into_bytes()),
                Cow::Owned(repaired) => Cow::Owned(repaired.to_lowercase().into_bytes()),
            },
        }
    }
}

impl Fold {
    /// As [`apply`](Self::apply), in a buffer that serves many texts.
    pub fn apply_in<'a>(self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
        if self == Fold::Exact {
            return text;
        }
        if self == Fold::Ascii || text.is_ascii() {
            lower_into(text, scratch);
        } else {
            *scratch = self.apply(text).into_owned();
        }
        scratch
    }

    /// The text in which to search for a needle that was folded, and whether it is as it was: then its case does not count.
    #[inline(always)]
    pub fn searched<'a>(self, text: &'a [u8], scratch: &'a mut Vec<u8>) -> (&'a [u8], bool) {
        let is_any_case = self == Fold::Ascii && text.len() <= SHORT_ANY_CASE;
        (if is_any_case { text } else { self.apply_in(text, scratch) }, is_any_case)
    }
}

/// The text with ASCII letters in lower case, eight bytes at a time.
fn lower_into(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.reserve(text.len() + 8);
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        out.extend_from_slice(&lower_word(u64::from_le_bytes(*word)).to_le_bytes());
    }
    if !rest.is_empty() {
        out.extend_from_slice(&lower_word(short_word(rest)).to_le_bytes());
        out.truncate(text.len());
    }
}

/// Fewer than 8 bytes as a word, with zeros behind them.
#[inline(always)]
pub fn short_word(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    // Where the halves overlap, they are equal.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (n - 4))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << (8 * (n - 2))
    } else {
        bytes.first().map_or(0, |&byte| byte.into())
    }
}

/// Sets the bit that upper and lower case differ in, in each byte that is an upper letter.
#[inline(always)]
fn lower_word(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let low = word & (0x7f * EACH);
    // Their highest bits say which bytes, but for that bit, are at least 'A', and which are beyond 'Z'.
    let from_a = low + (0x80 - u64::from(b'A')) * EACH;
    let beyond_z = low + (0x7f - u64::from(b'Z')) * EACH;
    let upper = (from_a ^ beyond_z) & !word & (0x80 * EACH);
    word | upper >> 2
}

/// Up to this many bytes are searched without preparing for the needle.
pub const SHORT: usize = 64;

const FEW_PLACES: usize = 16;

/// The first occurrence of a needle that is looked for once: preparing a search takes longer than searching a short text.
pub fn find_once(text: &[u8], needle: &[u8]) -> Option<usize> {
    if text.len() > SHORT {
        let Some((&first, rest)) = needle.split_first() else { return Some(0) };
        let last = text.len().checked_sub(needle.len())?;
        // Some places where the first byte stands are looked at before the search is prepared after all.
        let mut from = 0;
        for _ in 0..FEW_PLACES {
            let at = from + memchr::memchr(first, &text[from..=last])?;
            if text[at + 1..].starts_with(rest) {
                return Some(at);
            }
            from = at + 1;
            if from > last {
                return None;
            }
        }
        return memmem::find(&text[from..], needle).map(|at| from + at);
    }
    masks::find(text, needle)
}

/// Texts up to this length are searched without regard to case as they are; longer ones are put into lower case, and the search prepared.
const SHORT_ANY_CASE: usize = 256;

/// [`find_once`] where the search was prepared, which is quicker in texts of any length (2026-11-27: 5 to 8 ns for 40 bytes, 8 to 16 without).
#[inline]
pub fn find_prepared(text: &[u8], finder: &Finder) -> Option<usize> {
    finder.find(text)
}

/// For each string, the place of the needle's first occurrence from 1, else 0.
fn bytes_before(strings: &Strings, finder: &Finder) -> Vec<u64> {
    let needle = finder.needle();
    let place = |(view, text): (&u128, &[u8])| {
        let found = match text.len() <= INLINE {
            // Most texts of queries are so short: one register has all of them.
            true => masks::find_in_view(*view, text.len(), needle),
            false => find_prepared(text, finder),
        };
        found.map_or(0, |place| place as u64 + 1)
    };
    strings.views().iter().zip(strings.iter()).map(place).collect()
}

struct Position {
    record: Record,
    fold: Fold,
    /// Positions count characters, else bytes.
    chars: bool,
    /// The needle comes first.
    needle_first: bool,
}

macro_rules! positions {
    ($($name:literal $any_case:literal $aliases:expr, $fold:ident $chars:literal $needle_first:literal $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Position] = &[$(Position {
            record: Record {
                name: $name,
                case_insensitive: $any_case,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                takes_enum: !$needle_first,
                constants: Constants::Seen,
                total: true,
                ..Record::DEFAULT
            },
            fold: Fold::$fold,
            chars: $chars,
            needle_first: $needle_first,
        }),*];
    };
}

positions! {
    "position" true &[], Exact false false
        "The position of the first occurrence of a needle in bytes from 1, from a start on when one is given; 0 when there is none."
        "position(haystack, needle[, start])" "SELECT position('Hello, world!', '!'), position('o' IN 'Hello, world!')" => "13\t5";
    "positionCaseInsensitive" false &["instr"], Ascii false false
        "As position, without regard to the case of ASCII letters."
        "positionCaseInsensitive(haystack, needle[, start])" "SELECT positionCaseInsensitive('Hello, world!', 'hello')" => "1";
    "positionUTF8" false &[], Exact true false
        "As position, in characters."
        "positionUTF8(haystack, needle[, start])" "SELECT positionUTF8('Motörhead', 'r')" => "5";
    "positionCaseInsensitiveUTF8" false &[], Unicode true false
        "As positionUTF8, without regard to case."
        "positionCaseInsensitiveUTF8(haystack, needle[, start])" "SELECT positionCaseInsensitiveUTF8('Привет', 'В')" => "4";
    "locate" true &[], Exact false true
        "As position, with the needle first."
        "locate(needle, haystack[, start])" "SELECT locate('ca', 'abcabc')" => "3";
}

impl ScalarFunction for &'static Position {
    fn record(&self) -> &'static Record {
        let function: &'static Position = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let (haystack, kinds) = match self.needle_first {
            false => (0, [Kind::Text, Kind::String, Kind::Integer]),
            true => (1, [Kind::String, Kind::Text, Kind::Integer]),
        };
        expect(self.record.name, args, 2, &kinds)?;
        ensure!(
            args[haystack].constant.is_some() || args[haystack].ty == DataType::String,
            ILLEGAL_COLUMN,
            "Function '{}' doesn't support FixedString haystack argument",
            self.record.name
        );
        if let Some(start) = args.get(2) {
            ensure!(
                start.ty.is_unsigned()
                    || start.constant.as_ref().is_some_and(|value| value.as_u64().is_some()),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {}",
                start.ty,
                self.record.name
            );
        }
        Ok(DataType::UInt64.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (haystack, needle) = if self.needle_first { (1, 0) } else { (0, 1) };
        let (haystacks, needles) = (StringArg::of(call, haystack)?, StringArg::of(call, needle)?);
        let starts = if call.args.len() == 3 { Some(integers(call, 2)?) } else { None };
        let constant = needles.constant().map(|needle| Finder::new(&self.fold.apply(needle)).into_owned());
        if let (Some(finder), None, Fold::Exact, false) = (&constant, &starts, self.fold, self.chars)
            && let Some(strings) = haystacks.each()
        {
            return Ok(Vector::from(bytes_before(strings, finder)).into());
        }
        let (mut scratch, mut needle_scratch) = (Vec::new(), Vec::new());
        let find = |row: usize| {
            let (haystack, is_any_case) = self.fold.searched(haystacks.get(row), &mut scratch);
            let start = starts.as_ref().map_or(0, |starts| (starts[row] as u64).saturating_sub(1));
            let Some(from) = skip(haystack, start, self.chars) else { return 0 };
            let found = match &constant {
                Some(finder) if is_any_case => masks::find_any_case(&haystack[from..], finder.needle()),
                Some(finder) => find_prepared(&haystack[from..], finder),
                None => {
                    let needle = self.fold.apply_in(needles.get(row), &mut needle_scratch);
                    match is_any_case {
                        true => masks::find_any_case(&haystack[from..], needle),
                        false => find_once(&haystack[from..], needle),
                    }
                }
            };
            match found {
                None => 0,
                Some(place) if self.chars => count_chars(&haystack[..from + place]) as u64 + 1,
                Some(place) => (from + place) as u64 + 1,
            }
        };
        Ok(Vector::from((0..call.n_rows).map(find).collect::<Vec<u64>>()).into())
    }
}

/// The place behind as many bytes or characters, if there are as many.
pub fn skip(text: &[u8], count: u64, chars: bool) -> Option<usize> {
    let count = usize::try_from(count).ok()?;
    if !chars || count == 0 {
        return (count <= text.len()).then_some(count);
    }
    let mut begins = text.iter().enumerate().filter(|(_, byte)| begins_char(**byte)).map(|(place, _)| place);
    begins.nth(count).or_else(|| (count_chars(text) == count).then_some(text.len()))
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_is_that_of_ascii() {
        let mut out = Vec::new();
        for n in 0..40 {
            for first in 0..=255u8 {
                let text: Vec<u8> = (0..n).map(|i| first.wrapping_add(i * 3)).collect();
                lower_into(&text, &mut out);
                assert_eq!(out, text.to_ascii_lowercase());
            }
        }
    }
}
