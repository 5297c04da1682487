//! Strings between delimiters: escapes of tab-separated files, literals, CSV and JSON resolved.

use super::cursor::{Cursor, plain};
use chalet_base::{Result, bail};

fn hex(byte: Option<&u8>) -> Option<u32> {
    (*byte? as char).to_digit(16)
}

/// One escape behind a backslash.
fn escape(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    let Some(byte) = cur.peek() else {
        bail!(CANNOT_PARSE_ESCAPE_SEQUENCE, "Cannot parse escape sequence");
    };
    cur.advance(1);
    match byte {
        b'x' => {
            let (Some(high), Some(low)) = (hex(cur.rest().first()), hex(cur.rest().get(1))) else {
                bail!(CANNOT_PARSE_ESCAPE_SEQUENCE, "Cannot parse escape sequence");
            };
            cur.advance(2);
            out.push((high << 4 | low) as u8);
        }
        // NULL inside of a string is nothing.
        b'N' => {}
        b'a' => out.push(0x07),
        b'b' => out.push(0x08),
        b'e' => out.push(0x1b),
        b'f' => out.push(0x0c),
        b'n' | b'\n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'v' => out.push(0x0b),
        b'0' => out.push(0),
        b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' | 0..=31 => out.push(byte),
        // An escape that means nothing keeps its backslash, so that regular expressions survive.
        other => out.extend_from_slice(&[b'\\', other]),
    }
    Ok(())
}

/// A field of a tab-separated file, up to a tab or a line end.
pub fn escaped(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    loop {
        out.extend_from_slice(cur.take_until(|b| matches!(b, b'\t' | b'\n' | b'\\' | b'\r')));
        match cur.peek() {
            Some(b'\\') => {
                cur.advance(1);
                escape(cur, out)?;
            }
            // A carriage return only ends the field before a line feed or at the end.
            Some(b'\r') if !matches!(cur.rest().get(1), None | Some(b'\n')) => {
                cur.advance(1);
                out.push(b'\r');
            }
            _ => return Ok(()),
        }
    }
}

/// A field without escapes, up to a tab or a line end.
pub fn raw<'a>(cur: &mut Cursor<'a>) -> &'a [u8] {
    cur.take_until(|b| matches!(b, b'\t' | b'\n'))
}

/// A literal between two equal quotes; a doubled quote stands for itself.
pub fn quoted(cur: &mut Cursor, quote: u8, out: &mut Vec<u8>) -> Result<()> {
    if !cur.accept(quote) {
        let q = quote as char;
        match cur.peek() {
            Some(got) => bail!(
                CANNOT_PARSE_QUOTED_STRING,
                "Cannot parse quoted string: expected opening quote '{q}', got '{}'",
                plain(&[got])
            ),
            None => bail!(
                CANNOT_PARSE_QUOTED_STRING,
                "Cannot parse quoted string: expected opening quote '{q}', got EOF"
            ),
        }
    }
    loop {
        out.extend_from_slice(cur.take_until(|b| b == quote || b == b'\\'));
        match cur.peek() {
            Some(b'\\') => {
                cur.advance(1);
                escape(cur, out)?;
            }
            Some(_) => {
                cur.advance(1);
                if !cur.accept(quote) {
                    return Ok(());
                }
                out.push(quote);
            }
            None => bail!(CANNOT_PARSE_QUOTED_STRING, "Cannot parse quoted string: expected closing quote"),
        }
    }
}

/// A field of CSV: between quotes, or up to the delimiter or the line end.
pub fn csv(cur: &mut Cursor, delimiter: u8, quotes: CsvQuotes, out: &mut Vec<u8>) -> Result<()> {
    match cur.peek() {
        Some(quote) if quotes.accepts(quote) => {
            cur.advance(1);
            loop {
                out.extend_from_slice(cur.take_until(|b| b == quote));
                // The end of the data closes the quote too.
                if !cur.accept(quote) || !cur.accept(quote) {
                    return Ok(());
                }
                out.push(quote);
            }
        }
        _ => {
            let field = &cur.rest()[..csv_field_end(cur.rest(), delimiter)];
            cur.advance(field.len());
            let end = field.iter().rposition(|b| !matches!(b, b' ' | b'\t')).map_or(0, |last| last + 1);
            out.extend_from_slice(&field[..if quotes.trim { end } else { field.len() }]);
            Ok(())
        }
    }
}

/// Where an unquoted field ends: a carriage return ends it only before a line feed or the end of the data.
pub fn csv_field_end(text: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    loop {
        let stop = |b: &u8| *b == delimiter || *b == b'\n' || *b == b'\r';
        at += match text[at..].iter().position(stop) {
            Some(found) => found,
            None => return text.len(),
        };
        if text[at] != b'\r' || matches!(text.get(at + 1), None | Some(b'\n')) {
            return at;
        }
        at += 1;
    }
}

/// Which quotes a CSV field may stand in.
#[derive(Clone, Copy, Debug)]
pub struct CsvQuotes {
    pub single: bool,
    pub double: bool,
    /// Drop spaces around fields without quotes.
    pub trim: bool,
}

impl CsvQuotes {
    pub fn accepts(self, byte: u8) -> bool {
        byte == b'"' && self.double || byte == b'\'' && self.single
    }
}

/// A JSON string in double quotes.
pub fn json(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    json_with(cur, out, false)
}

