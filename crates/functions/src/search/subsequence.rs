//! `hasSubsequence` and its forms: the characters of a string in order, with others between them.

use super::position::Fold;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::DataType;

struct Subsequence {
    record: Record,
    fold: Fold,
}

macro_rules! functions {
    ($($name:literal $fold:ident $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Subsequence] = &[$(Subsequence {
            record: Record {
                name: $name,
                case_insensitive: true,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                total: true,
                ..Record::DEFAULT
            },
            fold: Fold::$fold,
        }),*];
    };
}

functions! {
    "hasSubsequence" Exact "Whether the bytes of a needle occur in a string in their order, perhaps with others between them."
        "hasSubsequence(haystack, needle)" "SELECT hasSubsequence('garbage', 'arg')" => "1";
    "hasSubsequenceCaseInsensitive" Ascii "As hasSubsequence, without regard to the case of ASCII letters."
        "hasSubsequenceCaseInsensitive(haystack, needle)" "SELECT hasSubsequenceCaseInsensitive('garbage', 'ARG')" => "1";
    "hasSubsequenceUTF8" Exact "As hasSubsequence, for UTF-8."
        "hasSubsequenceUTF8(haystack, needle)" "SELECT hasSubsequenceUTF8('картошка', 'кошка')" => "1";
    "hasSubsequenceCaseInsensitiveUTF8" Unicode "As hasSubsequenceUTF8, without regard to case."
        "hasSubsequenceCaseInsensitiveUTF8(haystack, needle)" "SELECT hasSubsequenceCaseInsensitiveUTF8('картошка', 'КОШКА')" => "1";
}

impl ScalarFunction for &'static Subsequence {
    fn record(&self) -> &'static Record {
        let function: &'static Subsequence = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        expect(self.record.name, args, 2, &[Kind::String, Kind::String])?;
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (texts, needles) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
        let (mut scratch, mut needle_scratch) = (Vec::new(), Vec::new());
        if self.fold == Fold::Ascii {
            let test = |row: usize| {
                let mut text = texts.get(row).iter();
                let mut needle = needles.get(row).iter();
                u8::from(needle.all(|wanted| text.any(|byte| byte.eq_ignore_ascii_case(wanted))))
            };
            return Ok(Vector::from((0..call.n_rows).map(test).collect::<Vec<u8>>()).into());
        }
        let test = |row: usize| {
            let text = self.fold.apply_in(texts.get(row), &mut scratch);
            let needle = self.fold.apply_in(needles.get(row), &mut needle_scratch);
            let mut text = text.iter();
            u8::from(needle.iter().all(|wanted| text.any(|byte| byte == wanted)))
        };
        Ok(Vector::from((0..call.n_rows).map(test).collect::<Vec<u8>>()).into())
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
