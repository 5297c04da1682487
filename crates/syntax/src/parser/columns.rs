//! `COLUMNS(...)` and what may follow a star: EXCEPT, REPLACE, APPLY.

use super::{Fail, Parse, Parser};
use crate::ast::{ColumnsMatcher, Expr, ExprKind, Ident, Transformer};
use crate::lexer::TokenKind;
use crate::name::spelled_lambda;

impl Parser<'_> {
    /// `COLUMNS('regex')`, `COLUMNS(a, b)`; the current token is the word COLUMNS.
    pub(crate) fn columns(&mut self, prefix: Vec<Ident>, start: usize) -> Parse<Expr> {
        self.advance();
        self.expect(TokenKind::LParen)?;
        let matcher = match self.string_token() {
            Some(regex) => ColumnsMatcher::Regex(regex),
            None => ColumnsMatcher::List(self.comma_list(|p| p.bare_expr())?),
        };
        self.expect(TokenKind::RParen)?;
        let transformers = self.transformers()?;
        let span = self.span_from(start);
        Ok(Expr { kind: ExprKind::Columns { prefix, matcher, transformers }, alias: None, span })
    }

    /// EXCEPT, REPLACE and APPLY after a star.
    pub(crate) fn transformers(&mut self) -> Parse<Vec<Transformer>> {
        let mut list = Vec::new();
        loop {
            let found = self.maybe(|p| p.transformer())?;
            match found {
                Some(transformer) => list.push(transformer),
                None => return Ok(list),
            }
        }
    }

    fn transformer(&mut self) -> Parse<Transformer> {
        if self.accept_keyword("EXCEPT") {
            let strict = self.accept_keyword("STRICT");
            if let Some(regex) = self.string_token() {
                return Ok(Transformer::ExceptRegex(regex));
            }
            // Any word is the name of a column here: after a star EXCEPT is never the set operation.
            if !self.at(TokenKind::LParen) {
                return Ok(Transformer::Except { strict, columns: vec![self.ident()?] });
            }
            if matches!(self.peek(1).kind, TokenKind::String | TokenKind::Heredoc) {
                return Ok(Transformer::ExceptRegex(self.parens(|p| p.string())?));
            }
            let columns = self.paren_list(false, |p| p.ident())?;
            return Ok(Transformer::Except { strict, columns });
        }
        if self.accept_keyword("REPLACE") {
            let strict = self.accept_keyword("STRICT");
            let item = |p: &mut Self| {
                let mut expr = p.expr()?;
                match expr.alias.take() {
                    Some(name) => Ok((expr, name)),
                    None => Err(p.expect_here("AS")),
                }
            };
            if self.at(TokenKind::LParen)
                && let Some(items) = self.maybe(|p| p.paren_list(false, item))?
            {
                return Ok(Transformer::Replace { strict, items });
            }
            return Ok(Transformer::Replace { strict, items: vec![item(self)?] });
        }
        self.expect_keyword("APPLY")?;
        if self.accept(TokenKind::LParen) {
            let transformer = self.apply(true)?;
            self.expect(TokenKind::RParen)?;
            return Ok(transformer);
        }
        self.apply(false)
    }

    /// A column that may be `a.b`, as one name.
    pub(crate) fn column_path(&mut self) -> Parse<Ident> {
        let mut ident = self.ident()?;
        while self.at(TokenKind::Dot) && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent)
        {
            self.advance();
            let next = self.ident()?;
            ident = Ident::at(format!("{}.{}", ident.name, next.name), ident.span.to(next.span));
        }
        Ok(ident)
    }

    fn apply(&mut self, parenthesised: bool) -> Parse<Transformer> {
        if let Some(expr) = self.maybe(|p| {
            let expr = p.bare_expr()?;
            match expr.kind {
                ExprKind::Lambda { .. } => Ok(expr.kind),
                ExprKind::Call(call) => spelled_lambda(&call).ok_or(Fail::Syntax),
                _ => Err(Fail::Syntax),
            }
        })? {
            if let ExprKind::Lambda { mut params, body } = expr
                && params.len() == 1
                && let Some(param) = params.pop()
            {
                return Ok(Transformer::ApplyLambda { param, body });
            }
            return Err(self.expect_here("lambda expression of one argument"));
        }
        let function = self.ident()?.name;
        let params =
            if self.at(TokenKind::LParen) { self.paren_list(true, |p| p.expr())? } else { Vec::new() };
        let prefix = if parenthesised && self.accept(TokenKind::Comma) { Some(self.string()?) } else { None };
        Ok(Transformer::Apply { function, params, prefix })
    }
}
