//! Materialized views as tables: where their rows are, what they read, and which of them an INSERT concerns.

use crate::inserted_rows::Key;
use crate::query_context::QueryContext;
use crate::redirected::Redirected;
use crate::tables;
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::catalog::quoted;
use chalet_storage::view::{MaterializedView, Refreshed, View, ViewTarget};
use chalet_storage::{ColumnSchema, Entry, Table, TableSchema};
use chalet_syntax::ast::{self, SetExpr, TableKind, WithItem};
use std::sync::Arc;

/// How many views may stand between a name and a table.
const MOST_LINKS: usize = 32;

/// What an INSERT writes to.
pub(crate) struct Destination {
    pub table: Arc<dyn Table>,
    /// As errors tell it.
    pub name: Arc<str>,
    /// What views may read; none of a temporary table.
    pub key: Option<Key>,
    /// The columns of an INSERT that lists none, where the table has others too.
    pub columns: Option<Vec<String>>,
}

/// The materialized view of a name, if it is one's.
pub(crate) fn view(name: &ast::ObjectName, ctx: &QueryContext) -> Option<Arc<dyn Table>> {
    let database = name.database.as_ref().map(|database| database.name.as_str());
    let entry = ctx.entry(database, &name.name.name)?;
    entry.table.as_any().is::<MaterializedView>().then_some(entry.table)
}

/// Fails for a view whose rows are in a table that is not its own.
pub(crate) fn check_own(name: &ast::ObjectName, ctx: &QueryContext) -> Result<()> {
    let found = view(name, ctx);
    let found = found.as_ref().and_then(|table| table.as_any().downcast_ref::<MaterializedView>());
    if let Some(ViewTarget::Named(database, table)) = found.map(|view| &view.target) {
        bail!(
            INCORRECT_QUERY,
            "MATERIALIZED VIEW targets existing table {database}.{table}. Execute the statement directly on it."
        );
    }
    Ok(())
}

/// A view over a query. One that is filled by the clock follows no table.
pub(crate) fn of_query(
    schema: TableSchema,
    query: &ast::Query,
    target: ViewTarget,
    refresh: Option<Refreshed>,
) -> MaterializedView {
    let source = if refresh.is_none() { of_body(&query.body, &[]) } else { None };
    MaterializedView { schema, query: query.to_string(), source, target, refresh }
}

/// The table that has the rows of a view, and its name unless it is the view's own.
fn target(view: &MaterializedView, ctx: &QueryContext) -> Result<(Arc<dyn Table>, Option<Key>)> {
    let mut next = view.target.clone();
    for _ in 0..MOST_LINKS {
        let key = match next {
            ViewTarget::Inner(table) => return Ok((table, None)),
            ViewTarget::Named(database, name) => (database, name),
        };
        let missing = || err!(UNKNOWN_TABLE, "Table {}.{} does not exist", key.0, key.1);
        let entry = ctx.entry(Some(&key.0), &key.1).ok_or_else(missing)?;
        let Some(view) = entry.table.as_any().downcast_ref::<MaterializedView>() else {
            let (table, _) = tables::find(ctx, Some(&key.0), &key.1)?.ok_or_else(missing)?;
            return Ok((table, Some(key)));
        };
        next = view.target.clone();
    }
    bail!(TOO_DEEP_RECURSION, "Targets of materialized views are cyclic")
}

/// What a query that names the view reads.
pub(crate) fn read(view: &MaterializedView, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let (table, key) = target(view, ctx)?;
    let Some((database, name)) = key else { return Ok(table) };
    let schema = table.schema();
    let shape = |column: &ColumnSchema| (column.name.clone(), column.ty.clone());
    let columns = view.schema.columns.iter();
    if schema.columns.iter().filter(|column| column.in_star()).map(shape).eq(columns.clone().map(shape)) {
        return Ok(table);
    }
    let columns: Vec<String> = columns.map(|column| quoted(&column.name)).collect();
    let query = format!("SELECT {} FROM {}.{}", columns.join(", "), quoted(&database), quoted(&name));
    Ok(Arc::new(View { schema: view.schema.clone(), query }))
}

