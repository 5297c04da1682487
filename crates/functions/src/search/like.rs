//! `like`, `ilike` and their negations: the operators LIKE and ILIKE.

use super::any_case::AnyCasePieces;
use super::matching::Match;
use super::pattern::Pattern;
use super::regexp::compile;
use chalet_base::{Result, bail};
use chalet_function_api::{Constants, Example, Record, Registry, Search};
use memchr::memmem::Finder;

macro_rules! likes {
    ($($name:literal $any_case:literal $search:ident $compile:expr, $yes:literal $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {
        static FUNCTIONS: &[Match] = &[$(Match {
            record: Record {
                name: $name,
                case_insensitive: $any_case,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                takes_enum: true,
                constants: Constants::Seen,
                search: Search::$search,
                null_before_arity: true,
                constant_arguments: &[2],
                ..Record::DEFAULT
            },
            compile: $compile,
            compile_for_few: $compile,
            yes: $yes,
            escaped: Some(escaped),
        }),*];
    };
}

likes! {
    "like" false Pattern like_pattern, true
        "Whether a string is of a form: % stands for any characters, _ for any one, a backslash takes their meaning away."
        "s LIKE pattern" "SELECT 'ClickHouse' LIKE '%House', 'abc' LIKE '_b'" => "1\t0";
    "notLike" false No like_pattern, false
        "Whether a string is not of a form."
        "s NOT LIKE pattern" "SELECT 'ClickHouse' NOT LIKE '%House'" => "0";
    "ilike" false No ilike_pattern, true
        "As like, without regard to case."
        "s ILIKE pattern" "SELECT 'ClickHouse' ILIKE '%house'" => "1";
    "notILike" false No ilike_pattern, false
        "As notLike, without regard to case."
        "s NOT ILIKE pattern" "SELECT 'ClickHouse' NOT ILIKE '%house'" => "0";
}

/// A pattern whose escape character is not the backslash, as one where it is.
fn escaped(pattern: &[u8], escape: u8) -> Result<Vec<u8>> {
    let shown = || String::from_utf8_lossy(pattern);
    let mut out = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        let (literal, byte) = match byte {
            byte if byte != escape => (byte == b'\\', byte),
            _ => match bytes.next() {
                Some(next) if next == escape || matches!(next, b'%' | b'_') => {
                    (matches!(next, b'%' | b'_' | b'\\'), next)
                }
                Some(_) => bail!(
                    CANNOT_PARSE_ESCAPE_SEQUENCE,
                    "Invalid escape sequence in LIKE pattern '{}': the escape character must be followed by '%', '_', or the escape character itself",
                    shown()
                ),
                None => bail!(
                    CANNOT_PARSE_ESCAPE_SEQUENCE,
                    "Invalid escape sequence at the end of LIKE pattern '{}'",
                    shown()
                ),
            },
        };
        if literal {
            out.push(b'\\');
        }
        out.push(byte);
    }
    Ok(out)
}

enum Token {
    Literal(Vec<u8>),
    Any,
    One,
}

fn parse(pattern: &[u8]) -> Result<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let put = |byte: u8, tokens: &mut Vec<Token>| match tokens.last_mut() {
        Some(Token::Literal(bytes)) => bytes.push(byte),
        _ => tokens.push(Token::Literal(vec![byte])),
    };
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                if !matches!(tokens.last(), Some(Token::Any)) {
                    tokens.push(Token::Any);
                }
            }
            b'_' => tokens.push(Token::One),
            b'\\' => match bytes.next() {
                Some(escaped @ (b'%' | b'_' | b'\\')) => put(escaped, &mut tokens),
                Some(other) => {
                    put(b'\\', &mut tokens);
                    // What follows may be special itself only if it was escaped: it is not.
                    put(other, &mut tokens);
                }
                None => bail!(
                    CANNOT_PARSE_ESCAPE_SEQUENCE,
                    "Invalid escape sequence at the end of LIKE pattern '{}'",
                    String::from_utf8_lossy(pattern)
                ),
            },
            _ => put(byte, &mut tokens),
        }
    }
    Ok(tokens)
}

/// Without `_`, a pattern is pieces of text in order; with it, a regular expression.
pub fn like_pattern(pattern: &[u8]) -> Result<Pattern> {
    let tokens = parse(pattern)?;
    if tokens.iter().any(|token| matches!(token, Token::One)) {
        return Ok(Pattern::Regex(compile(as_regexp(&tokens).as_slice(), "")?));
    }
    let mut pieces = pieces(tokens);
    if let [whole] = &mut pieces[..] {
        return Ok(Pattern::Equal(std::mem::take(whole)));
    }
    let suffix = pieces.pop().unwrap_or_default();
    let mut pieces = pieces.into_iter();
    let prefix = pieces.next().unwrap_or_default();
    let middle = pieces.filter(|piece| !piece.is_empty()).map(|piece| Finder::new(&piece).into_owned());
    Ok(Pattern::Pieces { prefix, middle: middle.collect(), suffix })
}

/// The texts between what stands for any characters.
fn pieces(tokens: Vec<Token>) -> Vec<Vec<u8>> {
    let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
    for token in tokens {
        match token {
            Token::Literal(bytes) => {
                pieces.last_mut().into_iter().for_each(|piece| piece.extend_from_slice(&bytes))
            }
            _ => pieces.push(Vec::new()),
        }
    }
    pieces
}

fn ilike_pattern(pattern: &[u8]) -> Result<Pattern> {
    let tokens = parse(pattern)?;
    let regex = compile(&as_regexp(&tokens), "i")?;
    if tokens.iter().any(|token| matches!(token, Token::One)) {
        return Ok(Pattern::Regex(regex));
    }
    Ok(match AnyCasePieces::new(&pieces(tokens), regex) {
        Ok(pieces) => Pattern::AnyCasePieces(pieces),
        Err(regex) => Pattern::Regex(regex),
    })
}

/// Percent signs at the ends say that the expression is found there anywhere, whatever bytes are beyond it: no text either.
fn as_regexp(tokens: &[Token]) -> Vec<u8> {
    let (begins, tokens) = match tokens.split_first() {
        Some((Token::Any, rest)) => (false, rest),
        _ => (true, tokens),
    };
    let (ends, tokens) = match tokens.split_last() {
        Some((Token::Any, rest)) => (false, rest),
        _ => (begins || !tokens.is_empty(), tokens),
    };
    let mut out = if begins { b"^".to_vec() } else { Vec::new() };
    for token in tokens {
        match token {
            Token::Any => out.extend_from_slice(b".*"),
            Token::One => out.push(b'.'),
            Token::Literal(bytes) => bytes.iter().for_each(|&byte| {
                if byte.is_ascii_punctuation() {
                    out.push(b'\\');
                }
                out.push(byte);
            }),
        }
    }
    if ends {
        out.push(b'$');
    }
    out
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
