//! `hasToken` and its forms: a word between bytes that are no ASCII letters or digits.

use super::position::{Fold, SHORT};
use crate::string_args::{Kind, StringArg, constant_text, expect};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction, Search,
};
use chalet_types::DataType;
use memchr::memmem::Finder;

struct HasToken {
    record: Record,
    fold: bool,
    /// NULL instead of an error when the needle is no token.
    or_null: bool,
}

macro_rules! functions {
    ($($name:literal $any_case:literal $fold:literal $or_null:literal $search:ident $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[HasToken] = &[$(HasToken {
            record: Record {
                name: $name,
                case_insensitive: $any_case,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                takes_enum: !$fold,
                constants: Constants::Seen,
                search: Search::$search,
                ..Record::DEFAULT
            },
            fold: $fold,
            or_null: $or_null,
        }),*];
    };
}

functions! {
    "hasToken" false false false Token
        "Whether a constant token occurs in a string. A token is a run of ASCII letters, digits and of bytes that are not ASCII."
        "hasToken(haystack, token)" "SELECT hasToken('Hello World', 'Hello'), hasToken('Hello World', 'Hell')" => "1\t0";
    "hasTokenOrNull" false false true No
        "As hasToken, with NULL when the needle is no token."
        "hasTokenOrNull(haystack, token)" "SELECT hasTokenOrNull('Hello World', 'Hello,World')" => "\\N";
    "hasTokenCaseInsensitive" true true false No
        "As hasToken, without regard to the case of ASCII letters."
        "hasTokenCaseInsensitive(haystack, token)" "SELECT hasTokenCaseInsensitive('Hello World', 'hello')" => "1";
    "hasTokenCaseInsensitiveOrNull" true true true No
        "As hasTokenCaseInsensitive, with NULL when the needle is no token."
        "hasTokenCaseInsensitiveOrNull(haystack, token)" "SELECT hasTokenCaseInsensitiveOrNull('Hello World', 'hello,world')" => "\\N";
}

/// Is the byte between tokens?
fn separates(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

impl ScalarFunction for &'static HasToken {
    fn record(&self) -> &'static Record {
        let function: &'static HasToken = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        expect(name, args, 2, &[Kind::StringColumn, Kind::ConstText])?;
        let needle = constant_text(name, args, 1)?;
        let token = !needle.iter().any(|&byte| separates(byte));
        ensure!(
            token || self.or_null,
            BAD_ARGUMENTS,
            "Needle must not contain whitespace or separator characters"
        );
        Ok(if self.or_null { DataType::UInt8.nullable() } else { DataType::UInt8 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        let needle = StringArg::of(call, 1)?.get(0);
        if needle.is_empty() {
            return Ok(Vector::from(vec![0u8; call.n_rows]).into());
        }
        if needle.iter().any(|&byte| separates(byte)) {
            return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
        }
        let needle = if self.fold { needle.to_ascii_lowercase() } else { needle.to_vec() };
        let finder = Finder::new(&needle);
        let fold = if self.fold { Fold::Ascii } else { Fold::Exact };
        let mut scratch = Vec::new();
        let test = |row: usize| {
            let text = texts.get(row);
            u8::from(match text.len() {
                0..=SHORT if self.fold => is_among::<true>(text, &needle),
                0..=SHORT => is_among::<false>(text, &needle),
                _ => occurs(fold.apply_in(text, &mut scratch), &finder),
            })
        };
        Ok(Vector::from((0..call.n_rows).map(test).collect::<Vec<u8>>()).into())
    }
}

/// Whether a short text has the token, which is in lower case where letters are folded.
#[inline(always)]
fn is_among<const FOLD: bool>(text: &[u8], token: &[u8]) -> bool {
    let last = text.len().wrapping_sub(token.len());
    if last > text.len() {
        return false;
    }
    let first = token[0];
    let begins = |byte: u8| if FOLD { byte.to_ascii_lowercase() == first } else { byte == first };
    (0..=last).any(|at| {
        begins(text[at])
            && (at == 0 || separates(text[at - 1]))
            && text.get(at + token.len()).is_none_or(|&byte| separates(byte))
            && match &text[at..at + token.len()] {
                part if FOLD => part.eq_ignore_ascii_case(token),
                part => part == token,
            }
    })
}

fn occurs(text: &[u8], finder: &Finder) -> bool {
    let len = finder.needle().len();
    finder.find_iter(text).any(|place| {
        (place == 0 || separates(text[place - 1]))
            && text.get(place + len).is_none_or(|&byte| separates(byte))
    })
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