/// Where an INSERT into a table or view of this name goes.
pub(crate) fn destination(name: &ast::ObjectName, ctx: &QueryContext) -> Result<Destination> {
    let database = name.database.as_ref().map(|database| database.name.as_str());
    let key = || (database.unwrap_or(&ctx.state.database).to_owned(), name.name.name.clone());
    if let Some(entry) = ctx.entry(database, &name.name.name)
        && let Some(redirected) = entry.table.as_any().downcast_ref::<Redirected>()
    {
        let (table, columns) = redirected.destination(ctx)?;
        let to = (redirected.database.clone(), redirected.table.clone());
        let shown = format!("{}.{}", to.0, to.1).into();
        return Ok(Destination { table, name: shown, key: Some(to), columns: Some(columns) });
    }
    let Some(found) = view(name, ctx) else {
        let (table, shown) = tables::existing(name, ctx)?;
        let is_temporary = database.is_none() && ctx.state.temporary.contains_key(&name.name.name);
        return Ok(Destination { table, name: shown, key: (!is_temporary).then(key), columns: None });
    };
    let (database, table) = key();
    let shown = format!("{database}.{table}").into();
    let Some(found) = found.as_any().downcast_ref::<MaterializedView>() else {
        bail!(LOGICAL_ERROR, "{shown} is no materialized view")
    };
    let (table, key) = target(found, ctx)?;
    let columns = found.schema.columns.iter().map(|column| column.name.to_string()).collect();
    Ok(Destination { table, name: shown, key, columns: Some(columns) })
}

/// A view that is to get what its query makes of inserted rows.
pub(crate) struct Follower {
    pub name: Key,
    pub query: ast::Query,
    pub to: Destination,
}

/// The views that read a table, by name.
pub(crate) fn followers(source: &Key, ctx: &QueryContext) -> Result<Vec<Follower>> {
    let follows = |entry: &Entry| {
        let view = entry.table.as_any().downcast_ref::<MaterializedView>();
        view.is_some_and(|view| view.source.as_ref() == Some(source))
    };
    let mut found = Vec::new();
    for (name, entry) in ctx.database.shared.catalog.matching(follows) {
        let Some(view) = entry.table.as_any().downcast_ref::<MaterializedView>() else { continue };
        if let ViewTarget::Named(to_database, to_name) = &view.target {
            ensure!(
                ctx.entry(Some(to_database), to_name).is_some(),
                UNKNOWN_TABLE,
                "Target table '{to_database}.{to_name}' of view '{}.{}' doesn't exists.",
                name.0,
                name.1
            );
        }
        let (table, key) = target(view, ctx)?;
        let shown = format!("{}.{}", name.0, name.1).into();
        let to = Destination { table, name: shown, key, columns: None };
        found.push(Follower { name, query: parsed(view)?, to });
    }
    Ok(found)
}

/// The query of a view.
pub(crate) fn parsed(view: &MaterializedView) -> Result<ast::Query> {
    let mut statements = chalet_syntax::parse_printed(&view.query)?;
    match statements.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::Query(query)) => Ok(*query),
        _ => bail!(LOGICAL_ERROR, "The query of a view is none: {}", view.query),
    }
}

/// The table that a view follows: the first that its query names.
fn of_body(body: &SetExpr, outer: &[&WithItem]) -> Option<Key> {
    match body {
        SetExpr::Query(query) => of_body(&query.body, outer),
        SetExpr::SetOp { inputs, .. } => inputs.first().and_then(|first| of_body(first, outer)),
        SetExpr::Select(select) => {
            let mut known: Vec<&WithItem> = outer.to_vec();
            known.extend(&select.with);
            match &select.from.as_ref()?.kind {
                TableKind::Query(query) => of_body(&query.body, &known),
                TableKind::Name(table) => match &table.database {
                    Some(database) => Some((database.name.clone(), table.name.name.clone())),
                    None => {
                        // One that is named before: it cannot name itself.
                        let is_meant = |item: &&WithItem| matches!(item, WithItem::Cte { name, .. } if name.name == table.name.name);
                        let place = known.iter().rposition(is_meant)?;
                        let WithItem::Cte { query, .. } = known[place] else { return None };
                        of_body(&query.body, &known[..place])
                    }
                },
                TableKind::Function(_) | TableKind::File(_) => None,
            }
        }
    }
}
