//! ENGINE = Buffer and Alias: another table under a name of its own.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::query_context::QueryContext;
use crate::redirected::Redirected;
use chalet_base::{Result, ensure};
use chalet_binder::TableArgument;
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::{ColumnSchema, Table, TableSchema};
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;
use std::sync::Arc;

/// `Buffer(database, table, ...)`: rows go to the table at once, which all thresholds allow.
pub(super) fn create_buffer(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let args = arguments(new.storage);
    ensure!(
        (9..=12).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Buffer requires from 9 to 12 parameters: destination_database, destination_table, num_buckets, min_time, \
         max_time, min_rows, max_rows, min_bytes, max_bytes[, flush_time, flush_rows, flush_bytes]"
    );
    let (database, table) = named(&args[..2], new.ctx)?;
    let numbers = args[2..].iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (database_text, table_text) = (string_literal(&database), string_literal(&table));
    let shown = format!("Buffer({database_text}, {table_text}, {numbers})");
    let schema = schema_of(new.create, new.ctx)?;
    // CREATE ... AS another table brings what its scans make up.
    let own = schema.columns.iter().filter(|column| !column.is_virtual).cloned().collect();
    let schema = TableSchema { columns: own, ..schema };
    Ok((Arc::new(Redirected { engine: new.engine.name, schema, database, table }), shown))
}

/// `Alias([database, ]table)`: the columns are those of the table.
pub(super) fn create_alias(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let args = arguments(new.storage);
    ensure!(
        (1..=2).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Alias requires target table name in ENGINE arguments. Use: ENGINE = Alias('table_name') or ENGINE = \
         Alias('database', 'table_name')"
    );
    ensure!(
        new.create.definition.columns.is_empty(),
        BAD_ARGUMENTS,
        "Storage Alias does not support explicit column definitions"
    );
    let (database, table) = named(args, new.ctx)?;
    let known = new.ctx.entry(Some(&database), &table);
    let is_alias = known.as_ref().is_some_and(|entry| entry.table.engine() == new.engine.name);
    ensure!(!is_alias, BAD_ARGUMENTS, "Alias table cannot refer to another Alias table");
    let columns = known.map_or(Vec::new(), |entry| {
        let schema = entry.table.schema();
        let own = schema.columns.iter().filter(|column| column.in_star());
        own.map(|column| ColumnSchema::new(column.name.clone(), column.ty.clone())).collect()
    });
    let schema = TableSchema::new(columns);
    let listed = args.iter().map(|arg| text_of(arg, new.ctx)).collect::<Result<Vec<_>>>()?;
    let shown = listed.iter().map(string_literal).collect::<Vec<_>>().join(", ");
    Ok((Arc::new(Redirected { engine: new.engine.name, schema, database, table }), format!("Alias({shown})")))
}

pub(super) fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let args = arguments(&found.create.storage);
    let n = args.len().min(2);
    let own = found.name.split_once('.').map_or("", |(database, _)| database).to_string();
    let (database, table) = named_in(&args[..n], own, found.ctx)?;
    let schema = stored_schema(&found.create.definition)?;
    Ok(Arc::new(Redirected { engine: engine.name, schema, database, table }))
}

fn arguments(storage: &ast::Storage) -> &[ast::Expr] {
    storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default()
}

fn named(args: &[ast::Expr], ctx: &QueryContext) -> Result<(String, String)> {
    named_in(args, ctx.state.database.clone(), ctx)
}

fn named_in(args: &[ast::Expr], default: String, ctx: &QueryContext) -> Result<(String, String)> {
    Ok(match args {
        [database, table] => {
            let database = text_of(database, ctx)?;
            (if database.is_empty() { default } else { database }, text_of(table, ctx)?)
        }
        [table] => {
            let table = text_of(table, ctx)?;
            table.split_once('.').map_or((default, table.clone()), |(d, t)| (d.into(), t.into()))
        }
        _ => (default, String::new()),
    })
}

fn text_of(arg: &ast::Expr, ctx: &QueryContext) -> Result<String> {
    let bound = bind_table_arguments(std::slice::from_ref(arg), ctx, &ctx.ids)?;
    Ok(match bound.first() {
        Some(TableArgument::Value(value, _)) => value.as_str().unwrap_or_default().to_string(),
        Some(TableArgument::Word(word)) => word.clone(),
        _ => String::new(),
    })
}
