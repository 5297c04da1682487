//! CREATE and ATTACH of tables, views, databases and functions.

use super::{Fail, Parse, Parser};
use crate::ast::{
    CreateDatabase, CreateFunction, CreateSource, CreateTable, CreateView, Ident, ObjectKind, Query, Replace,
    Security, StatementKind, Storage, TableDefinition,
};
use crate::lexer::TokenKind;
use crate::visit;
use chalet_base::err;

/// Objects of access control and other things that have no meaning in one process.
const NOT_IMPLEMENTED: [&str; 4] = ["MASKING POLICY", "HANDLER", "TOKEN", "HYPOTHETICAL"];

/// The words before the kind of object.
struct Head {
    attach: bool,
    replace: Replace,
    temporary: bool,
}

impl Parser<'_> {
    pub(crate) fn create(&mut self) -> Parse<StatementKind> {
        let word = self.advance();
        let word = self.text_of(word).to_ascii_uppercase();
        let replace = match word.as_str() {
            "REPLACE" => Replace::Must,
            "CREATE" if self.accept_keyword("OR REPLACE") => Replace::OrReplace,
            _ => Replace::No,
        };
        let mut head = Head { attach: word == "ATTACH", replace, temporary: false };
        head.temporary = self.accept_keyword("TEMPORARY") || self.accept_keyword("TEMP");
        if let Some(error) = self.access_denied(&word) {
            return Err(Fail::Error(error));
        }
        if let Some(name) = NOT_IMPLEMENTED.into_iter().find(|name| self.at_keyword(name)) {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "{word} {name} is not implemented")));
        }
        if self.accept_keyword("TABLE") {
            return self.create_table(head);
        }
        if self.accept_keyword("DICTIONARY") {
            return self.create_dictionary(head.attach, head.replace);
        }
        if head.replace == Replace::Must {
            return Err(Fail::Syntax);
        }
        if !head.attach
            && !head.temporary
            && let Some(kind) = self.entity_kind()
        {
            return self.create_entity(kind, head.replace == Replace::OrReplace);
        }
        if self.accept_keyword("MATERIALIZED VIEW") {
            return self.create_view(head, true);
        }
        if self.accept_keyword("VIEW") {
            return self.create_view(head, false);
        }
        if self.accept_keyword("DATABASE") {
            return self.create_database(head);
        }
        if self.accept_keyword("FUNCTION") {
            let if_not_exists = self.if_not_exists();
            let name = self.ident()?;
            let cluster = self.on_cluster()?;
            self.expect_keyword("AS")?;
            let body = self.bare_expr()?;
            let or_replace = head.replace == Replace::OrReplace;
            let function = CreateFunction { or_replace, if_not_exists, name, cluster, body };
            return Ok(StatementKind::CreateFunction(Box::new(function)));
        }
        if self.accept_keyword("INDEX") {
            return self.create_index();
        }
        if self.at_keyword("UNIQUE INDEX") {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "CREATE UNIQUE INDEX is not supported")));
        }
        Err(Fail::Syntax)
    }

    /// `(SELECT` and `((`, and not a list of columns of which one is named `from`.
    fn at_query_in_parens(&mut self) -> bool {
        self.starts_query() && !self.at_keyword_ahead(1, "FROM")
    }

    fn uuid(&mut self) -> Parse<Option<String>> {
        if !self.accept_keyword("UUID") {
            return Ok(None);
        }
        Ok(Some(String::from_utf8_lossy(&self.string()?).into_owned()))
    }

    pub(crate) fn comment_clause(&mut self) -> Parse<Option<Vec<u8>>> {
        if self.accept_keyword("COMMENT") { Ok(Some(self.string()?)) } else { Ok(None) }
    }

    fn create_table(&mut self, head: Head) -> Parse<StatementKind> {
        let start = self.start();
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let uuid = self.uuid()?;
        let cluster = self.on_cluster()?;
        if head.attach && matches!(self.token().kind, TokenKind::End | TokenKind::Semicolon) {
            return Ok(StatementKind::Attach { kind: ObjectKind::Table, if_not_exists, name });
        }
        if head.attach && self.accept_keyword("FROM") {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "ATTACH TABLE ... FROM is not implemented")));
        }
        let mut table = CreateTable {
            attach: head.attach,
            replace: head.replace,
            temporary: head.temporary,
            if_not_exists,
            name,
            uuid,
            cluster,
            definition: TableDefinition::default(),
            storage: Storage::default(),
            source: None,
            comment: None,
            span: self.span_from(start),
        };
        if self.at(TokenKind::LParen) && !self.at_query_in_parens() {
            table.definition = self.parens(|p| p.table_definition())?;
        }
        table.comment = self.comment_clause()?;
        table.storage = self.storage()?;
        if table.comment.is_none() {
            table.comment = self.comment_clause()?;
        }
        let is_declared = table.definition != TableDefinition::default();
        table.source =
            self.create_source(is_declared, table.temporary || table.storage != Storage::default())?;
        if table.storage.engine.is_some() && matches!(table.source, Some(CreateSource::Function(_))) {
            return Err(self.expect_here("name of a table"));
        }
        if matches!(table.source, Some(CreateSource::Table { .. })) && table.storage == Storage::default() {
            table.storage = self.storage()?;
        }
        if table.comment.is_none() {
            table.comment = self.comment_clause()?;
        }
        table.span = self.span_from(start);
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    /// `is_declared`: columns were written, so that those of another table are not taken. Without a clause of the storage behind them
    /// there is no query either.
    fn create_source(&mut self, is_declared: bool, has_storage: bool) -> Parse<Option<CreateSource>> {
        if self.accept_keyword("CLONE AS") {
            return Ok(Some(CreateSource::Table { clone: true, name: self.object_name()? }));
        }
        let empty = self.accept_keyword("EMPTY AS");
        if !empty && !self.accept_keyword("AS") {
            // `CREATE TABLE t ENGINE = Memory SELECT ...` needs no AS.
            let at_query = self.at_keyword("SELECT") || self.at_keyword("WITH") || self.at(TokenKind::LParen);
            if !is_declared && at_query {
                return Ok(Some(CreateSource::Query { empty, query: Box::new(self.query()?) }));
            }
            return Ok(None);
        }
        let followed_by_name =
            matches!(self.peek(1).kind, TokenKind::Word | TokenKind::LParen | TokenKind::Asterisk)
                || !self.at(TokenKind::Word);
        let may_be_query = has_storage || !is_declared;
        let at_query = self.at(TokenKind::LParen)
            || ((self.at_keyword("SELECT") || self.at_keyword("WITH") || self.at_keyword("FROM"))
                && self.peek(1).kind != TokenKind::Dot)
            || (self.at_keyword("SELECT") && followed_by_name);
        if may_be_query && at_query {
            return Ok(Some(CreateSource::Query { empty, query: Box::new(self.query()?) }));
        }
        if self.peek(1).kind == TokenKind::LParen {
            let name = self.ident()?;
            return Ok(Some(CreateSource::Function(Box::new(self.call_body(name.name)?))));
        }
        if is_declared {
            return Err(self.expect_here("SELECT query"));
        }
        Ok(Some(CreateSource::Table { clone: false, name: self.object_name()? }))
    }

    fn create_view(&mut self, head: Head, materialized: bool) -> Parse<StatementKind> {
        let start = self.start();
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let uuid = self.uuid()?;
        let cluster = self.on_cluster()?;
        let refresh = if materialized { self.refresh()? } else { None };
        let to = if materialized && self.accept_keyword("TO") { Some(self.object_name()?) } else { None };
        let mut columns = None;
        let mut aliases = Vec::new();
        if self.at(TokenKind::LParen) && !self.at_query_in_parens() {
            match self.maybe(|p| p.paren_list(false, |p| p.ident()))? {
                Some(names) if !materialized => aliases = names,
                _ => columns = Some(self.parens(|p| p.table_definition())?),
            }
        }
        let mut security = self.security()?;
        let storage = if materialized && to.is_none() { self.storage()? } else { Storage::default() };
        let mut populate = false;
        let mut empty = false;
        if materialized {
            populate = self.accept_keyword("POPULATE");
            empty = !populate && self.accept_keyword("EMPTY");
        }
        if security.is_none() {
            security = self.security()?;
        }
        let mut comment = self.comment_clause()?;
        self.expect_keyword("AS")?;
        // Only its query may have parameters that are not known yet.
        if let Some(error) = self.unset_parameter() {
            return Err(Fail::Error(error));
        }
        let mut query = Box::new(self.query()?);
        if !aliases.is_empty() {
            alias_columns(&mut query, &aliases)?;
        }
        if comment.is_none() {
            comment = self.comment_clause()?;
        }
        let view = CreateView {
            attach: head.attach,
            or_replace: head.replace == Replace::OrReplace,
            temporary: head.temporary,
            if_not_exists,
            materialized,
            name,
            uuid,
            cluster,
            columns,
            to,
            storage,
            populate,
            empty,
            refresh,
            security,
            query,
            comment,
            span: self.span_from(start),
        };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    /// `[DEFINER = user] [SQL SECURITY kind]`, in either order.
    fn security(&mut self) -> Parse<Option<Security>> {
        let mut found = Security::default();
        loop {
            if found.definer.is_none() && self.accept_keyword("DEFINER") {
                self.accept(TokenKind::Equals);
                found.definer = Some(self.ident()?);
            } else if found.kind.is_none() && self.accept_keyword("SQL SECURITY") {
                let kinds = ["DEFINER", "INVOKER", "NONE"];
                let kind = self.accept_any_keyword(&kinds).ok_or(Fail::Syntax)?;
                found.kind = Some(kinds[kind]);
            } else {
                return Ok((found != Security::default()).then_some(found));
            }
        }
    }

    fn create_database(&mut self, head: Head) -> Parse<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let name = self.ident()?;
        let uuid = self.uuid()?;
        let cluster = self.on_cluster()?;
        let mut comment = self.comment_clause()?;
        let storage = self.storage()?;
        if comment.is_none() {
            comment = self.comment_clause()?;
        }
        if storage.order_by.is_some()
            || storage.primary_key.is_some()
            || storage.sample_by.is_some()
            || storage.partition_by.is_some()
            || !storage.ttl.is_empty()
        {
            let engine = storage.engine.as_ref().map_or("Atomic", |engine| &engine.name);
            return Err(Fail::Error(err!(
                UNKNOWN_ELEMENT_IN_AST,
                "Database engine `{engine}` cannot have parameters, primary_key, order_by, sample_by, settings"
            )));
        }
        let database = CreateDatabase {
            attach: head.attach,
            if_not_exists,
            name,
            uuid,
            cluster,
            engine: storage.engine,
            settings: storage.settings,
            comment,
        };
        Ok(StatementKind::CreateDatabase(Box::new(database)))
    }
}

/// `CREATE VIEW v (a, b) AS SELECT ...`: the names are aliases of the query's columns.
fn alias_columns(query: &mut Query, aliases: &[Ident]) -> Parse<()> {
    let mut is_even = true;
    visit::for_each_select_mut(query, &mut |select| {
        is_even &= select.projection.len() == aliases.len();
        for (item, alias) in select.projection.iter_mut().zip(aliases) {
            item.alias = Some(alias.clone());
        }
    });
    match is_even {
        true => Ok(()),
        false => Err(Fail::Error(err!(
            BAD_ARGUMENTS,
            "Number of aliases does not match number of expressions in SELECT list"
        ))),
    }
}
