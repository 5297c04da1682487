//! Databases and their tables, in memory. Every change is atomic under one lock.

use crate::Table;
use chalet_base::{Result, bail, ensure, err, suggest};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A table and the statement that made it.
#[derive(Clone)]
pub struct Entry {
    pub table: Arc<dyn Table>,
    /// `CREATE TABLE ...` as SHOW CREATE prints it.
    pub create_sql: Arc<str>,
    pub comment: Arc<str>,
}

#[derive(Clone, Default)]
pub struct Database {
    pub tables: BTreeMap<String, Entry>,
    pub comment: String,
}

/// All databases. `default` is there from the start.
pub struct Catalog {
    databases: RwLock<BTreeMap<String, Database>>,
}

impl Default for Catalog {
    fn default() -> Self {
        let databases = BTreeMap::from([("default".to_string(), Database::default())]);
        Catalog { databases: RwLock::new(databases) }
    }
}

impl Catalog {
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Database>> {
        self.databases.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Database>> {
        self.databases.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn database_names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    pub fn database_exists(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// All tables of a database, by name.
    pub fn tables(&self, database: &str) -> Result<Vec<(String, Entry)>> {
        let databases = self.read();
        let found = databases.get(database).ok_or_else(|| unknown_database(database))?;
        Ok(found.tables.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect())
    }

    pub fn find(&self, database: &str, name: &str) -> Option<Entry> {
        self.read().get(database)?.tables.get(name).cloned()
    }

    /// The table, or the kernel's error with the nearest names.
    pub fn table(&self, database: &str, name: &str) -> Result<Entry> {
        let databases = self.read();
        let found = databases.get(database).ok_or_else(|| unknown_database(database))?;
        found.tables.get(name).cloned().ok_or_else(|| {
            match suggest::nearest(name, found.tables.keys().map(String::as_str), 1).first() {
                Some(near) => {
                    err!(
                        UNKNOWN_TABLE,
                        "Table {database}.{name} does not exist. Maybe you meant {database}.{near}?"
                    )
                }
                None => err!(UNKNOWN_TABLE, "Table {database}.{name} does not exist"),
            }
        })
    }

    pub fn create_database(&self, name: &str, if_not_exists: bool, comment: &str) -> Result<()> {
        let mut databases = self.write();
        if databases.contains_key(name) {
            ensure!(if_not_exists, DATABASE_ALREADY_EXISTS, "Database {name} already exists");
            return Ok(());
        }
        databases.insert(name.to_string(), Database { comment: comment.to_string(), ..Database::default() });
        Ok(())
    }

    pub fn drop_database(&self, name: &str, if_exists: bool) -> Result<()> {
        if self.write().remove(name).is_none() && !if_exists {
            return Err(unknown_database(name));
        }
        Ok(())
    }

    pub fn create_table(
        &self,
        database: &str,
        name: &str,
        entry: Entry,
        if_not_exists: bool,
        replace: bool,
    ) -> Result<()> {
        let mut databases = self.write();
        let found = databases.get_mut(database).ok_or_else(|| unknown_database(database))?;
        if found.tables.contains_key(name) && !replace {
            ensure!(if_not_exists, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
            return Ok(());
        }
        found.tables.insert(name.to_string(), entry);
        Ok(())
    }

    /// Removes a table; `false` when there was none and that is allowed.
    pub fn drop_table(&self, database: &str, name: &str, if_exists: bool) -> Result<bool> {
        let mut databases = self.write();
        let Some(found) = databases.get_mut(database) else {
            return if if_exists { Ok(false) } else { Err(unknown_database(database)) };
        };
        let removed = found.tables.remove(name).is_some();
        ensure!(removed || if_exists, UNKNOWN_TABLE, "Table {database}.{name} does not exist");
        Ok(removed)
    }

    /// Renames tables one after the other; nothing changes when one of them cannot be renamed.
    pub fn rename_tables(
        &self,
        pairs: &[((String, String), (String, String))],
        exchange: bool,
    ) -> Result<()> {
        let mut databases = self.write();
        let mut changed = databases.clone();
        for ((from_db, from), (to_db, to)) in pairs {
            let source = changed.get_mut(from_db).ok_or_else(|| unknown_database(from_db))?;
            let Some(entry) = source.tables.remove(from) else {
                bail!(UNKNOWN_TABLE, "Table {from_db}.{from} does not exist");
            };
            let target = changed.get_mut(to_db).ok_or_else(|| unknown_database(to_db))?;
            match target.tables.insert(to.clone(), entry) {
                None if exchange => bail!(UNKNOWN_TABLE, "Table {to_db}.{to} does not exist"),
                Some(other) if exchange => {
                    let source = changed.get_mut(from_db).ok_or_else(|| unknown_database(from_db))?;
                    source.tables.insert(from.clone(), other);
                }
                Some(_) => bail!(TABLE_ALREADY_EXISTS, "Table {to_db}.{to} already exists"),
                None => {}
            }
        }
        *databases = changed;
        Ok(())
    }

    pub fn rename_database(&self, from: &str, to: &str) -> Result<()> {
        let mut databases = self.write();
        ensure!(!databases.contains_key(to), DATABASE_ALREADY_EXISTS, "Database {to} already exists");
        let found = databases.remove(from).ok_or_else(|| unknown_database(from))?;
        databases.insert(to.to_string(), found);
        Ok(())
    }
}

#[cold]
fn unknown_database(name: &str) -> chalet_base::Error {
    err!(UNKNOWN_DATABASE, "Database {name} does not exist")
}
