//! Columns, indexes, constraints, projections, engines and TTL: the pieces that CREATE and ALTER share.

use super::{Fail, Parse, Parser};
use crate::ast::{
    AlterCommand, AlterTable, ColumnDef, ColumnDefault, ConstraintDef, DefaultKind, Engine, Expr, ExprKind,
    GroupBy, Ident, IndexDef, OrderItem, ProjectionDef, ProjectionIndex, Select, StatementKind, Storage,
    TableDefinition, TtlAction, TtlItem,
};
use crate::lexer::TokenKind;
use chalet_base::err;

/// Words after a column's name that do not begin its type.
const AFTER_NAME: [&str; 15] = [
    "DEFAULT",
    "MATERIALIZED",
    "ALIAS",
    "EPHEMERAL",
    "AUTO_INCREMENT",
    "CODEC",
    "TTL",
    "COMMENT",
    "STATISTICS",
    "NULL",
    "NOT NULL",
    "PRIMARY KEY",
    "COLLATE",
    "SETTINGS",
    "REMOVE",
];

impl Parser<'_> {
    /// What stands between the parentheses of CREATE TABLE.
    pub(crate) fn table_definition(&mut self) -> Parse<TableDefinition> {
        let mut definition = TableDefinition::default();
        loop {
            // A comma may stand behind the last element, but there must be one.
            if definition != TableDefinition::default() && self.at(TokenKind::RParen) {
                return Ok(definition);
            }
            let is_name = matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent);
            if is_name && self.at_keyword("INDEX") && self.peek(2).kind != TokenKind::Comma {
                self.advance();
                let index = self.index_def()?;
                definition.indexes.push(index);
            } else if is_name && self.at_keyword("CONSTRAINT") {
                self.advance();
                let constraint = self.constraint_def()?;
                definition.constraints.push(constraint);
            } else if is_name && self.at_keyword("PROJECTION") && self.peek(2).kind != TokenKind::Comma {
                self.advance();
                let projection = self.projection_def()?;
                definition.projections.push(projection);
            } else if self.accept_keyword("PRIMARY KEY") {
                definition.primary_key = Some(self.bare_expr()?);
            } else {
                let column = self.column_def()?;
                if column.ty.is_none() && column.default.as_ref().is_none_or(|d| d.expr.is_none()) {
                    return Err(self.expect_here("data type"));
                }
                definition.columns.push(column);
            }
            if !self.accept(TokenKind::Comma) {
                return Ok(definition);
            }
        }
    }

    /// A column of CREATE and of texts that declare columns: its name is one identifier.
    pub(crate) fn column_def(&mut self) -> Parse<ColumnDef> {
        let start = self.start();
        let name = self.ident()?;
        self.column_def_of(name, start)
    }

    /// A column of ALTER, which may be named as one of a Nested, `a.b`.
    pub(crate) fn altered_column_def(&mut self) -> Parse<ColumnDef> {
        let start = self.start();
        let name = self.column_path()?;
        self.column_def_of(name, start)
    }

    fn column_def_of(&mut self, name: Ident, start: usize) -> Parse<ColumnDef> {
        let mut column = ColumnDef {
            name,
            ty: None,
            nullable: None,
            default: None,
            comment: None,
            codec: Vec::new(),
            statistics: Vec::new(),
            ttl: None,
            collate: None,
            primary_key: false,
            settings: Vec::new(),
            span: self.span_from(start),
        };
        let has_type = matches!(self.token().kind, TokenKind::Word | TokenKind::QuotedIdent)
            && !AFTER_NAME.iter().any(|word| self.at_keyword(word));
        if has_type {
            column.ty = Some(self.type_name()?);
        }
        self.column_properties(&mut column)?;
        column.span = self.span_from(start);
        Ok(column)
    }

    pub(crate) fn column_properties(&mut self, column: &mut ColumnDef) -> Parse<()> {
        loop {
            if column.nullable.is_none() && self.accept_keyword("NOT NULL") {
                column.nullable = Some(false);
            } else if column.nullable.is_none() && self.accept_keyword("NULL") {
                column.nullable = Some(true);
            } else if column.default.is_none() && self.accept_keyword("DEFAULT") {
                column.default = Some(self.column_default(DefaultKind::Default)?);
            } else if column.default.is_none() && self.accept_keyword("MATERIALIZED") {
                column.default = Some(self.column_default(DefaultKind::Materialized)?);
            } else if column.default.is_none() && self.accept_keyword("ALIAS") {
                column.default = Some(self.column_default(DefaultKind::Alias)?);
            } else if column.default.is_none() && self.accept_keyword("EPHEMERAL") {
                let ends = ["CODEC", "TTL", "COMMENT", "STATISTICS", "PRIMARY KEY", "FIRST", "AFTER"];
                let none = matches!(
                    self.token().kind,
                    TokenKind::Comma | TokenKind::RParen | TokenKind::End | TokenKind::Semicolon
                ) || ends.iter().any(|word| self.at_keyword(word));
                let expr = if none { None } else { Some(Box::new(self.bare_expr()?)) };
                column.default = Some(ColumnDefault { kind: DefaultKind::Ephemeral, expr });
            } else if column.default.is_none() && self.accept_keyword("AUTO_INCREMENT") {
                column.default = Some(ColumnDefault { kind: DefaultKind::AutoIncrement, expr: None });
            } else if column.comment.is_none() && self.accept_keyword("COMMENT") {
                column.comment = Some(self.string()?);
            } else if column.codec.is_empty() && self.at_keyword("CODEC") {
                self.advance();
                column.codec = self.paren_list(false, |p| p.name_or_call())?;
            } else if column.statistics.is_empty() && self.at_keyword("STATISTICS") {
                self.advance();
                column.statistics = self.paren_list(false, |p| p.name_or_call())?;
            } else if column.ttl.is_none() && self.accept_keyword("TTL") {
                column.ttl = Some(self.bare_expr()?);
            } else if column.collate.is_none() && self.accept_keyword("COLLATE") {
                column.collate = Some(self.ident()?.name);
            } else if !column.primary_key && self.accept_keyword("PRIMARY KEY") {
                column.primary_key = true;
            } else if column.settings.is_empty()
                && self.at_keyword("SETTINGS")
                && self.peek(1).kind == TokenKind::LParen
            {
                self.advance();
                column.settings = self.parens(|p| p.settings_list())?;
            } else {
                return Ok(());
            }
        }
    }

    fn column_default(&mut self, kind: DefaultKind) -> Parse<ColumnDefault> {
        Ok(ColumnDefault { kind, expr: Some(Box::new(self.bare_expr()?)) })
    }

    /// `ZSTD`, `ZSTD(3)`: an identifier or a call.
    pub(crate) fn name_or_call(&mut self) -> Parse<Expr> {
        let start = self.start();
        let name = self.ident()?;
        if self.at(TokenKind::LParen) {
            return self.call(name, start);
        }
        let span = name.span;
        Ok(Expr { kind: ExprKind::Identifier(vec![name]), alias: None, span })
    }

    pub(crate) fn index_def(&mut self) -> Parse<IndexDef> {
        let name = self.ident()?;
        let expr = self.bare_expr()?;
        self.expect_keyword("TYPE")?;
        self.index_of_type(name, expr)
    }

    /// What follows TYPE.
    fn index_of_type(&mut self, name: Ident, expr: Expr) -> Parse<IndexDef> {
        let ty = Some(self.name_or_call()?);
        // Of an index of text it depends on the type, and is the engine's to choose.
        let is_of_type = |name: &str| {
            ty.as_ref().is_some_and(|ty: &Expr| match &ty.kind {
                ExprKind::Identifier(parts) => parts.iter().any(|part| part.name.eq_ignore_ascii_case(name)),
                ExprKind::Call(call) => call.name.eq_ignore_ascii_case(name),
                _ => false,
            })
        };
        // A graph of vectors is of a whole part.
        let usual = if is_of_type("vector_similarity") { 100_000_000 } else { 1 };
        let given = if self.accept_keyword("GRANULARITY") { Some(self.unsigned()?) } else { None };
        let granularity = given.or((!is_of_type("text")).then_some(usual));
        Ok(IndexDef { name, expr, ty, granularity })
    }

    /// `CREATE INDEX [IF NOT EXISTS] name ON table (exprs) TYPE type [GRANULARITY n]`: another way to write an ALTER.
    pub(crate) fn create_index(&mut self) -> Parse<StatementKind> {
        let if_not_exists = self.if_not_exists();
        let index_name = self.ident()?;
        self.expect_keyword("ON")?;
        let name = self.object_name()?;
        let cluster = self.on_cluster()?;
        let mut expr = self.bare_expr()?;
        // These parentheses are the statement's.
        expr.span.parenthesised = false;
        if !self.accept_keyword("TYPE") {
            return Err(Fail::Error(err!(INCORRECT_QUERY, "CREATE INDEX without TYPE is forbidden")));
        }
        let index = self.index_of_type(index_name, expr)?;
        let commands = vec![AlterCommand::AddIndex { if_not_exists, index, position: None }];
        Ok(StatementKind::AlterTable(Box::new(AlterTable { temporary: false, name, cluster, commands })))
    }

    /// `DROP INDEX [IF EXISTS] name ON table`.
    pub(crate) fn drop_index(&mut self) -> Parse<StatementKind> {
        let if_exists = self.if_exists();
        let index_name = self.ident()?;
        self.expect_keyword("ON")?;
        let name = self.object_name()?;
        let cluster = self.on_cluster()?;
        let commands = vec![AlterCommand::DropIndex { if_exists, name: index_name }];
        Ok(StatementKind::AlterTable(Box::new(AlterTable { temporary: false, name, cluster, commands })))
    }

    pub(crate) fn constraint_def(&mut self) -> Parse<ConstraintDef> {
        let name = self.ident()?;
        let assume = match self.accept_any_keyword(&["CHECK", "ASSUME"]) {
            Some(index) => index == 1,
            None => return Err(Fail::Syntax),
        };
        Ok(ConstraintDef { name, assume, expr: self.bare_expr()? })
    }

    /// `name (SELECT a, sum(b) GROUP BY a)` or `name INDEX a TYPE basic`.
    pub(crate) fn projection_def(&mut self) -> Parse<ProjectionDef> {
        let name = self.ident()?;
        let (query, index) = if self.accept_keyword("INDEX") {
            let expr = self.bare_expr()?;
            self.expect_keyword("TYPE")?;
            let index = ProjectionIndex { expr, ty: self.ident()? };
            (index.query(), Some(index))
        } else {
            (self.projection_select()?, None)
        };
        let settings = match self.accept_keyword("WITH SETTINGS") {
            true => self.parens(|p| p.settings_list())?,
            false => Vec::new(),
        };
        Ok(ProjectionDef { name, query: Box::new(query), index, settings })
    }

    fn projection_select(&mut self) -> Parse<Select> {
        self.parens(|p| {
            let start = p.start();
            let mut select = Select::default();
            if p.accept_keyword("WITH") {
                select.with = p.with_list()?;
            }
            p.expect_keyword("SELECT")?;
            select.projection = p.comma_list(|p| p.aliased_expr())?;
            if p.accept_keyword("WHERE") {
                select.where_ = Some(p.expr()?);
            }
            if p.accept_keyword("GROUP BY") {
                select.group_by = Some(GroupBy::Exprs(p.comma_list(|p| p.expr())?));
            }
            if p.accept_keyword("ORDER BY") {
                let list = without_tuple(p.comma_list(|p| p.expr())?);
                select.order_by = list.into_iter().map(without_direction).collect();
            }
            select.span = p.span_from(start);
            Ok(select)
        })
    }

    /// ENGINE, then ORDER BY, PARTITION BY, PRIMARY KEY, SAMPLE BY and TTL in any order, each at most once, and SETTINGS at the end.
    pub(crate) fn storage(&mut self) -> Parse<Storage> {
        let mut storage = Storage::default();
        loop {
            if storage == Storage::default() && self.accept_keyword("ENGINE") {
                self.accept(TokenKind::Equals);
                storage.engine = Some(self.engine()?);
            } else if storage.partition_by.is_none() && self.accept_keyword("PARTITION BY") {
                storage.partition_by = Some(self.bare_expr()?);
            } else if storage.primary_key.is_none() && self.accept_keyword("PRIMARY KEY") {
                storage.primary_key = Some(self.bare_expr()?);
            } else if storage.order_by.is_none() && self.accept_keyword("ORDER BY") {
                storage.order_by = Some(self.sorting_key()?);
            } else if storage.sample_by.is_none() && self.accept_keyword("SAMPLE BY") {
                storage.sample_by = Some(self.bare_expr()?);
            } else if storage.ttl.is_empty() && self.accept_keyword("TTL") {
                storage.ttl = self.ttl_list()?;
            } else if storage.settings.is_empty() && self.at_settings() {
                self.advance();
                storage.settings = self.settings_list()?;
                return Ok(storage);
            } else {
                return Ok(storage);
            }
        }
    }

    pub(crate) fn engine(&mut self) -> Parse<Engine> {
        let name = self.ident()?.name;
        if !self.at(TokenKind::LParen) {
            return Ok(Engine { name, args: None });
        }
        let args = self.paren_list(true, |p| p.expr())?;
        Ok(Engine { name, args: if args.is_empty() { None } else { Some(args) } })
    }

    /// `x`, `(x, y DESC)`, `tuple(x, y DESC)`, `tuple()`, `()`.
    pub(crate) fn sorting_key(&mut self) -> Parse<Vec<OrderItem>> {
        let is_tuple = self.at_keyword("tuple") && self.peek(1).kind == TokenKind::LParen;
        if is_tuple || self.at(TokenKind::LParen) {
            let list = self.maybe(|p| {
                if is_tuple {
                    p.advance();
                }
                let list = p.paren_list(true, |p| p.sorting_item())?;
                // `(a + b) * c` only begins like a list.
                let goes_on = matches!(
                    p.token().kind,
                    TokenKind::Plus
                        | TokenKind::Minus
                        | TokenKind::Asterisk
                        | TokenKind::Slash
                        | TokenKind::Dot
                        | TokenKind::LBracket
                        | TokenKind::DoubleColon
                        | TokenKind::Percent
                );
                if goes_on { Err(Fail::Syntax) } else { Ok(list) }
            })?;
            if let Some(mut list) = list {
                if let [one] = &mut list[..]
                    && (!is_tuple || one.descending)
                {
                    one.expr.span.parenthesised = true;
                }
                return Ok(list);
            }
        }
        Ok(vec![self.sorting_item()?])
    }

    fn sorting_item(&mut self) -> Parse<OrderItem> {
        let expr = self.bare_expr()?;
        let descending = matches!(self.accept_any_keyword(&["DESC", "ASC"]), Some(0));
        Ok(OrderItem { expr, descending, nulls_first: None, collate: None, fill: None })
    }

    /// What follows SET of a TTL. Behind a comma there may be another rule.
    fn ttl_assignments(&mut self) -> Parse<Vec<(Ident, Expr)>> {
        let mut assignments = vec![self.assignment()?];
        loop {
            let another = self.maybe(|p| {
                p.expect(TokenKind::Comma)?;
                p.assignment()
            })?;
            match another {
                Some(assignment) => assignments.push(assignment),
                None => return Ok(assignments),
            }
        }
    }

    pub(crate) fn ttl_list(&mut self) -> Parse<Vec<TtlItem>> {
        self.comma_list(|p| {
            let expr = p.bare_expr()?;
            let action = if p.accept_keyword("TO DISK") {
                TtlAction::ToDisk(p.string()?)
            } else if p.accept_keyword("TO VOLUME") {
                TtlAction::ToVolume(p.string()?)
            } else if p.accept_keyword("RECOMPRESS CODEC") {
                TtlAction::Recompress(p.paren_list(false, |p| p.name_or_call())?)
            } else if p.accept_keyword("GROUP BY") {
                let keys = p.comma_list(|p| p.bare_expr())?;
                let set = if p.accept_keyword("SET") { p.ttl_assignments()? } else { Vec::new() };
                TtlAction::GroupBy { keys, set }
            } else {
                p.accept_keyword("DELETE");
                TtlAction::Delete
            };
            let where_ = if p.accept_keyword("WHERE") { Some(p.bare_expr()?) } else { None };
            Ok(TtlItem { expr, action, where_ })
        })
    }
}

