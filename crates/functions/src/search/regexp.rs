//! Regular expressions in the syntax of RE2, which the kernel uses, for the `regex` crate.
//!
//! Both know nearly the same syntax. In RE2 the classes \d, \s, \w and \b are those of ASCII, a brace that begins no
//! repetition stands for itself, and classes do not nest.

use super::shared_regex::SharedRegex;
use chalet_base::{Result, err};
use regex::bytes::RegexBuilder;
use std::borrow::Cow;

/// Compiles a pattern in which the point matches line feeds too; `flags` are letters as in `(?flags)`.
pub fn compile(pattern: &[u8], flags: &str) -> Result<SharedRegex> {
    let text = readable(pattern);
    let translated = in_rust_syntax(pattern);
    RegexBuilder::new(&translated)
        .dot_matches_new_line(true)
        .case_insensitive(flags.contains('i'))
        .size_limit(64 << 20)
        .build()
        .map(SharedRegex::from)
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
            err!(
                CANNOT_COMPILE_REGEXP,
                "OptimizedRegularExpression: cannot compile re2: {text}, error: {reason}. Look at https://github.com/google/re2/wiki/Syntax for reference"
            )
        })
}

/// The pattern as the `regex` crate reads it.
pub fn in_rust_syntax(pattern: &[u8]) -> String {
    translate(&readable(pattern))
}

/// Bytes that are no UTF-8 as escapes.
fn readable(pattern: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(pattern) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut out = String::new();
            for chunk in pattern.utf8_chunks() {
                out.push_str(chunk.valid());
                chunk.invalid().iter().for_each(|byte| out.push_str(&format!("(?-u:\\x{byte:02X})")));
            }
            Cow::Owned(out)
        }
    }
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = escape(rest, &mut out),
            '[' => rest = class(rest, &mut out),
            '{' if !is_repetition(rest) => out.push_str("\\{"),
            '}' => out.push_str(if open_repetition(&out) { "}" } else { "\\}" }),
            _ => out.push(c),
        }
    }
    out
}

/// Does `3}`, `3,}` or `3,5}` follow?
fn is_repetition(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let (least, most) = inside.split_once(',').unwrap_or((inside, ""));
    !least.is_empty()
        && least.len() <= 4
        && [least, most].iter().all(|n| n.bytes().all(|b| b.is_ascii_digit()))
}

/// Is there a brace to close?
fn open_repetition(out: &str) -> bool {
    out.rfind('{').is_some_and(|open| {
        !out[..open].ends_with('\\') && !out[open..].contains('}')
            || out[..open].ends_with("\\p") && !out[open..].contains('}')
    })
}

/// An escape outside of a class; gives what follows it.
fn escape<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let behind = &rest[c.len_utf8()..];
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\x0C\\r ]"),
        'S' => out.push_str("[^\\t\\n\\x0C\\r ]"),
        'b' => out.push_str("(?-u:\\b)"),
        'B' => out.push_str("(?-u:\\B)"),
        'C' => out.push_str("(?s-u:.)"),
        '<' | '>' => out.push(c),
        '0' => out.push_str("\\x00"),
        'p' | 'P' | 'x' if behind.starts_with('{') => {
            let end = behind.find('}').map_or(behind.len(), |end| end + 1);
            out.push('\\');
            out.push(c);
            out.push_str(&behind[..end]);
            return &behind[end..];
        }
        'Q' => {
            let (quoted, behind) = behind.split_once("\\E").unwrap_or((behind, ""));
            out.push_str(&regex::escape(quoted));
            return behind;
        }
        _ if c.is_ascii_punctuation() || !c.is_ascii() => {
            out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])))
        }
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    behind
}

/// A class behind its opening bracket; gives what follows it.
fn class<'a>(mut rest: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    if let Some(behind) = rest.strip_prefix('^') {
        out.push('^');
        rest = behind;
    }
    // A bracket in the first place stands for itself.
    if let Some(behind) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = behind;
    }
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        rest = behind;
        match c {
            ']' => {
                out.push(']');
                return behind;
            }
            '[' if behind.starts_with(':') && behind.contains(":]") => {
                let end = behind.find(":]").map_or(behind.len(), |end| end + 2);
                out.push('[');
                out.push_str(&behind[..end]);
                rest = &behind[end..];
            }
            '[' | '&' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '-' if behind.starts_with('-') => {
                out.push_str("\\-");
            }
            '\\' => {
                let Some(escaped) = behind.chars().next() else {
                    out.push('\\');
                    return behind;
                };
                rest = &behind[escaped.len_utf8()..];
                match escaped {
                    'd' => out.push_str("0-9"),
                    'w' => out.push_str("0-9A-Za-z_"),
                    's' => out.push_str("\\t\\n\\x0C\\r "),
                    'D' | 'W' | 'S' => {
                        out.push_str(match escaped {
                            'D' => "[^0-9]",
                            'W' => "[^0-9A-Za-z_]",
                            _ => "[^\\t\\n\\x0C\\r ]",
                        });
                    }
                    '0' => out.push_str("\\x00"),
                    '<' | '>' => out.push(escaped),
                    _ => {
                        out.push('\\');
                        out.push(escaped);
                    }
                }
            }
            _ => out.push(c),
        }
    }
    rest
}
