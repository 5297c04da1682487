//! The statement list, and which rule a statement's first words call.

use super::literal::string_expr;
use super::{Fail, Parse, Parser};
use crate::ast::{
    Ident, InsertSource, Outfile, Output, Query, Select, SetExpr, SetStatement, Setting, SettingValue,
    Statement, StatementKind, TransactionCommand,
};
use crate::lexer::TokenKind;
use chalet_base::err;

fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOp { inputs, .. } => first_select(inputs.first_mut()?),
        SetExpr::Query(query) => first_select(&mut query.body),
    }
}

/// First words of statements that are recognised only to say that they are missing.
const NOT_IMPLEMENTED: [&str; 3] = ["EXECUTE AS", "MOVE USER", "MOVE ROLE"];

impl Parser<'_> {
    pub(crate) fn statements(&mut self) -> Parse<Vec<Statement>> {
        let mut list = Vec::new();
        loop {
            while self.accept(TokenKind::Semicolon) {}
            if self.at(TokenKind::End) {
                return Ok(list);
            }
            let first = self.statement()?;
            list.push(self.parallel(first)?);
            if self.at(TokenKind::Pipe) {
                return Err(Fail::Error(err!(NOT_IMPLEMENTED, "The pipe syntax `|>` is not implemented")));
            }
            let ended = std::mem::take(&mut self.data_ended);
            if !ended && !self.at(TokenKind::Semicolon) && !self.at(TokenKind::End) {
                return Err(self.expect_here("end of query"));
            }
        }
    }

    /// What follows a statement by `PARALLEL WITH`.
    fn parallel(&mut self, first: Statement) -> Parse<Statement> {
        let start = first.span.start as usize;
        let mut list = vec![first];
        while self.accept_keyword("PARALLEL WITH") {
            list.push(self.statement()?);
        }
        if list.len() == 1
            && let Some(only) = list.pop()
        {
            return Ok(only);
        }
        Ok(Statement {
            kind: StatementKind::Parallel(list),
            cluster: None,
            output: Output::default(),
            span: self.span_from(start),
        })
    }

    pub(crate) fn statement(&mut self) -> Parse<Statement> {
        self.statement_inside(false)
    }

    /// The statement behind EXPLAIN, of which FORMAT and the like are if it is a query.
    pub(crate) fn explained_statement(&mut self) -> Parse<Statement> {
        self.statement_inside(true)
    }

    fn statement_inside(&mut self, is_explained: bool) -> Parse<Statement> {
        let start = self.start();
        self.unset = None;
        self.cluster = None;
        let kind = self.nested(|p| p.statement_kind())?;
        let cluster = self.cluster.take();
        let output = match &kind {
            // Inline data end the statement; what looks like more of it belongs to them.
            StatementKind::Insert(insert) if matches!(insert.source, InsertSource::Inline { .. }) => {
                Output::default()
            }
            StatementKind::Query(_) if is_explained => Output::default(),
            _ => self.output()?,
        };
        if !matches!(kind, StatementKind::CreateView(_))
            && let Some(error) = self.unset_parameter()
        {
            return Err(Fail::Error(error));
        }
        Ok(Statement { kind, cluster, output, span: self.span_from(start) })
    }

    /// The error of a parameter that has been asked for and is not set.
    pub(super) fn unset_parameter(&mut self) -> Option<chalet_base::Error> {
        let name = self.unset.take()?;
        Some(err!(UNKNOWN_QUERY_PARAMETER, "Substitution `{name}` is not set"))
    }

    fn statement_kind(&mut self) -> Parse<StatementKind> {
        let token = self.token();
        if token.kind == TokenKind::LParen || token.kind != TokenKind::Word {
            return self.query_or_expressions();
        }
        let word = self.text_of(token).to_ascii_uppercase();
        if word == "WITH"
            && let Some(insert) = self.with_insert()?
        {
            return Ok(insert);
        }
        if matches!(word.as_str(), "SELECT" | "WITH" | "FROM") {
            return Ok(StatementKind::Query(Box::new(self.query()?)));
        }
        // `replace(a, b, c)`, `system.x`, `set = 1`: an expression that begins with such a word.
        let next = self.peek(1).kind;
        let statement_follows = matches!(
            next,
            TokenKind::Word
                | TokenKind::QuotedIdent
                | TokenKind::String
                | TokenKind::LBrace
                | TokenKind::End
                | TokenKind::Semicolon
        ) || (next == TokenKind::LParen
            && matches!(word.as_str(), "DESCRIBE" | "DESC" | "EXPLAIN"));
        if statement_follows && let Some(kind) = self.keyword_statement(&word)? {
            return Ok(kind);
        }
        self.query_or_expressions()
    }

    /// `WITH x AS (...) INSERT INTO t SELECT ...`: the WITH belongs to the first SELECT.
    fn with_insert(&mut self) -> Parse<Option<StatementKind>> {
        let pos = self.pos;
        let with = self.maybe(|p| {
            p.expect_keyword("WITH")?;
            let recursive = p.accept_keyword("RECURSIVE");
            let with = p.with_list()?;
            if p.at_keyword("INSERT INTO") { Ok((recursive, with)) } else { Err(Fail::Syntax) }
        })?;
        let Some((recursive, with)) = with else {
            self.pos = pos;
            return Ok(None);
        };
        let mut kind = self.insert()?;
        if let StatementKind::Insert(insert) = &mut kind
            && let InsertSource::Query(query) | InsertSource::Inline { query: Some(query), .. } =
                &mut insert.source
            && let Some(select) = first_select(&mut query.body)
        {
            select.recursive |= recursive;
            select.with.splice(0..0, with);
            return Ok(Some(kind));
        }
        Err(self.expect_here("SELECT query, possibly with UNION"))
    }

    fn keyword_statement(&mut self, word: &str) -> Parse<Option<StatementKind>> {
        if let "GRANT" | "REVOKE" = word {
            return Err(Fail::Error(self.unknown_role()));
        }
        if NOT_IMPLEMENTED.iter().any(|name| self.at_keyword(name)) {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "{word} is not implemented")));
        }
        let kind = match word {
            "CREATE" | "ATTACH" | "REPLACE" => self.create()?,
            "DROP" | "TRUNCATE" | "DETACH" => self.drop_statement()?,
            "UNDROP" => self.undrop()?,
            "BACKUP" | "RESTORE" => self.backup()?,
            "RENAME" | "EXCHANGE" => self.rename()?,
            "ALTER" => self.alter()?,
            "INSERT" => self.insert()?,
            "DELETE" => self.delete()?,
            "UPDATE" => self.update()?,
            "OPTIMIZE" => self.optimize()?,
            "EXPLAIN" => self.explain()?,
            "SHOW" => self.show()?,
            "DESCRIBE" | "DESC" => self.describe()?,
            "EXISTS" => self.exists_statement()?,
            "CHECK" => self.check()?,
            "SYSTEM" => self.system()?,
            "KILL" => self.kill()?,
            "SET" => self.set()?,
            "USE" => {
                self.advance();
                self.accept_keyword("DATABASE");
                StatementKind::Use(self.ident()?)
            }
            "BEGIN" | "COMMIT" | "ROLLBACK" => {
                let command = match word {
                    "BEGIN" => TransactionCommand::Begin,
                    "COMMIT" => TransactionCommand::Commit,
                    _ => TransactionCommand::Rollback,
                };
                if !(matches!(self.peek(1).kind, TokenKind::End | TokenKind::Semicolon)
                    || self.at_keyword_ahead(1, "TRANSACTION"))
                {
                    return Ok(None);
                }
                self.advance();
                self.accept_keyword("TRANSACTION");
                StatementKind::Transaction(command)
            }
            _ => return Ok(None),
        };
        Ok(Some(kind))
    }

    /// A text that is no statement is the list of a SELECT: `1 + 1`.
    fn query_or_expressions(&mut self) -> Parse<StatementKind> {
        if self.at(TokenKind::LParen) && self.starts_query() {
            // What follows a query in parentheses is no operator.
            let query = self.maybe(|p| p.query())?;
            if let Some(query) = query {
                return Ok(StatementKind::Query(Box::new(query)));
            }
        }
        let start = self.start();
        let mut select = Select::default();
        self.select_body(&mut select)?;
        select.span = self.span_from(start);
        let span = select.span;
        Ok(StatementKind::Query(Box::new(Query { body: SetExpr::Select(Box::new(select)), span })))
    }

    /// INTO OUTFILE, FORMAT and SETTINGS after any statement.
    pub(crate) fn output(&mut self) -> Parse<Output> {
        let mut output = Output::default();
        if self.accept_keyword("INTO OUTFILE") {
            output.outfile = Some(self.outfile()?);
        }
        let settings_first = self.at_settings();
        if settings_first {
            self.advance();
            output.settings = self.settings_list()?;
        }
        if self.accept_keyword("FORMAT") {
            output.format = Some(self.ident()?);
        }
        if !settings_first && self.at_settings() {
            self.advance();
            output.settings = self.settings_list()?;
        }
        Ok(output)
    }

    fn outfile(&mut self) -> Parse<Outfile> {
        let path = self.string()?;
        let append = self.accept_keyword("APPEND");
        let truncate = !append && self.accept_keyword("TRUNCATE");
        let and_stdout = self.accept_keyword("AND STDOUT");
        let compression = if self.accept_keyword("COMPRESSION") { Some(self.string()?) } else { None };
        let level =
            if compression.is_some() && self.accept_keyword("LEVEL") { Some(self.unsigned()?) } else { None };
        Ok(Outfile { path, append, truncate, and_stdout, compression, level })
    }

    fn set(&mut self) -> Parse<StatementKind> {
        self.advance();
        if self.accept_keyword("TRANSACTION SNAPSHOT") {
            return Ok(StatementKind::Set(SetStatement::TransactionSnapshot(self.unsigned()?)));
        }
        if self.at_keyword("TIME ZONE") {
            let mut name = self.ident()?;
            name.name = "session_timezone".to_string();
            self.advance();
            let start = self.start();
            let zone = self.string()?;
            let value = SettingValue::Expr(string_expr(zone, self.span_from(start)));
            return Ok(StatementKind::Set(SetStatement::Settings(vec![Setting { name, value }])));
        }
        if self.at_keyword("ROLE") || self.at_keyword("DEFAULT ROLE") {
            let text = self.rest_of_statement();
            return Ok(StatementKind::Set(SetStatement::Role(text)));
        }
        Ok(StatementKind::Set(SetStatement::Settings(self.settings_list()?)))
    }

    /// The text up to the semicolon, with single spaces.
    pub(crate) fn rest_of_statement(&mut self) -> String {
        self.text_while(|_| true)
    }

    /// The text of the coming tokens, up to the semicolon or what is no token at most. A space stands where there was
    /// something between two of them, and nowhere else: it could make another token of them.
    pub(crate) fn text_while(&mut self, mut goes_on: impl FnMut(&mut Self) -> bool) -> String {
        let mut text = String::new();
        let mut end = 0;
        while !matches!(self.token().kind, TokenKind::End | TokenKind::Semicolon | TokenKind::Error(_))
            && goes_on(self)
        {
            let token = self.advance();
            if !text.is_empty() && token.start > end {
                text.push(' ');
            }
            text.push_str(self.text_of(token));
            end = token.end;
        }
        text
    }

    /// `ON CLUSTER name`.
    pub(crate) fn on_cluster(&mut self) -> Parse<Option<Ident>> {
        if !self.accept_keyword("ON CLUSTER") {
            return Ok(None);
        }
        let name = match self.string_token() {
            Some(name) => Ident::at(String::from_utf8_lossy(&name), self.span_from(0)),
            None => self.ident()?,
        };
        self.cluster = Some(name);
        Ok(self.cluster.clone())
    }

    pub(crate) fn if_not_exists(&mut self) -> bool {
        self.accept_keyword("IF NOT EXISTS")
    }

    pub(crate) fn if_exists(&mut self) -> bool {
        self.accept_keyword("IF EXISTS")
    }
}
