//! `normalizeUTF8NFC` and its kin, `caseFoldUTF8`, `removeDiacriticsUTF8`: one form for texts that look alike.

use crate::string_args::{Kind, StringArg, expect, try_build};
use chalet_base::{Result, err};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::DataType;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

struct Normalize {
    record: Record,
    form: fn(&str) -> String,
}

macro_rules! forms {
    ($($name:literal $aliases:expr, $summary:literal $syntax:literal $sql:literal => $result:literal, $form:expr;)*) => {
        static FUNCTIONS: &[Normalize] = &[$(Normalize {
            record: Record {
                name: $name,
                aliases: $aliases,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            form: $form,
        }),*];
    };
}

forms! {
    "normalizeUTF8NFC" &[], "The text in Unicode's form NFC." "normalizeUTF8NFC(s)"
        "SELECT length(normalizeUTF8NFC('â'))" => "2", |text| text.nfc().collect();
    "normalizeUTF8NFD" &[], "The text in Unicode's form NFD." "normalizeUTF8NFD(s)"
        "SELECT length(normalizeUTF8NFD('â'))" => "3", |text| text.nfd().collect();
    "normalizeUTF8NFKC" &[], "The text in Unicode's form NFKC." "normalizeUTF8NFKC(s)"
        "SELECT normalizeUTF8NFKC('ﬁ')" => "fi", |text| text.nfkc().collect();
    "normalizeUTF8NFKD" &[], "The text in Unicode's form NFKD." "normalizeUTF8NFKD(s)"
        "SELECT normalizeUTF8NFKD('①')" => "1", |text| text.nfkd().collect();
    "removeDiacriticsUTF8" &["removeAccentsUTF8"], "The text without its diacritical marks." "removeDiacriticsUTF8(s)"
        "SELECT removeDiacriticsUTF8('café')" => "cafe", |text| text.nfd().filter(|&c| !is_combining_mark(c)).nfc().collect();
}

impl ScalarFunction for &'static Normalize {
    fn record(&self) -> &'static Record {
        let function: &'static Normalize = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        expect(self.record.name, args, 1, &[Kind::Text])?;
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        try_build(call.n_rows, |row, out| {
            let text = std::str::from_utf8(texts.get(row)).map_err(|_| {
                err!(CANNOT_NORMALIZE_STRING, "Normalization failed: the string is not valid UTF-8")
            })?;
            out.extend_from_slice((self.form)(text).as_bytes());
            Ok(())
        })
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
