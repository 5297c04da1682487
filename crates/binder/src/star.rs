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
    /// Has REPLACE or APPLY made another expression of it? Then EXCEPT and REPLACE know it no more.
    changed: bool,
    /// What APPLY shows inside of its function, where that is not the name.
    shown: Option<String>,
    expr: Expr,
}

impl Item {
    /// Is it the column of this name, as it was read?
    fn is(&self, column: &ast::Ident) -> bool {
        !self.changed && self.column == column.name
    }
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

    /// All columns. Those that a USING merged come first of all that its join has.
    fn star(&self) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        for (position, table) in self.tables.list.iter().enumerate() {
            let using = self.tables.using_at(position);
            let is_merged = |name: &str| using.iter().any(|merged| **merged == *name);
            items.retain(|item| !is_merged(&item.column));
            let merged = using.iter().filter_map(|name| self.tables.merged.iter().find(|c| c.name == *name));
            items.splice(0..0, merged.map(|c| self.item(c, None)));
            let columns = table.columns.iter().filter(|c| c.in_star && !is_merged(&c.name));
            items.extend(columns.map(|c| self.qualified_item(c, table, position)));
        }
        items
    }

    /// A column under its name, which has the table's in front where it alone means something else.
    fn qualified_item(&self, column: &ScopeColumn, table: &TableScope, position: usize) -> Item {
        let is_alias = self.aliases.get(&*column.name).is_some_and(|alias| alias.alias.is_some());
        let taken = is_alias || self.is_taken(&column.name, position);
        self.item(column, table.name.as_deref().filter(|_| taken))
    }

    /// Does a column of the table at a position need the table's name to be told apart? Of two tables the left one's
    /// does not.
    pub(crate) fn is_taken(&self, column: &str, position: usize) -> bool {
        let tables = &self.tables.list;
        let two = tables.iter().filter(|table| table.name.is_some()).count() <= 2;
        let prefers_left = two && self.query.env.settings().single_join_prefer_left_table;
        let others = |(at, table): (usize, &TableScope)| {
            at != position
                && (at < position || !prefers_left)
                && (table.find(column).is_some() || table.group(column).is_some())
        };
        tables.iter().enumerate().any(others)
    }

    fn item(&self, column: &ScopeColumn, qualifier: Option<&str>) -> Item {
        let name = match qualifier {
            Some(table) => format!("{table}.{}", column.name),
            None => column.name.to_string(),
        };
        Item { name, column: column.name.to_string(), changed: false, shown: None, expr: column.named() }
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
        self.columns_of_table(&names).ok_or_else(|| {
            err!(UNKNOWN_IDENTIFIER, "Qualified matcher {}.* does not find table", names.join("."))
        })
    }

    fn columns_of_table(&self, names: &[&str]) -> Option<Vec<Item>> {
        let table = self.tables.table(names)?;
        let position = self.tables.list.iter().position(|t| std::ptr::eq(t, table)).unwrap_or(0);
        let columns = table.columns.iter().filter(|c| c.in_star);
        Some(columns.map(|c| self.qualified_item(c, table, position)).collect())
    }

    /// The names of what a matcher stands for, as far as they are known without binding anything.
    pub(crate) fn matcher_names(&self, e: &ast::Expr) -> Option<Vec<String>> {
        let of_table = |prefix: &[ast::Ident]| {
            let names: Vec<&str> = prefix.iter().map(|p| p.name.as_str()).collect();
            if names.is_empty() { Some(self.star()) } else { self.columns_of_table(&names) }
        };
        let (mut items, transformers) = match &e.kind {
            ExprKind::Star(transformers) => (self.star(), transformers),
            ExprKind::QualifiedStar { prefix, transformers } => (of_table(prefix)?, transformers),
            ExprKind::Columns { prefix, matcher: ColumnsMatcher::Regex(pattern), transformers } => {
                (matching_regex(of_table(prefix)?, pattern).ok()?, transformers)
            }
            _ => return None,
        };
        for transformer in transformers {
            match transformer {
                Transformer::Except { columns, .. } => {
                    items.retain(|item| !columns.iter().any(|c| item.is(c)));
                }
                Transformer::Replace { items: replacements, .. } => {
                    for item in items.iter_mut().filter(|i| replacements.iter().any(|(_, c)| i.is(c))) {
                        item.name = item.column.clone();
                    }
                }
                Transformer::Apply { function, params, prefix: None } => {
                    items.iter_mut().for_each(|item| item.name = applied_name(function, params, &item.name));
                }
                _ => return None,
            }
        }
        Some(items.into_iter().map(|item| item.name).collect())
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
            items.push(Item {
                name: format!("{prefix}.{name}"),
                column: name,
                changed: false,
                shown: None,
                expr,
            });
        }
        Ok(items)
    }

    fn matching(&mut self, all: Vec<Item>, matcher: &ColumnsMatcher) -> Result<Vec<Item>> {
        match matcher {
            ColumnsMatcher::Regex(pattern) => matching_regex(all, pattern),
            ColumnsMatcher::List(list) => list
                .iter()
                .map(|e| {
                    let name = self.result_name(e);
                    Ok(Item {
                        name: name.clone(),
                        column: name,
                        changed: false,
                        shown: None,
                        expr: self.expr(e)?,
                    })
                })
                .collect(),
        }
    }

    fn transform(&mut self, items: Vec<Item>, transformer: &Transformer) -> Result<Vec<Item>> {
        match transformer {
            Transformer::Except { strict, columns } => {
                let missing = columns.iter().find(|c| !items.iter().any(|i| i.is(c)));
                if let (true, Some(missing)) = (strict, missing) {
                    bail!(
                        BAD_ARGUMENTS,
                        "Columns transformer EXCEPT expects following column(s): {}",
                        missing.name
                    );
                }
                Ok(items.into_iter().filter(|i| !columns.iter().any(|c| i.is(c))).collect())
            }
            Transformer::ExceptRegex(pattern) => {
                let regex = matcher_regex(pattern)?;
                let is_left = |i: &Item| i.changed || !regex.is_match(i.column.as_bytes());
                Ok(items.into_iter().filter(is_left).collect())
            }
            Transformer::Replace { strict, items: replacements } => {
                self.replaced(items, *strict, replacements)
            }
            Transformer::Apply { function, params, prefix } => items
                .into_iter()
                .map(|item| {
                    let mut call = Call::new(function.clone(), Vec::new(), CallStyle::Function);
                    if !params.is_empty() {
                        call.params = Some(params.clone());
                    }
                    let inner = item.shown.unwrap_or_else(|| item.name.clone());
                    let expr = self.applied(call, item.expr)?;
                    let name = match prefix {
                        Some(prefix) => format!("{}{}", String::from_utf8_lossy(prefix), item.column),
                        None => applied_name(function, params, &inner),
                    };
                    Ok(Item { name, column: item.column, changed: true, shown: None, expr })
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
                    Ok(Item { name, column: item.column, changed: true, shown: None, expr: expr? })
                })
                .collect(),
        }
    }

    /// REPLACE. What it puts in a column's place is an alias of that name for the whole SELECT.
    fn replaced(
        &mut self,
        mut items: Vec<Item>,
        strict: bool,
        replacements: &[(ast::Expr, ast::Ident)],
    ) -> Result<Vec<Item>> {
        for (position, (expr, name)) in replacements.iter().enumerate() {
            ensure!(
                !replacements[..position].iter().any(|(_, before)| before.name == name.name),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Expressions in column transformer replace should not contain same replacement {} more than once",
                name.name
            );
            let bound = self.replacement(expr, name)?;
            let shown = self.result_name(expr);
            let mut found = false;
            for item in items.iter_mut().filter(|i| i.is(name)) {
                item.expr = bound.clone();
                (item.name, item.shown) = (name.name.clone(), Some(shown.clone()));
                item.changed = true;
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

    /// The expression of a REPLACE: inside of it the name that it gives means the column.
    fn replacement(&mut self, expr: &ast::Expr, name: &ast::Ident) -> Result<Expr> {
        let known = self.aliases.get(&name.name).cloned();
        match known.filter(|known| known.kind == expr.kind) {
            Some(known) => self.alias(&name.name, &known),
            None => {
                self.resolving.push(name.name.clone());
                let bound = self.expr(expr);
                self.resolving.pop();
                bound
            }
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

/// The name of a column that APPLY put into a function: `quantile(0.5)(b)`.
fn applied_name(function: &str, params: &[ast::Expr], inner: &str) -> String {
    let mut call = Call::new(function.to_string(), Vec::new(), CallStyle::Function);
    call.params = (!params.is_empty()).then(|| params.to_vec());
    let span = ast::Span::default();
    let column = ExprKind::Identifier(vec![ast::Ident::new(inner)]);
    call.args = vec![ast::Expr { kind: column, alias: None, span }];
    chalet_syntax::column_name(&ast::Expr { kind: ExprKind::Call(Box::new(call)), alias: None, span })
}

fn matching_regex(items: Vec<Item>, pattern: &[u8]) -> Result<Vec<Item>> {
    let regex = matcher_regex(pattern)?;
    Ok(items.into_iter().filter(|item| regex.is_match(item.column.as_bytes())).collect())
}

/// The pattern of `COLUMNS('...')`.
pub fn matcher_regex(pattern: &[u8]) -> Result<regex::bytes::Regex> {
    let text = String::from_utf8_lossy(pattern);
    regex::bytes::Regex::new(&text)
        .map_err(|_| err!(CANNOT_COMPILE_REGEXP, "COLUMNS pattern {text} cannot be compiled"))
}
