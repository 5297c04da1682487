//! `system.metrics`: what there is of something at this moment, by the names that programs look for.

use super::structures;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

/// All metrics of the kernel. What is not told below is of something that there is not here, such as replicas: there are none.
const NAMES: &str = include_str!("metrics.txt");

pub(super) fn metrics(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let catalog = &ctx.database.shared.catalog;
    let databases = catalog.database_names().len();
    let tables = catalog.matching(|entry| entry.kind == "TABLE").len();
    let views = catalog.matching(|entry| entry.kind != "TABLE" && entry.kind != "DICTIONARY").len();
    let dictionaries = catalog.matching(|entry| entry.kind == "DICTIONARY").len();
    let value = |name: &str| -> i64 {
        match name {
            // The statement that asks.
            "Query" | "QueryNonInternal" => 1,
            "MemoryTracking" => ctx.control.memory.parent().map_or(0, |user| user.current()) as i64,
            "MemoryTrackingUncorrected" => chalet_memory::process::resident() as i64,
            "AttachedDatabase" => databases as i64,
            "AttachedTable" => tables as i64,
            "AttachedView" => views as i64,
            "AttachedDictionary" => dictionaries as i64,
            _ => 0,
        }
    };
    let rows =
        NAMES.lines().map(|name| vec![("metric", Value::from(name)), ("value", Value::Int(value(name)))]);
    structures::table("metrics", rows.collect())
}
