//! DROP, TRUNCATE, DETACH, RENAME, EXCHANGE, OPTIMIZE, CHECK, EXISTS, KILL.

use super::{Fail, Parse, Parser};
use crate::ast::{Drop, DropAction, KillMode, ObjectKind, ObjectName, Optimize, StatementKind};
use crate::lexer::TokenKind;
use chalet_base::err;

impl Parser<'_> {
    /// TABLE, VIEW, DICTIONARY, DATABASE, FUNCTION.
    fn object_kind(&mut self) -> Option<ObjectKind> {
        match self.accept_any_keyword(&["TABLE", "VIEW", "DICTIONARY", "DATABASE", "FUNCTION"])? {
            0 => Some(ObjectKind::Table),
            1 => Some(ObjectKind::View),
            2 => Some(ObjectKind::Dictionary),
            3 => Some(ObjectKind::Database),
            _ => Some(ObjectKind::Function),
        }
    }

    /// A database or a function is one name; everything else may have a database before it.
    fn name_of(&mut self, kind: ObjectKind) -> Parse<ObjectName> {
        match kind {
            ObjectKind::Database | ObjectKind::Function => {
                Ok(ObjectName { database: None, name: self.ident()? })
            }
            _ => self.object_name(),
        }
    }

    pub(crate) fn drop_statement(&mut self) -> Parse<StatementKind> {
        let action = match self.accept_any_keyword(&["DROP", "TRUNCATE", "DETACH"]) {
            Some(0) => DropAction::Drop,
            Some(1) => DropAction::Truncate,
            _ => DropAction::Detach,
        };
        if action == DropAction::Truncate
            && (self.accept_keyword("ALL TABLES FROM") || self.accept_keyword("TABLES FROM"))
        {
            let if_exists = self.if_exists();
            let names = vec![ObjectName { database: None, name: self.ident()? }];
            let like = self.like_filter()?;
            return Ok(StatementKind::Drop(Box::new(Drop {
                action,
                kind: ObjectKind::Database,
                all_tables: true,
                like,
                temporary: false,
                if_exists,
                if_empty: false,
                names,
                cluster: self.on_cluster()?,
                permanently: false,
                sync: false,
            })));
        }
        if action == DropAction::Drop && self.accept_keyword("INDEX") {
            return self.drop_index();
        }
        let temporary = self.accept_keyword("TEMPORARY");
        if let Some(error) = self.access_denied("DROP") {
            return Err(Fail::Error(error));
        }
        if action == DropAction::Drop
            && !temporary
            && let Some(kind) = self.entity_kind()
        {
            return self.drop_entity(kind);
        }
        let kind = match self.object_kind() {
            Some(kind) => kind,
            // TRUNCATE needs no word, the others do.
            None if action == DropAction::Truncate => ObjectKind::Table,
            None => return Err(Fail::Syntax),
        };
        let if_exists = self.if_exists();
        let if_empty = self.accept_keyword("IF EMPTY");
        let names = if action == DropAction::Truncate
            || matches!(kind, ObjectKind::Database | ObjectKind::Function)
        {
            vec![self.name_of(kind)?]
        } else {
            self.comma_list(|p| p.name_of(kind))?
        };
        let cluster = self.on_cluster()?;
        let permanently = action == DropAction::Detach && self.accept_keyword("PERMANENTLY");
        let sync = self.accept_any_keyword(&["SYNC", "NO DELAY"]).is_some();
        Ok(StatementKind::Drop(Box::new(Drop {
            action,
            kind,
            all_tables: false,
            like: None,
            temporary,
            if_exists,
            if_empty,
            names,
            cluster,
            permanently,
            sync,
        })))
    }

    pub(crate) fn undrop(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("UNDROP TABLE")?;
        let name = self.object_name()?;
        self.on_cluster()?;
        Ok(StatementKind::Undrop(name))
    }

    pub(crate) fn rename(&mut self) -> Parse<StatementKind> {
        let exchange = match self.accept_any_keyword(&["RENAME", "EXCHANGE"]) {
            Some(index) => index == 1,
            None => return Err(Fail::Syntax),
        };
        let words =
            if exchange { ["TABLES", "DICTIONARIES", "TABLES"] } else { ["TABLE", "DICTIONARY", "DATABASE"] };
        let kind = match self.accept_any_keyword(&words) {
            Some(0) => ObjectKind::Table,
            Some(1) => ObjectKind::Dictionary,
            Some(_) => ObjectKind::Database,
            // `RENAME a TO b` is of tables.
            None if !exchange => ObjectKind::Table,
            None => return Err(Fail::Syntax),
        };
        let if_exists = !exchange && self.if_exists();
        let pairs = self.comma_list(|p| {
            let from = p.name_of(kind)?;
            p.expect_keyword(if exchange { "AND" } else { "TO" })?;
            Ok((from, p.name_of(kind)?))
        })?;
        self.on_cluster()?;
        Ok(StatementKind::Rename { kind, exchange, if_exists, pairs })
    }

    pub(crate) fn optimize(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("OPTIMIZE TABLE")?;
        let table = self.object_name()?;
        let cluster = self.on_cluster()?;
        let dry_run = self.accept_keyword("DRY RUN");
        let partition = if self.accept_keyword("PARTITION") { Some(self.partition()?) } else { None };
        let final_ = self.accept_any_keyword(&["FINAL", "FORCE"]).is_some();
        let deduplicate = if self.accept_keyword("DEDUPLICATE") {
            Some(if self.accept_keyword("BY") { self.comma_list(|p| p.expr())? } else { Vec::new() })
        } else {
            None
        };
        let cleanup = self.accept_keyword("CLEANUP");
        Ok(StatementKind::Optimize(Box::new(Optimize {
            table,
            cluster,
            partition,
            final_,
            cleanup,
            dry_run,
            deduplicate,
        })))
    }

    pub(crate) fn exists_statement(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("EXISTS")?;
        let temporary = self.accept_keyword("TEMPORARY");
        let kind = if self.peek(1).kind == TokenKind::Dot { None } else { self.object_kind() };
        let kind = kind.unwrap_or(ObjectKind::Table);
        Ok(StatementKind::Exists { kind, temporary, name: self.name_of(kind)? })
    }

    pub(crate) fn check(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("CHECK")?;
        if self.accept_keyword("ALL TABLES") {
            return Ok(StatementKind::Check { table: None, partition: None, part: None });
        }
        if self.at_keyword("GRANT") {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "CHECK GRANT is not implemented")));
        }
        if self.accept_keyword("DATABASE") {
            return Ok(StatementKind::CheckDatabase(self.ident()?));
        }
        self.expect_keyword("TABLE")?;
        let table = Some(self.object_name()?);
        let partition = if self.accept_keyword("PARTITION") { Some(self.partition()?) } else { None };
        let part =
            if partition.is_none() && self.accept_keyword("PART") { Some(self.string()?) } else { None };
        Ok(StatementKind::Check { table, partition, part })
    }

    pub(crate) fn kill(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("KILL")?;
        let mutation = match self.accept_any_keyword(&["QUERY", "MUTATION"]) {
            Some(index) => index == 1,
            None => return Err(Fail::Syntax),
        };
        self.on_cluster()?;
        self.expect_keyword("WHERE")?;
        let where_ = Box::new(self.expr()?);
        let mode = match self.accept_any_keyword(&["SYNC", "ASYNC", "TEST"]) {
            Some(0) => KillMode::Sync,
            Some(2) => KillMode::Test,
            _ => KillMode::Async,
        };
        Ok(StatementKind::Kill { mutation, where_, mode })
    }
}
