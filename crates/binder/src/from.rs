//! FROM: tables, views, table functions, sub-queries, common table expressions, ARRAY JOIN.

use crate::environment::{ArgumentTable, REGEXP, TableArgument};
use crate::parameters::has_parameters;
use crate::query::{BoundQuery, Cte, QueryBinder};
use crate::recursive::{body_uses, recursive_parts};
use crate::row_rule::{MergePurpose, MergedColumn, row_rule};
use crate::sample::{SAMPLE_FACTOR, check_subquery};
use crate::scope::{ScopeColumn, TableScope};
use crate::select::SelectBinder;
use crate::shared::count_uses;
use chalet_base::{Result, bail, codes, ensure};
use chalet_columns::keys::Order;
use chalet_columns::{Block, Column, Vector};
use chalet_plan::{ArrayJoin, CommonTable, Expr, Field, Filter, MergeRows, Plan, ScanNode, SortKey, Values};
use chalet_storage::merge_tree::TableKeys;
use chalet_storage::{ColumnSchema, DefaultKind, Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::DataType;
use std::rc::Rc;
use std::sync::Arc;

/// The virtual column of what PARTITION BY says of a row.
const PARTITION_VALUE: &str = "_partition_value";

/// A column that is computed from others, and its expression.
fn alias_text(column: &ColumnSchema) -> Option<(ColumnSchema, Arc<str>)> {
    match &column.default {
        Some((DefaultKind::Alias, text)) => Some((column.clone(), text.clone())),
        _ => None,
    }
}

/// What PREWHERE is refused for, of a table that does not take it.
fn no_prewhere(table: &dyn Table) -> Option<Arc<str>> {
    (!table.takes_prewhere()).then(|| format!("Storage {}", table.engine()).into())
}

impl SelectBinder<'_> {
    pub(crate) fn from(&mut self, select: &ast::Select) -> Result<Plan> {
        let needs_names = |step: &ast::JoinStep| match step {
            ast::JoinStep::Join(join) => join.kind != ast::JoinKind::Paste,
            ast::JoinStep::ArrayJoin { .. } => false,
        };
        if select.joins.iter().any(needs_names) {
            self.check_aliases(select)?;
        }
        self.from_tables = chalet_syntax::visit::tables(select).cloned().collect();
        self.reads_no_column = select.where_.is_none() && select.projection.iter().all(has_no_arguments);
        let mut plan = match &select.from {
            Some(table) => {
                let (plan, scope) = self.table_expr(table)?;
                self.tables.list.push(scope);
                plan
            }
            None => self.one_row(),
        };
        for step in &select.joins {
            plan = match step {
                ast::JoinStep::Join(join) => self.join(plan, join)?,
                ast::JoinStep::ArrayJoin { left, exprs } => self.array_join(plan, *left, exprs)?,
            };
        }
        Ok(plan)
    }

    /// What is joined has a name, so that its columns can be told apart.
    fn check_aliases(&self, select: &ast::Select) -> Result<()> {
        if !self.query.env.settings().joined_subquery_requires_alias {
            return Ok(());
        }
        for table in chalet_syntax::visit::tables(select) {
            let shown = match &table.kind {
                ast::TableKind::Query(query) => query.to_string(),
                ast::TableKind::Function(call) => call.name.clone(),
                ast::TableKind::Name(_) | ast::TableKind::File(_) => continue,
            };
            ensure!(
                table.alias.is_some(),
                ALIAS_REQUIRED,
                "No alias for subquery or table function {shown} of a JOIN (set joined_subquery_requires_alias = 0 to \
                 disable restriction)"
            );
        }
        Ok(())
    }

    /// Without FROM: the row of `system.one`.
    fn one_row(&mut self) -> Plan {
        let field = self.query.ids.field("dummy", DataType::UInt8);
        let scope = TableScope::of_fields(Some("one".into()), std::slice::from_ref(&field));
        let no_prewhere = Some("Storage SystemOne".into());
        self.tables.list.push(TableScope { database: Some("system".into()), no_prewhere, ..scope });
        let block = Block::new(vec![Column::constant(Vector::from(vec![0u8]), 1)], 1);
        Plan::Values(Values { fields: vec![field], block })
    }

    pub(crate) fn table_expr(&mut self, table: &ast::TableExpr) -> Result<(Plan, TableScope)> {
        let alias = table.alias.as_ref().map(|a| self.ident(a)).transpose()?;
        let (plan, mut scope) = match &table.kind {
            ast::TableKind::Name(name) => self.named(name, table)?,
            ast::TableKind::Function(call) => self.function(call, table)?,
            ast::TableKind::File(path) => {
                let path = chalet_types::Value::string(path);
                let args = [TableArgument::Value(path, DataType::String)];
                let found = self.query.env.table_function("file", &args)?;
                self.scan(found, "file".into(), table)?
            }
            ast::TableKind::Query(query) => {
                ensure!(
                    !table.final_,
                    UNSUPPORTED_METHOD,
                    "Table expression modifiers FINAL are not supported for subquery {query}"
                );
                check_subquery(table, query)?;
                self.query.count_subquery();
                let bound = self.query.deeper_in(self).query(query)?;
                self.derived(bound)
            }
        };
        if let Some(alias) = alias {
            ensure!(
                self.tables.table(&[&alias]).is_none(),
                MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                "Multiple table expressions with same alias {alias}"
            );
            (scope.own_name, scope.own_database) = (scope.name.take(), scope.database.take());
            scope.name = Some(alias);
        }
        if !table.column_aliases.is_empty() {
            let visible: Vec<usize> =
                (0..scope.columns.len()).filter(|&i| scope.columns[i].in_star).collect();
            ensure!(
                visible.len() == table.column_aliases.len(),
                BAD_ARGUMENTS,
                "Number of column aliases does not match the number of columns: {} and {}",
                table.column_aliases.len(),
                visible.len()
            );
            for (position, alias) in table.column_aliases.iter().enumerate() {
                ensure!(
                    !table.column_aliases[..position].iter().any(|before| before.name == alias.name),
                    BAD_ARGUMENTS,
                    "Column alias '{}' appears more than once",
                    alias.name
                );
            }
            for (at, alias) in visible.into_iter().zip(&table.column_aliases) {
                scope.columns[at].name = alias.name.as_str().into();
            }
        }
        Ok((plan, scope))
    }

    fn derived(&self, bound: BoundQuery) -> (Plan, TableScope) {
        let scope = TableScope::of_fields(None, &bound.fields);
        (bound.plan, TableScope { no_prewhere: Some("Subquery".into()), ..scope })
    }

    fn named(&mut self, name: &ast::ObjectName, table: &ast::TableExpr) -> Result<(Plan, TableScope)> {
        let database = name.database.as_ref().map(|d| self.ident(d)).transpose()?;
        let table_name = self.ident(&name.name)?;
        if database.is_none()
            && let Some(cte) = self.query.find_cte(&table_name)
        {
            ensure!(
                !table.final_,
                UNSUPPORTED_METHOD,
                "Table expression modifiers FINAL are not supported for subquery {table_name}"
            );
            check_subquery(table, &table_name)?;
            // Another reader needs all of it; its own steps do not count.
            let readers = cte.uses.saturating_sub(count_uses(&cte.query.body, &cte.name));
            let needed = self.rows_needed.filter(|_| readers <= 1);
            let bound = self.query.cte(&cte, needed)?;
            let (plan, mut scope) = self.derived(bound);
            scope.name = Some(table_name);
            return Ok((plan, scope));
        }
        let env = self.query.env;
        let Some((found, full_name)) = env.table(database.as_deref(), &table_name)? else {
            // Another table of the same FROM, by its alias.
            if database.is_none()
                && let Some(position) = self.from_tables.iter().position(|t| is_called(t, &table_name))
            {
                let known = self.from_tables.remove(position);
                return self.table_expr(&ast::TableExpr {
                    column_aliases: table.column_aliases.clone(),
                    alias: None,
                    ..known
                });
            }
            return Err(env.unknown_table(database.as_deref(), &table_name));
        };
        let (plan, mut scope) = self.table_or_view(found, full_name.clone(), table)?;
        scope.database = full_name.split_once('.').map(|(database, _)| database.to_string());
        self.add_virtual_names(&mut scope, &table_name);
        scope.name = Some(table_name);
        Ok((plan, scope))
    }

    /// `_table` and `_database`, which every table has unless it has columns of these names.
    fn add_virtual_names(&self, scope: &mut TableScope, table: &str) {
        let database = scope.database.clone().unwrap_or_default();
        for (name, value) in [("_table", table), ("_database", &database)] {
            let text = Expr::literal(&chalet_types::Value::from(value), DataType::String.low_cardinality());
            if scope.find(name).is_none()
                && let Ok(expr) = text
            {
                scope.columns.push(ScopeColumn { name: name.into(), expr, in_star: false, mark: None });
            }
        }
    }

    fn table_or_view(
        &mut self,
        found: Arc<dyn Table>,
        name: Arc<str>,
        written: &ast::TableExpr,
    ) -> Result<(Plan, TableScope)> {
        let Some(text) = found.view_query() else { return self.scan(found, name, written) };
        // Of a view all rows are read, as in ClickHouse; of several tables behind one, none can be said to be a sample.
        ensure!(
            written.sample.is_none() || found.engine() == "View",
            SAMPLING_NOT_SUPPORTED,
            "Storage {name} doesn't support sampling"
        );
        if has_parameters(&*found) {
            let nothing = Values { fields: Vec::new(), block: Block::new(Vec::new(), 0) };
            return Ok((Plan::Values(nothing), TableScope::default()));
        }
        let query = parse_query(text)?;
        let own = self.query.env.inside(&*found);
        let env = own.as_deref().unwrap_or(self.query.env);
        let binder = QueryBinder::new(env, self.query.ids, self.query.depth + 1);
        let bound = binder.query(&query)?;
        let (plan, mut scope) = self.derived(self.query.as_declared(bound, &*found)?);
        scope.no_prewhere = no_prewhere(&*found);
        let schema = found.schema();
        for column in &mut scope.columns {
            let declared = schema.columns.iter().find(|declared| declared.name == column.name);
            column.in_star &= declared.is_none_or(ColumnSchema::in_star);
        }
        let computed = schema.columns.iter().filter_map(alias_text);
        self.add_computed(computed.collect(), &mut scope)?;
        let plan = match self.additional_filter(&name, written, &scope)? {
            Some(condition) => Plan::Filter(Filter { input: Box::new(plan), condition }),
            None => plan,
        };
        Ok((plan, scope))
    }

    fn function(&mut self, call: &ast::Call, table: &ast::TableExpr) -> Result<(Plan, TableScope)> {
        if call.name.eq_ignore_ascii_case("view")
            && let [ast::Expr { kind: ExprKind::Subquery(query), .. }] = &call.args[..]
        {
            self.query.count_subquery();
            let bound = self.query.deeper_in(self).query(query)?;
            return Ok(self.derived(bound));
        }
        if let Some(statement) = explained(call) {
            let explanation = self.query.env.explain(&statement)?;
            return self.table_or_view(explanation, call.name.as_str().into(), table);
        }
        if let Some(bound) = self.view_with_parameters(call)? {
            let (plan, mut scope) = self.derived(bound);
            scope.name = Some(call.name.clone());
            return Ok((plan, scope));
        }
        let args = self.call_arguments(call).map_err(|error| {
            // That there is no such function is the nearer mistake, whatever its arguments are.
            match self.query.env.table_function(&call.name, &[]) {
                Err(unknown) if unknown.code() == codes::UNKNOWN_FUNCTION => unknown,
                _ => error,
            }
        })?;
        let found = self.query.env.table_function(&call.name, &args)?;
        if let Some(setting) = call.settings.first() {
            bail!(
                UNSUPPORTED_METHOD,
                "Invalid expression. Expected identifier, literal, matcher, function, subquery. Actual {}",
                setting.name.name
            );
        }
        self.table_or_view(found, call.name.as_str().into(), table)
    }

    pub(crate) fn table_arguments(&mut self, args: &[ast::Expr]) -> Result<Vec<TableArgument>> {
        args.iter().map(|arg| self.table_argument(arg)).collect()
    }

    /// The arguments of a table function.
    pub(crate) fn call_arguments(&mut self, call: &ast::Call) -> Result<Vec<TableArgument>> {
        if !self.query.env.takes_written(&call.name) {
            return self.table_arguments(&call.args);
        }
        let argument = |arg: &ast::Expr| {
            let is_call = matches!(arg.kind, ExprKind::Call(_));
            let written = || TableArgument::Written(arg.to_string());
            if !is_call {
                return self.table_argument(arg);
            }
            let constant = self.constant(arg, "Argument of a table function");
            Ok(constant.map_or_else(|_| written(), |value| TableArgument::Value(value.value(), value.ty)))
        };
        call.args.iter().map(argument).collect()
    }

    fn table_argument(&mut self, arg: &ast::Expr) -> Result<TableArgument> {
        if let ExprKind::Identifier(parts) = &arg.kind {
            let is_alias = parts.iter().any(|p| self.aliases.contains_key(&p.name));
            // A column of the query may be called as the table is.
            let literal = is_alias.then(|| self.constant(arg, "Argument of a table function").ok()).flatten();
            return Ok(match literal {
                Some(literal) => TableArgument::Value(literal.value(), literal.ty),
                None => {
                    TableArgument::Word(parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join("."))
                }
            });
        }
        if let ExprKind::Call(call) = &arg.kind
            && call.name == "equals"
            && let [ast::Expr { kind: ExprKind::Identifier(parts), .. }, value] = &call.args[..]
            && let [name] = &parts[..]
        {
            let literal = SelectBinder::without_tables(&self.query).constant(value, "Argument")?;
            return Ok(TableArgument::Named(name.name.clone(), literal.value(), literal.ty));
        }
        // A pattern where else a name stands.
        if let ExprKind::Call(call) = &arg.kind
            && call.name.eq_ignore_ascii_case(REGEXP)
            && let [pattern] = &call.args[..]
        {
            let literal = SelectBinder::without_tables(&self.query).constant(pattern, "Argument")?;
            return Ok(TableArgument::Named(REGEXP.into(), literal.value(), literal.ty));
        }
        // A function of tables, which no function of values has the name of.
        if let ExprKind::Call(call) = &arg.kind
            && self.query.env.registry().called(&call.name).is_none()
            && self.query.env.sql_function(&call.name)?.is_none()
        {
            let args = self.call_arguments(call)?;
            let table = self.query.env.table_function(&call.name, &args)?;
            return Ok(TableArgument::Table(ArgumentTable(table)));
        }
        let literal = self.constant(arg, "Argument of a table function")?;
        Ok(TableArgument::Value(literal.value(), literal.ty))
    }

    fn scan(
        &mut self,
        table: Arc<dyn Table>,
        name: Arc<str>,
        written: &ast::TableExpr,
    ) -> Result<(Plan, TableScope)> {
        let keys = table.keys().filter(|keys| !keys.merging.is_none()).cloned();
        ensure!(
            !written.final_ || keys.is_some(),
            ILLEGAL_FINAL,
            "Storage {} doesn't support FINAL",
            table.engine()
        );
        ensure!(
            table.engine() != "Set" || self.query.is_named_set || self.reads_no_column,
            NOT_IMPLEMENTED,
            "Method read is not supported by storage Set"
        );
        let (marks, schema) = (table.name_marks(), table.schema());
        let settings = self.query.env.settings();
        let with_materialized = settings.asterisk_include_materialized_columns;
        let mut columns: Vec<(usize, Field)> = Vec::new();
        let mut scope = TableScope { no_prewhere: no_prewhere(&*table), ..TableScope::default() };
        let mut computed = Vec::new();
        for (index, column) in schema.columns.iter().enumerate() {
            match &column.default {
                Some((DefaultKind::Alias, text)) => computed.push((column.clone(), text.clone())),
                Some((DefaultKind::Ephemeral, _)) => scope.ephemeral.push(column.name.clone()),
                _ => {
                    let field = self.query.ids.field(column.name.clone(), column.ty.clone());
                    self.query.ids.show(&field, column.shown_type());
                    scope.columns.push(ScopeColumn {
                        name: column.name.clone(),
                        expr: Expr::Column(field.id, field.ty.clone()),
                        in_star: column.in_star()
                            || (with_materialized
                                && column.default_kind() == Some(DefaultKind::Materialized)),
                        mark: marks.as_ref().and_then(|marks| marks.get(index).cloned()),
                    });
                    columns.push((index, field));
                }
            }
        }
        self.add_computed(computed, &mut scope)?;
        self.add_partition_value(&*table, &mut scope);
        let mut conditions: Vec<Expr> = self.additional_filter(&name, written, &scope)?.into_iter().collect();
        if let Some(sampling) = self.sampling(&*table, &name, written, &scope)? {
            if let Some(column) = scope.columns.iter_mut().find(|column| &*column.name == SAMPLE_FACTOR) {
                column.expr = sampling.factor_column()?;
            }
            conditions.extend(sampling.condition);
        }
        let plan = Plan::Scan(ScanNode {
            table,
            name,
            columns,
            filter: None,
            selectivity: None,
            only_filtered: Vec::new(),
            only_lengths: Vec::new(),
            limit: None,
            row_id: None,
            limits: self.query.env.scan_limits(),
            skip_indexes: Arc::default(),
            forced_indexes: Arc::default(),
        });
        let plan = match keys.filter(|_| written.final_ || settings.final_) {
            Some(keys) => self.merged(plan, &keys, &schema, &scope)?,
            None => plan,
        };
        let filtered = |plan, condition| Plan::Filter(Filter { input: Box::new(plan), condition });
        Ok((conditions.into_iter().fold(plan, filtered), scope))
    }

    /// ALIAS columns, which may use each other, those that come later included.
    fn add_computed(&self, mut waiting: Vec<(ColumnSchema, Arc<str>)>, scope: &mut TableScope) -> Result<()> {
        let in_star = self.query.env.settings().asterisk_include_alias_columns;
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut failed = Vec::new();
            let mut last_error = None;
            for (column, text) in waiting {
                match self.query.over_table(scope, &text, &column.ty) {
                    Ok(expr) => {
                        let name = column.name.clone();
                        scope.columns.push(ScopeColumn { name, expr, in_star, mark: None });
                    }
                    Err(error) => {
                        last_error = Some(error);
                        failed.push((column, text));
                    }
                }
            }
            if failed.len() == before
                && let Some(error) = last_error
            {
                return Err(error);
            }
            waiting = failed;
        }
        Ok(())
    }

    /// `_partition_value`: what PARTITION BY says of a row, as a tuple.
    fn add_partition_value(&self, table: &dyn Table, scope: &mut TableScope) {
        let Some(partition) = table.keys().map(|keys| &*keys.partition).filter(|text| !text.is_empty())
        else {
            return;
        };
        let of_row = |text: &str| {
            let mut binder = SelectBinder::without_tables(&self.query);
            binder.tables.list.push(scope.clone());
            binder.expr(&chalet_syntax::parse_expression(text)?)
        };
        let value = of_row(partition).and_then(|value| match value.ty() {
            DataType::Tuple(_) => Ok(value),
            _ => of_row(&format!("tuple({partition})")),
        });
        if let (Ok(expr), None) = (value, scope.find(PARTITION_VALUE)) {
            scope.columns.push(ScopeColumn {
                name: PARTITION_VALUE.into(),
                expr,
                in_star: false,
                mark: None,
            });
        }
    }

    /// FINAL: the rows of a scan as a merge of all parts would leave them.
    fn merged(&self, scan: Plan, keys: &TableKeys, schema: &TableSchema, scope: &TableScope) -> Result<Plan> {
        let mut binder = SelectBinder::without_tables(&self.query);
        binder.tables.list.push(scope.clone());
        let mut key = |text: &str, descending| -> Result<SortKey> {
            let expr = binder.expr(&chalet_syntax::parse_expression(text)?)?;
            let order = Order::new(descending, false).of(expr.ty());
            Ok(SortKey { expr, order })
        };
        let mut sorted = Vec::new();
        for sorting in &keys.sorting {
            sorted.push(key(&sorting.expr, sorting.descending)?);
        }
        // Rows of equal keys come as a scan has them: partition by partition, and in each in the order of the INSERTs.
        let partition = (!keys.partition.is_empty()).then(|| key(&keys.partition, false)).transpose()?;
        if let (true, Some(partition)) = (self.query.env.settings().final_within_partitions, &partition) {
            sorted.insert(0, partition.clone());
        }
        let key_columns = sorted.iter().chain(&partition).flat_map(|key| key.expr.columns()).collect();
        let Plan::Scan(node) = &scan else { bail!(LOGICAL_ERROR, "FINAL of something else than a table") };
        let columns: Vec<MergedColumn> = node
            .columns
            .iter()
            .filter(|(index, _)| !schema.columns[*index].is_virtual)
            .map(|(index, field)| MergedColumn {
                field: field.clone(),
                simple_aggregate: schema.columns[*index].simple_aggregate.clone(),
            })
            .collect();
        let rule = row_rule(&keys.merging, &columns, &key_columns, MergePurpose::Final, self.query.env)?;
        Ok(match rule {
            Some(rule) => Plan::MergeRows(MergeRows { input: Box::new(scan), keys: sorted, rule }),
            None => scan,
        })
    }

    /// What `additional_table_filters` says of a table, by its alias or its name with the database or without.
    fn additional_filter(
        &self,
        name: &str,
        written: &ast::TableExpr,
        scope: &TableScope,
    ) -> Result<Option<Expr>> {
        let filters = &self.query.env.settings().additional_table_filters;
        if filters.is_empty() {
            return Ok(None);
        }
        let mut names: Vec<&str> = written.alias.iter().map(|a| a.name.as_str()).collect();
        if matches!(written.kind, ast::TableKind::Name(_)) {
            names.extend([name, name.split_once('.').map_or(name, |(_, table)| table)]);
        }
        let Some((_, text)) = filters.iter().find(|(table, _)| names.contains(&table.as_str())) else {
            return Ok(None);
        };
        let mut binder = SelectBinder::without_tables(&self.query);
        binder.tables.list.push(scope.clone());
        binder.condition(&chalet_syntax::parse_expression(text)?, "additional_table_filters").map(Some)
    }

    /// `[LEFT] ARRAY JOIN exprs`: an array under its own name is replaced by its elements, one with an alias stays.
    fn array_join(&mut self, plan: Plan, left: bool, exprs: &[ast::Expr]) -> Result<Plan> {
        let mut columns = Vec::new();
        let mut added: Vec<(ScopeColumn, bool)> = Vec::new();
        let (exprs, unnested) = self.nested_columns(exprs);
        ensure!(
            !exprs.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "ARRAY JOIN requires at least one expression after resolving COLUMNS"
        );
        for e in exprs {
            let name = self.result_name(&e);
            let written = ast::Expr { alias: None, ..e.clone() };
            let array = match self.expr(&written) {
                Ok(array) => array,
                // No column, but perhaps an alias of the SELECT.
                Err(error) => {
                    let aliases = std::mem::replace(&mut self.aliases, self.select_aliases.clone());
                    let bound = self.expr(&written);
                    self.aliases = aliases;
                    self.bound_aliases.retain(|_, bound| bound.is_literal());
                    bound.map_err(|_| error)?
                }
            };
            let Some(element) = array.ty().without_low_cardinality().element() else {
                bail!(TYPE_MISMATCH, "ARRAY JOIN requires array or map argument, got {}", array.ty());
            };
            let field = self.query.ids.field(name.as_str(), element);
            let column = Expr::Column(field.id, field.ty.clone());
            let column = ScopeColumn { name: field.name.clone(), expr: column, in_star: false, mark: None };
            added.push((column, e.alias.is_some()));
            columns.push((field, array));
        }
        // An array under its own name becomes its element, in `*` too; any other element is seen by name only.
        let mut extra = TableScope::default();
        for (column, has_alias) in added {
            let tables = self.tables.list.iter_mut().flat_map(|t| &mut t.columns);
            let mut same_name = tables.filter(|c| c.name == column.name).peekable();
            if same_name.peek().is_none() {
                extra.columns.push(column);
            } else if has_alias {
                self.tables.joined.push(column);
            } else {
                same_name.for_each(|known| known.expr = column.expr.clone());
            }
        }
        self.tables.list.push(extra);
        self.tables.unnested.extend(unnested);
        let unaligned = self.query.env.settings().enable_unaligned_array_join;
        Ok(Plan::ArrayJoin(ArrayJoin { input: Box::new(plan), columns, left, unaligned, unread: Vec::new() }))
    }

    /// `ARRAY JOIN n` where `n` is a Nested stored as columns `n.a`, `n.b`: all of them in step. The names of such groups too.
    fn nested_columns(&self, exprs: &[ast::Expr]) -> (Vec<ast::Expr>, Vec<Arc<str>>) {
        let mut all = Vec::with_capacity(exprs.len());
        let mut groups = Vec::new();
        for e in exprs {
            if let Some(names) = self.matcher_names(e) {
                all.extend(names.iter().map(|name| ast::Expr {
                    kind: ExprKind::Identifier(name.split('.').map(ast::Ident::new).collect()),
                    alias: None,
                    span: e.span,
                }));
                continue;
            }
            let ExprKind::Identifier(parts) = &e.kind else {
                all.push(e.clone());
                continue;
            };
            let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
            let prefix = format!("{}.", names.join("."));
            let nested: Vec<_> = self.tables.all_columns().filter(|c| c.name.starts_with(&prefix)).collect();
            if nested.is_empty() || matches!(self.tables.find(&names, true), Ok(Some(_))) {
                all.push(e.clone());
                continue;
            }
            let group = e.alias.as_ref().map_or(prefix.trim_end_matches('.'), |alias| alias.name.as_str());
            groups.push(group.into());
            for column in nested {
                let parts = column.name.split('.').map(ast::Ident::new).collect();
                let alias = e
                    .alias
                    .as_ref()
                    .map(|alias| ast::Ident::new(format!("{}.{}", alias.name, &column.name[prefix.len()..])));
                all.push(ast::Expr { kind: ExprKind::Identifier(parts), alias, span: e.span });
            }
        }
        (all, groups)
    }
}

