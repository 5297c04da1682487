//! The tables of the `system` database: made when they are read.

mod backups;
mod catalog;
mod clusters;
mod constraints;
mod detached;
mod dictionaries;
mod functions;
mod indexes;
mod lists;
mod logs;
mod metrics;
pub(crate) mod names;
mod parts;
mod projections;
mod settings;
mod structures;

pub(crate) use catalog::ColumnsOfKeys;
pub(crate) use indexes::listed;

use crate::formats::FORMATS;
use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::fixed::FixedTable;
use chalet_storage::numbers::Sequence;
use chalet_storage::primes::Primes;
use chalet_types::{DataType, Value, families};
use std::sync::Arc;

/// A table of the system database by name.
pub(crate) fn table(name: &str, ctx: &QueryContext) -> Result<Option<Arc<dyn Table>>> {
    let sequence = |column, zeros, engine| Sequence { column, first: 0, step: 1, count: None, zeros, engine };
    Ok(Some(match name {
        "one" => Arc::new(FixedTable::one()),
        "numbers" | "numbers_mt" => Arc::new(sequence("number", false, "SystemNumbers")),
        "primes" => Arc::new(Primes { first: 0, count: None, step: 1 }),
        "zeros" | "zeros_mt" => Arc::new(sequence("zero", true, "SystemZeros")),
        "functions" => functions::functions(ctx)?,
        "table_functions" => functions::table_functions()?,
        "settings" => settings::settings(ctx)?,
        "server_settings" => settings::server_settings()?,
        "merge_tree_settings" => settings::merge_tree_settings()?,
        "data_skipping_indices" => indexes::data_skipping_indices(ctx)?,
        "parts" => parts::parts(ctx)?,
        "parts_columns" => parts::parts_columns(ctx)?,
        "mutations" => parts::mutations(ctx)?,
        "detached_parts" => parts::detached_parts(ctx)?,
        "constraints" => constraints::constraints(ctx)?,
        "projections" => projections::projections(ctx)?,
        "projection_parts" => projections::projection_parts(ctx)?,
        "projection_parts_columns" => projections::projection_parts_columns(ctx)?,
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

/// All but the two that describe tables, which would describe themselves without end.
fn others(ctx: &QueryContext) -> Result<Vec<(&'static str, Arc<dyn Table>)>> {
    let mut others = Vec::with_capacity(names::TABLES.len());
    for name in names::TABLES.iter().filter(|name| !matches!(**name, "tables" | "columns")) {
        others.extend(table(name, ctx)?.map(|table| (*name, table)));
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
    let header = [
        ("name", DataType::String),
        ("is_input", DataType::UInt8),
        ("is_output", DataType::UInt8),
        ("supports_parallel_parsing", DataType::UInt8),
        ("supports_parallel_formatting", DataType::UInt8),
    ];
    let rows = FORMATS.list().into_iter().map(|f| {
        vec![
            Value::from(f.name),
            Value::from(f.input.is_some()),
            Value::from(f.output.is_some()),
            Value::from(f.capabilities.parallel_parsing),
            Value::from(f.capabilities.parallel_formatting),
        ]
    });
    made("SystemFormats", &header, rows)
}

fn data_type_families() -> Result<Arc<dyn Table>> {
    let header =
        [("name", DataType::String), ("case_insensitive", DataType::UInt8), ("alias_to", DataType::String)];
    let rows = families::FAMILIES
        .iter()
        .map(|f| vec![Value::from(f.name), Value::from(f.case_insensitive), Value::from(f.alias_to)]);
    made("SystemTableDataTypeFamilies", &header, rows)
}
