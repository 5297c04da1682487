//! SELECT, clause by clause.

use super::Printer;
use super::text::write_quoted;
use crate::ast::{
    Expr, GroupBy, Join, JoinConstraint, JoinKind, JoinLocality, JoinStep, JoinStrictness, ObjectName, Query,
    Ratio, Select, SetExpr, SetOp, SetQuantifier, TableExpr, TableKind, WithItem,
};

impl Printer {
    pub(crate) fn query(&mut self, query: &Query) {
        self.set_expr(&query.body);
    }

    /// In parentheses on lines of its own.
    pub(crate) fn subquery(&mut self, query: &Query) {
        self.word("(");
        self.indented(|p| {
            p.tight_line();
            p.query(query);
        });
        self.tight_line();
        self.word(")");
    }

    fn set_expr(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.subquery(query),
            SetExpr::SetOp { op, quantifier, inputs } => {
                for (i, input) in inputs.iter().enumerate() {
                    if i > 0 {
                        self.line();
                        self.word(match op {
                            SetOp::Union => "UNION",
                            SetOp::Except => "EXCEPT",
                            SetOp::Intersect => "INTERSECT",
                        });
                        match quantifier {
                            SetQuantifier::None => {}
                            SetQuantifier::All => self.word(" ALL"),
                            SetQuantifier::Distinct => self.word(" DISTINCT"),
                        }
                        self.line();
                    }
                    self.set_expr(input);
                }
            }
        }
    }

    pub(crate) fn with_clause(&mut self, select: &Select) {
        if select.with.is_empty() {
            return;
        }
        self.word(if select.recursive { "WITH RECURSIVE" } else { "WITH" });
        let print = |p: &mut Self, item: &WithItem| match item {
            WithItem::Expr(expr) => p.expr(expr),
            WithItem::Cte { name, columns, materialized, query } => {
                p.ident(name);
                if !columns.is_empty() {
                    p.word("(");
                    p.comma_list(columns, |p, c| p.ident(c));
                    p.word(")");
                }
                p.word(if *materialized { " AS MATERIALIZED" } else { " AS" });
                p.line();
                p.subquery(query);
            }
        };
        // A single item begins a line of its own too, unlike in the other lists.
        if let [item] = &select.with[..] {
            self.indented(|p| {
                p.line();
                print(p, item);
            });
        } else {
            self.tall_list(&select.with, print);
        }
        self.line();
    }

    pub(crate) fn select(&mut self, select: &Select) {
        self.with_clause(select);
        self.word("SELECT");
        if select.distinct {
            self.word(" DISTINCT");
        }
        if !select.distinct_on.is_empty() {
            self.word(" DISTINCT ON (");
            self.exprs(&select.distinct_on);
            self.word(")");
        }
        self.tall_list(&select.projection, |p, e| p.expr(e));
        if let Some(from) = &select.from {
            self.line();
            self.word("FROM ");
            self.table_expr(from);
        }
        for step in &select.joins {
            self.join_step(step);
        }
        self.clause("PREWHERE", &select.prewhere);
        self.clause("WHERE", &select.where_);
        self.group_by(select);
        self.clause("HAVING", &select.having);
        if !select.windows.is_empty() {
            self.line();
            self.word("WINDOW");
            self.tall_list(&select.windows, |p, window| {
                p.ident(&window.name);
                p.word(" AS ");
                p.window_spec(&window.spec);
            });
        }
        self.clause("QUALIFY", &select.qualify);
        self.order_and_limit(select);
        if !select.settings.is_empty() {
            self.line();
            self.word("SETTINGS ");
            self.settings(&select.settings);
        }
    }

    fn clause(&mut self, word: &str, expr: &Option<crate::ast::Expr>) {
        if let Some(expr) = expr {
            self.line();
            self.word(word);
            self.word(" ");
            self.expr(expr);
        }
    }

    fn group_keys(&mut self, keys: &[Expr]) {
        self.word("GROUP BY");
        self.tall_list(keys, |p, e| p.expr(e));
    }

    fn group_by(&mut self, select: &Select) {
        if let Some(group) = &select.group_by {
            self.line();
            match group {
                GroupBy::All => self.word("GROUP BY ALL"),
                GroupBy::AllRollup => self.word("GROUP BY ALL WITH ROLLUP"),
                GroupBy::AllCube => self.word("GROUP BY ALL WITH CUBE"),
                GroupBy::Exprs(list) => self.group_keys(list),
                GroupBy::Rollup(list) | GroupBy::Cube(list) => {
                    self.group_keys(list);
                    self.indented(Self::line);
                    self.word(if matches!(group, GroupBy::Cube(_)) { "WITH CUBE" } else { "WITH ROLLUP" });
                }
                GroupBy::GroupingSets(sets) => {
                    self.word("GROUP BY");
                    self.indented(|p| {
                        p.line();
                        p.word("GROUPING SETS (");
                        p.indented(|p| {
                            for (i, set) in sets.iter().enumerate() {
                                p.word(if i > 0 { "," } else { "" });
                                if p.multiline || i > 0 {
                                    p.line();
                                }
                                p.word("(");
                                p.exprs(set);
                                p.word(")");
                            }
                        });
                        p.word(")");
                    });
                }
            }
        }
        if select.with_totals {
            self.indented(Self::line);
            self.word("WITH TOTALS");
        }
    }

    fn order_and_limit(&mut self, select: &Select) {
        if !select.order_by.is_empty() {
            self.line();
            self.word("ORDER BY");
            if select.order_by_all {
                self.word(" ALL");
                let direction = select.order_by[0].descending;
                self.word(if direction { " DESC" } else { " ASC" });
                match select.order_by[0].nulls_first {
                    Some(true) => self.word(" NULLS FIRST"),
                    Some(false) => self.word(" NULLS LAST"),
                    None => {}
                }
            } else {
                self.tall_list(&select.order_by, |p, item| p.order_item(item));
            }
        }
        if let Some(items) = &select.interpolate {
            self.line();
            self.word("INTERPOLATE");
            if !items.is_empty() {
                self.word(" (");
                self.comma_list(items, |p, item| {
                    write_quoted(&mut p.out, &item.name.name);
                    p.word(" AS ");
                    match &item.expr {
                        Some(expr) => p.closed(expr),
                        None => p.ident(&item.name),
                    }
                });
                self.word(")");
            }
        }
        if let Some(by) = &select.limit_by {
            self.line();
            self.word("LIMIT ");
            self.comma_pair(&by.offset, &by.limit);
            self.word(" BY");
            if by.all {
                self.word(" ALL");
            } else {
                self.tall_list(&by.exprs, |p, e| p.expr(e));
            }
        }
        if select.limit.is_some() {
            self.line();
            self.word("LIMIT ");
            self.comma_pair(&select.offset, &select.limit);
            if select.limit_with_ties {
                self.word(" WITH TIES");
            }
        } else {
            self.clause("OFFSET", &select.offset);
        }
    }

    fn comma_pair(&mut self, first: &Option<crate::ast::Expr>, second: &Option<crate::ast::Expr>) {
        if let Some(first) = first {
            self.closed(first);
            self.word(", ");
        }
        if let Some(second) = second {
            self.closed(second);
        }
    }

    // ---- FROM

    pub(crate) fn object_name(&mut self, name: &ObjectName) {
        if let Some(database) = &name.database {
            self.ident(database);
            self.word(".");
        }
        self.ident(&name.name);
    }

    pub(crate) fn table_expr(&mut self, table: &TableExpr) {
        match &table.kind {
            TableKind::Name(name) => self.object_name(name),
            TableKind::Function(call) => self.call(call),
            TableKind::Query(query) => {
                if self.multiline && (self.out.ends_with("FROM ") || self.out.ends_with("JOIN ")) {
                    self.out.pop();
                    self.line();
                }
                self.subquery(query);
            }
            TableKind::File(path) => self.string(path),
        }
        if let Some(alias) = &table.alias {
            self.word(" AS ");
            self.ident(alias);
        }
        if !table.column_aliases.is_empty() {
            self.word("(");
            self.comma_list(&table.column_aliases, |p, c| p.ident(c));
            self.word(")");
        }
        if table.final_ {
            self.line();
            self.word("FINAL");
        }
        if let Some(sample) = &table.sample {
            self.line();
            self.word("SAMPLE ");
            self.ratio(&sample.ratio);
            if let Some(offset) = &sample.offset {
                self.word(" OFFSET ");
                self.ratio(offset);
            }
        }
    }

    fn ratio(&mut self, ratio: &Ratio) {
        self.word(&ratio.numerator);
        if let Some(denominator) = &ratio.denominator {
            self.word(" / ");
            self.word(denominator);
        }
    }

    fn join_step(&mut self, step: &JoinStep) {
        match step {
            JoinStep::ArrayJoin { left, exprs } => {
                self.line();
                self.word(if *left { "LEFT ARRAY JOIN" } else { "ARRAY JOIN" });
                self.tall_list(exprs, |p, e| p.expr(e));
            }
            JoinStep::Join(join) if join.kind == JoinKind::Comma => {
                let subquery = self.multiline && matches!(join.table.kind, TableKind::Query(_));
                self.word(if subquery { "," } else { ", " });
                if subquery {
                    self.line();
                }
                self.table_expr(&join.table);
            }
            JoinStep::Join(join) => self.join(join),
        }
    }

    fn join(&mut self, join: &Join) {
        self.line();
        self.word(match join.locality {
            JoinLocality::Unspecified => "",
            JoinLocality::Global => "GLOBAL ",
            JoinLocality::Local => "LOCAL ",
        });
        if join.natural {
            self.word("NATURAL ");
        }
        self.word(match join.strictness {
            JoinStrictness::Unspecified => "",
            JoinStrictness::Any => "ANY ",
            JoinStrictness::All => "ALL ",
            JoinStrictness::Asof => "ASOF ",
            JoinStrictness::Semi => "SEMI ",
            JoinStrictness::Anti => "ANTI ",
        });
        self.word(match join.kind {
            JoinKind::Inner | JoinKind::Comma => "INNER JOIN ",
            JoinKind::Left => "LEFT JOIN ",
            JoinKind::Right => "RIGHT JOIN ",
            JoinKind::Full => "FULL OUTER JOIN ",
            JoinKind::Cross => "CROSS JOIN ",
            JoinKind::Paste => "PASTE JOIN ",
        });
        self.table_expr(&join.table);
        match &join.constraint {
            JoinConstraint::None => {}
            JoinConstraint::On(condition) => {
                self.word(" ON ");
                self.expr(condition);
            }
            JoinConstraint::Using(list) => {
                self.word(" USING (");
                self.exprs(list);
                self.word(")");
            }
        }
    }
}
