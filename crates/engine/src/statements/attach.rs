//! DETACH, ATTACH, UNDROP.

use super::create::{Found, open, stored};
use super::dependents;
use super::drop::{check_empty, check_kind};
use crate::query_context::QueryContext;
use crate::system::names::is_system;
use crate::tables;
use chalet_base::{Result, bail, ensure};
use chalet_storage::Entry;
use chalet_storage::disk::BrokenTable;
use chalet_syntax::ast::{self, ObjectKind};

/// Tables, views, dictionaries and databases that go until they are attached again.
pub(super) fn detach(drop: &ast::Drop, ctx: &QueryContext) -> Result<()> {
    let [written] = &drop.names[..] else {
        bail!(SYNTAX_ERROR, "Only Support DROP multiple tables currently.")
    };
    let name = &written.name.name;
    match drop.kind {
        ObjectKind::Database => return detach_database(drop, name, ctx),
        ObjectKind::Function => bail!(SYNTAX_ERROR, "DETACH of functions is not supported"),
        ObjectKind::Table | ObjectKind::View | ObjectKind::Dictionary => {}
    }
    let is_temporary = written.database.is_none() && ctx.state.temporary.contains_key(name);
    ensure!(!drop.temporary && !is_temporary, SYNTAX_ERROR, "DETACH of TEMPORARY tables are not supported.");
    let database = written.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    check_not_system(database)?;
    let catalog = &ctx.database.shared.catalog;
    let Some(entry) = catalog.find(database, name) else {
        return if drop.if_exists { Ok(()) } else { Err(tables::missing(written, ctx)) };
    };
    check_kind(drop.kind, &entry, database, name)?;
    if drop.permanently {
        dependents::check(database, name, ctx)?;
    }
    check_empty(drop, &entry, name)?;
    catalog.detach_table(database, name, drop.permanently)
}

fn detach_database(drop: &ast::Drop, name: &str, ctx: &QueryContext) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    check_not_system(name)?;
    if drop.if_exists && !catalog.database_exists(name) {
        return Ok(());
    }
    ensure!(!drop.permanently, NOT_IMPLEMENTED, "DETACH PERMANENTLY is not implemented for databases");
    ensure!(!drop.if_empty, NOT_IMPLEMENTED, "DROP IF EMPTY is not implemented for databases");
    catalog.detach_database(name)
}

fn check_not_system(database: &str) -> Result<()> {
    ensure!(!is_system(database), ACCESS_DENIED, "Database {database} cannot be changed");
    Ok(())
}

/// ATTACH TABLE and ATTACH DICTIONARY without a definition.
pub(super) fn attach(
    kind: ObjectKind,
    if_not_exists: bool,
    written: &ast::ObjectName,
    ctx: &QueryContext,
) -> Result<()> {
    let database = written.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &written.name.name;
    check_not_system(database)?;
    let catalog = &ctx.database.shared.catalog;
    ensure!(catalog.database_exists(database), UNKNOWN_DATABASE, "Database {database} does not exist");
    let wants_dictionary = kind == ObjectKind::Dictionary;
    let check_kind = |entry: &Entry| {
        let (wanted, found) =
            if wants_dictionary { ("DICTIONARY", "Table") } else { ("TABLE", "Dictionary") };
        ensure!(
            wants_dictionary == (entry.kind == "DICTIONARY"),
            INCORRECT_QUERY,
            "Cannot ATTACH {wanted} {database}.{name}, it is a {found}"
        );
        Ok(())
    };
    if let Some(there) = catalog.find(database, name) {
        check_kind(&there)?;
        ensure!(
            if_not_exists || !wants_dictionary,
            DICTIONARY_ALREADY_EXISTS,
            "Dictionary {database}.{name} already exists"
        );
        ensure!(if_not_exists, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
        return Ok(());
    }
    let Some(detached) = catalog.find_detached(database, name) else {
        bail!(CANNOT_GET_CREATE_TABLE_QUERY, "Table `{name}` doesn't exist")
    };
    check_kind(&detached.entry)?;
    catalog.attach_table(database, name, |entry| opened(entry, database, name, ctx))
}

/// A table as it is to be attached: one that was detached before the database was opened is opened now.
fn opened(entry: &Entry, database: &str, name: &str, ctx: &QueryContext) -> Result<Entry> {
    let Some(closed) = entry.table.as_any().downcast_ref::<BrokenTable>() else { return Ok(entry.clone()) };
    let mut warnings = Vec::new();
    let (table, comment) = stored(&entry.create_sql(Some(database), name), ctx, |create| {
        let (name, folder) = (format!("{database}.{name}"), closed.folder.clone());
        open(Found { create, ctx, name, folder, warnings: &mut warnings })
    })?;
    ctx.database.shared.warnings.add(warnings);
    Ok(Entry { table, comment, ..entry.clone() })
}

/// Is the database that an ATTACH names there now? Else it is to be made, by the engine that the statement names.
pub(in crate::statements) fn attach_database(
    create: &ast::CreateDatabase,
    ctx: &QueryContext,
) -> Result<bool> {
    let catalog = &ctx.database.shared.catalog;
    let name = &create.name.name;
    if catalog.database_exists(name) || is_system(name) {
        ensure!(create.if_not_exists, DATABASE_ALREADY_EXISTS, "Database {name} already exists");
        return Ok(true);
    }
    let is_back = catalog.attach_database(name)?;
    ensure!(
        is_back || create.engine.is_some(),
        UNKNOWN_DATABASE_ENGINE,
        "Database engine must be specified for ATTACH DATABASE query"
    );
    Ok(is_back)
}

/// A table that was dropped is gone at once, and its rows with it.
pub(super) fn undrop(written: &ast::ObjectName, ctx: &QueryContext) -> Result<()> {
    let database = written.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &written.name.name;
    let catalog = &ctx.database.shared.catalog;
    ensure!(catalog.database_exists(database), UNKNOWN_DATABASE, "Database {database} does not exist");
    ensure!(
        catalog.find(database, name).is_none(),
        TABLE_ALREADY_EXISTS,
        "Cannot undrop table, {database}.{name} already exists"
    );
    bail!(
        UNKNOWN_TABLE,
        "Table {database}.{name} is being dropped, has been dropped, or the database engine does not support UNDROP"
    )
}