/// The same; escapes that mean nothing stay as they are.
pub fn json_lenient(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    json_with(cur, out, true)
}

fn json_with(cur: &mut Cursor, out: &mut Vec<u8>, lenient: bool) -> Result<()> {
    if !cur.accept(b'"') {
        bail!(CANNOT_PARSE_QUOTED_STRING, "Cannot parse JSON string: expected opening quote");
    }
    loop {
        out.extend_from_slice(cur.take_until(|b| b == b'"' || b == b'\\'));
        match cur.peek() {
            Some(b'"') => {
                cur.advance(1);
                return Ok(());
            }
            Some(_) => {
                let escape = *cur;
                cur.advance(1);
                if lenient && has_no_unit(cur.rest()) {
                    out.push(b'\\');
                    continue;
                }
                if let Err(error) = json_escape(cur, out) {
                    if !lenient || cur.is_at_end() {
                        return Err(error);
                    }
                    // The half of a pair, and what stands for the other half, is text.
                    let length = if escape.rest().get(6..8) == Some(b"\\u") { 8 } else { 2 };
                    *cur = escape;
                    out.extend_from_slice(&escape.rest()[..length]);
                    cur.advance(length);
                }
            }
            None => bail!(CANNOT_PARSE_QUOTED_STRING, "Cannot parse JSON string: expected closing quote"),
        }
    }
}

/// An escape `u` (at the front of the text) in a string that ends within its four digits.
fn has_no_unit(text: &[u8]) -> bool {
    text.first() == Some(&b'u') && text.get(1..5).is_none_or(|digits| digits.contains(&b'"'))
}

fn json_escape(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    let Some(byte) = cur.peek() else {
        bail!(CANNOT_PARSE_ESCAPE_SEQUENCE, "Cannot parse escape sequence in JSON string");
    };
    cur.advance(1);
    match byte {
        b'b' => out.push(0x08),
        b'f' => out.push(0x0c),
        b'n' => out.push(b'\n'),
        b'r' => out.push(b'\r'),
        b't' => out.push(b'\t'),
        b'u' => {
            let unit = json_unit(cur)?;
            let mut code = unit;
            if (0xd800..0xdc00).contains(&unit) && cur.rest().starts_with(b"\\u") {
                let mut ahead = *cur;
                ahead.advance(2);
                let low = json_unit(&mut ahead)?;
                if (0xdc00..0xe000).contains(&low) {
                    *cur = ahead;
                    code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                }
            }
            let Some(c) = char::from_u32(code) else {
                bail!(
                    CANNOT_PARSE_ESCAPE_SEQUENCE,
                    "Cannot parse escape sequence: missing second part of surrogate pair. In JSON input formats you can disable \
                     setting input_format_json_throw_on_bad_escape_sequence to save bad escape sequences as is"
                );
            };
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        other => out.push(other),
    }
    Ok(())
}

fn json_unit(cur: &mut Cursor) -> Result<u32> {
    let Some(digits) = cur.rest().first_chunk::<4>() else {
        bail!(CANNOT_PARSE_ESCAPE_SEQUENCE, "Cannot parse escape sequence: less than four bytes after '\\u'");
    };
    // What is no digit counts as 255, as in the kernel.
    let unit = digits
        .iter()
        .fold(0u16, |unit, digit| unit.wrapping_mul(16).wrapping_add(hex(Some(digit)).unwrap_or(255) as u16));
    cur.advance(4);
    Ok(unit.into())
}

/// How many arrays and objects of a value are inside of one another.
pub fn json_depth(value: &[u8]) -> u64 {
    let (mut depth, mut deepest) = (0u64, 0u64);
    let mut bytes = value.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => drop(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// Steps over one JSON value of any kind and gives its bytes.
pub fn json_value<'a>(cur: &mut Cursor<'a>) -> Result<&'a [u8]> {
    cur.skip_whitespace();
    let whole = cur.rest();
    let start = cur.position();
    match cur.peek() {
        Some(b'"') => json(cur, &mut Vec::new())?,
        Some(b'{' | b'[') => {
            // Brackets are counted, not matched; whoever reads the value again will notice.
            let mut depth = 0usize;
            loop {
                cur.take_until(|b| matches!(b, b'{' | b'[' | b'}' | b']' | b'"'));
                match cur.peek() {
                    Some(b'"') => json(cur, &mut Vec::new())?,
                    Some(b'{' | b'[') => {
                        depth += 1;
                        cur.advance(1);
                    }
                    Some(_) => {
                        depth -= 1;
                        cur.advance(1);
                    }
                    None => return Err(cur.expected(b"}")),
                }
                if depth == 0 {
                    break;
                }
            }
        }
        _ => {
            let text = cur.take_until(|b| matches!(b, b',' | b'}' | b']' | b':') || b.is_ascii_whitespace());
            if text.is_empty() {
                let rest = cur.rest();
                bail!(
                    INCORRECT_DATA,
                    "Cannot read JSON field here: '{}'. Unexpected symbol '{}'",
                    plain(&rest[..rest.len().min(10)]),
                    plain(&rest[..rest.len().min(1)])
                );
            }
        }
    }
    Ok(&whole[..cur.position() - start])
}

/// A name in an object of JSON.
pub fn quoted_json_name(cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
    json(cur, out)
}
