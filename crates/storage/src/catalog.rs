//! Databases and their tables. Every change is atomic under one lock; of a database on disk it is on disk before it is seen.

use crate::Table;
use crate::detached::Detached;
use crate::disk::{Definition, DefinitionFile, DefinitionKind, Store, TableFolder};
use crate::view::MaterializedView;
use chalet_base::{Result, bail, ensure, err, suggest};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A table and the statement that made it.
#[derive(Clone)]
pub struct Entry {
    pub table: Arc<dyn Table>,
    /// What the statement makes: `TABLE`, `VIEW`.
    pub kind: &'static str,
    /// The statement from behind the name on, as SHOW CREATE prints it; empty where no statement made the table.
    pub definition: Arc<str>,
    pub comment: Arc<str>,
}

impl Entry {
    /// `CREATE TABLE ...` as SHOW CREATE prints it.
    pub fn create_sql(&self, database: Option<&str>, name: &str) -> String {
        if self.definition.is_empty() {
            return String::new();
        }
        let database = database.map_or(String::new(), |database| format!("{}.", quoted(database)));
        format!("CREATE {} {database}{}{}", self.kind, quoted(name), self.definition)
    }
}

/// A name, in backquotes where it must be.
pub fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_string() } else { in_backquotes(name) }
}

/// An identifier quoted for SQL and for messages.
pub fn in_backquotes(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// The tables of one database, by name.
#[derive(Clone, Default)]
pub struct Database {
    pub tables: BTreeMap<String, Entry>,
    /// Taken away by DETACH, until ATTACH; never a name of `tables`.
    pub detached: BTreeMap<String, Detached>,
    pub comment: String,
    /// The engine that CREATE DATABASE named, where it is not the usual one.
    pub engine: Option<Arc<str>>,
}

/// A table that takes the place of another.
pub struct Replacement {
    pub database: String,
    pub name: String,
    pub old: Arc<dyn Table>,
    pub new: Entry,
}

/// All databases. By itself those that are attached.
#[derive(Clone, Default)]
pub(crate) struct Databases {
    attached: BTreeMap<String, Database>,
    /// Taken away by DETACH DATABASE; never a name of `attached`.
    pub detached: BTreeMap<String, Database>,
}

impl Databases {
    fn both(&self) -> impl Iterator<Item = (&String, &Database)> {
        self.attached.iter().chain(&self.detached)
    }
}

impl Deref for Databases {
    type Target = BTreeMap<String, Database>;

    fn deref(&self) -> &Self::Target {
        &self.attached
    }
}

impl DerefMut for Databases {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.attached
    }
}

/// All databases. `default` is there from the start.
pub struct Catalog {
    databases: RwLock<Databases>,
    /// Where they are kept; `None` in memory.
    store: Option<Arc<Store>>,
    /// Held by a change of what is on disk.
    changing: Mutex<()>,
}

impl Default for Catalog {
    fn default() -> Self {
        Catalog::new(None)
    }
}

impl Catalog {
    /// A catalog with an empty database `default`, kept in `store` or in memory alone.
    pub fn new(store: Option<Arc<Store>>) -> Catalog {
        let attached = BTreeMap::from([("default".to_string(), Database::default())]);
        let databases = Databases { attached, ..Databases::default() };
        Catalog { databases: RwLock::new(databases), store, changing: Mutex::new(()) }
    }

    /// Where tables are kept; `None` in memory.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.store.as_ref()
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Databases> {
        self.databases.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Databases> {
        self.databases.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes databases. `change` fails before it changes anything, or works on a copy.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut Databases) -> Result<R>) -> Result<R> {
        let Some(store) = &self.store else { return change(&mut self.write()) };
        // Those who only look tables up do not wait for the disk.
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        store.check_writable()?;
        let mut changed = self.read().clone();
        let result = change(&mut changed)?;
        store.write(DefinitionFile::Catalog, &definitions(&changed))?;
        let before = std::mem::replace(&mut *self.write(), changed);
        folders(&before).for_each(|folder| folder.set_kept(false));
        folders(&self.read()).for_each(|folder| folder.set_kept(true));
        // Here folders go that nobody names any more.
        drop(before);
        Ok(result)
    }

    /// Writes what is there, for a database that is new on disk.
    pub fn keep(&self) -> Result<()> {
        self.change(|_| Ok(()))
    }

    /// Puts what was found on disk in the place of everything.
    pub fn load(&self, databases: BTreeMap<String, Database>) {
        *self.write() = Databases { attached: databases, ..Databases::default() };
    }

