//! `system.detached_tables` and `system.dropped_tables`.

use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{DataType, Value};
use std::sync::Arc;

pub(super) fn detached_tables(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let header = [
        ("database", DataType::String),
        ("table", DataType::String),
        ("uuid", DataType::Uuid),
        ("metadata_path", DataType::String),
        ("is_permanently", DataType::UInt8),
    ];
    let rows =
        ctx.database.shared.catalog.detached_tables().into_iter().map(|(database, table, permanent)| {
            vec![
                Value::from(database.as_str()),
                Value::from(table.as_str()),
                // Tables have no UUIDs.
                Value::string([0; 16]),
                Value::from(""),
                Value::from(permanent),
            ]
        });
    made("SystemDetachedTables", &header, rows)
}

/// Empty: a table that is dropped is gone at once.
pub(super) fn dropped_tables() -> Result<Arc<dyn Table>> {
    let header = [
        ("index", DataType::UInt32),
        ("database", DataType::String),
        ("table", DataType::String),
        ("uuid", DataType::Uuid),
        ("engine", DataType::String),
        ("metadata_dropped_path", DataType::String),
        ("table_dropped_time", DataType::DateTime(None)),
    ];
    made("SystemMarkedDroppedTables", &header, [])
}
