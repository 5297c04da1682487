//! Tables by the names that statements give them: temporary ones, kept ones, those of system, those of the caller.

use crate::dictionaries::source::attached;
use crate::dictionaries::table::{Dictionary, OverDictionary};
use crate::function_table::FunctionTable;
use crate::materialized;
use crate::merged::{self, MergeEngine};
use crate::query_context::QueryContext;
use crate::redirected::Redirected;
use crate::remote::distributed::Distributed;
use crate::replacement_scan::ReplacementScan;
use crate::system::{self, names::is_system};
use chalet_base::{Error, Result, codes, err};
use chalet_storage::disk::BrokenTable;
use chalet_storage::view::MaterializedView;
use chalet_storage::{Entry, Table};
use chalet_syntax::ast;
use std::sync::{Arc, PoisonError};

/// A table and its full name.
pub(crate) type Named = (Arc<dyn Table>, Arc<str>);

/// A table by its written name, temporary tables first.
pub(crate) fn find(ctx: &QueryContext, database: Option<&str>, name: &str) -> Result<Option<Named>> {
    let is_temporary = database.is_none() && ctx.state.temporary.contains_key(name);
    let shown = database.unwrap_or(&ctx.state.database);
    if !is_temporary && is_system(shown) {
        let found = system::table_of(shown, name, ctx)?;
        return Ok(found.map(|table| (table, format!("{shown}.{name}").into())));
    }
    Ok(held_table(ctx, database, name)?.map(|table| {
        let shown = if is_temporary { name.into() } else { format!("{shown}.{name}").into() };
        (table, shown)
    }))
}

/// A table that can be read until the statement ends.
fn held_table(ctx: &QueryContext, database: Option<&str>, name: &str) -> Result<Option<Arc<dyn Table>>> {
    let mut gone: Option<Arc<dyn Table>> = None;
    loop {
        let Some(Entry { table, .. }) = ctx.entry(database, name) else { return Ok(None) };
        let broken = table.as_any().downcast_ref::<BrokenTable>();
        match broken.map_or_else(|| table.hold(), |broken| Err(broken.error.clone())) {
            Ok(held) => ctx.held.lock().unwrap_or_else(PoisonError::into_inner).extend(held),
            // Another process has dropped or replaced it since the statement began, or while it was opened.
            Err(error)
                if error.code() == codes::FILE_DOESNT_EXIST
                    && !gone.is_some_and(|gone| Arc::ptr_eq(&gone, &table)) =>
            {
                ctx.database.refresh()?;
                gone = Some(table);
                continue;
            }
            Err(error) if broken.is_some() => return Err(error),
            // Is told when rows are asked for.
            Err(_) => {}
        }
        if let Some(dictionary) = table.as_any().downcast_ref::<Dictionary>() {
            return Ok(Some(Arc::new(attached(dictionary, ctx))));
        }
        if let Some(over) = table.as_any().downcast_ref::<OverDictionary>() {
            return over_dictionary(over, ctx).map(Some);
        }
        if let Some(engine) = table.as_any().downcast_ref::<MergeEngine>() {
            return merged::read(&table, engine, ctx).map(Some);
        }
        if let Some(redirected) = table.as_any().downcast_ref::<Redirected>() {
            return redirected.read(ctx).map(Some);
        }
        if let Some(function) = table.as_any().downcast_ref::<FunctionTable>() {
            return function.read(ctx).map(Some);
        }
        if let Some(distributed) = table.as_any().downcast_ref::<Distributed>() {
            return distributed.attached(ctx).map(Some);
        }
        if let Some(view) = table.as_any().downcast_ref::<MaterializedView>() {
            return materialized::read(view, ctx).map(Some);
        }
        return Ok(Some(table));
    }
}

/// The dictionary that a table is over, with the table's columns.
fn over_dictionary(over: &OverDictionary, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let found = ctx.database.shared.catalog.find(&over.database, &over.name);
    let found = found.as_ref().and_then(|entry| entry.table.as_any().downcast_ref::<Dictionary>());
    let missing = || err!(BAD_ARGUMENTS, "Dictionary (`{}`) not found", over.name);
    Ok(Arc::new(attached(found.ok_or_else(missing)?, ctx).with_columns(over.schema())))
}

/// A table of the session, or one that the caller lends.
pub(crate) fn find_with(
    ctx: &QueryContext,
    replacement_scan: Option<&dyn ReplacementScan>,
    database: Option<&str>,
    name: &str,
) -> Result<Option<Named>> {
    let Some(replacement_scan) = replacement_scan.filter(|_| database.is_none()) else {
        return find(ctx, database, name);
    };
    let named = |table: Arc<dyn Table>| (table, Arc::<str>::from(name));
    if let Some(given) = replacement_scan.given(name)? {
        return Ok(Some(named(given)));
    }
    match find(ctx, None, name)? {
        Some(found) => Ok(Some(found)),
        None => Ok(replacement_scan.found(name)?.map(named)),
    }
}

/// The table of a name, or the kernel's error.
pub(crate) fn existing(name: &ast::ObjectName, ctx: &QueryContext) -> Result<Named> {
    let database = name.database.as_ref().map(|d| d.name.as_str());
    find(ctx, database, &name.name.name)?.ok_or_else(|| missing(name, ctx))
}

pub(crate) fn missing(name: &ast::ObjectName, ctx: &QueryContext) -> Error {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    if !ctx.database.shared.catalog.database_exists(database) && !is_system(database) {
        return err!(UNKNOWN_DATABASE, "Database {database} does not exist");
    }
    err!(UNKNOWN_TABLE, "Table {database}.{} does not exist", name.name.name)
}
