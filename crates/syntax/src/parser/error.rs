//! The text of a syntax error: position, token, the rest of the query, and what would have been legal.

use std::fmt::Write;

use chalet_base::{Error, err};

use super::{Fail, Parser};
use crate::lexer::{LexError, Token, TokenKind};

/// Characters of the query shown after the position, as the kernel does.
const SHOWN: usize = 160;

impl Parser<'_> {
    pub(crate) fn into_error(mut self, fail: Fail) -> Error {
        match fail {
            Fail::Error(error) => error,
            Fail::Syntax => self.syntax_error(),
        }
    }

    fn syntax_error(&mut self) -> Error {
        self.fill(self.furthest);
        let token = self.tokens[self.furthest];
        if let TokenKind::Error(kind) = token.kind {
            let what = match kind {
                LexError::UnclosedComment => "Multiline comment is not closed",
                LexError::UnclosedString => "Single quoted string is not closed",
                LexError::UnclosedBackQuote => "Back quoted string is not closed",
                LexError::UnclosedDoubleQuote => "Double quoted string is not closed",
                LexError::Unrecognized => "Unrecognized token",
            };
            let place = self.place(token, token);
            return err!(SYNTAX_ERROR, "{what}: {}", place.trim_end_matches('.'));
        }
        if let Some((bracket, problem)) = self.unmatched() {
            let shown = if bracket.start < token.start { bracket } else { token };
            return err!(SYNTAX_ERROR, "{} Unmatched parentheses: {problem}", self.place(token, shown));
        }
        let mut message = self.place(token, token);
        match &self.expected[..] {
            [] => {}
            [one] => {
                let _ = write!(message, " Expected {one}");
            }
            many => {
                let _ = write!(message, " Expected one of: {}", many.join(", "));
            }
        }
        err!(SYNTAX_ERROR, "{}", message.trim_end_matches('.'))
    }

    /// `Syntax error: failed at position 8 (x) (line 1, col 8): rest.`; the rest is shown from `shown`.
    fn place(&self, at: Token, shown: Token) -> String {
        let start = at.start as usize;
        let mut message = format!("Syntax error: failed at position {}", start + 1);
        match at.kind {
            TokenKind::End | TokenKind::Semicolon => message.push_str(" (end of query)"),
            _ => {
                let _ = write!(message, " ({})", self.text_of(at));
            }
        }
        if self.text.contains('\n') {
            let before = &self.text[..start];
            let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
            let col = start - before.rfind('\n').map_or(0, |p| p + 1) + 1;
            let _ = write!(message, " (line {line}, col {col})");
        }
        let rest = &self.text[shown.start as usize..];
        let cut = rest.char_indices().nth(SHOWN).map_or(rest.len(), |(i, _)| i);
        let _ = write!(message, ": {}{}", &rest[..cut], if cut < rest.len() { "..." } else { "." });
        message
    }

    /// A bracket without its partner explains more than what was expected at the end.
    fn unmatched(&mut self) -> Option<(Token, String)> {
        let mut open: Vec<Token> = Vec::new();
        let mut index = 0;
        loop {
            self.fill(index);
            let token = self.tokens[index];
            index += 1;
            use TokenKind::*;
            let partner = match token.kind {
                LParen | LBracket | LBrace => {
                    open.push(token);
                    continue;
                }
                RParen => LParen,
                RBracket => LBracket,
                RBrace => LBrace,
                // Inline data of INSERT are no tokens; whatever looks like an error there is not ours to judge.
                End | Semicolon | Error(_) => {
                    let first = *open.first()?;
                    let at = first.start + 1;
                    return Some((
                        first,
                        format!("'{}' at position {at} is never closed", self.text_of(first)),
                    ));
                }
                _ => continue,
            };
            match open.pop() {
                Some(last) if last.kind == partner => {}
                last => {
                    let (text, at) = (self.text_of(token), token.start + 1);
                    let problem = match last {
                        Some(last) => format!(
                            "'{text}' at position {at} does not match '{}' at position {}",
                            self.text_of(last),
                            last.start + 1
                        ),
                        None => format!("'{text}' at position {at} has no matching opening bracket"),
                    };
                    return Some((token, problem));
                }
            }
        }
    }
}

/// How a token that was expected is called in a message.
pub(crate) fn token_name(kind: TokenKind) -> &'static str {
    use TokenKind::*;
    match kind {
        Word | QuotedIdent => "identifier",
        Number => "number",
        String | EncodedString | Heredoc => "string literal",
        LParen => "OpeningRoundBracket",
        RParen => "ClosingRoundBracket",
        LBracket => "OpeningSquareBracket",
        RBracket => "ClosingSquareBracket",
        LBrace => "OpeningCurlyBrace",
        RBrace => "ClosingCurlyBrace",
        Comma => "Comma",
        Semicolon => "Semicolon",
        Dot => "Dot",
        Asterisk => "asterisk",
        Colon => "Colon",
        DoubleColon => "DoubleColon",
        Equals => "Equals",
        Arrow => "Arrow",
        End => "end of query",
        _ => "token",
    }
}
