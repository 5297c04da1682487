//! The statement list, and which rule a statement's first words call.

use super::{Fail, Parse, Parser};
use crate::ast::{Output, Statement, StatementKind};
use crate::lexer::TokenKind;

impl Parser<'_> {
    pub(crate) fn statements(&mut self) -> Parse<Vec<Statement>> {
        let mut list = Vec::new();
        loop {
            while self.accept(TokenKind::Semicolon) {}
            if self.at(TokenKind::End) {
                return Ok(list);
            }
            list.push(self.statement()?);
            if !self.at(TokenKind::Semicolon) && !self.at(TokenKind::End) {
                self.note("end of query");
                return Err(Fail::Syntax);
            }
        }
    }

    pub(crate) fn statement(&mut self) -> Parse<Statement> {
        let start = self.start();
        let kind = StatementKind::Query(Box::new(self.query()?));
        let output = self.output()?;
        Ok(Statement { kind, output, span: self.span_from(start) })
    }

    /// INTO OUTFILE, FORMAT and SETTINGS after any statement.
    pub(crate) fn output(&mut self) -> Parse<Output> {
        let mut output = Output::default();
        if self.accept_keyword("FORMAT") {
            output.format = Some(self.ident()?);
        }
        if self.at_settings() {
            self.advance();
            output.settings = self.settings_list()?;
        }
        Ok(output)
    }
}
