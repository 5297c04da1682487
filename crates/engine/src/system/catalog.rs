//! `system.databases`, `system.tables`, `system.columns`.

use super::information_schema::definition;
use super::names::{self, is_system};
use super::structures::{SparseRow, table};
use crate::column_definitions::shown_default;
use crate::query_context::QueryContext;
use crate::written_keys::written_keys;
use chalet_base::Result;
use chalet_storage::merge_tree::{MergeTree, TableKeys};
use chalet_storage::view::{MaterializedView, ViewTarget};
use chalet_storage::{ColumnSchema, Entry, Table};
use chalet_syntax::ast::{Expr, ExprKind, StatementKind};
use chalet_syntax::print;
use chalet_types::{DataType, Value};
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) fn databases(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut names = ctx.database.shared.catalog.database_names();
    names.extend(names::NAMES.iter().map(|n| n.to_string()));
    names.sort();
    let row = |name: &String| {
        let engine = if is_system(name) { "Memory".into() } else { ctx.database.engine(name) };
        let comment = ctx.database.shared.catalog.database_comment(name).unwrap_or_default();
        vec![
            ("name", Value::from(name.as_str())),
            ("engine", Value::from(&*engine)),
            ("engine_full", Value::from(&*engine)),
            ("comment", Value::from(&*comment)),
        ]
    };
    table("databases", names.iter().map(row).collect())
}

/// Every table that the session sees: database (empty for temporary ones), name, entry. `others` are those of system.
pub(super) fn all_tables(
    ctx: &QueryContext,
    others: &[(&str, &str, Arc<dyn Table>)],
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
    for (database, name, table) in others {
        let kind = if table.view_query().is_some() { "VIEW" } else { "TABLE" };
        let entry =
            Entry { table: table.clone(), kind, definition: definition(&**table).into(), comment: "".into() };
        all.push(((*database).into(), (*name).into(), entry));
    }
    Ok(all)
}

pub(crate) fn tables(ctx: &QueryContext, others: &[(&str, &str, Arc<dyn Table>)]) -> Result<Arc<dyn Table>> {
    let all = all_tables(ctx, others)?;
    let mut rows = Vec::with_capacity(all.len());
    for (database, name, entry) in &all {
        let mut row = row_of_table(database, name, entry);
        let key = (database.clone(), name.clone());
        let follows = |(_, _, other): &&(String, String, Entry)| {
            let view = other.table.as_any().downcast_ref::<MaterializedView>();
            view.is_some_and(|view| view.source.as_ref() == Some(&key))
        };
        let views: Vec<_> = all.iter().filter(follows).collect();
        let listed = |name: fn(&(String, String, Entry)) -> &str| {
            Value::Array(views.iter().map(|view| Value::from(name(view))).collect())
        };
        row.push(("dependencies_database", listed(|view| &view.0)));
        row.push(("dependencies_table", listed(|view| &view.1)));
        rows.push(row);
    }
    table("tables", rows)
}

