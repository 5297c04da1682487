//! Databases on disk: opened once per process, however many sessions they have.
//!
//! - [`load`]: definitions on disk to tables

mod load;

use crate::database::{Database, Shared};
use chalet_base::Result;
use chalet_storage::disk::Store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};

pub(crate) use self::load::refresh;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Write,
    Read,
}

/// What is open, by process: a forked child has the parent's list, and opens its own.
type Open = BTreeMap<(u32, PathBuf, Access), Weak<Shared>>;

static OPEN: Mutex<Open> = Mutex::new(BTreeMap::new());

/// Opens a folder for writing; makes it when it is not there.
pub(crate) fn open_to_write(path: &Path) -> Result<Database> {
    let mut open = list();
    if let Some(found) = find(&open, path, Access::Write) {
        return Ok(found);
    }
    let store = Store::open_to_write(path)?;
    let root = store.root().to_path_buf();
    let database = Database::on_disk(store);
    load::first(&database)?;
    keep(&mut open, root, Access::Write, &database);
    Ok(database)
}

/// Opens a folder for reading. Where this process writes it, that database is shared.
pub(crate) fn open_to_read(path: &Path) -> Result<Database> {
    let mut open = list();
    for access in [Access::Write, Access::Read] {
        if let Some(found) = find(&open, path, access) {
            return Ok(found);
        }
    }
    let store = Store::open_to_read(path)?;
    let root = store.root().to_path_buf();
    let database = Database::on_disk(store);
    load::first(&database)?;
    keep(&mut open, root, Access::Read, &database);
    Ok(database)
}

fn list() -> MutexGuard<'static, Open> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(open: &Open, path: &Path, access: Access) -> Option<Database> {
    let root = std::fs::canonicalize(path).ok()?;
    let shared = open.get(&(std::process::id(), root, access))?.upgrade()?;
    Some(Database { shared })
}

fn keep(open: &mut Open, root: PathBuf, access: Access, database: &Database) {
    open.retain(|_, shared| shared.strong_count() > 0);
    open.insert((std::process::id(), root, access), std::sync::Arc::downgrade(&database.shared));
}
