//! `parseReadableSize` and its variants: numbers of bytes out of text with a unit.

use chalet_base::{Result, bail, discard_messages, ensure};
use chalet_columns::{Column, NullBuffer, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const PARSE: Record = Record {
    name: "parseReadableSize",
    summary: "The number of bytes that a text such as '1.5 KiB' or '3 MB' stands for.",
    syntax: "parseReadableSize(text)",
    examples: &[Example {
        sql: "SELECT parseReadableSize('1 KiB'), parseReadableSize('3 MB')",
        result: "1024\t3000000",
    }],
    ..Record::DEFAULT
};

const OR_NULL: Record = Record {
    name: "parseReadableSizeOrNull",
    summary: "As parseReadableSize, but NULL for text that is no size.",
    syntax: "parseReadableSizeOrNull(text)",
    examples: &[Example { sql: "SELECT parseReadableSizeOrNull('1 x')", result: "\\N" }],
    ..PARSE
};

const OR_ZERO: Record = Record {
    name: "parseReadableSizeOrZero",
    summary: "As parseReadableSize, but 0 for text that is no size.",
    syntax: "parseReadableSizeOrZero(text)",
    examples: &[Example { sql: "SELECT parseReadableSizeOrZero('1 x')", result: "0" }],
    ..PARSE
};

#[derive(Clone, Copy, PartialEq)]
enum OnError {
    Fail,
    Null,
    Zero,
}

pub struct ParseReadable {
    record: &'static Record,
    on_error: OnError,
}

pub const PARSE_FUNCTION: ParseReadable = ParseReadable { record: &PARSE, on_error: OnError::Fail };
pub const OR_NULL_FUNCTION: ParseReadable = ParseReadable { record: &OR_NULL, on_error: OnError::Null };
pub const OR_ZERO_FUNCTION: ParseReadable = ParseReadable { record: &OR_ZERO, on_error: OnError::Zero };

/// How long the sign and the word for infinity or NaN are at the beginning; 0 where there is none.
fn length_of_word(text: &str) -> usize {
    let unsigned = text.trim_start_matches(['+', '-']);
    let sign = text.len() - unsigned.len();
    let starts_with = |word: &&str| unsigned.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word));
    ["infinity", "inf", "nan"].iter().find(|word| starts_with(word)).map_or(0, |word| sign + word.len())
}

fn parse(text: &[u8]) -> Result<u64> {
    let shown = String::from_utf8_lossy(text);
    let wrong = |what: String| format!("Invalid expression for function parseReadableSize - {what}");
    if text.first().is_some_and(u8::is_ascii_whitespace) {
        bail!(
            CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            "{}",
            wrong(format!("Leading whitespace is not allowed (\"{shown}\")"))
        );
    }
    // A unit that begins with E is not an exponent.
    let digits = text.iter().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
    let digits = digits.max(length_of_word(&shown));
    let number = (0..=digits).rev().find_map(|len| Some((len, shown.get(..len)?.parse::<f64>().ok()?)));
    let Some((len, number)) = number else {
        bail!(
            CANNOT_PARSE_NUMBER,
            "{}",
            wrong(format!("Unable to parse readable size numeric component (\"{shown}\")"))
        );
    };
    ensure!(number.is_finite(), BAD_ARGUMENTS, "{}", wrong(format!("Invalid numeric component: {number}")));
    ensure!(number >= 0.0, BAD_ARGUMENTS, "{}", wrong(format!("Negative sizes are not allowed ({number})")));
    let rest = shown[len..].trim_start();
    let unit: String = rest.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
    let scale = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kib" => 1024.0,
        "kb" => 1e3,
        "mib" => 1024f64.powi(2),
        "mb" => 1e6,
        "gib" => 1024f64.powi(3),
        "gb" => 1e9,
        "tib" => 1024f64.powi(4),
        "tb" => 1e12,
        "pib" => 1024f64.powi(5),
        "pb" => 1e15,
        "eib" => 1024f64.powi(6),
        "eb" => 1e18,
        _ => bail!(CANNOT_PARSE_TEXT, "{}", wrong(format!("Unknown readable size unit (\"{unit}\")"))),
    };
    ensure!(
        rest.len() == unit.len(),
        UNEXPECTED_DATA_AFTER_PARSED_VALUE,
        "{}",
        wrong(format!("Found trailing characters after readable size string (\"{shown}\")"))
    );
    let bytes = (number * scale).ceil();
    ensure!(
        bytes < 18_446_744_073_709_551_616.0,
        BAD_ARGUMENTS,
        "{}",
        wrong(format!("Result is too big for output type (\"{bytes}\")"))
    );
    Ok(bytes as u64)
}

impl ScalarFunction for ParseReadable {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'readable_size' to function '{}'. Expected: String, got: {}",
            self.record.name,
            args[0].ty
        );
        let null = self.on_error == OnError::Null;
        Ok(if null { DataType::UInt64.nullable() } else { DataType::UInt64 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let texts = call.strings(0)?;
        let mut out = Vec::with_capacity(call.n_rows);
        let mut valid = Vec::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let size = || parse(texts.get(row));
            let size =
                if self.on_error == OnError::Fail { Some(size()?) } else { discard_messages(size).ok() };
            valid.push(size.is_some());
            out.push(size.unwrap_or(0));
        }
        let validity = (self.on_error == OnError::Null).then(|| NullBuffer::from(valid));
        Ok(Vector::new(Vector::from(out).data, validity).into())
    }
}
