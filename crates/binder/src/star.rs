//! `*`, `t.*`, `COLUMNS(...)` and the EXCEPT, REPLACE and APPLY behind them.

use crate::scope::{ScopeColumn, TableScope};
use crate::select::SelectBinder;
use chalet_base::{Result, bail, ensure, err};
use chalet_plan::Expr;
use chalet_syntax::ast::{self, Call, CallStyle, ColumnsMatcher, ExprKind, Transformer};

/// A column of a matcher on its way through the transformers.
struct Item {
    /// The result column's name.
    name: String,
    /// The column's own name, which EXCEPT and REPLACE go by.
    column: String,
    expr: Expr,
}

impl SelectBinder<'_> {
    /// Names and expressions of the columns that a matcher stands for.
    pub(crate) fn expand(&mut self, e: &ast::Expr) -> Result<Vec<(String, Expr)>> {
        let (items, transformers) = match &e.kind {
            ExprKind::Star(transformers) => (self.star(), transformers),
            ExprKind::QualifiedStar { prefix, transformers } => (self.columns_of(prefix)?, transformers),
            ExprKind::Columns { prefix, matcher, transformers } => {
                let all = if prefix.is_empty() { self.star() } else { self.columns_of(prefix)? };
                (self.matching(all, matcher)?, transformers)
            }
            _ => bail!(LOGICAL_ERROR, "Not a matcher: {e}"),
        };
        let mut items = items;
        for transformer in transformers {
            items = self.transform(items, transformer)?;
        }
        Ok(items.into_iter().map(|item| (item.name, item.expr)).collect())
    }

    /// All columns: those that USING merged first, then the tables' in order.
    fn star(&self) -> Vec<Item> {
        let merged = &self.tables.merged;
        let mut items: Vec<Item> = merged.iter().map(|c| self.item(c, None)).collect();
        for (index, table) in self.tables.list.iter().enumerate() {
            let columns = table.columns.iter().filter(|c| c.in_star);
            for column in columns.filter(|c| !merged.iter().any(|m| m.name == c.name)) {
                let taken = self.is_taken(&column.name, index);
                items.push(self.item(column, table.name.as_deref().filter(|_| taken)));
            }
        }
        items
    }

    /// Does a column of the table at a position need the table's name to be told apart? Of two tables the left one's
    /// does not.
    fn is_taken(&self, column: &str, position: usize) -> bool {
        let tables = &self.tables.list;
        let two = tables.iter().filter(|table| table.name.is_some()).count() <= 2;
        let prefers_left = two && self.query.env.settings().single_join_prefer_left_table;
        let others = |(at, table): (usize, &TableScope)| {
            at != position && (at < position || !prefers_left) && table.find(column).is_some()
        };
        tables.iter().enumerate().any(others)
    }

    fn item(&self, column: &ScopeColumn, qualifier: Option<&str>) -> Item {
        let name = match qualifier {
            Some(table) => format!("{table}.{}", column.name),
            None => column.name.to_string(),
        };
        Item { name, column: column.name.to_string(), expr: column.expr.clone() }
    }

    fn columns_of(&mut self, prefix: &[ast::Ident]) -> Result<Vec<Item>> {
        let names: Vec<&str> = prefix.iter().map(|p| p.name.as_str()).collect();
        if self.tables.table(&names).is_none() {
            let kind = ExprKind::Identifier(prefix.to_vec());
            let tuple = self.expr(&ast::Expr { kind, alias: None, span: ast::Span::default() });
            if let Ok(tuple) = tuple
                && let chalet_types::DataType::Tuple(fields) = tuple.ty().bare().clone()
            {
                return self.elements_of(&names.join("."), tuple, &fields);
            }
        }
        let table = self.tables.table(&names).ok_or_else(|| {
            err!(UNKNOWN_IDENTIFIER, "Qualified matcher {}.* does not find table", names.join("."))
        })?;
        let position = self.tables.list.iter().position(|t| std::ptr::eq(t, table)).unwrap_or(0);
        let columns = table.columns.iter().filter(|c| c.in_star);
        Ok(columns
            .map(|c| {
                let taken = self.is_taken(&c.name, position);
                self.item(c, table.name.as_deref().filter(|_| taken))
            })
            .collect())
    }

    /// `t.*` of a column that is a tuple: its elements.
    fn elements_of(
        &mut self,
        prefix: &str,
        tuple: Expr,
        fields: &[chalet_types::TupleField],
    ) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let index = (i + 1).to_string();
            let name = field.name.as_deref().unwrap_or(&index).to_string();
            let expr = self.elements(tuple.clone(), &[&index])?;
            items.push(Item { name: format!("{prefix}.{name}"), column: name, expr });
        }
        Ok(items)
    }

    fn matching(&mut self, all: Vec<Item>, matcher: &ColumnsMatcher) -> Result<Vec<Item>> {
        match matcher {
            ColumnsMatcher::Regex(pattern) => {
                let regex = regex_of(pattern)?;
                Ok(all.into_iter().filter(|item| regex.is_match(item.column.as_bytes())).collect())
            }
            ColumnsMatcher::List(list) => list
                .iter()
                .map(|e| {
                    let name = self.result_name(e);
                    Ok(Item { name: name.clone(), column: name, expr: self.expr(e)? })
                })
                .collect(),
        }
    }

    fn transform(&mut self, items: Vec<Item>, transformer: &Transformer) -> Result<Vec<Item>> {
        match transformer {
            Transformer::Except { strict, columns } => {
                let missing = columns.iter().find(|c| !items.iter().any(|i| i.column == c.name));
                if let (true, Some(missing)) = (strict, missing) {
                    bail!(
                        BAD_ARGUMENTS,
                        "Columns transformer EXCEPT expects following column(s): {}",
                        missing.name
                    );
                }
                Ok(items.into_iter().filter(|i| !columns.iter().any(|c| c.name == i.column)).collect())
            }
            Transformer::ExceptRegex(pattern) => {
                let regex = regex_of(pattern)?;
                Ok(items.into_iter().filter(|i| !regex.is_match(i.column.as_bytes())).collect())
            }
            Transformer::Replace { strict, items: replacements } => {
                let mut items = items;
                for (expr, name) in replacements {
                    let bound = self.expr(expr)?;
                    let mut found = false;
                    for item in items.iter_mut().filter(|i| i.column == name.name) {
                        item.expr = bound.clone();
                        found = true;
                    }
                    ensure!(
                        found || !strict,
                        BAD_ARGUMENTS,
                        "Columns transformer REPLACE expects following column(s): {}",
                        name.name
                    );
                }
                Ok(items)
            }
            Transformer::Apply { function, params, prefix } => items
                .into_iter()
                .map(|item| {
                    let mut call = Call::new(function.clone(), Vec::new(), CallStyle::Function);
                    if !params.is_empty() {
                        call.params = Some(params.clone());
                    }
                    let inner = item.name.clone();
                    let expr = self.applied(call, item.expr)?;
                    let name = match prefix {
                        Some(prefix) => format!("{}{}", String::from_utf8_lossy(prefix), item.column),
                        None => format!("{function}({inner})"),
                    };
                    Ok(Item { name, column: item.column, expr })
                })
                .collect(),
            Transformer::ApplyLambda { param, body } => items
                .into_iter()
                .map(|item| {
                    // The name is the body's with the column in place of the parameter.
                    let mut shown = ast::Expr::clone(body);
                    chalet_syntax::visit::walk_mut(&mut shown, &mut |e| {
                        if let ExprKind::Identifier(parts) = &mut e.kind
                            && parts.len() == 1
                            && parts[0].name == param.name
                        {
                            parts[0].name = item.name.clone();
                        }
                    });
                    let name = self.result_name(&shown);
                    self.lambda_params.push((param.name.clone(), item.expr));
                    let expr = self.with_aggregates_allowed(|binder| binder.expr(body));
                    self.lambda_params.pop();
                    Ok(Item { name, column: item.column, expr: expr? })
                })
                .collect(),
        }
    }

    /// A call of a function on an expression that is bound already.
    fn applied(&mut self, mut call: Call, arg: Expr) -> Result<Expr> {
        const PARAM: &str = "\0column";
        let ident = ast::Ident::new(PARAM);
        let span = ast::Span::default();
        call.args = vec![ast::Expr { kind: ExprKind::Identifier(vec![ident]), alias: None, span }];
        let e = ast::Expr { kind: ExprKind::Call(Box::new(call)), alias: None, span };
        self.lambda_params.push((PARAM.to_string(), arg));
        let bound = self.with_aggregates_allowed(|binder| binder.expr(&e));
        self.lambda_params.pop();
        bound
    }

    /// The one kind of parameter that aggregates may see: the column of a transformer.
    fn with_aggregates_allowed(&mut self, bind: impl FnOnce(&mut Self) -> Result<Expr>) -> Result<Expr> {
        self.transformer_params += 1;
        let bound = bind(self);
        self.transformer_params -= 1;
        bound
    }
}

fn regex_of(pattern: &[u8]) -> Result<regex::bytes::Regex> {
    let text = String::from_utf8_lossy(pattern);
    regex::bytes::Regex::new(&text)
        .map_err(|_| err!(CANNOT_COMPILE_REGEXP, "COLUMNS pattern {text} cannot be compiled"))
}
