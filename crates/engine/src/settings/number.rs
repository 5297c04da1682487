//! Numbers as values of settings: integers with the suffixes of sizes, and literals that have to fit.

use super::enumerations::is_enumeration;
use chalet_base::{Result, bail, ensure, err};
use chalet_types::Value;

/// Does a setting of this kind hold integers, and may they be negative?
fn integers(kind: &str) -> Option<bool> {
    match kind {
        "UInt64" | "NonZeroUInt64" | "MaxThreads" | "Milliseconds" => Some(false),
        "Int64" | "Int32" => Some(true),
        _ => None,
    }
}

/// The text of a literal that stands for an integer or a truth: fractions are cut off. `None` where the text of the literal is
/// the value; fails where literals of its type are none of the kind's.
pub(super) fn text_of_literal(kind: &str, value: &Value) -> Result<Option<String>> {
    let is_text = matches!(kind, "String" | "Char" | "URI" | "Timezone") || is_enumeration(kind);
    if is_text || (kind == "Map" && is_plain(value)) {
        ensure!(
            value.as_bytes().is_some(),
            BAD_GET,
            "Bad get: has {}, requested {}",
            name_of_field(value),
            if kind == "Map" { "Map" } else { "String" }
        );
        return Ok(None);
    }
    if kind == "Bool" || kind == "BoolAuto" {
        return truth_of_literal(value);
    }
    let Some(signed) = integers(kind) else { return Ok(None) };
    let type_name = if signed { "long" } else { "unsigned long" };
    match value {
        Value::Int(x) if *x < 0 && !signed => {
            bail!(CANNOT_CONVERT_TYPE, "Field value {x} is out of range of {type_name} type")
        }
        Value::Float(x) => {
            let low = if signed { -9_223_372_036_854_775_808.0 } else { 0.0 };
            let high = if signed { 9_223_372_036_854_775_808.0 } else { 18_446_744_073_709_551_616.0 };
            ensure!(
                (low..high).contains(x),
                CANNOT_CONVERT_TYPE,
                "Cannot convert out of range floating point value to integer type"
            );
            Ok(Some(if signed { (*x as i64).to_string() } else { (*x as u64).to_string() }))
        }
        Value::Null => {
            bail!(CANNOT_CONVERT_TYPE, "Invalid value NULL of the setting, which needs {type_name}")
        }
        _ => Ok(None),
    }
}

/// `0`, `1` and fractions are truths, other numbers are not.
fn truth_of_literal(value: &Value) -> Result<Option<String>> {
    match value {
        Value::Float(x) => Ok(Some(u8::from(*x != 0.0).to_string())),
        Value::UInt(0 | 1) => Ok(None),
        Value::UInt(n) => bail!(CANNOT_CONVERT_TYPE, "Field value {n} is out of range of bool type"),
        Value::Int(n) => bail!(CANNOT_CONVERT_TYPE, "Field value {n} is out of range of bool type"),
        Value::Null => bail!(CANNOT_CONVERT_TYPE, "Invalid value NULL of the setting, which needs bool"),
        _ => Ok(None),
    }
}

/// Is the value neither a list nor a map?
fn is_plain(value: &Value) -> bool {
    value.is_null() || matches!(value, Value::UInt(_) | Value::Int(_) | Value::Float(_))
}

/// What the kernel calls the type of a literal.
fn name_of_field(value: &Value) -> &'static str {
    match value {
        Value::Null => "Null",
        Value::UInt(_) => "UInt64",
        Value::Int(_) => "Int64",
        Value::Float(_) => "Float64",
        _ => "Array",
    }
}

/// `150M`, `300Mi`: the number that a text is. Digits beyond 64 bits wrap around, as in the kernel.
pub(super) fn unsigned_with_suffix(text: &str) -> Result<u64> {
    ensure!(!text.starts_with('-'), CANNOT_PARSE_NUMBER, "Unsigned type must not contain '-' symbol");
    let (number, rest) = unsigned(text)?;
    Ok(number.wrapping_mul(multiplier(rest)?))
}

pub(super) fn signed_with_suffix(text: &str) -> Result<i64> {
    let (number, rest) = unsigned(text.strip_prefix('-').unwrap_or(text))?;
    let number = number.wrapping_mul(multiplier(rest)?) as i64;
    Ok(if text.starts_with('-') { number.wrapping_neg() } else { number })
}

/// Without suffix.
pub(super) fn plain_unsigned(text: &str) -> Result<u64> {
    ensure!(!text.starts_with('-'), CANNOT_PARSE_NUMBER, "Unsigned type must not contain '-' symbol");
    match unsigned(text)? {
        (number, "") => Ok(number),
        (_, rest) => Err(not_the_end(rest)),
    }
}

/// A number with a fraction, without suffix.
pub(super) fn check_float(text: &str) -> Result<()> {
    if text.parse::<f64>().is_ok() {
        return Ok(());
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    match end {
        0 => bail!(CANNOT_PARSE_NUMBER, "Cannot parse number: '{text}'"),
        _ => Err(not_the_end(&text[end..])),
    }
}

/// The digits that a text begins with, and what follows them.
fn unsigned(text: &str) -> Result<(u64, &str)> {
    ensure!(!text.is_empty(), ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    ensure!(
        !number.is_empty() || digits.len() == text.len(),
        CANNOT_PARSE_NUMBER,
        "Cannot parse number without any digits"
    );
    let number =
        number.bytes().fold(0u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
    if end == 0 && multiplier(rest).is_err() {
        return Err(not_the_end(rest));
    }
    Ok((number, rest))
}

/// `k`, `Mi`, ...: decimal, and binary with an `i`.
fn multiplier(suffix: &str) -> Result<u64> {
    let power = match suffix.as_bytes().first() {
        None => return Ok(1),
        Some(b'k' | b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'T') => 4,
        Some(_) => return Err(not_the_end(suffix)),
    };
    match &suffix[1..] {
        "" => Ok(1000u64.pow(power)),
        "i" => Ok(1024u64.pow(power)),
        rest => Err(not_the_end(rest.strip_prefix('i').unwrap_or(rest))),
    }
}

fn not_the_end(rest: &str) -> chalet_base::Error {
    err!(CANNOT_PARSE_INPUT_ASSERTION_FAILED, "Cannot parse input: expected 'eof' before: '{rest}'")
}
