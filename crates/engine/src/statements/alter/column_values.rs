//! ALTER TABLE ... CLEAR COLUMN, MATERIALIZE COLUMN and REWRITE PARTS: rows stay, and values of columns are written anew.

use super::mutation::{Assigned, rewrite};
use super::nested::members;
use super::target::{check_not_of_engine, merge_tree, uses};
use crate::defaults_over_stored::over_stored;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_storage::{ColumnSchema, DefaultKind, Table};
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;

/// Gives a column its default in all rows.
pub(super) fn clear(
    name: &ast::ObjectName,
    column: &str,
    if_exists: bool,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let schema = table.schema();
    let own = schema.columns.iter().filter(|column| !column.is_virtual);
    let names: Vec<&str> = own.clone().map(|known| &*known.name).collect();
    let members = members(&names, column);
    for member in &members {
        clear(name, member, if_exists, partition, ctx)?;
    }
    if !members.is_empty() {
        return Ok(());
    }
    let Some(found) = own.clone().find(|known| *known.name == *column) else {
        let near = nearest(column, own.map(|known| &*known.name), 1);
        let hint = near.first().map_or(String::new(), |near| format!(", maybe you meant: ['{near}']"));
        ensure!(
            if_exists,
            NOT_FOUND_COLUMN_IN_BLOCK,
            "Wrong column name. Cannot find column `{column}` to drop{hint}"
        );
        return Ok(());
    };
    ensure!(schema.stored().count() > 1, BAD_ARGUMENTS, "Cannot DROP or CLEAR all columns");
    check_not_of_engine(&*table, column)?;
    ensure!(
        !is_in_key(&*table, column)?,
        ALTER_OF_COLUMN_IS_FORBIDDEN,
        "Trying to ALTER CLEAR key {column} column which is a part of key expression"
    );
    let value = match &found.default {
        Some((DefaultKind::Default, text)) => text.to_string(),
        // Computed anew like all that are.
        Some(_) => return rewrite(&*table, name, &[], &is_materialized, partition, ctx),
        None => format!("defaultValueOfTypeName({})", string_literal(found.ty.to_string())),
    };
    let value = over_stored(chalet_syntax::parse_expression(&value)?, &schema)?;
    rewrite(&*table, name, &[(column, value)], &is_materialized, partition, ctx)
}

/// Writes the values of a column to parts that lack it, and of one that is always computed to all.
pub(super) fn materialize(
    name: &ast::ObjectName,
    column: &str,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let schema = table.schema();
    let Some(found) = schema.columns.iter().find(|known| !known.is_virtual && *known.name == *column) else {
        bail!(NO_SUCH_COLUMN_IN_TABLE, "There is no column {column} in table")
    };
    ensure!(
        !is_in_key(&*table, column)?,
        CANNOT_UPDATE_COLUMN,
        "Refused to materialize column `{column}` because it's in the sort key. Doing so could break the sort order"
    );
    match found.default_kind() {
        Some(DefaultKind::Default | DefaultKind::Materialized) => {}
        None => {
            bail!(
                BAD_ARGUMENTS,
                "Cannot materialize column `{column}` because it doesn't have default expression"
            )
        }
        // Nothing is kept of it.
        Some(_) => return Ok(()),
    }
    let is_computed = |known: &ColumnSchema| *known.name == *column && is_materialized(known);
    rewrite(&*table, name, &[], &is_computed, partition, ctx)
}

/// Writes all parts as they are read now.
pub(super) fn rewrite_parts(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    merge_tree(&*table)?;
    rewrite(&*table, name, &[] as &[Assigned], &|_| false, partition, ctx)
}

fn is_materialized(column: &ColumnSchema) -> bool {
    column.default_kind() == Some(DefaultKind::Materialized)
}

fn is_in_key(table: &dyn Table, column: &str) -> Result<bool> {
    for (text, _) in table.keys().into_iter().flat_map(|keys| keys.all()) {
        if uses(text, column)? {
            return Ok(true);
        }
    }
    Ok(false)
}
