//! The tables of the `system` database: made when they are read.

mod backups;
mod build;
mod catalog;
mod clusters;
mod completions;
mod constraints;
mod detached;
mod dictionaries;
mod entities;
mod functions;
mod indexes;
mod information_schema;
mod lists;
mod logs;
mod metrics;
pub(crate) mod names;
mod part_details;
mod parts;
mod projections;
mod rows;
mod settings;
mod structures;
mod view_refreshes;

pub(crate) use catalog::ColumnsOfKeys;
pub(crate) use indexes::listed;

use crate::formats::FORMATS;
use crate::made_table::made;
use crate::query_context::QueryContext;
use crate::table_functions;
use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::fixed::FixedTable;
use chalet_storage::numbers::Sequence;
use chalet_storage::primes::Primes;
use chalet_syntax::ast::EntityKind;
use chalet_types::{DataType, Value, families};
use std::sync::Arc;
use structures::SparseRow;

/// A table of the system database by name.
pub(crate) fn table(name: &str, ctx: &QueryContext) -> Result<Option<Arc<dyn Table>>> {
    let sequence = |column, zeros, engine| Sequence { column, first: 0, step: 1, count: None, zeros, engine };
    Ok(Some(match name {
        "one" => Arc::new(FixedTable::one()),
        "numbers" | "numbers_mt" => Arc::new(sequence("number", false, "SystemNumbers")),
        "primes" => Arc::new(Primes { first: 0, count: None, step: 1 }),
        "zeros" | "zeros_mt" => Arc::new(sequence("zero", true, "SystemZeros")),
        "functions" => functions::functions(ctx)?,
        "workloads" => entities::table(name, EntityKind::Workload, ctx)?,
        "resources" => entities::table(name, EntityKind::Resource, ctx)?,
        "named_collections" => entities::table(name, EntityKind::NamedCollection, ctx)?,
        "table_functions" => rows::table_functions(|name| table_functions::NAMES.contains(&name))?,
        "build_options" => build::options()?,
        "completions" => completions::completions(ctx)?,
        "database_engines" => lists::database_engines()?,
        "dictionary_layouts" => lists::dictionary_layouts()?,
        "dictionary_sources" => lists::dictionary_sources()?,
        "licenses" => lists::licenses()?,
        "disk_types" => lists::disk_types()?,
        "user_directories" => lists::user_directories()?,
        "settings" => settings::settings(ctx)?,
        "server_settings" => settings::server_settings()?,
        "merge_tree_settings" | "replicated_merge_tree_settings" => settings::merge_tree_settings(name)?,
        "data_skipping_indices" => indexes::data_skipping_indices(ctx)?,
        "parts" => parts::parts(ctx)?,
        "parts_columns" => parts::parts_columns(ctx)?,
        "mutations" => parts::mutations(ctx)?,
        "detached_parts" => parts::detached_parts(ctx)?,
        "constraints" => constraints::constraints(ctx)?,
        "projections" => projections::projections(ctx)?,
        "projection_parts" => projections::projection_parts(ctx)?,
        "projection_parts_columns" => projections::projection_parts_columns(ctx)?,
        "view_refreshes" => view_refreshes::view_refreshes(ctx)?,
        "backups" => backups::backups(ctx)?,
        "clusters" => clusters::clusters(ctx)?,
        "metrics" => metrics::metrics(ctx)?,
        "aggregate_function_combinators" => lists::combinators()?,
        "data_skipping_index_types" => lists::index_types()?,
        "table_engines" => lists::table_engines()?,
        "time_zones" => lists::time_zones()?,
        "disks" => lists::disks(ctx)?,
        "storage_policies" => lists::storage_policies()?,
        "tables" => catalog::tables(ctx, &others(ctx)?)?,
        "columns" => catalog::columns(ctx, &others(ctx)?)?,
        "detached_tables" => detached::detached_tables(ctx)?,
        "dropped_tables" => detached::dropped_tables()?,
        "dictionaries" => dictionaries::dictionaries(ctx)?,
        "databases" => catalog::databases(ctx)?,
        "formats" => formats()?,
        "data_type_families" => data_type_families()?,
        "events" => settings::events(ctx)?,
        "warnings" => warnings(ctx)?,
        other => {
            refuse_access(other)?;
            if let Some(facts) = rows::table(other)? {
                return Ok(Some(facts));
            }
            if let Some(log) = logs::log(other, ctx)? {
                return Ok(Some(log));
            }
            return structures::empty(other);
        }
    }))
}

