//! The names of result columns: the alias, else the functional form of the expression.

use crate::call::cast;
use crate::parameter_name::shown_parameter;
use crate::query::{Cte, QueryBinder};
use crate::scope::is_matcher;
use crate::select::{Item, SelectBinder};
use chalet_function_api::Volatility;
use chalet_syntax::ast::{Call, Expr, ExprKind, Ident, Literal, Query, Select, Span, TableKind, WithItem};
use chalet_syntax::{column_name, visit};
use chalet_types::DataType;
use std::rc::Rc;

impl SelectBinder<'_> {
    /// `t.x` is called `x`, unless `x` alone means another column.
    pub(crate) fn result_name(&self, expr: &Expr) -> String {
        if let Some(alias) = &expr.alias {
            return alias.name.clone();
        }
        let mut shown = expr.clone();
        visit::walk_mut(&mut shown, &mut |e| match &mut e.kind {
            ExprKind::Call(_) if self.chosen.contains_key(&place(e.span)) => {
                let name = self.chosen.get(&place(e.span)).map(|chosen| self.result_name(chosen));
                *e = Expr { alias: e.alias.take(), ..identifier(&name.unwrap_or_default()) };
            }
            ExprKind::Subquery(_) => {
                if let Some(number) = self.subquery_numbers.get(&e.span.start) {
                    *e = Expr { alias: e.alias.take(), ..identifier(&format!("_subquery_{number}")) };
                }
            }
            ExprKind::Exists(_) => {
                if let Some(found) = self.found_by_exists.get(&e.span.start) {
                    e.kind = ExprKind::Literal(Literal::UInt(u64::from(*found)));
                } else if let Some(number) = self.subquery_numbers.get(&e.span.start) {
                    let name = format!("exists(_subquery_{number})");
                    *e = Expr { alias: e.alias.take(), ..identifier(&name) };
                }
            }
            ExprKind::Parameter { name, ty } => {
                let env = self.query.env;
                let text_of = |constant| {
                    let text = cast(env, constant, &DataType::String).ok()?;
                    Some(text.as_literal()?.value())
                };
                if let Some(shown) = shown_parameter(env, name, &ty.text, &text_of) {
                    *e = Expr { alias: e.alias.take(), ..identifier(&shown) };
                }
            }
            ExprKind::Identifier(parts) if parts.len() > 1 => self.shorten(parts),
            // `count(*)` counts rows, whatever the columns are.
            ExprKind::Call(call) if call.counts_rows() => {}
            ExprKind::Call(call) => {
                self.spell_out(&mut call.args);
                self.quote_table(call);
                self.hide_secrets(call);
                self.take_as_parameter(call);
            }
            ExprKind::Lambda { body, .. } => {
                if let Some([name]) = self.matcher_names(body).as_deref() {
                    **body = identifier(name);
                }
            }
            _ => {}
        });
        column_name(&shown)
    }

    /// `groupConcat(x, ',')` is called `groupConcat(',')(x)`.
    fn take_as_parameter(&self, call: &mut Call) {
        let is_text = |e: &Expr| matches!(e.kind, ExprKind::Literal(Literal::String(_)));
        let [_, text] = &call.args[..] else { return };
        if call.params.is_some() || !is_text(text) {
            return;
        }
        let found = self.query.env.registry().aggregates.get(&call.name);
        if found.is_some_and(|function| function.record().string_is_parameter) {
            call.params = call.args.pop().map(|text| vec![text]);
        }
    }

    /// Matchers among the arguments of a function: the columns that they stand for.
    fn spell_out(&self, args: &mut Vec<Expr>) {
        let stands_for_several = |e: &Expr| is_matcher(e) || self.untupled.contains_key(&place(e.span));
        if !args.iter().any(stands_for_several) {
            return;
        }
        for arg in std::mem::take(args) {
            match self.matcher_names(&arg).or_else(|| self.untupled.get(&place(arg.span)).cloned()) {
                Some(names) => args.extend(names.iter().map(|name| identifier(name))),
                None => args.push(arg),
            }
        }
    }

    /// The name of a table that a function takes is shown as text, however it is written.
    fn quote_table(&self, call: &mut Call) {
        let function = self.query.env.registry().called(&call.name);
        let is_table = |e: &Expr| matches!(e.kind, ExprKind::Identifier(_)) && e.alias.is_none();
        if let Some(first) = call.args.first_mut().filter(|first| is_table(first))
            && function.is_some_and(|function| function.record().takes_table_name)
        {
            first.kind = ExprKind::Literal(Literal::String(column_name(first).into_bytes()));
        }
    }

    /// Numbers in the place of constants that a function keeps secret.
    fn hide_secrets(&self, call: &mut Call) {
        let function = self.query.env.registry().called(&call.name);
        let Some(first) = function.and_then(|function| function.record().secret_from) else { return };
        for arg in call.args.iter_mut().skip(first).filter(|arg| is_constant(arg)) {
            let shown = match self.is_folded(arg) {
                true => format!("[HIDDEN id: {}]", self.query.shared.secret(column_name(arg))),
                false => {
                    // What it is made of is numbered all the same.
                    if let ExprKind::Call(call) = &arg.kind {
                        call.args.iter().for_each(|part| {
                            self.query.shared.secret(column_name(part));
                        });
                    }
                    "[HIDDEN]".to_string()
                }
            };
            *arg = identifier(&shown);
        }
    }

    /// Is an expression of literals a constant, once its functions are called?
    fn is_folded(&self, expr: &Expr) -> bool {
        let mut folded = true;
        visit::walk(expr, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                let function = self.query.env.registry().called(&call.name);
                folded &= function.is_none_or(|f| f.record().volatility != Volatility::PerRow);
            }
            folded
        });
        folded
    }

    /// Takes the table away from the front of a column, unless the column alone means something else.
    fn shorten(&self, parts: &mut Vec<Ident>) {
        let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        let Some(place) = self.tables.place_of(&names) else { return };
        let column = names[place.qualifier..place.used].join(".");
        let is_other = self.aliases.contains_key(names[place.qualifier])
            || self.tables.joined.iter().any(|c| *c.name == *column)
            || self.tables.is_of_right_join(&column)
            || self.is_taken(&column, place.table);
        parts.drain(..if is_other { place.qualifier - 1 } else { place.qualifier });
    }
}

