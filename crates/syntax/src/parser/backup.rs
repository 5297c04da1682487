//! BACKUP and RESTORE.

use super::{Fail, Parse, Parser};
use crate::ast::{
    Backup, BackupElement, Expr, ExprKind, Ident, Literal, Partition, Setting, SettingValue, StatementKind,
};
use crate::lexer::TokenKind;

/// What begins an element. A list of partitions ends before it.
const ELEMENTS: [&str; 6] = ["TABLE", "TEMPORARY TABLE", "VIEW", "DICTIONARY", "DATABASE", "ALL"];

impl Parser<'_> {
    pub(crate) fn backup(&mut self) -> Parse<StatementKind> {
        let restore = match self.accept_any_keyword(&["BACKUP", "RESTORE"]) {
            Some(index) => index == 1,
            None => return Err(Fail::Syntax),
        };
        let elements = self.comma_list(|p| p.backup_element())?;
        self.on_cluster()?;
        self.expect_keyword(if restore { "FROM" } else { "TO" })?;
        let place = self.engine()?;
        let mut settings = if self.accept_keyword("SETTINGS") { self.settings_list()? } else { Vec::new() };
        if let Some(mode) = self.accept_any_keyword(&["SYNC", "ASYNC"]) {
            let value = ExprKind::Literal(Literal::Bool(mode == 1));
            let start = self.start();
            let value = Expr { kind: value, alias: None, span: self.span_from(start) };
            settings.push(Setting { name: Ident::new("async"), value: SettingValue::Expr(value) });
        }
        Ok(StatementKind::Backup(Box::new(Backup { restore, elements, place, settings })))
    }

    fn backup_element(&mut self) -> Parse<BackupElement> {
        match self.accept_any_keyword(&ELEMENTS) {
            Some(4) => {
                let name = self.ident()?;
                let new_name = if self.accept_keyword("AS") { Some(self.ident()?) } else { None };
                let except = if self.accept_keyword("EXCEPT") { self.except_tables()? } else { Vec::new() };
                Ok(BackupElement::Database { name, new_name, except })
            }
            Some(5) => {
                let (mut except_databases, mut except_tables) = (Vec::new(), Vec::new());
                while self.accept_keyword("EXCEPT") {
                    match self.accept_any_keyword(&["DATABASES", "DATABASE"]) {
                        Some(_) => except_databases.extend(self.names(|p| p.ident())?),
                        None => except_tables.extend(self.except_tables()?),
                    }
                }
                Ok(BackupElement::All { except_databases, except_tables })
            }
            Some(kind) => {
                let name = self.object_name()?;
                let new_name = if self.accept_keyword("AS") { Some(self.object_name()?) } else { None };
                let partitions = match self.accept_any_keyword(&["PARTITIONS", "PARTITION"]) {
                    Some(_) => self.partitions()?,
                    None => Vec::new(),
                };
                Ok(BackupElement::Table { temporary: kind == 1, name, new_name, partitions })
            }
            None => Err(Fail::Syntax),
        }
    }

    /// Behind EXCEPT.
    fn except_tables(&mut self) -> Parse<Vec<crate::ast::ObjectName>> {
        match self.accept_any_keyword(&["TABLES", "TABLE"]) {
            Some(_) => self.names(|p| p.object_name()),
            None => Err(Fail::Syntax),
        }
    }

    fn partitions(&mut self) -> Parse<Vec<Partition>> {
        self.names(|p| p.partition())
    }

    /// A list that ends where the next element begins.
    fn names<T>(&mut self, mut one: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut list = vec![one(self)?];
        while self.at(TokenKind::Comma) && !self.element_follows() {
            self.advance();
            list.push(one(self)?);
        }
        Ok(list)
    }

    /// Does an element begin behind the comma, and no name of the list?
    fn element_follows(&mut self) -> bool {
        let begins = ELEMENTS.iter().any(|words| self.at_keyword_ahead(1, words));
        begins && self.peek(2).kind != TokenKind::Comma
    }
}
