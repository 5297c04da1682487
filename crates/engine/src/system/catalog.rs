//! `system.databases`, `system.tables`, `system.columns`.

use super::names::{self, is_system};
use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::merge_tree::TableKeys;
use chalet_storage::{Entry, Table};
use chalet_types::{DataType, Value};
use std::sync::Arc;

pub(crate) fn databases(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let header = [("name", DataType::String), ("engine", DataType::String), ("comment", DataType::String)];
    let mut names = ctx.database.shared.catalog.database_names();
    names.extend(names::NAMES.iter().map(|n| n.to_string()));
    names.sort();
    let own = ctx.database.engine();
    let engine = |name: &str| if is_system(name) { "Memory" } else { own };
    let comment = |name: &str| ctx.database.shared.catalog.database_comment(name).unwrap_or_default();
    let rows = names.iter().map(|n| [n.as_str(), engine(n), &comment(n)].map(Value::from).to_vec());
    made("SystemDatabases", &header, rows)
}

/// Every table that the session sees: database (empty for temporary ones), name, entry. `others` are those of system.
pub(super) fn all_tables(
    ctx: &QueryContext,
    others: &[(&str, Arc<dyn Table>)],
) -> Result<Vec<(String, String, Entry)>> {
    let catalog = &ctx.database.shared.catalog;
    let mut all = Vec::new();
    for (name, entry) in &ctx.state.temporary {
        all.push((String::new(), name.clone(), entry.clone()));
    }
    for database in catalog.database_names() {
        for (name, entry) in catalog.tables(&database)? {
            all.push((database.clone(), name, entry));
        }
    }
    for (name, table) in others {
        let entry = Entry { table: table.clone(), kind: "TABLE", definition: "".into(), comment: "".into() };
        all.push(("system".into(), (*name).into(), entry));
    }
    Ok(all)
}

pub(crate) fn tables(ctx: &QueryContext, others: &[(&str, Arc<dyn Table>)]) -> Result<Arc<dyn Table>> {
    let count = DataType::UInt64.nullable();
    let header = [
        ("database", DataType::String),
        ("name", DataType::String),
        ("engine", DataType::String),
        ("is_temporary", DataType::UInt8),
        ("create_table_query", DataType::String),
        ("engine_full", DataType::String),
        ("as_select", DataType::String),
        ("partition_key", DataType::String),
        ("sorting_key", DataType::String),
        ("primary_key", DataType::String),
        ("sampling_key", DataType::String),
        ("total_rows", count.clone()),
        ("total_bytes", count),
        ("comment", DataType::String),
    ];
    let optional = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    let rows = all_tables(ctx, others)?.into_iter().map(|(database, name, entry)| {
        let shown = Some(&*database).filter(|database| !database.is_empty());
        let one_line = entry.create_sql(shown, &name);
        let one_line = in_one_line(&one_line);
        let keys = entry.table.keys();
        let sorting_key = keys.map_or(String::new(), TableKeys::sorting_key);
        let primary_key = keys.map_or(String::new(), TableKeys::primary_key);
        vec![
            Value::from(database.as_str()),
            Value::from(name.as_str()),
            Value::from(entry.table.engine()),
            Value::from(database.is_empty()),
            Value::from(one_line.as_str()),
            Value::from(engine_full(&entry).as_str()),
            Value::from(entry.table.view_query().unwrap_or_default()),
            Value::from(keys.map_or("", |keys| &*keys.partition)),
            Value::from(sorting_key.as_str()),
            Value::from(primary_key.as_str()),
            Value::from(keys.map_or("", |keys| &*keys.sampling)),
            optional(entry.table.total_rows()),
            optional(entry.table.total_bytes()),
            Value::from(&*entry.comment),
        ]
    });
    made("SystemTables", &header, rows)
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The engine with its clauses.
fn engine_full(entry: &Entry) -> String {
    let Some((_, engine)) = entry.definition.split_once("\nENGINE = ") else { return String::new() };
    let commented = (!entry.comment.is_empty()).then(|| engine.rfind("\nCOMMENT "));
    in_one_line(&engine[..commented.flatten().unwrap_or(engine.len())])
}

pub(crate) fn columns(ctx: &QueryContext, others: &[(&str, Arc<dyn Table>)]) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let header = [
        ("database", text.clone()),
        ("table", text.clone()),
        ("name", text.clone()),
        ("type", text.clone()),
        ("position", DataType::UInt64),
        ("default_kind", text.clone()),
        ("default_expression", text.clone()),
        ("comment", text),
    ];
    let mut rows = Vec::new();
    for (database, table, entry) in all_tables(ctx, others)? {
        for (i, column) in entry.table.schema().columns.iter().filter(|c| !c.is_virtual).enumerate() {
            let (kind, expression) = match &column.default {
                Some((kind, text)) => (kind.name(), &**text),
                None => ("", ""),
            };
            let ty = column.declared_type();
            rows.push(vec![
                Value::from(database.as_str()),
                Value::from(table.as_str()),
                Value::from(&*column.name),
                Value::from(ty.as_str()),
                Value::UInt(i as u64 + 1),
                Value::from(kind),
                Value::from(expression),
                Value::from(&*column.comment),
            ]);
        }
    }
    made("SystemColumns", &header, rows)
}
