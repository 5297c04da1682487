//! Definitions as they are kept on disk: read when the database is opened, and tried before they are written.

use super::super::output::Output;
use super::columns::stored_schema;
use super::materialized;
use crate::column_definitions::comment_of;
use crate::dictionaries::declared::definition;
use crate::dictionaries::table::Dictionary;
use crate::query_context::QueryContext;
use crate::session_state::SessionChange;
use crate::sql_functions::SqlFunction;
use chalet_base::{Result, bail, ensure};
use chalet_storage::view::View;
use chalet_storage::{Entry, Table};
use chalet_syntax::ast::{self, StatementKind};
use std::sync::Arc;

/// The table, view or dictionary of a statement that was kept, and its comment; `open` makes tables.
pub(crate) fn stored(
    text: &str,
    ctx: &QueryContext,
    open: impl FnOnce(&ast::CreateTable) -> Result<Arc<dyn Table>>,
) -> Result<(Arc<dyn Table>, Arc<str>)> {
    let parsed = chalet_syntax::parse_printed(text)?;
    let statement = parsed.first().filter(|_| parsed.len() == 1).map(|statement| &statement.kind);
    Ok(match statement {
        Some(StatementKind::CreateTable(create)) => (open(create)?, comment_of(create.comment.as_deref())),
        Some(StatementKind::CreateView(create)) if create.materialized => {
            (Arc::new(materialized::stored(create, ctx, open)?), comment_of(create.comment.as_deref()))
        }
        Some(StatementKind::CreateView(create)) => {
            (Arc::new(stored_view(create)?), comment_of(create.comment.as_deref()))
        }
        Some(StatementKind::CreateDictionary(create)) => {
            let database = create.name.database.as_ref().map_or("default", |database| &database.name);
            let dictionary = Dictionary::new(definition(create, database, ctx)?);
            (Arc::new(dictionary), comment_of(create.comment.as_deref()))
        }
        _ => bail!(CORRUPTED_DATA, "The definition on disk makes no table"),
    })
}

/// The view of a statement that was found on disk.
fn stored_view(create: &ast::CreateView) -> Result<View> {
    let schema = create.columns.as_ref().map(stored_schema).transpose()?.unwrap_or_default();
    Ok(View { schema, query: create.query.to_string() })
}

/// Fails where a table or view could not be made from what would be kept of it: printed, a statement may be nested deeper
/// than it was written.
pub(super) fn check_table(entry: &Entry, database: &str, name: &str, ctx: &QueryContext) -> Result<()> {
    if ctx.database.shared.catalog.store().is_none() {
        return Ok(());
    }
    let table = |create: &ast::CreateTable| {
        stored_schema(&create.definition)?;
        Ok(entry.table.clone())
    };
    let tried = stored(&entry.create_sql(Some(database), name), ctx, table);
    tried
        .map(drop)
        .map_err(|e| e.context(format!("definition of {database}.{name} as it would be kept on disk")))
}

/// The same of a function.
pub(super) fn check_function(function: &SqlFunction, name: &str, ctx: &QueryContext) -> Result<()> {
    if ctx.database.shared.catalog.store().is_none() {
        return Ok(());
    }
    let tried = SqlFunction::stored(name, &function.create_sql);
    tried
        .map(drop)
        .map_err(|e| e.context(format!("definition of function {name} as it would be kept on disk")))
}

/// Keeps a table or a view in the session.
pub(super) fn keep_temporary(
    name: &str,
    entry: Entry,
    replaces: bool,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let mut temporary = ctx.state.temporary.clone();
    ensure!(
        replaces || !temporary.contains_key(name),
        TABLE_ALREADY_EXISTS,
        "Temporary table {name} already exists"
    );
    temporary.insert(name.to_string(), entry);
    output.changes.push(SessionChange::Temporary(temporary));
    Ok(())
}
