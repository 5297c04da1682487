//! Databases on disk: opened once per process, however many sessions they have.
//!
//! - [`load`]: definitions on disk to tables

mod load;

use crate::database::{Database, Shared};
use crate::merge_tree::background;
use crate::server::Server;
use crate::stack::entered;
use crate::statements::refresh;
use chalet_base::Result;
use chalet_base::forks::PerProcess;
use chalet_client::url::is_url;
use chalet_storage::disk::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Write,
    Read,
}

/// What is open. A forked child opens its own.
type Open = BTreeMap<(PathBuf, Access), Weak<Shared>>;

static OPEN: PerProcess<Mutex<Open>> = PerProcess::new(|_| Mutex::default());

impl Database {
    /// A database of its own for `:memory:` or nothing; else the one that is kept in the folder `path`, which is made
    /// when it is not there; or the one of a server, by its URL. One process can have it open like this; inside of a process all who open it share it.
    pub fn open(path: &str) -> Result<Database> {
        match path {
            "" | ":memory:" => Ok(Database::default()),
            path if is_url(path) => Server::open(path).map(Database::of_server),
            path => open_to_write(Path::new(path)),
        }
    }

    /// A database for reading. Another process may be writing it: each statement sees what is there when it begins.
    pub fn open_to_read(path: &str) -> Result<Database> {
        match path {
            "" | ":memory:" => Ok(Database::default()),
            path if is_url(path) => Server::open(path).map(Database::of_server),
            path => open_to_read(Path::new(path)),
        }
    }
}

/// Opens a folder for writing; makes it when it is not there.
fn open_to_write(path: &Path) -> Result<Database> {
    open(path, &[Access::Write], Store::open_to_write)
}

/// Opens a folder for reading. Where this process writes it, that database is shared.
fn open_to_read(path: &Path) -> Result<Database> {
    open(path, &[Access::Write, Access::Read], Store::open_to_read)
}

/// What is open already with one of the accesses; else what is made.
fn open(path: &Path, accesses: &[Access], make: fn(&Path) -> Result<Store>) -> Result<Database> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = accesses.iter().find_map(|access| find(&open, path, *access)) {
        return Ok(found);
    }
    let store = make(path)?;
    let root = store.root().to_path_buf();
    let access = if store.is_read_only() { Access::Read } else { Access::Write };
    let database = Database::on_disk(store, load::changes, background::settle);
    entered(|| load::first(&database))?;
    if access == Access::Write {
        background::resume(&database);
        refresh::attend(&database);
    }
    open.retain(|_, shared| shared.strong_count() > 0);
    open.insert((root, access), Arc::downgrade(&database.shared));
    Ok(database)
}

fn find(open: &Open, path: &Path, access: Access) -> Option<Database> {
    let root = std::fs::canonicalize(path).ok()?;
    let shared = open.get(&(root, access))?.upgrade()?;
    Some(Database { shared })
}
