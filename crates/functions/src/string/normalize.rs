//! `normalizeUTF8NFC` and its kin, `caseFoldUTF8`, `removeDiacriticsUTF8`: one form for texts that look alike.

use super::case_fold_utf8::fold;
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
    folds_case: bool,
}

macro_rules! forms {
    ($($name:literal $aliases:expr, $summary:literal $syntax:literal $sql:literal => $result:literal, $folds_case:literal, $form:expr;)*) => {
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
            folds_case: $folds_case,
        }),*];
    };
}

forms! {
    "normalizeUTF8NFC" &[], "The text in Unicode's form NFC." "normalizeUTF8NFC(s)"
        "SELECT length(normalizeUTF8NFC('â'))" => "2", false, |text| text.nfc().collect();
    "normalizeUTF8NFD" &[], "The text in Unicode's form NFD." "normalizeUTF8NFD(s)"
        "SELECT length(normalizeUTF8NFD('â'))" => "3", false, |text| text.nfd().collect();
    "normalizeUTF8NFKC" &[], "The text in Unicode's form NFKC." "normalizeUTF8NFKC(s)"
        "SELECT normalizeUTF8NFKC('ﬁ')" => "fi", false, |text| text.nfkc().collect();
    "normalizeUTF8NFKD" &[], "The text in Unicode's form NFKD." "normalizeUTF8NFKD(s)"
        "SELECT normalizeUTF8NFKD('①')" => "1", false, |text| text.nfkd().collect();
    "normalizeUTF8NFKCCasefold" &[], "The text in Unicode's form NFKC after case folding, without characters that are not seen."
        "normalizeUTF8NFKCCasefold(s)" "SELECT normalizeUTF8NFKCCasefold('Ä ① Hello')" => "ä 1 hello", true, nfkc_casefold;
    "removeDiacriticsUTF8" &["removeAccentsUTF8"], "The text without its diacritical marks." "removeDiacriticsUTF8(s)"
        "SELECT removeDiacriticsUTF8('café')" => "cafe", false, |text| text.nfd().filter(|&c| !is_combining_mark(c)).nfc().collect();
}

/// Folding can make what is not normalised, and normalisation what is not folded: after two rounds nothing changes.
fn nfkc_casefold(text: &str) -> String {
    let round = |text: &str| {
        let mut folded = String::with_capacity(text.len());
        let seen = text.nfkd().filter(|c| !is_default_ignorable(*c));
        seen.for_each(|c| fold(c, &mut |c| folded.push(c)));
        folded.nfkc().filter(|c| !is_default_ignorable(*c)).collect::<String>()
    };
    round(&round(text))
}

/// Unicode's property Default_Ignorable_Code_Point.
fn is_default_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

impl ScalarFunction for &'static Normalize {
    fn record(&self) -> &'static Record {
        let function: &'static Normalize = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        expect(self.record.name, args, 1, &[Kind::StringColumn])?;
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = StringArg::of(call, 0)?;
        try_build(call.n_rows, |row, out| {
            let bytes = texts.get(row);
            // ASCII is in every form but for its case.
            if bytes.is_ascii() {
                let start = out.len();
                out.extend_from_slice(bytes);
                if self.folds_case {
                    out[start..].make_ascii_lowercase();
                }
                return Ok(());
            }
            let text = std::str::from_utf8(bytes).map_err(|_| {
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
