//! Values of number and string tokens, and the escapes of quoted text.

use super::{Fail, Parse, Parser};
use crate::ast::{Expr, ExprKind, Literal, Span};
use crate::lexer::TokenKind;

/// Unescapes the inside of a quoted text: backslash sequences and the doubled quote.
pub(crate) fn unescape(body: &[u8], quote: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((&b, tail)) = rest.split_first() {
        rest = tail;
        if b == quote {
            // The lexer let only doubled quotes through.
            rest = rest.strip_prefix(&[quote]).unwrap_or(rest);
            out.push(b);
            continue;
        }
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let Some((&escaped, tail)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = tail;
        match escaped {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'0' => out.push(0),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'v' => out.push(11),
            b'e' => out.push(27),
            b'N' => {}
            b'x' => match rest {
                [high, low, tail @ ..] => match (hex_digit(*high), hex_digit(*low)) {
                    (Some(high), Some(low)) => {
                        out.push(high << 4 | low);
                        rest = tail;
                    }
                    _ => out.extend_from_slice(b"\\x"),
                },
                _ => out.extend_from_slice(b"\\x"),
            },
            b'\\' | b'\'' | b'"' | b'`' | b'/' | b'=' | 0..=31 => out.push(escaped),
            _ => {
                // An unknown sequence keeps its backslash, which LIKE and regular expressions rely on.
                out.push(b'\\');
                out.push(escaped);
            }
        }
    }
    out
}

fn hex_digit(b: u8) -> Option<u8> {
    (b as char).to_digit(16).map(|d| d as u8)
}

/// The name in a quoted identifier token; bytes that are no UTF-8 are replaced.
pub(crate) fn unquote_ident(text: &str) -> String {
    let bytes = text.as_bytes();
    if bytes.first() == Some(&0xe2) {
        return text.trim_start_matches('“').trim_end_matches('”').to_string();
    }
    let body = &bytes[1..bytes.len() - 1];
    match String::from_utf8(unescape(body, bytes[0])) {
        Ok(name) => name,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// `x'414'` is two bytes, the first digit alone makes one; the same with eight bits in `b'...'`.
fn decode_encoded(text: &str) -> Vec<u8> {
    let bits: usize = if text.as_bytes()[0].eq_ignore_ascii_case(&b'x') { 4 } else { 1 };
    let digits = &text.as_bytes()[2..text.len() - 1];
    let per_byte = 8 / bits;
    let mut out = Vec::with_capacity(digits.len() / per_byte + 1);
    let (head, tail) = digits.split_at(digits.len() % per_byte);
    for chunk in std::iter::once(head).filter(|h| !h.is_empty()).chain(tail.chunks(per_byte)) {
        out.push(chunk.iter().fold(0u8, |acc, &d| acc << bits | hex_digit(d).unwrap_or(0)));
    }
    out
}

/// An integer that fits 64 bits stays one, everything else is a Float64, as in the kernel.
pub(crate) fn number(text: &str, negative: bool) -> Option<Literal> {
    let clean: String = text.chars().filter(|&c| c != '_').collect();
    let lower = clean.to_ascii_lowercase();
    let integer = if let Some(hex) = lower.strip_prefix("0x") {
        if hex.contains(['.', 'p']) {
            return hex_float(hex).map(|v| Literal::Float(if negative { -v } else { v }));
        }
        u64::from_str_radix(hex, 16).ok()
    } else if let Some(bin) = lower.strip_prefix("0b") {
        u64::from_str_radix(bin, 2).ok()
    } else {
        clean.parse::<u64>().ok()
    };
    match (integer, negative) {
        (Some(value), false) => return Some(Literal::UInt(value)),
        (Some(0), true) => return Some(Literal::UInt(0)),
        (Some(value), true) if value <= 1 << 63 => {
            return Some(Literal::Int(0i64.wrapping_sub_unsigned(value)));
        }
        _ => {}
    }
    let float = if let Some(hex) = lower.strip_prefix("0x") {
        hex_float(hex)?
    } else if let Some(bits) = lower.strip_prefix("0b") {
        bits.bytes().fold(0.0, |acc, b| acc * 2.0 + f64::from(b - b'0'))
    } else {
        clean.parse::<f64>().ok()?
    };
    // A number beyond the range is no number; infinity has a word of its own.
    if float.is_infinite() {
        return None;
    }
    Some(Literal::Float(if negative { -float } else { float }))
}

/// `1.8p1`: hexadecimal digits, then a power of two.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut value = 0.0f64;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value * 16.0 + f64::from(hex_digit(digit)?);
    }
    let exponent: i32 = exponent.parse().ok()?;
    let shift = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    // In two steps: the power alone may be below the least number where the product is not.
    let exponent = exponent.checked_sub(shift)?;
    Some(value * 2.0f64.powi(exponent / 2) * 2.0f64.powi(exponent - exponent / 2))
}

impl Parser<'_> {
    /// The value of a string token of any kind, consumed; `None` when there is none.
    pub(crate) fn string_token(&mut self) -> Option<Vec<u8>> {
        let token = self.token();
        let text = self.text_of(token);
        let value = match token.kind {
            TokenKind::String if text.starts_with('‘') => {
                text.trim_start_matches('‘').trim_end_matches('’').as_bytes().to_vec()
            }
            TokenKind::String => unescape(&text.as_bytes()[1..text.len() - 1], b'\''),
            TokenKind::EncodedString => decode_encoded(text),
            TokenKind::Heredoc => {
                let tag = text[1..].find('$').map_or(1, |p| p + 2);
                text.as_bytes()[tag..text.len() - tag].to_vec()
            }
            _ => return None,
        };
        self.advance();
        Some(value)
    }

    /// Number, string, NULL, Bool; a minus directly before a number belongs to it.
    pub(crate) fn literal(&mut self) -> Parse<Option<Expr>> {
        let token = self.token();
        let start = token.start as usize;
        let literal = match token.kind {
            TokenKind::Number => self.number_literal(false)?,
            TokenKind::Minus => {
                let next = self.peek(1);
                let numeric = next.kind == TokenKind::Number
                    || (next.kind == TokenKind::Word && float_word(self.text_of(next)).is_some());
                if !numeric {
                    return Ok(None);
                }
                self.advance();
                self.number_literal(true)?
            }
            TokenKind::String | TokenKind::EncodedString | TokenKind::Heredoc => match self.string_token() {
                Some(bytes) => Literal::String(bytes),
                None => return Ok(None),
            },
            TokenKind::Word => {
                let text = self.text_of(token);
                if matches!(self.peek(1).kind, TokenKind::LParen | TokenKind::Dot) {
                    return Ok(None);
                }
                let literal = if text.eq_ignore_ascii_case("NULL") {
                    Literal::Null
                } else if text.eq_ignore_ascii_case("TRUE") {
                    Literal::Bool(true)
                } else if text.eq_ignore_ascii_case("FALSE") {
                    Literal::Bool(false)
                } else if let Some(value) = float_word(text) {
                    Literal::Float(value)
                } else {
                    return Ok(None);
                };
                self.advance();
                literal
            }
            _ => return Ok(None),
        };
        Ok(Some(Expr { kind: ExprKind::Literal(literal), alias: None, span: self.span_from(start) }))
    }

    fn number_literal(&mut self, negative: bool) -> Parse<Literal> {
        let token = self.token();
        let text = self.text_of(token);
        let literal = match token.kind {
            TokenKind::Word => float_word(text).map(|v| Literal::Float(if negative { -v } else { v })),
            _ => number(text, negative),
        };
        match literal {
            Some(literal) => {
                self.advance();
                Ok(literal)
            }
            None => Err(self.expect_here("number")),
        }
    }
}

fn float_word(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("inf") || text.eq_ignore_ascii_case("infinity") {
        Some(f64::INFINITY)
    } else if text.eq_ignore_ascii_case("nan") {
        Some(f64::NAN)
    } else {
        None
    }
}

/// A string literal expression.
pub(crate) fn string_expr(text: impl Into<Vec<u8>>, span: Span) -> Expr {
    Expr { kind: ExprKind::Literal(Literal::String(text.into())), alias: None, span }
}

impl From<chalet_base::Error> for Fail {
    fn from(error: chalet_base::Error) -> Self {
        Fail::Error(error)
    }
}
