//! The Log family: rows in columns on disk, in memory where the database is.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::log::LogTable;
use chalet_storage::memory::MemoryTable;
use std::sync::Arc;

/// Without a name: each of the family adds its own, and other engines what they do otherwise.
pub(super) const LOG: Engine = Engine {
    name: "",
    takes_arguments: false,
    takes_keys: false,
    takes_partitions: false,
    takes_primary_key: false,
    settings: &[],
    other_settings: &["disk", "storage_policy"],
    create,
    open,
};

fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (name, schema) = (new.engine.name, schema_of(new.create, new.ctx)?);
    let table: Arc<dyn Table> = match new.store {
        None => Arc::new(MemoryTable::named(name, schema)),
        Some(store) => Arc::new(LogTable::create(name, schema, store.new_folder()?)?),
    };
    Ok((table, name.into()))
}

pub(super) fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let Some(folder) = found.folder else { bail!(CORRUPTED_DATA, "Table {} has no folder", found.name) };
    let (table, dropped) = LogTable::open(engine.name, stored_schema(&found.create.definition)?, folder)?;
    if dropped > 0 {
        found.warnings.push(format!(
            "Table {}: an INSERT was not finished when the database was last written. Its {dropped} bytes were dropped",
            found.name
        ));
    }
    Ok(Arc::new(table))
}
