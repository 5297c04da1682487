//! Operands: parentheses, arrays, parameters, names with everything that may follow a dot.

use super::literal::string_expr;
use super::{Fail, Parse, Parser};
use crate::ast::{Call, CallStyle, Expr, ExprKind, Ident};
use crate::lexer::TokenKind;
use crate::name::is_constant_collection;

impl Parser<'_> {
    pub(crate) fn operand(&mut self) -> Parse<Expr> {
        let start = self.start();
        if let Some(literal) = self.literal()? {
            return Ok(literal);
        }
        match self.token().kind {
            TokenKind::LParen => self.nested_operand(|p| p.parenthesised(start)),
            TokenKind::LBracket => self.nested_operand(|p| p.array(start)),
            TokenKind::LBrace => self.parameter(start),
            TokenKind::Asterisk => {
                self.advance();
                let transformers = self.transformers()?;
                Ok(Expr { kind: ExprKind::Star(transformers), alias: None, span: self.span_from(start) })
            }
            TokenKind::DoubleAt => self.global_variable(start),
            TokenKind::Word | TokenKind::QuotedIdent => self.nested_operand(|p| p.word_operand(start)),
            _ => {
                self.note("expression");
                Err(Fail::Syntax)
            }
        }
    }

    fn nested_operand(&mut self, rule: impl FnOnce(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        self.remembered(|p| &mut p.operands, |p| p.nested(rule))
    }

    /// `(query)`, `(expr)`, `(a, b)`, `(a,)`, `()`.
    fn parenthesised(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        if self.accept(TokenKind::RParen) {
            return Ok(self.call_expr(Call::new("tuple", Vec::new(), CallStyle::Function), start));
        }
        if self.starts_query() {
            let pos = self.pos;
            if let Some(query) = self.maybe(|p| {
                let query = p.query()?;
                p.expect(TokenKind::RParen)?;
                Ok(query)
            })? {
                let span = self.span_from(start);
                return Ok(Expr { kind: ExprKind::Subquery(Box::new(query)), alias: None, span });
            }
            self.pos = pos;
        }
        let first = self.expr()?;
        if self.accept(TokenKind::RParen) {
            let mut expr = first;
            // The parentheses belong to the span, so that a cast of `(1)` sees them.
            expr.span = self.span_from(start);
            // Subqueries and constant tuples have parentheses of their own.
            expr.span.parenthesised =
                !matches!(expr.kind, ExprKind::Subquery(_)) && !is_constant_tuple(&expr);
            return Ok(expr);
        }
        let mut args = vec![first];
        loop {
            self.expect(TokenKind::Comma)?;
            if self.accept(TokenKind::RParen) {
                break;
            }
            args.push(self.later_element()?);
            if self.accept(TokenKind::RParen) {
                break;
            }
        }
        // One element in parentheses would be no tuple.
        let style = if args.len() == 1 { CallStyle::Function } else { CallStyle::Tuple };
        Ok(self.call_expr(Call::new("tuple", args, style), start))
    }

    /// An element behind others, which would be parameters of a lambda without parentheses.
    fn later_element(&mut self) -> Parse<Expr> {
        let parenthesised = self.at(TokenKind::LParen);
        let element = self.expr()?;
        if !parenthesised && matches!(element.kind, ExprKind::Lambda { .. }) {
            return Err(self.expect_here("token"));
        }
        Ok(element)
    }

    /// Whether a query may begin here, possibly after more parentheses.
    pub(crate) fn starts_query(&mut self) -> bool {
        let mut ahead = 0;
        while self.peek(ahead).kind == TokenKind::LParen {
            ahead += 1;
        }
        ["SELECT", "WITH", "FROM", "EXPLAIN"].iter().any(|word| self.at_keyword_ahead(ahead, word))
            || (self.at_keyword_ahead(ahead, "VALUES") && self.peek(ahead + 1).kind == TokenKind::LParen)
    }

    fn array(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let mut args = Vec::new();
        if !self.accept(TokenKind::RBracket) {
            args = self.comma_list(|p| p.expr())?;
            self.expect(TokenKind::RBracket)?;
        }
        Ok(self.call_expr(Call::new("array", args, CallStyle::Array), start))
    }

    /// `{name:Type}`.
    pub(crate) fn parameter(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let token = self.token();
        if token.kind != TokenKind::Word {
            return Err(self.expect_here("substitution name (identifier)"));
        }
        self.advance();
        if !self.at(TokenKind::Colon) {
            return Err(self.expect_here("colon between name and type"));
        }
        self.advance();
        let mut ty = self.type_name()?;
        self.expect(TokenKind::RBrace)?;
        // A parameter is shown with its type as it is written.
        ty.text = self.source(ty.span).to_string();
        let name = self.text_of(token).to_string();
        if ty.text.eq_ignore_ascii_case("Identifier") {
            let ident = self.substituted(name, self.span_from(start));
            return self.identifier_tail(vec![ident], start);
        }
        Ok(Expr { kind: ExprKind::Parameter { name, ty }, alias: None, span: self.span_from(start) })
    }

    /// `@@version` asks a variable of MySQL.
    fn global_variable(&mut self, start: usize) -> Parse<Expr> {
        self.advance();
        let mut name = self.ident()?.name;
        while self.accept(TokenKind::Dot) {
            name = self.ident()?.name;
        }
        let span = self.span_from(start);
        let alias = Ident::at(format!("@@{name}"), span);
        let mut call = self.function("globalVariable", vec![string_expr(name, span)], start);
        call.alias = Some(alias);
        Ok(call)
    }

    /// A word: an operand with its own grammar, a call, or a name.
    fn word_operand(&mut self, start: usize) -> Parse<Expr> {
        if self.at(TokenKind::Word) {
            if let Some(expr) = self.keyword_operand(start)? {
                return Ok(expr);
            }
            if self.peek(1).kind == TokenKind::LParen
                && let Some(expr) = self.special_call(start)?
            {
                return Ok(expr);
            }
        }
        if self.at_keyword("FROM") && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent) {
            // `SELECT FROM t`: a list is missing, the clause is not its element.
            return Err(self.expect_here("expression"));
        }
        let first = self.ident()?;
        if self.at(TokenKind::LParen) {
            return self.call(first, start);
        }
        self.identifier_tail(vec![first], start)
    }

    /// The rest of `a.b.c`, `a.b.*`, `a.COLUMNS(...)`, `a.f(...)`, and JSON's `a.:Type`, `a.^b`, `a[]`.
    fn identifier_tail(&mut self, mut parts: Vec<Ident>, start: usize) -> Parse<Expr> {
        loop {
            if self.at(TokenKind::LBracket) && self.peek(1).kind == TokenKind::RBracket {
                let at = self.start();
                let mut depth = 0;
                while self.at(TokenKind::LBracket) && self.peek(1).kind == TokenKind::RBracket {
                    self.advance();
                    self.advance();
                    depth += 1;
                }
                let ty = (0..depth).fold("JSON".to_string(), |inner, _| format!("Array({inner})"));
                parts.push(Ident::at(format!(":`{ty}`"), self.span_from(at)));
                continue;
            }
            if !self.at(TokenKind::Dot) {
                self.note("Dot");
                break;
            }
            let next = self.peek(1);
            match next.kind {
                TokenKind::Asterisk => {
                    self.advance();
                    self.advance();
                    let transformers = self.transformers()?;
                    let span = self.span_from(start);
                    return Ok(Expr {
                        kind: ExprKind::QualifiedStar { prefix: parts, transformers },
                        alias: None,
                        span,
                    });
                }
                TokenKind::Word
                    if self.at_keyword_ahead(1, "COLUMNS") && self.peek(2).kind == TokenKind::LParen =>
                {
                    self.advance();
                    return self.columns(parts, start);
                }
                TokenKind::Word | TokenKind::QuotedIdent => {
                    self.advance();
                    parts.push(self.ident()?);
                    if self.at(TokenKind::LParen) {
                        let name = parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".");
                        return self.call(Ident::at(name, self.span_from(start)), start);
                    }
                }
                TokenKind::LBrace
                    if parts.iter().any(|p| p.parameter) || self.at_keyword_ahead(4, "Identifier") =>
                {
                    self.advance();
                    parts.push(self.ident()?);
                }
                TokenKind::Colon => {
                    self.advance();
                    self.advance();
                    let at = self.start();
                    let quoted = self.at(TokenKind::QuotedIdent);
                    let ty = if quoted { self.ident()?.name } else { self.type_name()?.text };
                    parts.push(Ident::at(format!(":`{ty}`"), self.span_from(at)));
                }
                TokenKind::Caret | TokenKind::At => {
                    self.advance();
                    let at = self.start();
                    let sign = self.text_of(next);
                    self.advance();
                    let name = self.ident()?.name;
                    parts.push(Ident::at(format!("{sign}`{name}`"), self.span_from(at)));
                }
                _ => break,
            }
        }
        Ok(Expr { kind: ExprKind::Identifier(parts), alias: None, span: self.span_from(start) })
    }
}

fn is_constant_tuple(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if call.style == CallStyle::Tuple)
        && is_constant_collection(expr)
}
