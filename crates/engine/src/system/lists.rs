//! What the engine has of something: engines, combinators, kinds of indexes, time zones, disks.

use super::rows;
use super::structures::{self, SparseRow};
use crate::dictionaries::declared::SOURCES;
use crate::dictionaries::layout;
use crate::query_context::QueryContext;
use crate::table_engines::TABLE_ENGINES;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{TimeZone, Value};
use std::sync::Arc;

/// Engines that CREATE VIEW makes tables of.
const VIEWS: [&str; 2] = ["MaterializedView", "View"];

/// The kinds of data skipping indexes.
const INDEX_TYPES: [&str; 5] = ["minmax", "set", "bloom_filter", "tokenbf_v1", "ngrambf_v1"];

fn named(table: &str, names: impl Iterator<Item = String>) -> Result<Arc<dyn Table>> {
    structures::table(table, names.map(|name| vec![("name", Value::from(name.as_str()))]).collect())
}

pub(super) fn combinators() -> Result<Arc<dyn Table>> {
    rows::combinators(|name| chalet_aggregates::combinators::suffixes().any(|suffix| suffix == name))
}

/// Engines of databases: one in memory is Memory, one at a path Atomic.
pub(super) fn database_engines() -> Result<Arc<dyn Table>> {
    named("database_engines", ["Atomic", "Memory"].into_iter().map(str::to_owned))
}

pub(super) fn dictionary_layouts() -> Result<Arc<dyn Table>> {
    let rows = layout::names().map(|(name, is_complex)| -> SparseRow {
        vec![("name", Value::from(name)), ("is_complex", Value::from(is_complex))]
    });
    structures::table("dictionary_layouts", rows.collect())
}

pub(super) fn dictionary_sources() -> Result<Arc<dyn Table>> {
    named("dictionary_sources", SOURCES.iter().map(|name| (*name).to_owned()))
}

pub(super) fn disk_types() -> Result<Arc<dyn Table>> {
    named("disk_types", std::iter::once("local".to_owned()))
}

/// What the engine may be used under: its own licence.
pub(super) fn licenses() -> Result<Arc<dyn Table>> {
    let row = vec![
        ("library_name", Value::from("chalet")),
        ("license_type", Value::from("Apache")),
        ("license_path", Value::from("/LICENSE")),
        ("license_text", Value::from(include_str!("../../../../LICENSE"))),
    ];
    structures::table("licenses", vec![row])
}

/// Where users are from: those of the program that embeds the engine.
pub(super) fn user_directories() -> Result<Arc<dyn Table>> {
    let row = vec![
        ("name", Value::from("users_xml")),
        ("type", Value::from("users_xml")),
        ("params", Value::from("{}")),
        ("precedence", Value::UInt(1)),
    ];
    structures::table("user_directories", vec![row])
}

pub(super) fn index_types() -> Result<Arc<dyn Table>> {
    named("data_skipping_index_types", INDEX_TYPES.iter().map(|name| (*name).to_owned()))
}

pub(super) fn table_engines() -> Result<Arc<dyn Table>> {
    rows::table_engines(|name| TABLE_ENGINES.contains(&name) || VIEWS.contains(&name))
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
