//! Settings whose values are words: which ones there are, and what errors others are.

use chalet_base::{Error, ErrorCode, Result, codes};
use std::borrow::Cow;

/// Kind of settings, name of the error, words, sorted; as the kernel tells them.
const TABLE: &str = include_str!("enumerations.tsv");

/// Kinds whose values are lists of words.
const LISTS: [&str; 3] = ["JoinAlgorithm", "JoinOrderAlgorithm", "MySQLDataTypesSupport"];

/// Is a value of this kind of settings a word?
pub(super) fn is_enumeration(kind: &str) -> bool {
    row(kind).is_some()
}

fn row(kind: &str) -> Option<(&'static str, &'static str)> {
    TABLE.lines().find_map(|line| {
        let mut cells = line.split('\t');
        (cells.next() == Some(kind))
            .then(|| (cells.next().unwrap_or_default(), cells.next().unwrap_or_default()))
    })
}

/// The value as it is shown; fails where a word is not one of the kind's.
pub(super) fn checked<'t>(kind: &str, text: &'t str) -> Result<Cow<'t, str>> {
    let Some((code, words)) = row(kind) else { return Ok(Cow::Borrowed(text)) };
    let check = |word: &str| match words.split(',').any(|known| known == word) {
        true => Ok(()),
        false => Err(unexpected(kind, word, code, words)),
    };
    if !LISTS.contains(&kind) {
        check(text)?;
        return Ok(Cow::Borrowed(text));
    }
    let mut list: Vec<&str> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        check(word)?;
        if !list.contains(&word) {
            list.push(word);
        }
    }
    Ok(Cow::Owned(list.join(",")))
}

#[cold]
fn unexpected(kind: &str, word: &str, code: &str, words: &str) -> Error {
    let code: ErrorCode =
        codes::ALL.iter().find(|known| known.name == code).copied().unwrap_or(codes::BAD_ARGUMENTS);
    let words: Vec<String> = words.split(',').map(|word| format!("'{word}'")).collect();
    Error::new(code, format!("Unexpected value of {kind}: '{word}'. Must be one of [{}]", words.join(", ")))
}
