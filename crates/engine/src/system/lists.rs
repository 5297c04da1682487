//! What the engine has of something: engines, combinators, kinds of indexes, time zones, disks.

use super::structures::{self, SparseRow};
use crate::query_context::QueryContext;
use crate::table_engines::TABLE_ENGINES;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{TimeZone, Value};
use std::sync::Arc;

/// The kinds of data skipping indexes.
const INDEX_TYPES: [&str; 5] = ["minmax", "set", "bloom_filter", "tokenbf_v1", "ngrambf_v1"];

fn named(table: &str, names: impl Iterator<Item = String>) -> Result<Arc<dyn Table>> {
    structures::table(table, names.map(|name| vec![("name", Value::from(name.as_str()))]).collect())
}

pub(super) fn combinators() -> Result<Arc<dyn Table>> {
    named("aggregate_function_combinators", chalet_aggregates::combinators::suffixes().map(str::to_owned))
}

pub(super) fn index_types() -> Result<Arc<dyn Table>> {
    named("data_skipping_index_types", INDEX_TYPES.iter().map(|name| (*name).to_owned()))
}

pub(super) fn table_engines() -> Result<Arc<dyn Table>> {
    let rows = TABLE_ENGINES.iter().map(|&(name, takes_keys)| -> SparseRow {
        vec![
            ("name", Value::from(name)),
            ("supports_settings", Value::from(takes_keys)),
            ("supports_skipping_indices", Value::from(takes_keys)),
            ("supports_projections", Value::from(takes_keys)),
            ("supports_sort_order", Value::from(takes_keys)),
            ("supports_ttl", Value::from(takes_keys)),
            ("supports_parallel_insert", Value::from(takes_keys)),
        ]
    });
    structures::table("table_engines", rows.collect())
}

pub(super) fn time_zones() -> Result<Arc<dyn Table>> {
    let rows = TimeZone::names().into_iter().map(|name| vec![("time_zone", Value::from(name.as_str()))]);
    structures::table("time_zones", rows.collect())
}

/// The one disk: where the database is.
pub(super) fn disks(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let path = ctx.database.shared.catalog.store().map(|store| format!("{}/", store.root().display()));
    let row = vec![
        ("name", Value::from("default")),
        ("path", Value::from(path.unwrap_or_default().as_str())),
        ("type", Value::from("Local")),
        ("object_storage_type", Value::from("None")),
        ("metadata_type", Value::from("None")),
    ];
    structures::table("disks", vec![row])
}

pub(super) fn storage_policies() -> Result<Arc<dyn Table>> {
    let row = vec![
        ("policy_name", Value::from("default")),
        ("volume_name", Value::from("default")),
        ("volume_priority", Value::UInt(1)),
        ("disks", Value::Array([Value::from("default")].into_iter().collect())),
        ("perform_ttl_move_on_insert", Value::UInt(1)),
    ];
    structures::table("storage_policies", vec![row])
}