/// `ORDER BY (a, b)` of a projection, and `ORDER BY tuple(a, b)`, are `ORDER BY a, b`.
fn without_tuple(list: Vec<Expr>) -> Vec<Expr> {
    match &list[..] {
        [Expr { kind: ExprKind::Call(call), alias: None, .. }]
            if call.name == "tuple" && !call.args.is_empty() =>
        {
            call.args.clone()
        }
        _ => list,
    }
}

fn without_direction(expr: Expr) -> OrderItem {
    OrderItem { expr, descending: false, nulls_first: None, collate: None, fill: None }
}

impl ProjectionIndex {
    /// `SELECT _part_offset, a ORDER BY a`.
    fn query(&self) -> Select {
        let span = self.expr.span;
        let offset = ExprKind::Identifier(vec![Ident::at("_part_offset".to_string(), span)]);
        let keys = match &self.expr.kind {
            ExprKind::Call(call) if call.name == "tuple" => call.args.clone(),
            _ => vec![self.expr.clone()],
        };
        let projection =
            std::iter::once(Expr { kind: offset, alias: None, span }).chain(keys.iter().cloned());
        Select {
            projection: projection.collect(),
            order_by: keys.into_iter().map(without_direction).collect(),
            span,
            ..Select::default()
        }
    }
}
