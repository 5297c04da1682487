//! SHOW, DESCRIBE, EXPLAIN and SYSTEM.

use super::{Fail, Parse, Parser};
use crate::ast::{
    Describe, Explain, ExplainKind, Ident, ObjectKind, ObjectName, Show, ShowFilter, ShowKind, StatementKind,
    TransactionCommand,
};
use crate::lexer::TokenKind;
use chalet_base::err;

impl Parser<'_> {
    pub(crate) fn show(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("SHOW")?;
        let kind = self.show_kind()?;
        use ShowKind::*;
        let takes_like = matches!(
            kind,
            Databases
                | Clusters
                | Merges
                | Functions
                | Settings { .. }
                | Tables { .. }
                | Dictionaries { .. }
                | Columns { .. }
        );
        let takes_where =
            matches!(kind, Tables { .. } | Dictionaries { .. } | Columns { .. } | Indexes { .. });
        let takes_limit = takes_like && !matches!(kind, Functions | Settings { .. });
        let mut filter = if takes_like { self.like_filter()? } else { None };
        if filter.is_none() && takes_where && self.accept_keyword("WHERE") {
            filter = Some(ShowFilter::Where(Box::new(self.expr()?)));
        }
        let has_limit = takes_limit && self.accept_keyword("LIMIT");
        let limit = if has_limit { Some(self.bare_expr()?) } else { None };
        Ok(StatementKind::Show(Box::new(Show { kind, filter, limit })))
    }

    /// `[NOT] [I]LIKE 'pattern'`.
    pub(super) fn like_filter(&mut self) -> Parse<Option<ShowFilter>> {
        let words = ["NOT ILIKE", "NOT LIKE", "ILIKE", "LIKE"];
        let Some(index) = self.accept_any_keyword(&words) else { return Ok(None) };
        let pattern = self.string()?;
        Ok(Some(ShowFilter::Like { not: index < 2, case_insensitive: index % 2 == 0, pattern }))
    }

    fn database_after_from(&mut self) -> Parse<Option<Ident>> {
        if self.accept_any_keyword(&["FROM", "IN"]).is_some() { Ok(Some(self.ident()?)) } else { Ok(None) }
    }

    fn show_kind(&mut self) -> Parse<ShowKind> {
        if self.accept_keyword("DATABASES") {
            return Ok(ShowKind::Databases);
        }
        if self.accept_keyword("CREATE") {
            return self.show_create(true);
        }
        if self.accept_keyword("FUNCTIONS") {
            return Ok(ShowKind::Functions);
        }
        if self.accept_keyword("PROCESSLIST") {
            return Ok(ShowKind::Processlist);
        }
        if self.accept_keyword("ENGINES") {
            return Ok(ShowKind::Engines);
        }
        if self.accept_keyword("MERGES") {
            return Ok(ShowKind::Merges);
        }
        if self.accept_keyword("CLUSTERS") {
            return Ok(ShowKind::Clusters);
        }
        if self.at_keyword("SETTINGS PROFILES") || self.at_keyword("CURRENT ROLES") {
            return Ok(ShowKind::Access(self.before_output()));
        }
        let changed = self.accept_keyword("CHANGED SETTINGS");
        if changed || self.accept_keyword("SETTINGS") {
            // All of them are a table of `system`.
            if !self.at_keyword("ILIKE") && !self.at_keyword("LIKE") {
                self.expect_keyword("LIKE")?;
            }
            return Ok(ShowKind::Settings { changed });
        }
        if self.accept_keyword("SETTING") {
            return Ok(ShowKind::Setting(self.ident()?));
        }
        if self.accept_keyword("DICTIONARIES") {
            return Ok(ShowKind::Dictionaries { from: self.database_after_from()? });
        }
        if self.accept_keyword("GRANTS") {
            return self.show_grants();
        }
        if self.accept_keyword("CLUSTER") {
            let name = match self.string_token() {
                Some(name) => String::from_utf8_lossy(&name).into_owned(),
                None => self.ident()?.name,
            };
            return Ok(ShowKind::Cluster(name));
        }
        for word in [
            "USERS",
            "ROLES",
            "ENABLED",
            "POLICIES",
            "ROW",
            "QUOTAS",
            "QUOTA",
            "ACCESS",
            "PROFILES",
            "PRIVILEGES",
            "FILESYSTEM",
        ] {
            if self.at_keyword(word) {
                return Ok(ShowKind::Access(self.before_output()));
            }
        }
        let extended = self.accept_keyword("EXTENDED");
        let full = self.accept_keyword("FULL");
        let temporary = !extended && self.accept_keyword("TEMPORARY");
        if !extended && self.accept_keyword("TABLES") {
            return Ok(ShowKind::Tables { full, temporary, from: self.database_after_from()? });
        }
        if !temporary && self.accept_any_keyword(&["COLUMNS", "FIELDS"]).is_some() {
            return Ok(ShowKind::Columns { extended, full, table: self.table_after_from()? });
        }
        if !full && !temporary && self.accept_any_keyword(&["INDEXES", "INDICES", "INDEX", "KEYS"]).is_some()
        {
            return Ok(ShowKind::Indexes { extended, table: self.table_after_from()? });
        }
        if extended || full {
            return Err(Fail::Syntax);
        }
        self.show_create(temporary)
    }

    /// The text up to what says where the answer goes.
    fn before_output(&mut self) -> String {
        let ends = ["FORMAT", "INTO OUTFILE", "SETTINGS"];
        let mut is_first = true;
        self.text_while(|p| std::mem::take(&mut is_first) || !ends.iter().any(|word| p.at_keyword(word)))
    }

    /// `SHOW GRANTS [FOR names] [WITH IMPLICIT] [FINAL]`.
    fn show_grants(&mut self) -> Parse<ShowKind> {
        let names = if self.accept_keyword("FOR") { self.comma_list(|p| p.ident())? } else { Vec::new() };
        let implicit = self.accept_keyword("WITH IMPLICIT");
        Ok(ShowKind::Grants { names, implicit, all: self.accept_keyword("FINAL") })
    }

    /// `FROM table [FROM database]`, or `FROM database.table`.
    fn table_after_from(&mut self) -> Parse<ObjectName> {
        if self.accept_any_keyword(&["FROM", "IN"]).is_none() {
            return Err(Fail::Syntax);
        }
        let mut name = self.object_name()?;
        if name.database.is_none() {
            name.database = self.database_after_from()?;
        }
        Ok(name)
    }

    /// After `SHOW CREATE` any name will do; after `SHOW` alone the kind is needed.
    fn show_create(&mut self, bare_name: bool) -> Parse<ShowKind> {
        for word in ["USER", "ROLE", "ROW POLICY", "POLICY", "QUOTA", "SETTINGS PROFILE", "PROFILE"] {
            let named =
                matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent | TokenKind::String);
            if self.at_keyword(word) && named {
                return Ok(ShowKind::Access(format!("CREATE {}", self.rest_of_statement())));
            }
        }
        // Those of the current user, and all that there are.
        let of_all =
            ["USER", "QUOTA", "USERS", "ROLES", "ROW POLICIES", "POLICIES", "QUOTAS", "SETTINGS PROFILES"];
        if of_all.iter().chain(&["PROFILES"]).any(|word| self.at_keyword(word))
            && matches!(self.peek(1).kind, TokenKind::End | TokenKind::Semicolon)
        {
            return Ok(ShowKind::Access(format!("CREATE {}", self.rest_of_statement())));
        }
        let temporary = self.accept_keyword("TEMPORARY");
        let kind = match self.accept_any_keyword(&["TABLE", "VIEW", "DICTIONARY", "DATABASE"]) {
            Some(0) => ObjectKind::Table,
            Some(1) => ObjectKind::View,
            Some(2) => ObjectKind::Dictionary,
            Some(_) => ObjectKind::Database,
            None if bare_name => ObjectKind::Table,
            None => return Err(Fail::Syntax),
        };
        let name = if kind == ObjectKind::Database {
            ObjectName { database: None, name: self.ident()? }
        } else {
            self.object_name()?
        };
        Ok(ShowKind::Create { kind, temporary, name })
    }

    pub(crate) fn describe(&mut self) -> Parse<StatementKind> {
        self.advance();
        self.accept_keyword("TABLE");
        let target = if self.at_keyword("SELECT") || self.at_keyword("WITH") {
            let start = self.start();
            let query = Box::new(self.query()?);
            let kind = crate::ast::TableKind::Query(query);
            crate::ast::TableExpr {
                kind,
                alias: None,
                column_aliases: Vec::new(),
                final_: false,
                sample: None,
                span: self.span_from(start),
            }
        } else {
            self.table_expr()?
        };
        Ok(StatementKind::Describe(Box::new(Describe { target })))
    }

    pub(crate) fn explain(&mut self) -> Parse<StatementKind> {
        self.expect_keyword("EXPLAIN")?;
        let kinds = [
            ("AST", ExplainKind::Ast),
            ("SYNTAX", ExplainKind::Syntax),
            ("QUERY TREE", ExplainKind::QueryTree),
            ("PIPELINE", ExplainKind::Pipeline),
            ("PLAN", ExplainKind::Plan),
            ("ESTIMATE", ExplainKind::Estimate),
            ("ANALYZE", ExplainKind::Analyze),
            ("PROFILE", ExplainKind::Profile),
        ];
        if self.accept_keyword("CURRENT TRANSACTION") {
            return Ok(StatementKind::Transaction(TransactionCommand::Explain));
        }
        if self.at_keyword("TABLE OVERRIDE") {
            return Err(Fail::Error(err!(NOT_IMPLEMENTED, "EXPLAIN TABLE OVERRIDE is not implemented")));
        }
        let mut kind = ExplainKind::Plan;
        for (words, found) in kinds {
            if self.accept_keyword(words) {
                kind = found;
                break;
            }
        }
        let mut settings = Vec::new();
        if matches!(self.token().kind, TokenKind::Word | TokenKind::QuotedIdent)
            && self.peek(1).kind == TokenKind::Equals
        {
            settings = self.settings_list()?;
        }
        // The tree that EXPLAIN AST shows is one of the whole statement.
        let statement = match kind {
            ExplainKind::Ast => self.nested(|p| p.statement())?,
            _ => self.nested(|p| p.explained_statement())?,
        };
        Ok(StatementKind::Explain(Box::new(Explain { kind, settings, statement: Box::new(statement) })))
    }
}
