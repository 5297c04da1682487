//! CREATE MATERIALIZED VIEW, and ALTER TABLE ... MODIFY QUERY.

use super::super::insert::from_bound;
use super::super::output::Output;
use super::clauses::{comment_sql, writable};
use super::columns::{Checked, columns_sql, stored_schema};
use super::engines;
use super::stored::check_table;
use super::view::qualify;
use crate::column_definitions::{columns, comment_of};
use crate::materialized::{Destination, of_query, parsed};
use crate::query_context::QueryContext;
use crate::tables;
use chalet_base::{Result, bail, ensure};
use chalet_binder::{BoundQuery, bind_query};
use chalet_storage::catalog::quoted;
use chalet_storage::view::{MaterializedView, ViewTarget};
use chalet_storage::{ColumnSchema, Entry, Table, TableSchema};
use chalet_syntax::ast;
use std::sync::Arc;

/// What a definition says that it makes.
pub(crate) const MATERIALIZED_VIEW: &str = "MATERIALIZED VIEW";

pub(super) fn view(create: &ast::CreateView, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    ensure!(
        create.refresh.is_none(),
        NOT_IMPLEMENTED,
        "CREATE MATERIALIZED VIEW ... REFRESH is not supported"
    );
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    writable(database, ctx)?;
    let mut query = ast::Query::clone(&create.query);
    qualify(&mut query, &ctx.state.database, ctx);
    let bound = bind_query(&query, ctx, &ctx.ids)?;
    let schema = match &create.columns {
        Some(definition) if !definition.columns.is_empty() => {
            TableSchema::new_checked(columns(&definition.columns, ctx)?)?
        }
        _ => TableSchema::new_checked(
            bound.fields.iter().map(|f| ColumnSchema::new(f.name.clone(), f.ty.clone())).collect(),
        )?,
    };
    let (table, target, head, tail) = match &create.to {
        Some(to) => {
            let to_database = to.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
            let to_name = &to.name.name;
            let Some((table, _)) = tables::find(ctx, Some(to_database), to_name)? else {
                return Err(tables::missing(to, ctx));
            };
            let target = ViewTarget::Named(to_database.to_owned(), to_name.clone());
            (table, target, format!(" TO {}.{}", quoted(to_database), quoted(to_name)), String::new())
        }
        None => {
            let catalog = &ctx.database.shared.catalog;
            let is_there = !create.or_replace && catalog.find(database, name).is_some();
            if is_there && create.if_not_exists {
                return Ok(());
            }
            ensure!(!is_there, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
            let (table, engine) = engines::create(&inner_of(create, &schema)?, ctx)?;
            (table.clone(), ViewTarget::Inner(table), String::new(), format!("\nENGINE = {engine}"))
        }
    };
    check_columns(&bound, &table.schema())?;
    let definition = definition(&head, &schema, &tail, create.comment.as_deref(), &query);
    let view = of_query(schema, &query, target);
    let comment = comment_of(create.comment.as_deref());
    let entry =
        Entry { table: Arc::new(view), kind: MATERIALIZED_VIEW, definition: definition.into(), comment };
    check_table(&entry, database, name, ctx)?;
    // Filled before it is seen: a failing query leaves no view behind.
    if create.populate {
        let to = Destination { table, name: name.as_str().into(), key: None, columns: None };
        let listed = bound.fields.iter().map(|field| field.name.to_string()).collect();
        let (rows, bytes) = from_bound(&to, Some(listed), bound, ctx)?;
        output.rows_written += rows;
        output.bytes_written += bytes;
    }
    ctx.database.shared.catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

/// The statement that makes the view's own table.
fn inner_of(create: &ast::CreateView, schema: &TableSchema) -> Result<ast::CreateTable> {
    let text = format!("CREATE TABLE inner\n(\n{}\n)", columns_sql(schema));
    let mut parsed = chalet_syntax::parse_printed(&text)?;
    let Some(ast::StatementKind::CreateTable(table)) = parsed.pop().map(|statement| statement.kind) else {
        bail!(LOGICAL_ERROR, "The columns of a view make no table")
    };
    let mut table = *table;
    if let Some(written) = &create.columns {
        let definition = ast::TableDefinition { columns: table.definition.columns, ..written.clone() };
        table.definition = definition;
    }
    table.name = create.name.clone();
    table.storage = create.storage.clone();
    Ok(table)
}

fn check_columns(bound: &BoundQuery, target: &TableSchema) -> Result<()> {
    for field in &bound.fields {
        ensure!(
            target.columns.iter().any(|column| *column.name == *field.name),
            THERE_IS_NO_COLUMN,
            "SELECT query outputs column with name '{}', which is not found in the target table. Use 'AS' to assign alias that \
             matches a column name.",
            field.name
        );
    }
    Ok(())
}

fn definition(
    head: &str,
    schema: &TableSchema,
    tail: &str,
    comment: Option<&[u8]>,
    query: &ast::Query,
) -> String {
    let shown = chalet_syntax::print::format_query(query);
    format!("{head}\n(\n{}\n){tail}{}\nAS {shown}", columns_sql(schema), comment_sql(comment))
}

/// The view of a statement that was found on disk; `open` makes the table of its own.
pub(super) fn stored(
    create: &ast::CreateView,
    open: impl FnOnce(&ast::CreateTable) -> Result<Arc<dyn Table>>,
) -> Result<MaterializedView> {
    let schema = create.columns.as_ref().map(stored_schema).transpose()?.unwrap_or_default();
    let target = match &create.to {
        Some(ast::ObjectName { database: Some(database), name }) => {
            ViewTarget::Named(database.name.clone(), name.name.clone())
        }
        Some(_) => bail!(CORRUPTED_DATA, "The target of a view on disk has no database"),
        None => ViewTarget::Inner(open(&inner_of(create, &schema)?)?),
    };
    Ok(of_query(schema, &create.query, target))
}

/// Gives a view another query. Its columns become those of the query, where its rows are in a table that is not its own.
pub(crate) fn modify_query(name: &ast::ObjectName, query: &ast::Query, ctx: &QueryContext) -> Result<()> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let catalog = &ctx.database.shared.catalog;
    let entry = catalog.table(database, &name.name.name)?;
    let Some(known) = entry.table.as_any().downcast_ref::<MaterializedView>() else {
        bail!(LOGICAL_ERROR, "{database}.{} is no materialized view", name.name.name)
    };
    let mut query = query.clone();
    qualify(&mut query, &ctx.state.database, ctx);
    let bound = bind_query(&query, ctx, &ctx.ids)?;
    let (schema, target, head, tail) = match &known.target {
        ViewTarget::Inner(table) => {
            let inner = table.schema();
            for field in &bound.fields {
                ensure!(
                    inner.index_of(&field.name).is_some(),
                    NO_SUCH_COLUMN_IN_TABLE,
                    "Column {} does not exist in the materialized view's inner table",
                    field.name
                );
            }
            (known.schema.clone(), ViewTarget::Inner(table.clone()), String::new(), tail_of(&entry, known)?)
        }
        ViewTarget::Named(to_database, to_name) => {
            let columns = bound.fields.iter().map(|f| ColumnSchema::new(f.name.clone(), f.ty.clone()));
            let schema = TableSchema::new_checked(columns.collect())?;
            let head = format!(" TO {}.{}", quoted(to_database), quoted(to_name));
            (schema, ViewTarget::Named(to_database.clone(), to_name.clone()), head, String::new())
        }
    };
    let comment = Some(entry.comment.as_bytes()).filter(|comment| !comment.is_empty());
    let definition = definition(&head, &schema, &tail, comment, &query);
    let view = of_query(schema, &query, target);
    let entry = Entry { table: Arc::new(view), definition: definition.into(), ..entry.clone() };
    check_table(&entry, database, &name.name.name, ctx)?;
    catalog.create_table(database, &name.name.name, entry, false, true)
}

/// ENGINE with its clauses, of a view's own table.
fn tail_of(entry: &Entry, view: &MaterializedView) -> Result<String> {
    let head = format!("\n(\n{}\n)", columns_sql(&view.schema));
    let comment = Some(entry.comment.as_bytes()).filter(|comment| !comment.is_empty());
    let query = parsed(view)?;
    let end = format!("{}\nAS {}", comment_sql(comment), chalet_syntax::print::format_query(&query));
    match entry.definition.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&end)) {
        Some(tail) => Ok(tail.to_owned()),
        None => bail!(LOGICAL_ERROR, "The definition of a view is not as it was written"),
    }
}