/// Fails for tables about users and their rights: as in the kernel's embedded form, nobody has the right to see them.
fn refuse_access(name: &str) -> Result<()> {
    let right = match name {
        "users" => "SHOW USERS",
        "grants" | "role_grants" => "SHOW USERS, SHOW ROLES",
        "roles" => "SHOW ROLES",
        "quotas" | "quota_limits" | "quota_usage" | "quotas_usage" => "SHOW QUOTAS",
        "row_policies" => "SHOW ROW POLICIES",
        "masking_policies" => "SHOW MASKING POLICIES",
        "settings_profiles" | "settings_profile_elements" => "SHOW SETTINGS PROFILES",
        _ => return Ok(()),
    };
    bail!(
        ACCESS_DENIED,
        "default: Not enough privileges. To execute this query, it's necessary to have the grant {right} ON *.*"
    )
}

/// A table of a database of the system by its name.
pub(crate) fn table_of(database: &str, name: &str, ctx: &QueryContext) -> Result<Option<Arc<dyn Table>>> {
    if database == names::SYSTEM { table(name, ctx) } else { information_schema::view(name) }
}

/// The names of the tables of a database of the system.
pub(crate) fn names_of(database: &str) -> Vec<&'static str> {
    if database == names::SYSTEM { names::TABLES.to_vec() } else { information_schema::names().collect() }
}

/// What SHOW CREATE prints of a view of the system.
pub(crate) fn create_sql(database: &str, name: &str) -> Result<Option<String>> {
    if database == names::SYSTEM { Ok(None) } else { information_schema::create_sql(database, name) }
}

/// All tables of the system with their databases. The two that describe tables would describe themselves without end: of these,
/// the columns alone.
fn others(ctx: &QueryContext) -> Result<Vec<(&'static str, &'static str, Arc<dyn Table>)>> {
    let mut others = Vec::with_capacity(names::TABLES.len());
    for &name in names::TABLES {
        let found = match name {
            "tables" | "columns" | "completions" => structures::empty(name)?,
            _ => table(name, ctx)?,
        };
        others.extend(found.map(|table| (names::SYSTEM, name, table)));
    }
    for database in names::NAMES.iter().filter(|name| **name != names::SYSTEM) {
        for name in information_schema::names() {
            others.extend(information_schema::view(name)?.map(|view| (*database, name, view)));
        }
    }
    Ok(others)
}

/// What was found when the database was opened.
fn warnings(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let format = DataType::LowCardinality(Arc::new(DataType::String));
    let header = [("message", DataType::String), ("message_format_string", format)];
    let rows = ctx.database.shared.warnings.all();
    made(
        "SystemWarnings",
        &header,
        rows.into_iter().map(|text| vec![Value::from(text.as_str()), Value::from("")]),
    )
}

fn formats() -> Result<Arc<dyn Table>> {
    let rows = FORMATS.list().into_iter().map(|format| -> SparseRow {
        let can = &format.capabilities;
        vec![
            ("name", Value::from(format.name)),
            ("is_input", Value::from(format.input.is_some())),
            ("is_output", Value::from(format.output.is_some())),
            ("supports_parallel_parsing", Value::from(can.parallel_parsing)),
            ("supports_parallel_formatting", Value::from(can.parallel_formatting)),
            ("is_tty_friendly", Value::from(can.tty_friendly)),
            ("content_type", Value::from(format.content_type)),
            ("supports_random_access", Value::from(can.random_access)),
            ("has_schema_inference", Value::from(can.schema_inference)),
            ("has_external_schema", Value::from(can.external_schema)),
            ("prefers_large_blocks", Value::from(can.prefers_large_blocks)),
            ("supports_append", Value::from(can.append_by_settings)),
            ("supports_subsets_of_columns", Value::from(can.subset_of_columns)),
        ]
    });
    structures::table("formats", rows.collect())
}

fn data_type_families() -> Result<Arc<dyn Table>> {
    let rows = families::FAMILIES.iter().map(|family| -> SparseRow {
        vec![
            ("name", Value::from(family.name)),
            ("case_insensitive", Value::from(family.case_insensitive)),
            ("alias_to", Value::from(family.alias_to)),
        ]
    });
    structures::table("data_type_families", rows.collect())
}
