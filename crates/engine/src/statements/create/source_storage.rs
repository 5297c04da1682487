//! ENGINE and what follows it of CREATE TABLE ... AS another table: what the statement does not say itself is as it is there.

use super::columns::schema_of;
use crate::query_context::QueryContext;
use crate::system::names::is_system;
use crate::tables;
use chalet_base::{Result, ensure, err};
use chalet_storage::Entry;
use chalet_syntax::ast::{self, StatementKind, Storage};

/// The clauses of the new table, where they are not those that were written. `takes_keys`: does an engine of this name?
pub(super) fn completed(
    create: &ast::CreateTable,
    takes_keys: impl Fn(&str) -> bool,
    ctx: &QueryContext,
) -> Result<Option<Storage>> {
    let Some(ast::CreateSource::Table { name, .. }) = &create.source else { return Ok(None) };
    let database = name.database.as_ref().map(|database| database.name.as_str());
    let Some(entry) = ctx.entry(database, &name.name.name) else {
        return if says_nothing(create) { Err(no_metadata(name, ctx)) } else { Ok(None) };
    };
    let written = &create.storage;
    ensure!(
        written.engine.is_some() || entry.kind != "VIEW",
        INCORRECT_QUERY,
        "Cannot CREATE a table AS {}.{}, it is a View",
        database.unwrap_or(&ctx.state.database),
        name.name.name
    );
    let Some(source) = storage_of(&entry) else { return Ok(None) };
    let keys_of_source = |storage: Storage| Storage {
        partition_by: storage.partition_by.or_else(|| source.partition_by.clone()),
        primary_key: storage.primary_key.or_else(|| source.primary_key.clone()),
        order_by: storage.order_by.or_else(|| source.order_by.clone()),
        sample_by: storage.sample_by.or_else(|| source.sample_by.clone()),
        ..storage
    };
    let engine = source.engine.as_ref().map(|engine| engine.name.as_str());
    match (&written.engine, engine) {
        // It has an engine by default.
        (None, _) if create.temporary => Ok(None),
        (None, Some(_)) => {
            let mut storage = keys_of_source(written.clone());
            storage.engine = source.engine.clone();
            if storage.ttl.is_empty() {
                storage.ttl = source.ttl.clone();
            }
            let is_said = |name: &str| written.settings.iter().any(|setting| setting.name.name == name);
            let others = source.settings.iter().filter(|setting| !is_said(&setting.name.name));
            storage.settings.extend(others.cloned());
            Ok(Some(storage))
        }
        (Some(own), Some(of_source)) if takes_keys(&own.name) && takes_keys(of_source) => {
            Ok(Some(keys_of_source(written.clone())))
        }
        _ => Ok(None),
    }
}

/// Fails where the table is to be like another one that is not there.
pub(super) fn check(create: &ast::CreateTable, ctx: &QueryContext) -> Result<()> {
    if let Some(ast::CreateSource::Table { name, .. }) = &create.source
        && says_nothing(create)
        && ctx.entry(name.database.as_ref().map(|database| database.name.as_str()), &name.name.name).is_none()
    {
        return Err(no_metadata(name, ctx));
    }
    schema_of(create, ctx).map(drop)
}

/// Does the statement leave all to the other table?
fn says_nothing(create: &ast::CreateTable) -> bool {
    create.storage == Storage::default() && create.definition.primary_key.is_none()
}

/// Of a table that is not there, or of which no statement is kept.
fn no_metadata(name: &ast::ObjectName, ctx: &QueryContext) -> chalet_base::Error {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let table = &name.name.name;
    if is_system(database) {
        return err!(UNKNOWN_TABLE, "There is no metadata of table {table} in database {database}");
    }
    if !ctx.database.shared.catalog.database_exists(database) {
        return tables::missing(name, ctx);
    }
    err!(CANNOT_GET_CREATE_TABLE_QUERY, "There is no metadata of table `{table}` in database `{database}`")
}

/// What the table was made with, or the rows of a materialized view.
fn storage_of(entry: &Entry) -> Option<Storage> {
    let mut statements = chalet_syntax::parse_printed(&entry.create_sql(None, "t")).ok()?;
    match statements.pop()?.kind {
        StatementKind::CreateTable(source) => Some(source.storage),
        StatementKind::CreateView(source) => Some(source.storage),
        _ => None,
    }
}
