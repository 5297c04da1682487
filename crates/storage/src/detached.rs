//! DETACH and ATTACH: tables and databases that are kept, and are not there until they are attached again.
//!
//! Nobody finds a detached table by its name, which stays taken. On disk the definition of one that is detached for a time
//! is as it was, so that it is there again when the database is opened anew; one that is detached permanently is not.

use crate::catalog::{Catalog, Database, Entry, unknown_database};
use chalet_base::{Result, ensure, err};

/// A table that DETACH has taken away.
#[derive(Clone)]
pub struct Detached {
    /// As it was, so that what still reads it and what attaches it again have the same table.
    pub entry: Entry,
    /// Also when the database is opened again.
    pub is_permanent: bool,
}

impl Database {
    /// Fails where the name is of a detached table.
    pub(crate) fn check_not_detached(&self, database: &str, name: &str) -> Result<()> {
        let Some(detached) = self.detached.get(name) else { return Ok(()) };
        let how = if detached.is_permanent { "detached permanently" } else { "detached" };
        Err(err!(TABLE_ALREADY_EXISTS, "Table `{database}`.`{name}` already exists ({how})"))
    }
}

impl Catalog {
    /// The detached table of this name, if the database has one.
    pub fn find_detached(&self, database: &str, name: &str) -> Option<Detached> {
        self.read().get(database)?.detached.get(name).cloned()
    }

    /// Database and name of all detached tables, and whether they are so permanently.
    pub fn detached_tables(&self) -> Vec<(String, String, bool)> {
        let databases = self.read();
        let of = |(name, database): (&String, &Database)| -> Vec<_> {
            let detached = database.detached.iter();
            detached.map(|(table, detached)| (name.clone(), table.clone(), detached.is_permanent)).collect()
        };
        databases.iter().flat_map(of).collect()
    }

    /// Takes a table away. Fails when there is none of the name.
    pub fn detach_table(&self, database: &str, name: &str, is_permanent: bool) -> Result<()> {
        self.change(|databases| {
            let found = databases.get_mut(database).ok_or_else(|| unknown_database(database))?;
            let entry = found.tables.remove(name);
            let entry = entry.ok_or_else(|| err!(UNKNOWN_TABLE, "Table {database}.{name} does not exist"))?;
            found.detached.insert(name.to_string(), Detached { entry, is_permanent });
            Ok(())
        })
    }

    /// Puts a detached table back, as `open` makes it from what there is of it. Nobody else attaches it meanwhile.
    pub fn attach_table(
        &self,
        database: &str,
        name: &str,
        open: impl FnOnce(&Entry) -> Result<Entry>,
    ) -> Result<()> {
        self.change(|databases| {
            let found = databases.get_mut(database).ok_or_else(|| unknown_database(database))?;
            let detached = found.detached.get(name);
            let detached = detached.ok_or_else(|| {
                err!(CANNOT_GET_CREATE_TABLE_QUERY, "Table `{database}`.`{name}` is not detached")
            })?;
            let entry = open(&detached.entry)?;
            found.detached.remove(name);
            found.tables.insert(name.to_string(), entry);
            Ok(())
        })
    }

    /// Takes a database and its tables away. Fails when there is none of the name.
    pub fn detach_database(&self, name: &str) -> Result<()> {
        self.change(|databases| {
            let found = databases.remove(name).ok_or_else(|| unknown_database(name))?;
            databases.detached.insert(name.to_string(), found);
            Ok(())
        })
    }

    /// Puts a detached database back; `false` where none of the name is detached.
    pub fn attach_database(&self, name: &str) -> Result<bool> {
        if !self.read().detached.contains_key(name) {
            return Ok(false);
        }
        self.change(|databases| {
            ensure!(!databases.contains_key(name), DATABASE_ALREADY_EXISTS, "Database {name} already exists");
            let Some(mut found) = databases.detached.remove(name) else { return Ok(false) };
            // The tables of a database that is attached are there, but for those that are detached permanently.
            let (permanent, back) = std::mem::take(&mut found.detached)
                .into_iter()
                .partition(|(_, detached)| detached.is_permanent);
            found.detached = permanent;
            let back: std::collections::BTreeMap<String, Detached> = back;
            found.tables.extend(back.into_iter().map(|(name, detached)| (name, detached.entry)));
            databases.insert(name.to_string(), found);
            Ok(true)
        })
    }
}