impl SelectBinder<'_> {
    /// Gives the sub-queries of the result their numbers: they are counted over the whole statement, those of FROM first.
    pub(crate) fn number_subqueries(&mut self, select: &Select, items: &[Item]) {
        let count = self.query.n_subqueries.clone();
        let before = count.get();
        let with = select.with.iter().filter_map(|item| match item {
            WithItem::Expr(e) => Some(e),
            WithItem::Cte { .. } => None,
        });
        let written = items.iter().filter_map(|item| match item {
            Item::Written(e) => Some(e),
            Item::Bound(..) => None,
        });
        for e in with.chain(written) {
            visit::walk(e, &mut |e| {
                match &e.kind {
                    ExprKind::Subquery(query) => {
                        count.set(count.get() + 1);
                        self.subquery_numbers.insert(e.span.start, count.get());
                        count.set(count.get() + n_inside(query, self.query.ctes.as_ref()));
                    }
                    // The kernel wraps a query around one that is asked for its rows.
                    ExprKind::Exists(query) => {
                        self.subquery_numbers.insert(e.span.start, count.get() + 1);
                        count.set(count.get() + 2 + n_inside(query, self.query.ctes.as_ref()))
                    }
                    _ => {}
                }
                true
            });
        }
        // The other clauses come behind the result.
        count.set(before + n_in_clauses(select, self.query.ctes.as_ref()));
    }
}

impl QueryBinder<'_> {
    /// One more sub-query of the statement.
    pub(crate) fn count_subquery(&self) {
        self.n_subqueries.set(self.n_subqueries.get() + 1);
    }
}

/// How many sub-queries are inside of a query, common table expressions where they are used.
fn n_inside(query: &Query, ctes: Option<&Rc<Cte>>) -> u32 {
    let mut n = 0;
    visit::for_each_select(query, &mut |select| {
        for table in visit::tables(select) {
            match &table.kind {
                TableKind::Query(query) => n += 1 + n_inside(query, ctes),
                TableKind::Name(name) if name.database.is_none() => {
                    let mut known = std::iter::successors(ctes, |cte| cte.before.as_ref());
                    if let Some(cte) = known.find(|cte| cte.name == name.name.name) {
                        n += 1 + n_inside(&cte.query, cte.before.as_ref());
                    }
                }
                _ => {}
            }
        }
        n += n_in_clauses(select, ctes);
    });
    n
}

/// How many sub-queries are in the expressions of a SELECT, or inside of those.
fn n_in_clauses(select: &Select, ctes: Option<&Rc<Cte>>) -> u32 {
    let mut n = 0;
    visit::for_each_clause(select, &mut |clause| {
        visit::walk(clause, &mut |e| {
            match &e.kind {
                ExprKind::Subquery(query) => n += 1 + n_inside(query, ctes),
                ExprKind::Exists(query) => n += 2 + n_inside(query, ctes),
                _ => {}
            }
            true
        });
    });
    n
}

/// Where an expression stands in the text.
pub(crate) fn place(span: Span) -> (u32, u32) {
    (span.start, span.end)
}

/// Made of literals alone?
fn is_constant(expr: &Expr) -> bool {
    let mut constant = true;
    visit::walk(expr, &mut |e| {
        let hidden = |parts: &[Ident]| parts.iter().any(|part| part.name.starts_with("[HIDDEN id"));
        constant &= match &e.kind {
            ExprKind::Literal(_) | ExprKind::Call(_) => true,
            ExprKind::Identifier(parts) => hidden(parts),
            _ => false,
        };
        constant
    });
    constant
}

fn identifier(name: &str) -> Expr {
    Expr { kind: ExprKind::Identifier(vec![Ident::new(name)]), alias: None, span: Span::default() }
}