    /// The names of all databases, sorted.
    pub fn database_names(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    /// Is there a database of this name?
    pub fn database_exists(&self, name: &str) -> bool {
        self.read().contains_key(name)
    }

    /// The comment of a database, when there is one of that name.
    pub fn database_comment(&self, name: &str) -> Option<String> {
        self.read().get(name).map(|database| database.comment.clone())
    }

    /// The engine of a database, when it was created with another than the usual one.
    pub fn database_engine(&self, name: &str) -> Option<Arc<str>> {
        self.read().get(name)?.engine.clone()
    }

    /// Gives a database another comment. Fails when there is none of the name.
    pub fn comment_database(&self, name: &str, comment: &str) -> Result<()> {
        self.change(|databases| {
            databases.get_mut(name).ok_or_else(|| unknown_database(name))?.comment = comment.to_string();
            Ok(())
        })
    }

    /// All tables of a database, by name.
    pub fn tables(&self, database: &str) -> Result<Vec<(String, Entry)>> {
        let databases = self.read();
        let found = databases.get(database).ok_or_else(|| unknown_database(database))?;
        Ok(found.tables.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect())
    }

    /// Databases, names and entries of all tables and views for which `wanted` holds.
    pub fn matching(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<((String, String), Entry)> {
        let databases = self.read();
        let mut found = Vec::new();
        for (database, tables) in databases.iter() {
            let of_database = tables.tables.iter().filter(|(_, entry)| wanted(entry));
            found.extend(of_database.map(|(name, entry)| ((database.clone(), name.clone()), entry.clone())));
        }
        found
    }

    /// The table or view of this name, if the database has one.
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

    /// Puts tables in the place of others, all at once. False where one of these is not there any more.
    pub fn replace(&self, replaced: &[Replacement]) -> Result<bool> {
        let is_there = |databases: &Databases| {
            replaced.iter().all(|one| {
                let found = databases.get(&one.database).and_then(|found| found.tables.get(&one.name));
                found.is_some_and(|found| Arc::ptr_eq(&found.table, &one.old))
            })
        };
        // Most of those who come too late need no look at the disk.
        if !is_there(&self.read()) {
            return Ok(false);
        }
        self.change(|databases| {
            if !is_there(databases) {
                return Ok(false);
            }
            for one in replaced {
                if let Some(found) = databases.get_mut(&one.database) {
                    found.tables.insert(one.name.clone(), one.new.clone());
                }
            }
            Ok(true)
        })
    }

    /// Adds an empty database. Fails when there is one of the name, unless `if_not_exists`, or when the disk cannot be
    /// written.
    pub fn create_database(&self, name: &str, if_not_exists: bool, comment: &str) -> Result<()> {
        self.create_database_of(name, if_not_exists, comment, None)
    }

    /// The same of a database with an engine.
    pub fn create_database_of(
        &self,
        name: &str,
        if_not_exists: bool,
        comment: &str,
        engine: Option<Arc<str>>,
    ) -> Result<()> {
        if if_not_exists && self.database_exists(name) {
            return Ok(());
        }
        self.change(|databases| {
            ensure!(
                if_not_exists || !databases.contains_key(name),
                DATABASE_ALREADY_EXISTS,
                "Database {name} already exists"
            );
            ensure!(
                !databases.detached.contains_key(name),
                DATABASE_ALREADY_EXISTS,
                "Database {name} already exists (detached)"
            );
            let made =
                || Database { comment: comment.to_string(), engine: engine.clone(), ..Database::default() };
            databases.entry(name.to_string()).or_insert_with(made);
            Ok(())
        })
    }

    /// Removes a database and its tables. Fails when there is none of the name, unless `if_exists`.
    pub fn drop_database(&self, name: &str, if_exists: bool) -> Result<()> {
        if if_exists && !self.database_exists(name) {
            return Ok(());
        }
        self.change(|databases| match databases.remove(name) {
            None if !if_exists => Err(unknown_database(name)),
            _ => Ok(()),
        })
    }

    /// Adds a table or view. Fails when the database is missing or has one of the name, unless `if_not_exists`.
    pub fn create_table(
        &self,
        database: &str,
        name: &str,
        entry: Entry,
        if_not_exists: bool,
        replace: bool,
    ) -> Result<()> {
        self.change(|databases| {
            let found = databases.get_mut(database).ok_or_else(|| unknown_database(database))?;
            if found.tables.contains_key(name) && !replace {
                ensure!(if_not_exists, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
                return Ok(());
            }
            if if_not_exists && found.detached.contains_key(name) {
                return Ok(());
            }
            found.check_not_detached(database, name)?;
            found.tables.insert(name.to_string(), entry);
            Ok(())
        })
    }

    /// Removes all tables of a database but those that are detached.
    pub fn drop_tables(&self, database: &str) -> Result<()> {
        self.change(|databases| {
            databases.get_mut(database).ok_or_else(|| unknown_database(database))?.tables.clear();
            Ok(())
        })
    }

    /// Removes a table; `false` when there was none and that is allowed.
    pub fn drop_table(&self, database: &str, name: &str, if_exists: bool) -> Result<bool> {
        if if_exists && self.find(database, name).is_none() {
            return Ok(false);
        }
        self.change(|databases| {
            let found = databases.get_mut(database).ok_or_else(|| unknown_database(database))?;
            let removed = found.tables.remove(name).is_some();
            ensure!(removed || if_exists, UNKNOWN_TABLE, "Table {database}.{name} does not exist");
            Ok(removed)
        })
    }

    /// Renames tables one after the other; nothing changes when one of them cannot be renamed.
    pub fn rename_tables(
        &self,
        pairs: &[((String, String), (String, String))],
        exchange: bool,
    ) -> Result<()> {
        self.change(|databases| {
            let mut changed = databases.clone();
            for ((from_db, from), (to_db, to)) in pairs {
                if (from_db, from) == (to_db, to) {
                    let is_there =
                        changed.get(from_db).is_some_and(|source| source.tables.contains_key(from));
                    ensure!(is_there, UNKNOWN_TABLE, "Table {from_db}.{from} does not exist");
                    ensure!(exchange, TABLE_ALREADY_EXISTS, "Table {to_db}.{to} already exists");
                    continue;
                }
                let source = changed.get_mut(from_db).ok_or_else(|| unknown_database(from_db))?;
                let Some(entry) = source.tables.remove(from) else {
                    bail!(UNKNOWN_TABLE, "Table {from_db}.{from} does not exist");
                };
                let target = changed.get_mut(to_db).ok_or_else(|| unknown_database(to_db))?;
                if !exchange {
                    target.check_not_detached(to_db, to)?;
                }
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
        })
    }

    /// Gives a database another name. Fails when there is none of the first name or one of the second.
    pub fn rename_database(&self, from: &str, to: &str) -> Result<()> {
        self.change(|databases| {
            let is_taken = databases.contains_key(to) || databases.detached.contains_key(to);
            ensure!(!is_taken, DATABASE_ALREADY_EXISTS, "Database {to} already exists");
            let found = databases.remove(from).ok_or_else(|| unknown_database(from))?;
            databases.insert(to.to_string(), found);
            Ok(())
        })
    }
}

fn folders(databases: &Databases) -> impl Iterator<Item = &Arc<TableFolder>> {
    let entries = databases.both().flat_map(|(_, database)| {
        database.tables.values().chain(database.detached.values().map(|detached| &detached.entry))
    });
    entries.filter_map(|entry| entry.table.folder())
}

/// The databases as they are kept on disk.
fn definitions(databases: &Databases) -> Vec<Definition> {
    let mut all = Vec::new();
    for (database, Database { tables, detached, comment, .. }) in databases.both() {
        let shown = in_backquotes(database);
        // What is detached for a time only is there again when the database is opened again, as the kernel has it.
        let tables = tables.iter().map(|(name, entry)| (DefinitionKind::Table, name, entry));
        let detached = detached.iter().map(|(name, detached)| match detached.is_permanent {
            true => (DefinitionKind::Detached, name, &detached.entry),
            false => (DefinitionKind::Table, name, &detached.entry),
        });
        all.push(Definition {
            kind: DefinitionKind::Database,
            folder: 0,
            database: database.clone(),
            name: String::new(),
            text: comment.clone(),
        });
        for (kind, name, entry) in tables.chain(detached) {
            let definition = Definition {
                kind,
                folder: entry.table.folder().map_or(0, |folder| folder.number()),
                database: database.clone(),
                name: name.clone(),
                text: format!("CREATE {} {shown}.{}{}", entry.kind, in_backquotes(name), entry.definition),
            };
            let view = entry.table.as_any().downcast_ref::<MaterializedView>();
            let last = view.and_then(|view| view.refresh.as_ref()).and_then(|refresh| refresh.last);
            let refreshed = last.filter(|_| kind == DefinitionKind::Table).map(|last| Definition {
                kind: DefinitionKind::Refreshed,
                folder: 0,
                text: last.to_string(),
                ..definition.clone()
            });
            all.push(definition);
            all.extend(refreshed);
        }
    }
    all
}

#[cold]
pub(crate) fn unknown_database(name: &str) -> chalet_base::Error {
    err!(UNKNOWN_DATABASE, "Database {name} does not exist")
}
