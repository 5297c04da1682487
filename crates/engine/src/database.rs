//! What the sessions of one database share.

use crate::fork_guard::ForkGuard;
use crate::on_disk;
use crate::session::Session;
use crate::sql_functions::SqlFunctions;
use chalet_base::Result;
use chalet_storage::Catalog;
use chalet_storage::disk::Store;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A database: tables and functions made by SQL. Cheap to clone; dropped with the last clone and session.
#[derive(Clone, Default)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    pub catalog: Catalog,
    pub functions: SqlFunctions,
    pub warnings: Warnings,
    pub fork_guard: ForkGuard,
}

/// What was found to be not as it should when the database was opened.
#[derive(Default)]
pub(crate) struct Warnings {
    all: Mutex<Vec<String>>,
    untold: Mutex<Vec<String>>,
}

impl Warnings {
    pub fn add(&self, warnings: Vec<String>) {
        self.untold.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings.iter().cloned());
        self.all.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
    }

    pub fn all(&self) -> Vec<String> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Database {
    /// A database of its own for `:memory:` or nothing; else the one that is kept in the folder `path`, which is made
    /// when it is not there. One process can have it open like this; inside of a process all who open it share it.
    pub fn open(path: &str) -> Result<Database> {
        match path {
            "" | ":memory:" => Ok(Database::default()),
            path => on_disk::open_to_write(Path::new(path)),
        }
    }

    /// A database for reading. Another process may be writing it: each statement sees what is there when it begins.
    pub fn open_to_read(path: &str) -> Result<Database> {
        match path {
            "" | ":memory:" => Ok(Database::default()),
            path => on_disk::open_to_read(Path::new(path)),
        }
    }

    pub fn session(&self) -> Session {
        Session::new(self.clone())
    }

    /// What the user should know about what was found on disk; each is told once. `system.warnings` has all of them.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.warnings.untold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the kernel calls the engine of a database like this.
    pub(crate) fn engine(&self) -> &'static str {
        if self.shared.catalog.store().is_some() { "Atomic" } else { "Memory" }
    }

    pub(crate) fn on_disk(store: Store) -> Database {
        let store = Some(Arc::new(store));
        let shared = Shared {
            catalog: Catalog::new(store.clone()),
            functions: SqlFunctions::new(store),
            warnings: Warnings::default(),
            fork_guard: ForkGuard::default(),
        };
        Database { shared: Arc::new(shared) }
    }
}
