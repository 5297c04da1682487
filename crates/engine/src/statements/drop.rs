//! DROP, TRUNCATE, RENAME, EXCHANGE.

use super::dependents;
use super::output::Output;
use crate::materialized;
use crate::query_context::QueryContext;
use crate::session_state::SessionChange;
use crate::tables::{self, missing};
use chalet_base::{Result, bail, ensure};
use chalet_storage::Entry;
use chalet_syntax::ast::{self, DropAction, ObjectKind};
use std::collections::BTreeMap;

pub(crate) fn drop(drop: &ast::Drop, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    match (drop.action, drop.kind) {
        (DropAction::Drop, ObjectKind::Database) => {
            for name in &drop.names {
                ctx.database.shared.catalog.drop_database(&name.name.name, drop.if_exists)?;
            }
            Ok(())
        }
        (DropAction::Drop, ObjectKind::Function) => {
            let functions = &ctx.database.shared.functions;
            drop.names.iter().try_for_each(|name| functions.drop(&name.name.name, drop.if_exists))
        }
        (DropAction::Drop, ObjectKind::Table | ObjectKind::View | ObjectKind::Dictionary) => {
            let mut temporary = ctx.state.temporary.clone();
            let result = drop.names.iter().try_for_each(|name| drop_table(drop, name, ctx, &mut temporary));
            // Those before a name that fails stay dropped.
            output.changes.push(SessionChange::Temporary(temporary));
            result
        }
        (DropAction::Truncate, ObjectKind::Database) => {
            let name = drop.names.first().map_or("", |n| &n.name.name);
            truncate_all(name, ctx)
        }
        (DropAction::Truncate, _) if drop.all_tables => {
            let name = drop.names.first().map_or("", |n| &n.name.name);
            truncate_all(name, ctx)
        }
        (DropAction::Truncate, _) => drop.names.iter().try_for_each(|name| {
            if let Some(view) = materialized::view(name, ctx) {
                return view.truncate();
            }
            let database = name.database.as_ref().map(|d| d.name.as_str());
            match tables::find(ctx, database, &name.name.name)? {
                Some((table, _)) => table.truncate(),
                None if drop.if_exists => Ok(()),
                None => Err(missing(name, ctx)),
            }
        }),
        (DropAction::Detach, _) => bail!(NOT_IMPLEMENTED, "DETACH is not supported"),
    }
}

fn drop_table(
    drop: &ast::Drop,
    name: &ast::ObjectName,
    ctx: &QueryContext,
    temporary: &mut BTreeMap<String, Entry>,
) -> Result<()> {
    let table_name = &name.name.name;
    if name.database.is_none() && temporary.remove(table_name).is_some() {
        return Ok(());
    }
    if drop.temporary {
        ensure!(drop.if_exists, UNKNOWN_TABLE, "Temporary table {table_name} doesn't exist");
        return Ok(());
    }
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let catalog = &ctx.database.shared.catalog;
    if let Some(entry) = catalog.find(database, table_name) {
        let is_view = entry.table.view_query().is_some();
        ensure!(
            drop.kind != ObjectKind::View || is_view,
            INCORRECT_QUERY,
            "Table {database}.{table_name} is not a View"
        );
        let is_dictionary = entry.kind == "DICTIONARY";
        ensure!(
            drop.kind != ObjectKind::Dictionary || is_dictionary,
            INCORRECT_QUERY,
            "Table {database}.{table_name} is not a Dictionary"
        );
        ensure!(
            drop.kind != ObjectKind::Table || !is_dictionary,
            CANNOT_DETACH_DICTIONARY_AS_TABLE,
            "Cannot drop/detach dictionary {database}.{table_name} as table, use DROP DICTIONARY or DETACH DICTIONARY query instead"
        );
        dependents::check(database, table_name, ctx)?;
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

fn truncate_all(database: &str, ctx: &QueryContext) -> Result<()> {
    for (_, entry) in ctx.database.shared.catalog.tables(database)? {
        if entry.table.view_query().is_none() && entry.kind != "DICTIONARY" {
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
    ctx: &QueryContext,
) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    if kind == ObjectKind::Database {
        return pairs
            .iter()
            .try_for_each(|(from, to)| catalog.rename_database(&from.name.name, &to.name.name));
    }
    let full = |name: &ast::ObjectName| {
        let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
        (database.to_string(), name.name.name.clone())
    };
    let pairs: Vec<_> = pairs
        .iter()
        .map(|(from, to)| (full(from), full(to)))
        .filter(|((database, name), _)| !if_exists || catalog.find(database, name).is_some())
        .collect();
    for ((database, name), _) in pairs.iter().filter(|_| !exchange) {
        dependents::check(database, name, ctx)?;
    }
    catalog.rename_tables(&pairs, exchange)
}
