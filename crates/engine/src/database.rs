//! What the sessions of one database share. How one is opened stands in `on_disk`, how a session of it is made in `session`.

use crate::backup::Backups;
use crate::entities::Entities;
use crate::fork_guard::ForkGuard;
use crate::server::Server;
use crate::sql_functions::SqlFunctions;
use chalet_base::{Result, ensure};
use chalet_storage::Catalog;
use chalet_storage::disk::Store;
use chalet_storage::merge_tree::part::Part;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A database: tables and functions made by SQL. Cheap to clone; dropped with the last clone and session.
#[derive(Clone, Default)]
pub struct Database {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Default)]
pub(crate) struct Shared {
    pub catalog: Arc<Catalog>,
    pub functions: Arc<SqlFunctions>,
    pub entities: Arc<Entities>,
    pub warnings: Warnings,
    pub fork_guard: ForkGuard,
    pub backups: Backups,
    /// What FREEZE has kept of tables in memory.
    pub frozen: Frozen,
    /// Where statements are run, if not here.
    pub server: Option<Server>,
    /// Loads what another process has changed; `None` in memory.
    reload: Option<Reload>,
    /// Told when the last session is gone, before the lock is given back.
    close: Option<Close>,
    /// Told before it, once views are refreshed by the clock.
    refreshes: OnceLock<Close>,
    /// Of one that works in the background: the database whose tables it has.
    stands_for: Option<Weak<Shared>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        for close in self.refreshes.get().copied().into_iter().chain(self.close) {
            close(self);
        }
    }
}

/// Parts by the names that FREEZE gave them: they stay until UNFREEZE, whatever becomes of their tables.
#[derive(Default)]
pub(crate) struct Frozen(Mutex<BTreeMap<String, Vec<FrozenPart>>>);

/// A part, and the database and name of its table.
pub(crate) struct FrozenPart {
    pub table: (String, String),
    pub part: Arc<Part>,
}

impl Frozen {
    /// Keeps parts under a name; without one under the next number.
    pub fn keep(&self, name: Option<&str>, parts: Vec<FrozenPart>) -> Result<()> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = || all.keys().filter_map(|name| name.parse::<u64>().ok()).max().unwrap_or(0);
        let name = name.map_or_else(|| (last() + 1).to_string(), str::to_owned);
        let kept = all.entry(name.clone()).or_default();
        for new in &parts {
            let part = new.part.info.name();
            ensure!(
                kept.iter().all(|known| known.table != new.table || known.part.info.name() != part),
                DIRECTORY_ALREADY_EXISTS,
                "Part {part} is frozen as '{name}' already"
            );
        }
        kept.extend(parts);
        Ok(())
    }

    /// Lets go of the parts of a name that are meant.
    pub fn release(&self, name: &str, is_meant: &dyn Fn(&FrozenPart) -> bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = all.get_mut(name) else { return };
        kept.retain(|part| !is_meant(part));
        if kept.is_empty() {
            all.remove(name);
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

    /// Has `close` called when the last session is gone.
    pub(crate) fn call_at_end(&self, close: Close) {
        let _ = self.shared.refreshes.set(close);
    }

    /// The tables and functions of a database, for who works in the background: it holds no session, nor what tells that the
    /// last one is gone.
    pub(crate) fn of_tables(
        catalog: Arc<Catalog>,
        functions: Arc<SqlFunctions>,
        of: Weak<Shared>,
    ) -> Database {
        let mut shared = Shared::default();
        (shared.catalog, shared.functions, shared.stands_for) = (catalog, functions, Some(of));
        Database { shared: Arc::new(shared) }
    }

    /// The database, for who must not keep it open.
    pub(crate) fn downgrade(&self) -> Weak<Shared> {
        self.shared.stands_for.clone().unwrap_or_else(|| Arc::downgrade(&self.shared))
    }

    /// What the kernel calls the engine of the database that is always there, or of another of these tables.
    pub(crate) fn engine(&self, name: &str) -> Arc<str> {
        let usual = match self.shared.catalog.store() {
            None if name == "default" => "Memory",
            _ => "Atomic",
        };
        self.shared.catalog.database_engine(name).unwrap_or_else(|| usual.into())
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
            catalog: Arc::new(Catalog::new(store.clone())),
            functions: Arc::new(SqlFunctions::new(store.clone())),
            entities: Arc::new(Entities::new(store)),
            warnings: Warnings::default(),
            fork_guard: ForkGuard::default(),
            backups: Backups::default(),
            frozen: Frozen::default(),
            server: None,
            reload: Some(reload),
            close: Some(close),
            refreshes: OnceLock::new(),
            stands_for: None,
        };
        Database { shared: Arc::new(shared) }
    }
}