impl QueryBinder<'_> {
    /// An expression in the text of a table's definition, over that table's columns, as the declared type.
    pub(crate) fn over_table(&self, scope: &TableScope, text: &str, ty: &DataType) -> Result<Expr> {
        let written = chalet_syntax::parse_expression(text)?;
        let mut binder = SelectBinder::without_tables(self);
        binder.tables.list.push(scope.clone());
        let expr = binder.expr(&written)?;
        crate::call::cast(self.env, expr, ty)
    }

    /// A view's columns under the names and types that its definition declared. Those of a view of a user are found by their names,
    /// others by their places.
    fn as_declared(&self, bound: BoundQuery, view: &dyn Table) -> Result<BoundQuery> {
        let schema = view.schema();
        let by_name = view.engine() == "View";
        ensure!(
            by_name || schema.columns.len() == bound.fields.len(),
            THERE_IS_NO_COLUMN,
            "The query of the view has {} columns instead of {}",
            bound.fields.len(),
            schema.columns.len()
        );
        let mut exprs = Vec::with_capacity(bound.fields.len());
        for (at, column) in schema.columns.iter().enumerate() {
            let field = match by_name {
                true if alias_text(column).is_some() => continue,
                true => bound.fields.iter().find(|field| field.name == column.name),
                false => bound.fields.get(at),
            };
            let Some(field) = field else {
                // One that `*` does not show is missed by who names it.
                ensure!(
                    !column.in_star(),
                    UNKNOWN_IDENTIFIER,
                    "Unknown expression identifier `{}` in the query of the view",
                    column.name
                );
                continue;
            };
            let source = Expr::Column(field.id, field.ty.clone());
            let expr = crate::call::cast(self.env, source, &column.ty)?;
            let made = self.ids.field(column.name.clone(), column.ty.clone());
            self.ids.show(&made, column.shown_type());
            exprs.push((made, expr));
        }
        let fields = exprs.iter().map(|e| e.0.clone()).collect();
        let plan = Plan::Project(chalet_plan::Project { input: Box::new(bound.plan), exprs });
        Ok(BoundQuery { plan, fields })
    }

    /// A common table expression where it is used.
    fn cte(&self, cte: &Rc<Cte>, needed: Option<u64>) -> Result<BoundQuery> {
        self.count_subquery();
        if let Some((plan, fields)) = &cte.working {
            return Ok(BoundQuery { plan: plan.clone(), fields: fields.clone() });
        }
        if let ast::SetExpr::SetOp { op: op @ (ast::SetOp::Intersect | ast::SetOp::Except), .. } =
            &cte.query.body
        {
            ensure!(
                !cte.recursive || !body_uses(&cte.query.body, &cte.name),
                UNSUPPORTED_METHOD,
                "Recursive CTE subquery {} with {} union mode is unsupported, only UNION ALL union mode is supported",
                cte.name,
                if *op == ast::SetOp::Intersect { "INTERSECT" } else { "EXCEPT" }
            );
        }
        let sees_with = self.env.settings().enable_global_with_statement;
        let inner = QueryBinder { ctes: cte.before.clone().filter(|_| sees_with), ..self.deeper() };
        let mut bound = match recursive_parts(cte) {
            Some(parts) => inner.recursive_cte(cte, parts, needed)?,
            None => inner.query(&cte.query)?,
        };
        if !cte.columns.is_empty() {
            ensure!(
                cte.columns.len() == bound.fields.len(),
                BAD_ARGUMENTS,
                "Common table expression {} has {} columns, but {} names",
                cte.name,
                bound.fields.len(),
                cte.columns.len()
            );
            for (field, name) in bound.fields.iter_mut().zip(&cte.columns) {
                field.name = name.as_str().into();
            }
        }
        if cte.uses > 1 && !bound.is_correlated() {
            bound.plan = Plan::CommonTable(CommonTable {
                id: self.shared.common_table(cte, self.ids),
                name: cte.name.as_str().into(),
                uses: cte.uses,
                materialized: cte.materialized && self.env.settings().materialized_cte,
                input: Box::new(bound.plan),
            });
        }
        Ok(bound)
    }
}

