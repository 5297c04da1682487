//! Data types, as far as their text: words, arguments, and the SQL standard's names of several words.

use super::{Parse, Parser};
use crate::ast::{Ident, TypeName};
use crate::lexer::TokenKind;
use crate::print::{write_ident, write_string};

/// Type names of several words; longer ones first.
const COMPOUND: [&str; 22] = [
    "NATIONAL CHARACTER LARGE OBJECT",
    "NATIONAL CHARACTER VARYING",
    "NATIONAL CHAR VARYING",
    "NATIONAL CHARACTER",
    "NATIONAL CHAR",
    "CHARACTER LARGE OBJECT",
    "CHARACTER VARYING",
    "CHAR LARGE OBJECT",
    "CHAR VARYING",
    "NCHAR LARGE OBJECT",
    "NCHAR VARYING",
    "BINARY LARGE OBJECT",
    "BINARY VARYING",
    "DOUBLE PRECISION",
    "INT SIGNED",
    "INT UNSIGNED",
    "INTEGER SIGNED",
    "INTEGER UNSIGNED",
    "BIGINT SIGNED",
    "BIGINT UNSIGNED",
    "TINYINT UNSIGNED",
    "SMALLINT UNSIGNED",
];

/// Names behind whose width a sign may stand: `INT(11) UNSIGNED`.
const INTEGERS: [&str; 6] = ["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INTEGER", "BIGINT"];

impl Parser<'_> {
    pub(crate) fn type_name(&mut self) -> Parse<TypeName> {
        let start = self.start();
        let mut text = String::new();
        self.write_type(&mut text)?;
        Ok(TypeName { text, span: self.span_from(start) })
    }

    fn write_type(&mut self, out: &mut String) -> Parse<()> {
        let token = self.token();
        if token.kind != TokenKind::Word && token.kind != TokenKind::QuotedIdent {
            return Err(self.expect_here("data type"));
        }
        match COMPOUND.into_iter().find(|name| self.at_keyword(name)) {
            Some(name) => {
                for _ in name.split(' ') {
                    self.advance();
                }
                out.push_str(name);
            }
            None => {
                let name = self.ident()?.name;
                out.push_str(&name);
                // `INT(11) UNSIGNED` of MySQL drops its width; other signed names take one word.
                if ["TINYINT", "SMALLINT", "MEDIUMINT"].iter().any(|n| name.eq_ignore_ascii_case(n)) {
                    for sign in ["SIGNED", "UNSIGNED"] {
                        if self.accept_keyword(sign) {
                            out.push(' ');
                            out.push_str(sign);
                        }
                    }
                }
            }
        }
        if !self.accept(TokenKind::LParen) {
            return Ok(());
        }
        let name = out.len();
        out.push('(');
        // Elements of JSON have paths, those of other types a name each.
        let has_paths = ["JSON", "OBJECT"].iter().any(|word| ends_with_word(&out[..name], word));
        self.nested(|p| p.write_type_args(has_paths, out))?;
        out.push(')');
        // The width of an integer says nothing; MySQL writes the sign behind it.
        if INTEGERS.iter().any(|word| ends_with_word(&out[..name], word)) {
            out.truncate(name);
            if let Some(sign) = self.accept_any_keyword(&["UNSIGNED", "SIGNED"]) {
                out.push_str([" UNSIGNED", " SIGNED"][sign]);
            }
        }
        Ok(())
    }

    fn write_type_args(&mut self, has_paths: bool, out: &mut String) -> Parse<()> {
        if self.accept(TokenKind::RParen) {
            return Ok(());
        }
        loop {
            self.write_type_arg(has_paths, out)?;
            if self.accept(TokenKind::RParen) {
                return Ok(());
            }
            self.expect(TokenKind::Comma)?;
            // A trailing comma is legal in Tuple and Nested.
            if self.accept(TokenKind::RParen) {
                return Ok(());
            }
            out.push_str(", ");
        }
    }

    fn write_type_arg(&mut self, has_paths: bool, out: &mut String) -> Parse<()> {
        let token = self.token();
        match token.kind {
            TokenKind::Number => {
                self.advance();
                out.push_str(self.text_of(token));
            }
            TokenKind::Minus => {
                self.advance();
                let number = self.token();
                self.expect(TokenKind::Number)?;
                out.push('-');
                out.push_str(self.text_of(number));
            }
            TokenKind::String | TokenKind::EncodedString | TokenKind::Heredoc => {
                let value = self.string()?;
                write_string(out, &value);
                if self.accept(TokenKind::Equals) {
                    out.push_str(" = ");
                    if self.accept(TokenKind::Minus) {
                        out.push('-');
                    }
                    let number = self.token();
                    self.expect(TokenKind::Number)?;
                    out.push_str(self.text_of(number));
                }
            }
            TokenKind::Word | TokenKind::QuotedIdent => self.write_named_arg(has_paths, out)?,
            _ => return Err(self.expect_here("data type")),
        }
        Ok(())
    }

    /// `name Type`, `a.b Type`, `SKIP path`, `SKIP REGEXP 'r'`, `name = value`, `f(0.5)`, or a type.
    fn write_named_arg(&mut self, has_paths: bool, out: &mut String) -> Parse<()> {
        if self.at_keyword("SKIP REGEXP") {
            self.advance();
            self.advance();
            self.accept(TokenKind::Equals);
            out.push_str("SKIP REGEXP ");
            let regex = self.string()?;
            write_string(out, &regex);
            return Ok(());
        }
        let skip =
            self.at_keyword("SKIP") && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent);
        if skip {
            self.advance();
            out.push_str("SKIP ");
            let path = self.dotted_path()?;
            write_path(out, &path);
            return Ok(());
        }
        if self.peek(1).kind == TokenKind::Equals {
            let name = self.ident()?;
            self.advance();
            let number = self.token();
            self.expect(TokenKind::Number)?;
            out.push_str(&format!("{} = {}", name.name, self.text_of(number)));
            return Ok(());
        }
        let compound = COMPOUND.iter().any(|name| self.at_keyword(name));
        let next = self.peek(1).kind;
        let named = !compound && matches!(next, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::Dot);
        let path = |p: &mut Self| if has_paths { p.dotted_path() } else { Ok(vec![p.ident()?]) };
        if named && let Some((path, ty)) = self.maybe(|p| Ok((path(p)?, p.type_name()?)))? {
            // The name of an element is one name; of several parts it is quoted whole.
            match &path[..] {
                [name] => write_ident(out, &name.name),
                parts => {
                    let name = parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".");
                    write_ident(out, &name);
                }
            }
            out.push(' ');
            out.push_str(&ty.text);
            return Ok(());
        }
        self.write_type(out)
    }

    fn dotted_path(&mut self) -> Parse<Vec<Ident>> {
        let mut path = vec![self.ident()?];
        while self.accept(TokenKind::Dot) {
            path.push(self.ident()?);
        }
        Ok(path)
    }
}

/// Is the last word of a text this one, in any case?
fn ends_with_word(text: &str, word: &str) -> bool {
    text.rsplit(|c: char| !c.is_ascii_alphanumeric())
        .next()
        .is_some_and(|last| last.eq_ignore_ascii_case(word))
}

fn write_path(out: &mut String, path: &[Ident]) {
    for (i, part) in path.iter().enumerate() {
        if i > 0 {
            out.push('.');
        }
        write_ident(out, &part.name);
    }
}
