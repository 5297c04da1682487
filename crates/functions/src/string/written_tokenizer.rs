//! A tokenizer as one text, its parameters behind its name: `ngrams(4)`, `splitByString([', ', ';'])`.

use super::sparse_grams::{Lengths, SHORTEST, USUAL_MOST};
use super::tokens::Tokenizer;
use chalet_base::{Result, bail, ensure, err};

/// The tokenizer that a text names.
pub fn written_tokenizer(written: &str) -> Result<Tokenizer> {
    let unknown = || err!(BAD_ARGUMENTS, "Unknown tokenizer: '{written}'");
    let (name, parameters) = match written.split_once('(') {
        Some((name, rest)) => {
            let inner = rest.trim_end().strip_suffix(')').ok_or_else(unknown)?.trim();
            (name.trim(), Some(inner).filter(|inner| !inner.is_empty()))
        }
        None => (written, None),
    };
    Ok(match (name, parameters) {
        ("splitByNonAlpha" | "tokenbf_v1", parameters) => {
            check_number(name, parameters, 0)?;
            Tokenizer::Words
        }
        ("array" | "keyword" | "noop", parameters) => {
            check_number(name, parameters, 0)?;
            Tokenizer::Whole
        }
        ("splitByString" | "split", None) => Tokenizer::Separators(vec![b" ".to_vec()]),
        ("splitByString" | "split", Some(list)) => Tokenizer::Separators(separators(list)?),
        ("ngrams" | "ngrambf_v1", parameters) => {
            check_number(name, parameters, 1)?;
            match numbers(name, parameters)?.first().copied().unwrap_or(3) {
                0 => bail!(
                    BAD_ARGUMENTS,
                    "Incorrect parameter of tokenizer 'ngrams': ngram length must be at least 1, but got 0"
                ),
                n => Tokenizer::Ngrams(usize::try_from(n).unwrap_or(usize::MAX)),
            }
        }
        ("sparseGrams" | "sparse_grams", parameters) => {
            check_number(name, parameters, 3)?;
            let numbers = numbers(name, parameters)?;
            let least = numbers.first().copied().unwrap_or(SHORTEST);
            let most = numbers.get(1).copied().unwrap_or(USUAL_MOST);
            let cutoff = numbers.get(2).copied().unwrap_or(least);
            ensure!(
                least >= SHORTEST && most <= USUAL_MOST && (least..=most).contains(&cutoff),
                BAD_ARGUMENTS,
                "Unexpected parameter of tokenizer 'sparseGrams': {written}"
            );
            Tokenizer::SparseGrams(Lengths { least, most, cutoff, utf8: true })
        }
        _ => return Err(unknown()),
    })
}

fn check_number(name: &str, parameters: Option<&str>, most: usize) -> Result<()> {
    let n = parameters.map_or(0, |parameters| parameters.split(',').count());
    ensure!(n <= most, BAD_ARGUMENTS, "'{name}' tokenizer accepts at most {most} parameters, but got {n}");
    Ok(())
}

fn numbers(name: &str, parameters: Option<&str>) -> Result<Vec<u64>> {
    let number = |text: &str| {
        text.trim().parse().map_err(|_| {
            err!(
                BAD_ARGUMENTS,
                "Tokenizer argument of '{name}' expected to be of type UInt64, but got: {text}"
            )
        })
    };
    parameters.map_or(Ok(Vec::new()), |parameters| parameters.split(',').map(number).collect())
}

/// The strings of `['a', 'b']`.
fn separators(list: &str) -> Result<Vec<Vec<u8>>> {
    let Some(inner) = list.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        bail!(
            BAD_ARGUMENTS,
            "Tokenizer argument 'separators' expected to be of type Array, but got type: String"
        )
    };
    let wrong = || {
        err!(
            BAD_ARGUMENTS,
            "Tokenizer argument 'separator' expected to be of type String, but got another type"
        )
    };
    let mut found = Vec::new();
    let mut rest = inner.trim_start().as_bytes();
    while !rest.is_empty() {
        let (text, behind) = quoted(rest).ok_or_else(wrong)?;
        ensure!(
            !text.is_empty(),
            BAD_ARGUMENTS,
            "Incorrect parameter of tokenizer 'splitByString': the empty string cannot be used as a separator"
        );
        found.push(text);
        rest = match behind.trim_ascii_start() {
            [b',', behind @ ..] => behind.trim_ascii_start(),
            [] => &[],
            _ => return Err(wrong()),
        };
    }
    ensure!(
        !found.is_empty(),
        BAD_ARGUMENTS,
        "Incorrect parameter of tokenizer 'splitByString': separators cannot be empty"
    );
    Ok(found)
}

/// A string in quotes at the front, and what follows it.
fn quoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut out = Vec::new();
    loop {
        match rest {
            [b'\\', escaped, behind @ ..] => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'0' => 0,
                    other => *other,
                });
                rest = behind;
            }
            [b'\'', behind @ ..] => return Some((out, behind)),
            [byte, behind @ ..] => {
                out.push(*byte);
                rest = behind;
            }
            [] => return None,
        }
    }
}
