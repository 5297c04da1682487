//! The tables of the `system` database: made when they are read.

mod catalog;
mod functions;
mod settings;

use crate::functions::FORMATS;
use crate::scope::Scope;
use chalet_base::Result;
use chalet_columns::{Block, Builder, Column};
use chalet_storage::fixed::FixedTable;
use chalet_storage::numbers::Sequence;
use chalet_storage::{Table, TableSchema};
use chalet_types::{DataType, Value, families};
use std::sync::Arc;

/// Databases that are always there.
pub(crate) const NAMES: &[&str] = &["system"];

/// Sorted by name.
pub(crate) const TABLES: &[&str] = &[
    "columns",
    "data_type_families",
    "databases",
    "events",
    "formats",
    "functions",
    "numbers",
    "numbers_mt",
    "one",
    "server_settings",
    "settings",
    "table_functions",
    "tables",
    "warnings",
    "zeros",
    "zeros_mt",
];

pub(crate) fn is_system(database: &str) -> bool {
    NAMES.contains(&database)
}

/// A table of the system database by name.
pub(crate) fn table(name: &str, scope: &Scope) -> Result<Option<Arc<dyn Table>>> {
    let sequence = |column, zeros, engine| Sequence { column, first: 0, step: 1, count: None, zeros, engine };
    Ok(Some(match name {
        "one" => Arc::new(FixedTable::one()),
        "numbers" | "numbers_mt" => Arc::new(sequence("number", false, "SystemNumbers")),
        "zeros" | "zeros_mt" => Arc::new(sequence("zero", true, "SystemZeros")),
        "functions" => functions::functions(scope)?,
        "table_functions" => functions::table_functions()?,
        "settings" => settings::settings(scope)?,
        "server_settings" => settings::server_settings()?,
        "tables" => catalog::tables(scope)?,
        "columns" => catalog::columns(scope)?,
        "databases" => catalog::databases(scope)?,
        "formats" => formats()?,
        "data_type_families" => data_type_families()?,
        "events" => settings::events(scope)?,
        "warnings" => warnings(scope)?,
        _ => return Ok(None),
    }))
}

/// A table of rows made now.
pub(crate) fn made(
    engine: &str,
    header: &[(&str, DataType)],
    rows: impl IntoIterator<Item = Vec<Value>>,
) -> Result<Arc<dyn Table>> {
    made_as(engine, TableSchema::of(header.iter().map(|(name, ty)| (*name, ty.clone()))), rows)
}

/// The same; rows have the values of stored columns only.
pub(crate) fn made_as(
    engine: &str,
    schema: TableSchema,
    rows: impl IntoIterator<Item = Vec<Value>>,
) -> Result<Arc<dyn Table>> {
    let stored = schema.columns.iter().filter(|c| c.is_stored());
    let mut builders: Vec<Builder> = stored.map(|c| Builder::new(&c.ty)).collect();
    let mut n_rows = 0;
    for row in rows {
        for (builder, value) in builders.iter_mut().zip(&row) {
            builder.push_value(value)?;
        }
        n_rows += 1;
    }
    let columns = builders.into_iter().map(|b| Column::Flat(b.finish())).collect();
    Ok(Arc::new(FixedTable::new(engine, schema, vec![Block::new(columns, n_rows)])))
}

/// What was found when the database was opened.
fn warnings(scope: &Scope) -> Result<Arc<dyn Table>> {
    let format = DataType::LowCardinality(Arc::new(DataType::String));
    let header = [("message", DataType::String), ("message_format_string", format)];
    let rows = scope.database.shared.warnings.all();
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
