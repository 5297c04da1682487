//! CREATE TABLE, VIEW, DATABASE, FUNCTION.
//!
//! - [`columns`]: the columns of tables and views
//! - [`engine`]: which engines there are
//! - [`merge_tree`]: the one with keys
//! - [`view`], [`function`]
//! - [`stored`]: definitions as they are kept on disk

mod columns;
mod engine;
mod function;
mod merge_tree;
mod stored;
mod view;

pub(crate) use self::columns::{columns, nested_parts};
pub(crate) use self::engine::{Found, open};
pub(crate) use self::function::function;
pub(crate) use self::stored::stored;
pub(crate) use self::view::view;

use self::columns::columns_sql;
use super::Output;
use crate::scope::Scope;
use crate::session::Session;
use crate::system;
use chalet_base::{Result, ensure};
use chalet_storage::Entry;
use chalet_syntax::ast::{self, CreateSource};
use std::sync::Arc;

pub(crate) fn table(
    create: &ast::CreateTable,
    scope: &Arc<Scope>,
    session: &Session,
    output: &mut Output,
) -> Result<()> {
    ensure!(!create.attach, NOT_IMPLEMENTED, "ATTACH TABLE is not supported");
    let database = create.name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    let catalog = &scope.database.shared.catalog;
    if !create.temporary {
        writable(database, scope)?;
        if create.if_not_exists && catalog.find(database, name).is_some() {
            return Ok(());
        }
    } else if create.if_not_exists && scope.state.temporary.contains_key(name) {
        return Ok(());
    }
    let (table, engine) = engine::create(create, scope)?;
    let kind = if create.temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let comment = comment_sql(create.comment.as_deref());
    let definition = format!("\n(\n{}\n)\nENGINE = {engine}{comment}", columns_sql(&table.schema()));
    let comment = text_of(create.comment.as_deref());
    let entry = Entry { table: table.clone(), kind, definition: definition.into(), comment };
    if !create.temporary {
        stored::check_table(&entry, database, name, scope)?;
    }
    // Filled before it is seen: a failing query leaves no table behind.
    if let Some(CreateSource::Query { empty: false, query }) = &create.source {
        let (rows, bytes) = super::insert::from_query(&*table, name, None, query, scope)?;
        output.rows_written += rows;
        output.bytes_written += bytes;
    }
    if create.temporary {
        let mut state = session.state();
        ensure!(
            create.or_replace || !state.temporary.contains_key(name),
            TABLE_ALREADY_EXISTS,
            "Temporary table {name} already exists"
        );
        state.temporary.insert(name.clone(), entry);
        return Ok(());
    }
    catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

/// The clause of a comment, as SHOW CREATE prints it.
fn comment_sql(comment: Option<&[u8]>) -> String {
    let Some(comment) = comment else { return String::new() };
    let mut text = String::from("\nCOMMENT ");
    chalet_syntax::print::write_string(&mut text, comment);
    text
}

fn text_of(bytes: Option<&[u8]>) -> Arc<str> {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into()
}

fn writable(database: &str, scope: &Scope) -> Result<()> {
    ensure!(!system::is_system(database), ACCESS_DENIED, "Database {database} cannot be changed");
    ensure!(
        scope.database.shared.catalog.database_exists(database),
        UNKNOWN_DATABASE,
        "Database {database} does not exist"
    );
    Ok(())
}

pub(crate) fn database(create: &ast::CreateDatabase, scope: &Arc<Scope>) -> Result<()> {
    ensure!(!create.attach, NOT_IMPLEMENTED, "ATTACH DATABASE is not supported");
    let engine = create.engine.as_ref().map(|e| e.name.as_str());
    ensure!(
        engine.is_none_or(|engine| matches!(engine, "Memory" | "Atomic" | "Ordinary" | "Lazy")),
        UNKNOWN_DATABASE_ENGINE,
        "Unknown database engine: {}",
        engine.unwrap_or_default()
    );
    // Its tables would have to be gone when the database is opened again.
    ensure!(
        engine != Some("Memory") || scope.database.shared.catalog.store().is_none(),
        NOT_IMPLEMENTED,
        "Database engine Memory is not supported in a database on disk. Use Atomic"
    );
    let name = &create.name.name;
    ensure!(!system::is_system(name), DATABASE_ALREADY_EXISTS, "Database {name} already exists");
    scope.database.shared.catalog.create_database(
        name,
        create.if_not_exists,
        &text_of(create.comment.as_deref()),
    )
}
