//! Queries: set operations, and the clauses of one SELECT in the order the kernel reads them.

use super::literal::string_expr;
use super::{Fail, Parse, Parser};
use crate::ast::{
    Call, CallStyle, Expr, ExprKind, Fill, GroupBy, Ident, InterpolateItem, LimitBy, OrderItem, Query,
    Select, SetExpr, SetOp, SetQuantifier, Setting, SettingValue, Span, TableExpr, TableKind, WindowDef,
    WithItem,
};
use crate::lexer::TokenKind;
use chalet_base::err;

/// Levels that a query counts: about a hundred queries may nest.
const QUERY_LEVELS: u32 = 7;

impl Parser<'_> {
    pub(crate) fn query(&mut self) -> Parse<Query> {
        self.remembered(
            |p| &mut p.queries,
            |p| {
                p.nested_by(QUERY_LEVELS, |p| {
                    let start = p.start();
                    let mut body = p.set_expr()?;
                    // Parentheses around all of it mean nothing.
                    while let SetExpr::Query(query) = body {
                        body = query.body;
                    }
                    Ok(Query { body, span: p.span_from(start) })
                })
            },
        )
    }

    /// UNION and EXCEPT group from the left; INTERSECT binds tighter.
    fn set_expr(&mut self) -> Parse<SetExpr> {
        let mut left = self.intersect_expr()?;
        loop {
            let op = if self.accept_keyword("UNION") {
                SetOp::Union
            } else if self.accept_keyword("EXCEPT") {
                SetOp::Except
            } else {
                return Ok(left);
            };
            let quantifier = self.set_quantifier();
            let mut right = self.intersect_expr()?;
            if op == SetOp::Union {
                (left, right) = (without_parentheses(left), without_parentheses(right));
            }
            left = set_op(op, quantifier, left, right);
            self.deepen_set(&left)?;
        }
    }

    fn intersect_expr(&mut self) -> Parse<SetExpr> {
        let mut left = self.set_operand()?;
        while self.accept_keyword("INTERSECT") {
            let quantifier = self.set_quantifier();
            let right = self.set_operand()?;
            left = set_op(SetOp::Intersect, quantifier, left, right);
            self.deepen_set(&left)?;
        }
        Ok(left)
    }

    /// A node that was only widened is not deeper.
    fn deepen_set(&mut self, node: &SetExpr) -> Parse<()> {
        match node {
            SetExpr::SetOp { inputs, .. } if inputs.len() > 2 => Ok(()),
            _ => self.deepen(2),
        }
    }

    fn set_quantifier(&mut self) -> SetQuantifier {
        match self.accept_any_keyword(&["ALL", "DISTINCT"]) {
            Some(0) => SetQuantifier::All,
            Some(_) => SetQuantifier::Distinct,
            None => SetQuantifier::None,
        }
    }

    fn set_operand(&mut self) -> Parse<SetExpr> {
        if self.at(TokenKind::LParen) {
            let query = self.parens(|p| p.query())?;
            return Ok(SetExpr::Query(Box::new(query)));
        }
        if self.at_keyword("EXPLAIN") {
            return Ok(SetExpr::Select(Box::new(self.explain_query()?)));
        }
        if self.at_values() {
            return Ok(SetExpr::Select(Box::new(self.values_query()?)));
        }
        self.note("SELECT query, possibly with UNION");
        Ok(SetExpr::Select(Box::new(self.select()?)))
    }

    fn at_values(&mut self) -> bool {
        self.at_keyword("VALUES") && self.peek(1).kind == TokenKind::LParen
    }

    /// `(VALUES (1, 'a'), (2, 'b'))` reads the table function `SQLStandardValues`.
    fn values_query(&mut self) -> Parse<Select> {
        let start = self.start();
        self.advance();
        let rows = self.comma_list(|p| p.bare_expr())?;
        let call = Call::new("SQLStandardValues", rows, CallStyle::Function);
        Ok(select_all_from(call, self.span_from(start)))
    }

    /// `(EXPLAIN kind settings SELECT ...)` as a query reads the table function `viewExplain`.
    fn explain_query(&mut self) -> Parse<Select> {
        let start = self.start();
        self.advance();
        let kinds = ["AST", "SYNTAX", "QUERY TREE", "PIPELINE", "PLAN", "ESTIMATE", "ANALYZE", "PROFILE"];
        let kind = match self.accept_any_keyword(&kinds) {
            None | Some(4) => "EXPLAIN".to_string(),
            Some(index) => format!("EXPLAIN {}", kinds[index]),
        };
        let at = self.start();
        let mut settings = "";
        if self.token().kind == TokenKind::Word && self.peek(1).kind == TokenKind::Equals {
            self.settings_list()?;
            settings = self.source(self.span_from(at));
        }
        let query = self.query()?;
        let span = self.span_from(start);
        let query = Expr { kind: ExprKind::Subquery(Box::new(query)), alias: None, span };
        let args = vec![string_expr(kind, span), string_expr(settings, span), query];
        let call = Call::new("viewExplain", args, CallStyle::Function);
        Ok(select_all_from(call, span))
    }

    pub(crate) fn select(&mut self) -> Parse<Select> {
        let start = self.start();
        let mut select = Select::default();
        if self.accept_keyword("WITH") {
            select.recursive = self.accept_keyword("RECURSIVE");
            select.with = self.with_list()?;
        }
        if self.accept_keyword("FROM") {
            self.tables_into(&mut select)?;
            if !self.at_keyword("SELECT") {
                // `FROM t` alone reads all columns.
                let span = self.span_from(start);
                select.projection = vec![Expr { kind: ExprKind::Star(Vec::new()), alias: None, span }];
                self.select_tail(&mut select)?;
                select.span = self.span_from(start);
                return Ok(select);
            }
        }
        self.expect_keyword("SELECT")?;
        self.select_body(&mut select)?;
        select.span = self.span_from(start);
        Ok(select)
    }

    /// What follows the word SELECT.
    pub(crate) fn select_body(&mut self, select: &mut Select) -> Parse<()> {
        self.select_list(select)?;
        if select.from.is_none() && self.accept_keyword("FROM") {
            self.tables_into(select)?;
        }
        self.select_tail(select)
    }

    fn select_list(&mut self, select: &mut Select) -> Parse<()> {
        self.accept_keyword("ALL");
        if self.at_keyword("DISTINCT ON") && self.peek(2).kind == TokenKind::LParen {
            self.advance();
            self.advance();
            select.distinct_on = self.paren_list(false, |p| p.expr())?;
        } else if self.accept_keyword("DISTINCT") {
            select.distinct = true;
        }
        self.accept_keyword("ALL");
        if self.at_keyword("TOP") && matches!(self.peek(1).kind, TokenKind::Number | TokenKind::LParen) {
            self.advance();
            let limit = if self.at(TokenKind::LParen) {
                self.parens(|p| p.bare_expr())?
            } else {
                match self.literal()? {
                    Some(number) => number,
                    None => return Err(self.expect_here("number")),
                }
            };
            select.limit = Some(limit);
            select.limit_with_ties = self.accept_keyword("WITH TIES");
        }
        select.projection = self.list_with_trailing_comma(&["FROM"], |p| p.aliased_expr())?;
        Ok(())
    }

    /// A comma may stand before the next clause or the end.
    fn list_with_trailing_comma<T>(
        &mut self,
        next: &[&'static str],
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let mut list = vec![item(self)?];
        while self.accept(TokenKind::Comma) {
            let token = self.token().kind;
            let ends = matches!(token, TokenKind::End | TokenKind::Semicolon | TokenKind::RParen)
                || next.iter().any(|word| self.at_keyword(word));
            if ends && !matches!(self.peek(1).kind, TokenKind::Dot | TokenKind::Comma) {
                break;
            }
            list.push(item(self)?);
        }
        Ok(list)
    }

    pub(crate) fn with_list(&mut self) -> Parse<Vec<WithItem>> {
        self.list_with_trailing_comma(&["SELECT", "FROM"], |p| p.with_item())
    }

    fn with_item(&mut self) -> Parse<WithItem> {
        let cte = self.maybe(|p| {
            let name = p.ident()?;
            let columns =
                if p.at(TokenKind::LParen) { p.paren_list(false, |p| p.ident())? } else { Vec::new() };
            p.expect_keyword("AS")?;
            let materialized = p.accept_keyword("MATERIALIZED");
            if !p.at(TokenKind::LParen) {
                return Err(Fail::Syntax);
            }
            p.advance();
            if !p.starts_query() && !p.at_values() {
                return Err(Fail::Syntax);
            }
            let query = Box::new(p.query()?);
            p.expect(TokenKind::RParen)?;
            Ok(WithItem::Cte { name, columns, materialized, query })
        })?;
        match cte {
            Some(cte) => Ok(cte),
            None => Ok(WithItem::Expr(self.expr()?)),
        }
    }

    fn select_tail(&mut self, select: &mut Select) -> Parse<()> {
        if self.accept_keyword("PREWHERE") {
            select.prewhere = Some(self.expr()?);
        }
        if self.accept_keyword("WHERE") {
            select.where_ = Some(self.expr()?);
        }
        if self.accept_keyword("GROUP BY") {
            self.group_by(select)?;
        }
        if self.accept_keyword("WITH TOTALS") {
            select.with_totals = true;
        }
        if self.accept_keyword("HAVING") {
            select.having = Some(self.expr()?);
        }
        if self.accept_keyword("WINDOW") {
            select.windows = self.comma_list(|p| {
                let name = p.ident()?;
                p.expect_keyword("AS")?;
                Ok(WindowDef { name, spec: p.window_spec()? })
            })?;
        }
        if self.accept_keyword("QUALIFY") {
            select.qualify = Some(self.expr()?);
        }
        if self.accept_keyword("ORDER BY") {
            self.order_by(select)?;
        }
        self.limits(select)?;
        if self.at_settings() {
            self.advance();
            select.settings = self.settings_list()?;
        }
        Ok(())
    }

    /// SETTINGS, and not an identifier of that name.
    pub(crate) fn at_settings(&mut self) -> bool {
        self.note("SETTINGS");
        self.at_keyword("SETTINGS") && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent)
    }

    fn group_by(&mut self, select: &mut Select) -> Parse<()> {
        let group = if self.accept_keyword("GROUPING SETS") {
            GroupBy::GroupingSets(self.paren_list(false, |p| {
                if p.at(TokenKind::LParen) { p.paren_list(true, |p| p.expr()) } else { Ok(vec![p.expr()?]) }
            })?)
        } else if self.at_keyword("ROLLUP") && self.peek(1).kind == TokenKind::LParen {
            self.advance();
            GroupBy::Rollup(self.paren_list(false, |p| p.expr())?)
        } else if self.at_keyword("CUBE") && self.peek(1).kind == TokenKind::LParen {
            self.advance();
            GroupBy::Cube(self.paren_list(false, |p| p.expr())?)
        } else if self.accept_keyword("ALL") {
            if self.accept_keyword("WITH ROLLUP") {
                GroupBy::AllRollup
            } else if self.accept_keyword("WITH CUBE") {
                GroupBy::AllCube
            } else {
                GroupBy::All
            }
        } else {
            let exprs = self.comma_list(|p| p.expr())?;
            if self.accept_keyword("WITH ROLLUP") {
                GroupBy::Rollup(exprs)
            } else if self.accept_keyword("WITH CUBE") {
                GroupBy::Cube(exprs)
            } else {
                GroupBy::Exprs(exprs)
            }
        };
        let is_sets = matches!(group, GroupBy::GroupingSets(_));
        if is_sets && self.accept_any_keyword(&["WITH ROLLUP", "WITH CUBE"]).is_some() {
            return Err(Fail::Error(err!(
                NOT_IMPLEMENTED,
                "GROUPING SETS are not supported together with ROLLUP and CUBE"
            )));
        }
        select.group_by = Some(group);
        Ok(())
    }

    fn order_by(&mut self, select: &mut Select) -> Parse<()> {
        let all = self.at_keyword("ALL");
        select.order_by = self.comma_list(|p| p.order_item())?;
        select.order_by_all = all
            && matches!(&select.order_by[..], [item] if item.expr.alias.is_none() && item.collate.is_none()
                && item.fill.is_none() && matches!(&item.expr.kind, ExprKind::Identifier(parts) if parts.len() == 1));
        if select.order_by_all {
            // Whatever its capitals were.
            select.order_by[0].expr.kind = ExprKind::Identifier(vec![Ident::new("all")]);
        }
        if select.order_by.iter().any(|item| item.fill.is_some()) && self.accept_keyword("INTERPOLATE") {
            select.interpolate = Some(if self.at(TokenKind::LParen) {
                self.paren_list(true, |p| {
                    let name = p.ident()?;
                    let column =
                        Expr { kind: ExprKind::Identifier(vec![name.clone()]), alias: None, span: name.span };
                    let expr = if p.accept_keyword("AS") { p.bare_expr()? } else { column };
                    Ok(InterpolateItem { name, expr: Some(expr) })
                })?
            } else {
                Vec::new()
            });
        }
        Ok(())
    }

    pub(crate) fn order_item(&mut self) -> Parse<OrderItem> {
        let expr = self.expr()?;
        let descending = match self.accept_any_keyword(&["DESCENDING", "DESC", "ASCENDING", "ASC"]) {
            Some(index) => index < 2,
            None => false,
        };
        let nulls_first = if self.accept_keyword("NULLS FIRST") {
            Some(true)
        } else if self.accept_keyword("NULLS LAST") {
            Some(false)
        } else {
            None
        };
        let collate = if self.accept_keyword("COLLATE") {
            Some(String::from_utf8_lossy(&self.string()?).into_owned())
        } else {
            None
        };
        let fill = if self.accept_keyword("WITH FILL") { Some(Box::new(self.fill_clause()?)) } else { None };
        Ok(OrderItem { expr, descending, nulls_first, collate, fill })
    }

    fn fill_clause(&mut self) -> Parse<Fill> {
        let mut fill = Fill::default();
        if self.accept_keyword("FROM") {
            fill.from = Some(self.bare_expr()?);
        }
        if self.accept_keyword("TO") {
            fill.to = Some(self.bare_expr()?);
        }
        if self.accept_keyword("STEP") {
            fill.step = Some(self.bare_expr()?);
        }
        if self.accept_keyword("STALENESS") {
            fill.staleness = Some(self.bare_expr()?);
        }
        Ok(fill)
    }

    /// LIMIT [BY], OFFSET and FETCH. A LIMIT with BY may be followed by one without.
    fn limits(&mut self, select: &mut Select) -> Parse<()> {
        if self.accept_keyword("LIMIT") {
            self.limit(select)?;
            if select.limit_by.is_some() && self.accept_keyword("LIMIT") {
                self.limit(select)?;
            }
        }
        if select.offset.is_none() && self.accept_keyword("OFFSET") {
            select.offset = Some(self.bare_expr()?);
            self.accept_any_keyword(&["ROWS", "ROW"]);
        }
        if self.accept_keyword("FETCH") {
            if self.accept_any_keyword(&["FIRST", "NEXT"]).is_none() {
                return Err(Fail::Syntax);
            }
            select.limit = Some(self.bare_expr()?);
            if self.accept_any_keyword(&["ROWS", "ROW"]).is_none() {
                return Err(Fail::Syntax);
            }
            select.limit_with_ties = match self.accept_any_keyword(&["WITH TIES", "ONLY"]) {
                Some(index) => index == 0,
                None => return Err(Fail::Syntax),
            };
        }
        if select.limit_with_ties && select.order_by.is_empty() && !select.order_by_all {
            let error = err!(WITH_TIES_WITHOUT_ORDER_BY, "Can not use WITH TIES without ORDER BY");
            return Err(Fail::Error(error));
        }
        Ok(())
    }

    fn limit(&mut self, select: &mut Select) -> Parse<()> {
        self.no_limit_window()?;
        let first = self.bare_expr()?;
        let (limit, offset) = if self.accept(TokenKind::Comma) {
            (self.bare_expr()?, Some(first))
        } else if self.at_keyword("OFFSET") {
            self.advance();
            (first, Some(self.bare_expr()?))
        } else {
            (first, None)
        };
        if select.limit_by.is_none() && self.accept_keyword("BY") {
            let all = self.at_keyword("ALL") && self.peek(1).kind != TokenKind::Dot;
            let exprs = if all {
                self.advance();
                Vec::new()
            } else {
                self.comma_list(|p| p.expr())?
            };
            select.limit_by = Some(LimitBy { limit: Some(limit), offset, exprs, all });
            return Ok(());
        }
        self.no_limit_window()?;
        if select.limit.is_some() {
            return Err(Fail::Error(err!(TOP_AND_LIMIT_TOGETHER, "Can not use TOP and LIMIT together.")));
        }
        select.limit_with_ties = self.accept_keyword("WITH TIES");
        select.limit = Some(limit);
        select.offset = offset;
        Ok(())
    }

    /// `LIMIT [n] AFTER condition UNTIL condition`.
    fn no_limit_window(&mut self) -> Parse<()> {
        for word in ["AFTER", "UNTIL"] {
            if self.at_keyword(word) && matches!(self.peek(1).kind, TokenKind::Word | TokenKind::QuotedIdent)
            {
                return Err(Fail::Error(err!(NOT_IMPLEMENTED, "LIMIT {word} is not implemented")));
            }
        }
        Ok(())
    }

    // ---- settings

    /// `a = 1, b = 'x'`.
    pub(crate) fn settings_list(&mut self) -> Parse<Vec<Setting>> {
        self.comma_list(|p| p.setting())
    }

    fn setting(&mut self) -> Parse<Setting> {
        let start = self.start();
        let mut name = self.ident()?;
        // Custom settings may have dots.
        while self.accept(TokenKind::Dot) {
            let part = self.ident()?;
            name = Ident::at(format!("{}.{}", name.name, part.name), self.span_from(start));
        }
        if !self.accept(TokenKind::Equals) {
            // A flag without a value is switched on.
            let ends = matches!(
                self.token().kind,
                TokenKind::Comma | TokenKind::End | TokenKind::Semicolon | TokenKind::RParen
            );
            if ends || self.at_keyword("FORMAT") || self.at_keyword("INTO OUTFILE") {
                let one = ExprKind::Literal(crate::ast::Literal::UInt(1));
                let expr = Expr { kind: one, alias: None, span: name.span };
                return Ok(Setting { name, value: SettingValue::Expr(expr) });
            }
            return Err(Fail::Syntax);
        }
        if self.at_keyword("DEFAULT") {
            self.advance();
            return Ok(Setting { name, value: SettingValue::Default });
        }
        let at = self.start();
        let value = match self.maybe(|p| p.setting_value(&name))? {
            Some(value) => value,
            // The text of a query parameter may nest maps in what is no map.
            None if name.name.starts_with("param_") && self.at(TokenKind::LBrace) => {
                self.skip_braces()?;
                string_expr(self.source(self.span_from(at)), self.span_from(at))
            }
            None => self.setting_value(&name)?,
        };
        Ok(Setting { name, value: SettingValue::Expr(value) })
    }

    /// Goes past a pair of braces and what is between them.
    fn skip_braces(&mut self) -> Parse<()> {
        let mut depth = 0usize;
        loop {
            match self.token().kind {
                TokenKind::LBrace => depth += 1,
                TokenKind::RBrace => depth -= 1,
                TokenKind::End => return Err(self.expect_here("closing brace")),
                _ => {}
            }
            self.advance();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// An expression, or the map literal `{'a': 1}` that only settings know.
    fn setting_value(&mut self, name: &Ident) -> Parse<Expr> {
        if !self.at(TokenKind::LBrace) || self.peek(1).kind == TokenKind::Word {
            if self.at(TokenKind::LParen) && !name.name.starts_with("param_") {
                return Err(self.expect_here("literal or map"));
            }
            let mut value = self.bare_expr()?;
            // `SET param_user = john` is the text of a query parameter.
            if name.name.starts_with("param_")
                && let ExprKind::Identifier(parts) = &value.kind
                && let [part] = &parts[..]
            {
                value = string_expr(part.name.as_str(), value.span);
            }
            let legal = match &value.kind {
                ExprKind::Literal(_) | ExprKind::Parameter { .. } => true,
                // A query parameter may be a list, the base of a backup says where it is; of others `disk(type = ...)` is the
                // one call.
                ExprKind::Call(call) if name.name.starts_with("param_") || name.name == "base_backup" => {
                    call.style != CallStyle::Operator
                }
                ExprKind::Call(call) => {
                    call.style == CallStyle::Function && call.name.eq_ignore_ascii_case("disk")
                }
                _ => false,
            };
            return if legal { Ok(value) } else { Err(self.expect_here("literal or map")) };
        }
        self.nested(|p| {
            let start = p.start();
            p.advance();
            let mut args = Vec::new();
            while !p.accept(TokenKind::RBrace) {
                args.push(p.setting_value(name)?);
                p.expect(TokenKind::Colon)?;
                args.push(p.setting_value(name)?);
                if !p.accept(TokenKind::Comma) {
                    p.expect(TokenKind::RBrace)?;
                    break;
                }
            }
            Ok(p.call_expr(Call::new("map", args, CallStyle::Array), start))
        })
    }
}

/// Joins a right side to a left one, widening the node when the operation is the same.
/// A single SELECT in parentheses is that SELECT, unless settings are for it alone.
fn without_parentheses(operand: SetExpr) -> SetExpr {
    match operand {
        SetExpr::Query(query) if matches!(&query.body, SetExpr::Select(select) if select.settings.is_empty()) => {
            query.body
        }
        other => other,
    }
}

fn set_op(op: SetOp, quantifier: SetQuantifier, left: SetExpr, right: SetExpr) -> SetExpr {
    match left {
        SetExpr::SetOp { op: same_op, quantifier: same_quantifier, mut inputs }
            if same_op == op && same_quantifier == quantifier =>
        {
            inputs.push(right);
            SetExpr::SetOp { op, quantifier, inputs }
        }
        left => SetExpr::SetOp { op, quantifier, inputs: vec![left, right] },
    }
}

/// `SELECT * FROM f(...)`.
fn select_all_from(call: Call, span: Span) -> Select {
    let from = TableExpr {
        kind: TableKind::Function(Box::new(call)),
        alias: None,
        column_aliases: Vec::new(),
        final_: false,
        sample: None,
        span,
    };
    let projection = vec![Expr { kind: ExprKind::Star(Vec::new()), alias: None, span }];
    Select { projection, from: Some(from), span, ..Select::default() }
}