fn is_called(table: &ast::TableExpr, name: &str) -> bool {
    table.alias.as_ref().is_some_and(|alias| alias.name == name)
}

/// The query in the text of a view.
pub(crate) fn parse_query(text: &str) -> Result<ast::Query> {
    let mut statements = chalet_syntax::parse_printed(text)?;
    match statements.pop().map(|s| s.kind) {
        Some(ast::StatementKind::Query(query)) if statements.is_empty() => Ok(*query),
        _ => bail!(INCORRECT_QUERY, "The definition of a view is not one query"),
    }
}

/// The statement that `viewExplain('EXPLAIN PLAN', 'header = 1', (SELECT ...))` reads, which is what `FROM (EXPLAIN ...)` is.
fn explained(call: &ast::Call) -> Option<String> {
    let [ast::Expr { kind: ExprKind::Literal(ast::Literal::String(kind)), .. }, rest @ ..] = &call.args[..]
    else {
        return None;
    };
    let [ast::Expr { kind: ExprKind::Literal(ast::Literal::String(settings)), .. }, query] = rest else {
        return None;
    };
    let ExprKind::Subquery(query) = &query.kind else { return None };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (call.name == "viewExplain").then(|| format!("{} {} {query}", text(kind), text(settings)))
}

/// A call without arguments: `count()`.
fn has_no_arguments(e: &ast::Expr) -> bool {
    matches!(&e.kind, ast::ExprKind::Call(call) if call.args.is_empty())
}
