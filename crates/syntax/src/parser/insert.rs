//! INSERT with its inline data, DELETE and UPDATE.

use super::{Parse, Parser};
use crate::ast::{
    Bytes, Expr, ExprKind, Ident, Insert, InsertColumns, InsertSource, InsertTarget, Query, Span,
    StatementKind,
};
use crate::lexer::{Lexer, TokenKind};
use crate::visit;

impl Parser<'_> {
    pub(crate) fn insert(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("INSERT")?;
        self.expect_keyword("INTO")?;
        self.accept_keyword("TABLE");
        let target = if self.at_keyword("FUNCTION")
            && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent)
        {
            self.advance();
            let name = self.ident()?;
            InsertTarget::Function(Box::new(self.insert_function(name.name)?))
        } else {
            InsertTarget::Table(self.object_name()?)
        };
        let mut partition_by = None;
        if self.accept_keyword("PARTITION BY") {
            partition_by = Some(self.bare_expr()?);
        }
        let mut columns = None;
        if self.at(TokenKind::LParen) && !self.starts_query() {
            columns = Some(self.insert_columns()?);
        }
        let mut settings = Vec::new();
        if self.at_settings() {
            self.advance();
            settings = self.settings_list()?;
        }
        let source = self.insert_source()?;
        Ok(StatementKind::Insert(Box::new(Insert { target, columns, partition_by, settings, source })))
    }

    fn insert_columns(&mut self) -> Parse<InsertColumns> {
        let exprs = self.parens(|p| {
            let mut exprs = Vec::new();
            while !p.at(TokenKind::RParen) {
                exprs.push(p.bare_expr()?);
                if !p.accept(TokenKind::Comma) {
                    break;
                }
            }
            Ok(exprs)
        })?;
        let plain = exprs.iter().all(|e| matches!(e.kind, ExprKind::Identifier(_)));
        if !plain {
            return Ok(InsertColumns::Exprs(exprs));
        }
        let joined = |expr: Expr| match expr.kind {
            ExprKind::Identifier(parts) => {
                let name = parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".");
                Ident { name, parameter: parts.iter().any(|p| p.parameter), span: expr.span }
            }
            _ => Ident::at("", expr.span),
        };
        Ok(InsertColumns::List(exprs.into_iter().map(joined).collect()))
    }

    fn insert_source(&mut self) -> Parse<InsertSource> {
        if self.at_keyword("VALUES") {
            let word = self.advance();
            let format = Ident::at("Values", Span::new(word.start as usize, word.end as usize));
            let data = self.inline_values(word.end as usize);
            return Ok(InsertSource::Inline { query: None, format, data });
        }
        self.note("VALUES");
        if self.accept_keyword("FROM INFILE") {
            let path = self.string()?;
            let compression = if self.accept_keyword("COMPRESSION") { Some(self.string()?) } else { None };
            if self.at_settings() {
                self.advance();
                self.settings_list()?;
            }
            let format = if self.accept_keyword("FORMAT") { Some(self.ident()?) } else { None };
            return Ok(InsertSource::Infile { path, compression, format });
        }
        if self.accept_keyword("FORMAT") {
            return self.inline(None);
        }
        if self.starts_query() {
            let mut query = Box::new(self.query()?);
            if self.at_keyword("FORMAT") && visit::reads_input(&mut query) {
                self.advance();
                return self.inline(Some(query));
            }
            return Ok(InsertSource::Query(query));
        }
        self.note("SELECT query, possibly with UNION");
        Err(super::Fail::Syntax)
    }

    /// What stands behind FORMAT.
    fn inline(&mut self, query: Option<Box<Query>>) -> Parse<InsertSource> {
        let format = self.ident()?;
        let end = format.span.end as usize;
        let data = if format.name.eq_ignore_ascii_case("Values") {
            self.inline_values(end)
        } else {
            self.inline_rest(end)
        };
        Ok(InsertSource::Inline { query, format, data })
    }

    /// The data of VALUES end at the first semicolon outside quotes.
    fn inline_values(&mut self, start: usize) -> Bytes {
        let mut lexer = Lexer::new(self.text);
        lexer.seek(start);
        let end = loop {
            let token = lexer.next_token();
            match token.kind {
                TokenKind::End | TokenKind::Semicolon => break token.start as usize,
                _ => {}
            }
        };
        self.inline_data(start, end)
    }

    /// The data of a format begin after the spaces and one line end behind its name, and run to an empty line or the end of
    /// the text. Behind the empty line the next statement may begin.
    fn inline_rest(&mut self, after_name: usize) -> Bytes {
        let bytes = self.text.as_bytes();
        let mut start = after_name;
        while matches!(bytes.get(start), Some(b' ' | b'\t' | 0x0c)) {
            start += 1;
        }
        if bytes.get(start) == Some(&b'\r') {
            start += 1;
        }
        if bytes.get(start) == Some(&b'\n') {
            start += 1;
        }
        let empty_line = bytes[start..].windows(2).position(|pair| pair == b"\n\n");
        self.data_ended = empty_line.is_some();
        self.inline_data(start, empty_line.map_or(bytes.len(), |at| start + at + 1))
    }

    fn inline_data(&mut self, start: usize, end: usize) -> Bytes {
        self.skip_to(end);
        Bytes { content: self.text.as_bytes()[start..end].to_vec(), span: Span::new(start, end) }
    }

    // ---- DELETE, UPDATE

    pub(crate) fn delete(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("DELETE FROM")?;
        let table = self.object_name()?;
        self.on_cluster()?;
        let partition = if self.accept_keyword("IN PARTITION") { Some(self.partition()?) } else { None };
        self.expect_keyword("WHERE")?;
        Ok(StatementKind::Delete { table, partition, where_: Box::new(self.expr()?) })
    }

    pub(crate) fn update(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("UPDATE")?;
        let table = self.object_name()?;
        self.on_cluster()?;
        self.expect_keyword("SET")?;
        let assignments = self.assignments()?;
        let partition = if self.accept_keyword("IN PARTITION") { Some(self.partition()?) } else { None };
        self.expect_keyword("WHERE")?;
        Ok(StatementKind::Update { table, assignments, partition, where_: Box::new(self.expr()?) })
    }

    /// `a = 1, b = x + 1`.
    pub(crate) fn assignments(&mut self) -> Parse<Vec<(Ident, Expr)>> {
        self.comma_list(|p| p.assignment())
    }

    pub(crate) fn assignment(&mut self) -> Parse<(Ident, Expr)> {
        let name = self.column_path()?;
        self.expect(TokenKind::Equals)?;
        Ok((name, self.bare_expr()?))
    }
}
