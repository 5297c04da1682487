//! FROM: tables, table functions, sub-queries, joins and ARRAY JOIN.

use super::expr::RESERVED_ALIAS;
use super::{Fail, Parse, Parser};
use crate::ast::{
    Expr, ExprKind, Ident, Join, JoinConstraint, JoinKind, JoinLocality, JoinStep, JoinStrictness,
    ObjectName, Query, Ratio, Sample, Select, SetExpr, TableExpr, TableKind,
};
use crate::lexer::TokenKind;
use chalet_base::err;

impl Parser<'_> {
    /// What follows FROM.
    pub(crate) fn tables_into(&mut self, select: &mut Select) -> Parse<()> {
        select.from = Some(self.table_expr()?);
        self.joins(select)
    }

    pub(crate) fn joins(&mut self, select: &mut Select) -> Parse<()> {
        loop {
            let start = self.start();
            if self.accept_keyword("ARRAY JOIN") || self.accept_keyword("INNER ARRAY JOIN") {
                let exprs = self.comma_list(|p| p.expr())?;
                select.joins.push(JoinStep::ArrayJoin { left: false, exprs });
            } else if self.accept_keyword("LEFT ARRAY JOIN") {
                let exprs = self.comma_list(|p| p.expr())?;
                select.joins.push(JoinStep::ArrayJoin { left: true, exprs });
            } else if self.accept(TokenKind::Comma) {
                let table = self.table_expr()?;
                let join = Join {
                    kind: JoinKind::Comma,
                    strictness: JoinStrictness::Unspecified,
                    locality: JoinLocality::Unspecified,
                    natural: false,
                    table,
                    constraint: JoinConstraint::None,
                    span: self.span_from(start),
                };
                select.joins.push(JoinStep::Join(Box::new(join)));
            } else {
                match self.maybe(|p| p.join_words())? {
                    Some(join) => {
                        let join = self.join_rest(join, start)?;
                        select.joins.push(JoinStep::Join(Box::new(join)));
                    }
                    None => return Ok(()),
                }
            }
        }
    }

    /// `[GLOBAL|LOCAL] [NATURAL] [strictness] [kind] [OUTER] [strictness] JOIN`.
    fn join_words(&mut self) -> Parse<JoinWords> {
        let locality = match self.accept_any_keyword(&["GLOBAL", "LOCAL"]) {
            Some(0) => JoinLocality::Global,
            Some(_) => JoinLocality::Local,
            None => JoinLocality::Unspecified,
        };
        let natural = self.accept_keyword("NATURAL");
        let mut strictness = self.join_strictness();
        let kind = match self.accept_any_keyword(&["INNER", "LEFT", "RIGHT", "FULL", "CROSS", "PASTE"]) {
            Some(0) => Some(JoinKind::Inner),
            Some(1) => Some(JoinKind::Left),
            Some(2) => Some(JoinKind::Right),
            Some(3) => Some(JoinKind::Full),
            Some(4) => Some(JoinKind::Cross),
            Some(_) => Some(JoinKind::Paste),
            None => None,
        };
        if matches!(kind, Some(JoinKind::Left | JoinKind::Right | JoinKind::Full)) {
            self.accept_keyword("OUTER");
        }
        if strictness.is_none() && kind.is_some() {
            strictness = self.join_strictness();
        }
        self.expect_keyword("JOIN")?;
        let strictness = strictness.unwrap_or(JoinStrictness::Unspecified);
        let kind = match (kind, strictness) {
            (Some(kind), JoinStrictness::Semi | JoinStrictness::Anti)
                if !matches!(kind, JoinKind::Left | JoinKind::Right) =>
            {
                return Err(Fail::Error(err!(SYNTAX_ERROR, "SEMI|ANTI JOIN should be LEFT or RIGHT.")));
            }
            (Some(kind), _) => kind,
            // SEMI and ANTI without a side mean the left one.
            (None, JoinStrictness::Semi | JoinStrictness::Anti) => JoinKind::Left,
            (None, _) => JoinKind::Inner,
        };
        Ok(JoinWords { locality, natural, strictness, kind })
    }

    fn join_strictness(&mut self) -> Option<JoinStrictness> {
        match self.accept_any_keyword(&["ANY", "ALL", "ASOF", "SEMI", "ANTI", "ONLY"])? {
            0 => Some(JoinStrictness::Any),
            1 => Some(JoinStrictness::All),
            2 => Some(JoinStrictness::Asof),
            3 | 5 => Some(JoinStrictness::Semi),
            _ => Some(JoinStrictness::Anti),
        }
    }

    fn join_rest(&mut self, words: JoinWords, start: usize) -> Parse<Join> {
        let JoinWords { locality, natural, strictness, kind } = words;
        let table = self.table_expr()?;
        let constraint = if natural || matches!(kind, JoinKind::Cross | JoinKind::Paste) {
            JoinConstraint::None
        } else if self.accept_keyword("USING") {
            if self.at(TokenKind::LParen) {
                JoinConstraint::Using(self.paren_list(false, |p| p.expr())?)
            } else {
                JoinConstraint::Using(self.comma_list(|p| p.expr())?)
            }
        } else if self.accept_keyword("ON") {
            JoinConstraint::On(Box::new(self.expr()?))
        } else {
            return Err(Fail::Syntax);
        };
        Ok(Join { kind, strictness, locality, natural, table, constraint, span: self.span_from(start) })
    }

    pub(crate) fn table_expr(&mut self) -> Parse<TableExpr> {
        self.nested(|p| {
            let start = p.start();
            let kind = p.table_kind()?;
            p.table_tail(kind, start)
        })
    }

    pub(crate) fn table_kind(&mut self) -> Parse<TableKind> {
        self.note("table, table function or subquery");
        if self.at(TokenKind::LParen) {
            let values = self.at_keyword_ahead(1, "VALUES") && self.peek(2).kind == TokenKind::LParen;
            if values || self.starts_query() {
                let query = self.parens(|p| p.query())?;
                return Ok(TableKind::Query(Box::new(query)));
            }
            let query = self.nested(|p| p.parens(|p| p.joined_tables()))?;
            return Ok(TableKind::Query(Box::new(query)));
        }
        if let Some(path) = self.string_token() {
            return Ok(TableKind::File(path));
        }
        if self.at_keyword("FROM") && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent) {
            return Err(self.expect_here("identifier"));
        }
        let first = self.ident()?;
        if self.at(TokenKind::LParen) {
            return Ok(TableKind::Function(Box::new(self.call_body(first.name)?)));
        }
        if !self.accept(TokenKind::Dot) {
            return Ok(TableKind::Name(ObjectName { database: None, name: first }));
        }
        let name = self.ident()?;
        Ok(TableKind::Name(ObjectName { database: Some(first), name }))
    }

    /// `(a JOIN b USING x)` in the place of a table is `(SELECT * FROM a JOIN b USING x)`.
    fn joined_tables(&mut self) -> Parse<Query> {
        let start = self.start();
        let mut select = Select::default();
        self.tables_into(&mut select)?;
        if select.joins.is_empty() {
            return Err(self.expect_here("JOIN"));
        }
        select.span = self.span_from(start);
        let span = select.span;
        select.projection = vec![Expr { kind: ExprKind::Star(Vec::new()), alias: None, span }];
        Ok(Query { body: SetExpr::Select(Box::new(select)), span })
    }

    /// Alias, FINAL and SAMPLE, in the orders the kernel takes.
    fn table_tail(&mut self, kind: TableKind, start: usize) -> Parse<TableExpr> {
        let mut table = TableExpr {
            kind,
            alias: None,
            column_aliases: Vec::new(),
            final_: false,
            sample: None,
            span: self.span_from(start),
        };
        if self.accept_keyword("AS") {
            table.alias = Some(self.ident()?);
        } else {
            table.alias = self.table_alias();
        }
        if table.alias.is_some() && self.at(TokenKind::LParen) {
            table.column_aliases = self.paren_list(false, |p| p.ident())?;
        }
        self.table_modifiers(&mut table)?;
        table.span = self.span_from(start);
        Ok(table)
    }

    fn table_alias(&mut self) -> Option<Ident> {
        self.note("alias");
        let token = self.token();
        let legal = match token.kind {
            TokenKind::QuotedIdent => true,
            TokenKind::Word => {
                let text = self.text_of(token);
                !RESERVED_ALIAS.iter().any(|word| text.eq_ignore_ascii_case(word))
            }
            _ => false,
        };
        if legal { self.ident().ok() } else { None }
    }

    fn table_modifiers(&mut self, table: &mut TableExpr) -> Parse<()> {
        if !table.final_ {
            table.final_ = self.accept_keyword("FINAL");
        }
        if table.sample.is_none() && self.accept_keyword("SAMPLE") {
            let ratio = self.ratio()?;
            let offset = if self.accept_keyword("OFFSET") { Some(self.ratio()?) } else { None };
            table.sample = Some(Sample { ratio, offset });
        }
        Ok(())
    }

    fn ratio(&mut self) -> Parse<Ratio> {
        let numerator = self.number_text()?;
        let denominator = if self.accept(TokenKind::Slash) { Some(self.number_text()?) } else { None };
        Ok(Ratio { numerator, denominator })
    }

    fn number_text(&mut self) -> Parse<String> {
        let token = self.token();
        self.expect(TokenKind::Number)?;
        Ok(self.text_of(token).to_string())
    }
}

struct JoinWords {
    locality: JoinLocality,
    natural: bool,
    strictness: JoinStrictness,
    kind: JoinKind,
}
