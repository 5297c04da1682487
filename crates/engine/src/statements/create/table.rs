//! CREATE TABLE.

use super::super::insert::from_query;
use super::super::output::Output;
use super::clauses::{check_replaced, comment_sql, writable};
use super::columns::{columns_sql, schema_of};
use super::{engines, source_storage, stored};
use crate::column_checks;
use crate::column_definitions::comment_of;
use crate::function_table::{self, FunctionTable};
use crate::query_context::QueryContext;
use crate::statements::alter::clone_rows;
use crate::tables::existing;
use chalet_base::{Result, ensure};
use chalet_storage::{Entry, Table};
use chalet_syntax::ast::{self, CreateSource};
use std::sync::Arc;

pub(crate) fn table(create: &ast::CreateTable, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    ensure!(
        !create.attach || create.uuid.is_some(),
        INCORRECT_QUERY,
        "Incorrect ATTACH TABLE query for Atomic database engine. Use one of the following queries instead: \
         1. ATTACH TABLE {0}; 2. CREATE TABLE {0} <table definition>; \
         3. ATTACH TABLE {0} UUID '<uuid>' <table definition>;",
        create.name.name.name
    );
    ensure!(
        !create.temporary || create.name.database.is_none(),
        BAD_DATABASE_FOR_TEMPORARY_TABLE,
        "Temporary objects (tables/views) cannot be inside a database. You should not specify a database for a temporary objects"
    );
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    let catalog = &ctx.database.shared.catalog;
    if !create.temporary {
        let found = catalog.find(database, name);
        if !catalog.database_exists(database) || found.is_some() {
            check_columns(create, ctx)?;
        }
        writable(database, ctx)?;
        if create.if_not_exists && (found.is_some() || catalog.find_detached(database, name).is_some()) {
            return Ok(());
        }
        match found {
            None => check_replaced(create.replace, database, name)?,
            Some(_) => ensure!(
                create.replace != ast::Replace::No,
                TABLE_ALREADY_EXISTS,
                "Table {database}.{name} already exists"
            ),
        }
    } else if create.if_not_exists && ctx.state.temporary.contains_key(name) {
        return Ok(());
    } else {
        ensure!(
            create.replace != ast::Replace::Must || ctx.state.temporary.contains_key(name),
            UNKNOWN_TABLE,
            "Temporary table {name} doesn't exist"
        );
    }
    let replaces = create.replace != ast::Replace::No;
    let (table, made_by) = match &create.source {
        Some(CreateSource::Function(call)) => over_function(create, call, ctx)?,
        Some(CreateSource::Table { name, clone: false }) if create.storage == ast::Storage::default() => {
            match function_of(name, ctx) {
                Some(call) => over_function(create, &call, ctx)?,
                None => with_engine(create, ctx)?,
            }
        }
        _ => with_engine(create, ctx)?,
    };
    table
        .schema()
        .columns
        .iter()
        .filter(|column| !column.is_virtual)
        .try_for_each(column_checks::check_usable)?;
    let kind = if create.temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let copied = comment_of_source(create, ctx);
    let written = create.comment.as_deref().or(copied.as_deref().map(str::as_bytes));
    let comment = comment_sql(written);
    let definition = format!("\n(\n{}\n){made_by}{comment}", columns_sql(&table.schema()));
    let comment = comment_of(written);
    let entry = Entry { table: table.clone(), kind, definition: definition.into(), comment };
    if let Some(CreateSource::Table { name: source, clone: true }) = &create.source {
        clone_rows(&*table, &*existing(source, ctx)?.0, ctx)?;
    }
    if !create.temporary {
        stored::check_table(&entry, database, name, ctx)?;
    }
    // Filled before it is seen: a failing query leaves no table behind.
    if let Some(CreateSource::Query { empty: false, query }) = &create.source {
        let (rows, bytes) = from_query(table, name, query, ctx)?;
        output.rows_written += rows;
        output.bytes_written += bytes;
    }
    if create.temporary {
        return stored::keep_temporary(name, entry, replaces, ctx, output);
    }
    catalog.create_table(database, name, entry, create.if_not_exists, replaces)
}

/// Fails where the columns are wrong: that is told before anything of the table's place, and what is wrong with its engine
/// after it.
fn check_columns(create: &ast::CreateTable, ctx: &QueryContext) -> Result<()> {
    match &create.source {
        _ if !create.definition.columns.is_empty() => schema_of(create, ctx).map(drop),
        Some(CreateSource::Query { .. }) => schema_of(create, ctx).map(drop),
        Some(CreateSource::Table { .. }) => source_storage::check(create, ctx),
        Some(CreateSource::Function(_)) | None => Ok(()),
    }
}

/// The comment of the table that the new one is made after.
fn comment_of_source(create: &ast::CreateTable, ctx: &QueryContext) -> Option<Arc<str>> {
    let Some(CreateSource::Table { name, .. }) = &create.source else { return None };
    let database = name.database.as_ref().map(|database| database.name.as_str());
    let source = ctx.entry(database, &name.name.name)?;
    (!source.comment.is_empty()).then_some(source.comment)
}

/// The table, and what SHOW CREATE prints behind its columns.
type Made = (Arc<dyn Table>, String);

fn with_engine(create: &ast::CreateTable, ctx: &QueryContext) -> Result<Made> {
    let (table, engine) = engines::create(create, ctx)?;
    Ok((table, format!("\nENGINE = {engine}")))
}

/// `AS numbers(6)`: the function is called whenever the table is used.
fn over_function(create: &ast::CreateTable, call: &ast::Call, ctx: &QueryContext) -> Result<Made> {
    ensure!(!create.temporary, INCORRECT_QUERY, "Incorrect CREATE query: storage required");
    let schema = schema_of(create, ctx)?;
    let call = function_table::settled(call, ctx)?;
    let shown = function_table::shown(&call);
    Ok((Arc::new(FunctionTable::new(schema, call, ctx)), format!(" AS {shown}")))
}

/// The call that another table stands for.
fn function_of(name: &ast::ObjectName, ctx: &QueryContext) -> Option<ast::Call> {
    let database = name.database.as_ref().map(|database| database.name.as_str());
    let entry = ctx.entry(database, &name.name.name);
    let table = entry.as_ref().and_then(|entry| entry.table.as_any().downcast_ref::<FunctionTable>());
    table.map(|table| table.call.clone())
}
