//! What the sessions of one database share. How one is opened stands in `on_disk`, how a session of it is made in `session`.

use crate::backup::Backups;
use crate::fork_guard::ForkGuard;
use crate::server::Server;
use crate::sql_functions::SqlFunctions;
use chalet_base::Result;
use chalet_storage::Catalog;
use chalet_storage::disk::Store;
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
    pub backups: Backups,
    /// Where statements are run, if not here.
    pub server: Option<Server>,
    /// Loads what another process has changed; `None` in memory.
    reload: Option<Reload>,
    /// Told when the last session is gone, before the lock is given back.
    close: Option<Close>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(close) = self.close {
            close(self);
        }
    }
}

/// Reads the definitions on disk anew.
pub(crate) type Reload = fn(&Database) -> Result<()>;

/// Ends what is still at work for the database.
pub(crate) type Close = fn(*const Shared);

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
    /// What the user should know about what was found on disk; each is told once. `system.warnings` has all of them.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.warnings.untold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Loads what another process has changed since the last time.
    pub(crate) fn refresh(&self) -> Result<()> {
        match (self.shared.catalog.store(), self.shared.reload) {
            (Some(store), Some(reload)) if store.is_read_only() && store.has_changed() => reload(self),
            _ => Ok(()),
        }
    }

    /// What the kernel calls the engine of a database like this.
    pub(crate) fn engine(&self) -> &'static str {
        if self.shared.catalog.store().is_some() { "Atomic" } else { "Memory" }
    }

    /// A server's, with nothing of its own.
    pub(crate) fn of_server(server: Server) -> Database {
        let mut shared = Shared::default();
        shared.server = Some(server);
        Database { shared: Arc::new(shared) }
    }

    /// A database without tables over a store.
    pub(crate) fn on_disk(store: Store, reload: Reload, close: Close) -> Database {
        let store = Some(Arc::new(store));
        let shared = Shared {
            catalog: Catalog::new(store.clone()),
            functions: SqlFunctions::new(store),
            warnings: Warnings::default(),
            fork_guard: ForkGuard::default(),
            backups: Backups::default(),
            server: None,
            reload: Some(reload),
            close: Some(close),
        };
        Database { shared: Arc::new(shared) }
    }
}
