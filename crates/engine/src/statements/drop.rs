//! DROP, TRUNCATE, RENAME, EXCHANGE.

use super::output::Output;
use super::{attach, dependents};
use crate::materialized;
use crate::patterns::passes_pattern;
use crate::query_context::QueryContext;
use crate::session_state::SessionChange;
use crate::sql_functions::SqlFunctions;
use crate::tables::{self, missing};
use chalet_base::{Result, bail, ensure};
use chalet_storage::{Entry, Table};
use chalet_syntax::ast::{self, DropAction, ObjectKind, ShowFilter};
use std::collections::BTreeMap;

pub(crate) fn drop(drop: &ast::Drop, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    match (drop.action, drop.kind) {
        (DropAction::Drop, ObjectKind::Database) => {
            ensure!(!drop.if_empty, NOT_IMPLEMENTED, "DROP IF EMPTY is not implemented for databases");
            for name in &drop.names {
                ctx.database.shared.catalog.drop_database(&name.name.name, drop.if_exists)?;
            }
            Ok(())
        }
        (DropAction::Drop, ObjectKind::Function) => {
            let functions = &ctx.database.shared.functions;
            drop.names.iter().map(|name| &name.name.name).try_for_each(|name| {
                ensure!(
                    ctx.registry.scalars.get(name).is_none(),
                    CANNOT_DROP_FUNCTION,
                    "Cannot drop system function '{name}'"
                );
                SqlFunctions::drop(functions, name, drop.if_exists)
            })
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
            let catalog = &ctx.database.shared.catalog;
            match drop.all_tables {
                _ if drop.if_exists && !catalog.database_exists(name) => Ok(()),
                true => truncate_all(name, drop.like.as_ref(), ctx),
                // This one drops tables.
                false => catalog.drop_tables(name),
            }
        }
        (DropAction::Truncate, ObjectKind::Function) => {
            bail!(SYNTAX_ERROR, "TRUNCATE of functions is not supported")
        }
        (DropAction::Truncate, _) => drop.names.iter().try_for_each(|name| {
            if let Some(view) = materialized::view(name, ctx) {
                return view.truncate();
            }
            let database = name.database.as_ref().map(|d| d.name.as_str());
            let is_dictionary = ctx.entry(database, &name.name.name).is_some_and(|e| e.kind == "DICTIONARY");
            ensure!(!is_dictionary, SYNTAX_ERROR, "Cannot TRUNCATE dictionary");
            match tables::find(ctx, database, &name.name.name)? {
                Some((table, full)) => {
                    check_size(&*table, "", &full, ctx)?;
                    table.truncate()
                }
                None if drop.if_exists => Ok(()),
                None => Err(missing(name, ctx)),
            }
        }),
        (DropAction::Detach, _) => attach::detach(drop, ctx),
    }
}

/// Fails where a table is not of the kind that the statement names.
pub(super) fn check_kind(kind: ObjectKind, entry: &Entry, database: &str, name: &str) -> Result<()> {
    let is_view = entry.table.view_query().is_some();
    ensure!(kind != ObjectKind::View || is_view, INCORRECT_QUERY, "Table {database}.{name} is not a View");
    let is_dictionary = entry.kind == "DICTIONARY";
    ensure!(
        kind != ObjectKind::Dictionary || is_dictionary,
        INCORRECT_QUERY,
        "Table {database}.{name} is not a Dictionary"
    );
    ensure!(
        kind != ObjectKind::Table || !is_dictionary,
        CANNOT_DETACH_DICTIONARY_AS_TABLE,
        "Cannot drop/detach dictionary {database}.{name} as table, use DROP DICTIONARY or DETACH DICTIONARY query instead"
    );
    Ok(())
}

/// IF EMPTY: fails where a table is known to have rows.
pub(super) fn check_empty(drop: &ast::Drop, entry: &Entry, name: &str) -> Result<()> {
    let has_rows = drop.if_empty && entry.table.total_rows().is_some_and(|rows| rows > 0);
    ensure!(!has_rows, TABLE_NOT_EMPTY, "Table {name} is not empty");
    Ok(())
}

/// `max_table_size_to_drop`, where it is set: fails where a MergeTree is larger.
fn check_size(table: &dyn Table, database: &str, name: &str, ctx: &QueryContext) -> Result<()> {
    let most = ctx.state.settings.number("max_table_size_to_drop").filter(|&most| most > 0);
    let (Some(most), Some(_)) = (most, table.keys()) else { return Ok(()) };
    let bytes = table.total_bytes().unwrap_or(0);
    let dot = if database.is_empty() { "" } else { "." };
    ensure!(
        bytes <= most,
        TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT,
        "Table or Partition in {database}{dot}{name} was not dropped. Reason: its size ({bytes} bytes) is greater than \
         max_table_size_to_drop ({most})"
    );
    Ok(())
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
        check_kind(drop.kind, &entry, database, table_name)?;
        dependents::check(database, table_name, ctx)?;
        check_empty(drop, &entry, table_name)?;
        check_size(&*entry.table, database, table_name, ctx)?;
    }
    catalog.drop_table(database, table_name, drop.if_exists)?;
    Ok(())
}

fn truncate_all(database: &str, like: Option<&ShowFilter>, ctx: &QueryContext) -> Result<()> {
    for (name, entry) in ctx.database.shared.catalog.tables(database)? {
        if let Some(ShowFilter::Like { not, case_insensitive, pattern }) = like {
            let function = if *case_insensitive { "ilike" } else { "like" };
            if passes_pattern(function, &name, pattern, &ctx.functions)? == *not {
                continue;
            }
        }
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
            .filter(|(from, _)| !if_exists || catalog.database_exists(&from.name.name))
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
    if kind == ObjectKind::Dictionary {
        let names = pairs.iter().flat_map(|(from, to)| exchange.then_some(to).into_iter().chain([from]));
        for entry in names.filter_map(|(database, name)| catalog.find(database, name)) {
            ensure!(
                entry.kind == "DICTIONARY",
                INCORRECT_QUERY,
                "Use RENAME/EXCHANGE TABLE (instead of RENAME/EXCHANGE DICTIONARY) for tables"
            );
        }
    }
    catalog.rename_tables(&pairs, exchange)
}