fn row_of_table(database: &str, name: &str, entry: &Entry) -> SparseRow {
    let optional = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    let shown = Some(database).filter(|database| !database.is_empty());
    let keys = entry.table.keys();
    let sorting_key = keys.map_or(String::new(), TableKeys::sorting_key);
    let primary_key = keys.map_or(String::new(), TableKeys::primary_key);
    let statement = Definition::of(&entry.create_sql(shown, name), &entry.comment, keys);
    let engine = entry.table.engine();
    let mut indexes: Vec<String> =
        entry.table.schema().indexes.iter().map(|index| index.kind_name()).collect();
    indexes.sort();
    indexes.dedup();
    // Of tables whose rows are files of their own.
    let own_data =
        matches!(engine, "Log" | "TinyLog" | "StripeLog" | "Set" | "Join" | "File" | "EmbeddedRocksDB");
    let mut row = vec![
        ("database", Value::from(database)),
        ("name", Value::from(name)),
        ("engine", Value::from(engine)),
        ("is_temporary", Value::from(database.is_empty())),
        ("create_table_query", Value::from(statement.create.as_str())),
        ("engine_full", Value::from(statement.engine.as_str())),
        (
            "as_select",
            Value::from(statement.select.as_deref().or(entry.table.view_query()).unwrap_or_default()),
        ),
        ("partition_key", Value::from(keys.map_or("", |keys| &*keys.partition))),
        ("sorting_key", Value::from(statement.sorting_key.as_deref().unwrap_or(&sorting_key))),
        ("primary_key", Value::from(statement.primary_key.as_deref().unwrap_or(&primary_key))),
        ("sampling_key", Value::from(keys.map_or("", |keys| &*keys.sampling))),
        ("skipping_indices_types", Value::Array(indexes.iter().map(|i| Value::from(i.as_str())).collect())),
        ("total_rows", optional(entry.table.total_rows().filter(|_| !is_system(database)))),
        ("total_bytes", optional(entry.table.total_bytes())),
        ("comment", Value::from(&*entry.comment)),
        ("has_own_data", Value::from(own_data)),
    ];
    if let Some(folder) = entry.table.folder() {
        let path = format!("{}/", folder.path().display());
        row.push(("data_paths", Value::Array(vec![Value::from(path.as_str())])));
    }
    for (column, shown) in
        [("partition_key", &statement.partition_key), ("sampling_key", &statement.sampling_key)]
    {
        row.extend(shown.as_deref().map(|shown| (column, Value::from(shown))));
    }
    if let Some(of) = entry.table.as_any().downcast_ref::<MergeTree>() {
        row.push(("storage_policy", Value::from("default")));
        row.push(("has_own_data", Value::from(true)));
        // The error of a damaged table comes when it is used.
        if let Ok(state) = of.parts().snapshot() {
            let count = Value::UInt(state.parts.len() as u64);
            let marks = state.parts.iter().map(|part| of.definition().granules(part.info.rows) + 1).sum();
            let raw = state.parts.iter().map(|part| part.info.raw_bytes).sum();
            row.extend([
                ("parts", count.clone()),
                ("active_parts", count),
                ("total_marks", Value::UInt(marks)),
                ("total_bytes_uncompressed", Value::UInt(raw)),
            ]);
        }
    }
    if let Some(view) = entry.table.as_any().downcast_ref::<MaterializedView>()
        && let ViewTarget::Named(database, name) = &view.target
    {
        row.push(("target_database", Value::from(database.as_str())));
        row.push(("target_table", Value::from(name.as_str())));
    }
    row
}

/// What the statement that made a table says, each in one line.
#[derive(Default)]
struct Definition {
    create: String,
    engine: String,
    select: Option<String>,
    partition_key: Option<String>,
    sampling_key: Option<String>,
    sorting_key: Option<String>,
    primary_key: Option<String>,
}

