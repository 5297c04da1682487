//! DROP, TRUNCATE, RENAME, EXCHANGE.

use crate::scope::Scope;
use crate::session::Session;
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::Table;
use chalet_syntax::ast::{self, DropAction, ObjectKind};
use std::sync::Arc;

pub(crate) fn drop(drop: &ast::Drop, scope: &Arc<Scope>, session: &Session) -> Result<()> {
    match (drop.action, drop.kind) {
        (DropAction::Drop, ObjectKind::Database) => {
            for name in &drop.names {
                scope.database.shared.catalog.drop_database(&name.name.name, drop.if_exists)?;
            }
            Ok(())
        }
        (DropAction::Drop, ObjectKind::Function) => {
            let functions = &scope.database.shared.functions;
            drop.names.iter().try_for_each(|name| functions.drop(&name.name.name, drop.if_exists))
        }
        (DropAction::Drop, ObjectKind::Table | ObjectKind::View) => {
            drop.names.iter().try_for_each(|name| drop_table(drop, name, scope, session))
        }
        (DropAction::Truncate, ObjectKind::Database) => {
            let name = drop.names.first().map_or("", |n| &n.name.name);
            truncate_all(name, scope)
        }
        (DropAction::Truncate, _) if drop.all_tables => {
            let name = drop.names.first().map_or("", |n| &n.name.name);
            truncate_all(name, scope)
        }
        (DropAction::Truncate, _) => drop.names.iter().try_for_each(|name| {
            let database = name.database.as_ref().map(|d| d.name.as_str());
            match scope.find(database, &name.name.name)? {
                Some((table, _)) => table.truncate(),
                None if drop.if_exists => Ok(()),
                None => Err(missing(name, scope)),
            }
        }),
        (DropAction::Detach, _) => bail!(NOT_IMPLEMENTED, "DETACH is not supported"),
        (_, ObjectKind::Dictionary) => bail!(NOT_IMPLEMENTED, "Dictionaries are not supported"),
    }
}

fn missing(name: &ast::ObjectName, scope: &Scope) -> chalet_base::Error {
    let database = name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
    if !scope.database.shared.catalog.database_exists(database) {
        return err!(UNKNOWN_DATABASE, "Database {database} does not exist");
    }
    err!(UNKNOWN_TABLE, "Table {database}.{} does not exist", name.name.name)
}

fn drop_table(drop: &ast::Drop, name: &ast::ObjectName, scope: &Scope, session: &Session) -> Result<()> {
    let table_name = &name.name.name;
    if name.database.is_none() && session.state().temporary.remove(table_name).is_some() {
        return Ok(());
    }
    if drop.temporary {
        ensure!(drop.if_exists, UNKNOWN_TABLE, "Temporary table {table_name} doesn't exist");
        return Ok(());
    }
    let database = name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
    let catalog = &scope.database.shared.catalog;
    if let Some(entry) = catalog.find(database, table_name) {
        let is_view = entry.table.view_query().is_some();
        ensure!(
            drop.kind != ObjectKind::View || is_view,
            INCORRECT_QUERY,
            "Table {database}.{table_name} is not a View"
        );
        if drop.if_empty {
            ensure!(
                entry.table.total_rows() == Some(0),
                TABLE_NOT_EMPTY,
                "Table {database}.{table_name} is not empty"
            );
        }
    }
    catalog.drop_table(database, table_name, drop.if_exists)?;
    Ok(())
}

fn truncate_all(database: &str, scope: &Scope) -> Result<()> {
    for (_, entry) in scope.database.shared.catalog.tables(database)? {
        if entry.table.view_query().is_none() {
            entry.table.truncate()?;
        }
    }
    Ok(())
}

pub(crate) fn rename(
    kind: ObjectKind,
    exchange: bool,
    if_exists: bool,
    pairs: &[(ast::ObjectName, ast::ObjectName)],
    scope: &Scope,
) -> Result<()> {
    let catalog = &scope.database.shared.catalog;
    if kind == ObjectKind::Database {
        return pairs
            .iter()
            .try_for_each(|(from, to)| catalog.rename_database(&from.name.name, &to.name.name));
    }
    let full = |name: &ast::ObjectName| {
        let database = name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
        (database.to_string(), name.name.name.clone())
    };
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(from, to)| (full(from), full(to)))
        .filter(|((database, name), _)| !if_exists || catalog.find(database, name).is_some())
        .collect();
    catalog.rename_tables(&pairs, exchange)
}

/// The table of a name, or the kernel's error.
pub(crate) fn existing(name: &ast::ObjectName, scope: &Scope) -> Result<(Arc<dyn Table>, Arc<str>)> {
    let database = name.database.as_ref().map(|d| d.name.as_str());
    scope.find(database, &name.name.name)?.ok_or_else(|| missing(name, scope))
}
