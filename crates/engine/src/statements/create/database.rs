//! CREATE DATABASE.

use super::super::attach::attach_database;
use crate::column_definitions::comment_of;
use crate::query_context::QueryContext;
use crate::system::names::is_system;
use chalet_base::{Result, ensure};
use chalet_syntax::ast;

pub(crate) fn database(create: &ast::CreateDatabase, ctx: &QueryContext) -> Result<()> {
    if create.attach && attach_database(create, ctx)? {
        return Ok(());
    }
    let engine = create.engine.as_ref().map(|e| e.name.as_str());
    ensure!(
        engine.is_none_or(|engine| matches!(engine, "Memory" | "Atomic" | "Ordinary" | "Lazy")),
        UNKNOWN_DATABASE_ENGINE,
        "Unknown database engine: {}",
        engine.unwrap_or_default()
    );
    // Its tables would have to be gone when the database is opened again.
    ensure!(
        engine != Some("Memory") || ctx.database.shared.catalog.store().is_none(),
        NOT_IMPLEMENTED,
        "Database engine Memory is not supported in a database on disk. Use Atomic"
    );
    let name = &create.name.name;
    ensure!(!is_system(name), DATABASE_ALREADY_EXISTS, "Database {name} already exists");
    ctx.database.shared.catalog.create_database(
        name,
        create.if_not_exists,
        &comment_of(create.comment.as_deref()),
    )
}