impl Definition {
    fn of(create: &str, comment: &str, keys: Option<&TableKeys>) -> Definition {
        let parsed = chalet_syntax::parse_printed(create).ok().and_then(|mut statements| statements.pop());
        let Some(statement) = parsed.filter(|_| !create.is_empty()) else {
            return Definition {
                create: in_one_line(create),
                engine: engine_full(create, comment),
                ..Default::default()
            };
        };
        let mut definition = Definition { create: statement.to_string(), ..Default::default() };
        match &statement.kind {
            StatementKind::CreateTable(create) => {
                let storage = &create.storage;
                definition.engine = print::engine_full(storage);
                let listed =
                    |exprs: &[&Expr]| exprs.iter().map(|e| e.to_string()).collect::<Vec<_>>().join(", ");
                let elements = |expr: &Expr| match &expr.kind {
                    ExprKind::Call(call) if call.name == "tuple" => {
                        listed(&call.args.iter().collect::<Vec<_>>())
                    }
                    _ => expr.to_string(),
                };
                let sorting = storage.order_by.as_ref();
                definition.sampling_key = storage.sample_by.as_ref().map(ToString::to_string);
                definition.partition_key = storage.partition_by.as_ref().map(ToString::to_string);
                let sorting = sorting.map(|items| written_keys(items));
                // The version of a VersionedCollapsingMergeTree is a key too, but is not written as one.
                let sorting =
                    sorting.filter(|written| written.len() == keys.map_or(0, |keys| keys.sorting.len()));
                // The parentheses of `(k DESC)` are the list's.
                let key = |(expr, descending): (&Expr, bool)| match descending {
                    true => print::bare_expr(expr),
                    false => expr.to_string(),
                };
                definition.sorting_key =
                    sorting.map(|written| written.into_iter().map(key).collect::<Vec<_>>().join(", "));
                definition.primary_key =
                    storage.primary_key.as_ref().map(elements).or_else(|| definition.sorting_key.clone());
            }
            StatementKind::CreateView(view) => definition.select = Some(print::one_line_query(&view.query)),
            _ => definition.engine = engine_full(create, comment),
        }
        definition
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The engine with its clauses, from a statement that is not parsed.
fn engine_full(create: &str, comment: &str) -> String {
    let Some((_, engine)) = create.split_once("\nENGINE = ") else { return String::new() };
    let commented = (!comment.is_empty()).then(|| engine.rfind("\nCOMMENT "));
    in_one_line(&engine[..commented.flatten().unwrap_or(engine.len())])
}

pub(crate) fn columns(ctx: &QueryContext, others: &[(&str, &str, Arc<dyn Table>)]) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    for (database, name, entry) in all_tables(ctx, others)? {
        let keys = ColumnsOfKeys::of(entry.table.keys());
        for (i, column) in entry.table.schema().columns.iter().filter(|c| !c.is_virtual).enumerate() {
            let mut row = row_of_column(column, &keys);
            row.extend([
                ("database", Value::from(database.as_str())),
                ("table", Value::from(name.as_str())),
                ("position", Value::UInt(i as u64 + 1)),
            ]);
            rows.push(row);
        }
    }
    table("columns", rows)
}

fn row_of_column(column: &ColumnSchema, keys: &ColumnsOfKeys) -> SparseRow {
    let (kind, expression) = shown_default(column);
    let ty = column.declared_type();
    let codec = if column.codec.is_empty() { String::new() } else { format!("CODEC({})", column.codec) };
    let name = &*column.name;
    let optional = |n: Option<u64>| n.map_or(Value::Null, Value::UInt);
    // As in the kernel, dictionaries have none of these.
    let bare = if matches!(column.ty, DataType::LowCardinality(_)) { &column.ty } else { column.ty.bare() };
    let decimal = match bare {
        DataType::Decimal { precision, scale } => Some((u64::from(*precision), 10, u64::from(*scale))),
        DataType::Bool => Some((8, 2, 0)),
        ty if ty.is_integer() => ty.physical().width().map(|bytes| (bytes as u64 * 8, 2, 0)),
        _ => None,
    };
    let length = match bare {
        DataType::FixedString(n) => Some(u64::from(*n)),
        _ => None,
    };
    let fraction = match bare {
        DataType::DateTime64(scale, _) => Some(u64::from(*scale)),
        DataType::Date | DataType::Date32 | DataType::DateTime(_) => Some(0),
        _ => None,
    };
    vec![
        ("name", Value::from(name)),
        ("type", Value::from(ty.as_str())),
        ("default_kind", Value::from(kind)),
        ("default_expression", Value::from(expression.as_str())),
        ("comment", Value::from(&*column.comment)),
        ("is_in_partition_key", Value::from(keys.partition.contains(name))),
        ("is_in_sorting_key", Value::from(keys.sorting.contains(name))),
        ("is_in_primary_key", Value::from(keys.primary.contains(name))),
        ("is_in_sampling_key", Value::from(keys.sampling.contains(name))),
        ("compression_codec", Value::from(codec.as_str())),
        ("character_octet_length", optional(length)),
        ("numeric_precision", optional(decimal.map(|d| d.0))),
        ("numeric_precision_radix", optional(decimal.map(|d| d.1))),
        ("numeric_scale", optional(decimal.map(|d| d.2))),
        ("datetime_precision", optional(fraction)),
        ("serialization_hint", Value::Null),
    ]
}

/// The names that stand in the keys of a table.
#[derive(Default)]
pub(crate) struct ColumnsOfKeys {
    partition: HashSet<String>,
    pub(crate) sorting: HashSet<String>,
    pub(crate) primary: HashSet<String>,
    sampling: HashSet<String>,
}

impl ColumnsOfKeys {
    pub(crate) fn of(keys: Option<&TableKeys>) -> ColumnsOfKeys {
        let Some(keys) = keys else { return ColumnsOfKeys::default() };
        let names = |texts: &mut dyn Iterator<Item = &str>| {
            let mut names = HashSet::new();
            for text in texts {
                let Ok(written) = chalet_syntax::parse_expression(text) else { continue };
                chalet_syntax::visit::walk(&written, &mut |e| {
                    if let ExprKind::Identifier(parts) = &e.kind {
                        names.insert(
                            parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("."),
                        );
                    }
                    true
                });
            }
            names
        };
        let sorting = || keys.sorting.iter().map(|key| &*key.expr);
        ColumnsOfKeys {
            partition: names(&mut std::iter::once(&*keys.partition)),
            sorting: names(&mut sorting()),
            primary: names(&mut sorting().take(keys.n_primary)),
            sampling: names(&mut std::iter::once(&*keys.sampling)),
        }
    }
}
