//! Where a backup is: `File('folder')`, `File('archive.zip')`, `Memory('name')`, `Null`.

use super::archive::{files_below, is_archive, pack, unpack};
use crate::database::Database;
use crate::query_context::QueryContext;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_binder::table_columns::bind_constant;
use chalet_storage::disk::durable::{cannot_write, sync_folder};
use chalet_syntax::ast;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What BACKUP writes to and RESTORE reads from.
pub(crate) enum Place {
    /// A folder, which is a database that can be opened.
    Folder(PathBuf),
    /// Such a folder as one file.
    Archive(PathBuf),
    /// In the process, under a name; gone with the database.
    Memory(String),
    /// Nothing is kept.
    Null,
}

impl Place {
    pub fn of(engine: &ast::Engine, ctx: &QueryContext) -> Result<Place> {
        let args = engine.args.as_deref().unwrap_or_default();
        let texts = args.iter().map(|arg| {
            let value = bind_constant(arg, ctx, &ctx.ids)?.value();
            match value.as_str() {
                Some(text) => Ok(text.to_owned()),
                None => bail!(BAD_ARGUMENTS, "An argument of a backup's place is a string, not {arg}"),
            }
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        match (&*engine.name, &texts[..]) {
            ("File", [path]) => {
                let path = PathBuf::from(&*ctx.user_path(path)?);
                let name = path.to_string_lossy();
                Ok(if is_archive(&name) { Place::Archive(path) } else { Place::Folder(path) })
            }
            ("Memory", [name]) => Ok(Place::Memory(name.clone())),
            ("Null", []) => Ok(Place::Null),
            ("File", _) => Err(wrong_number(engine, "1 argument (path)")),
            ("Memory", _) => Err(wrong_number(engine, "1 argument (name)")),
            ("Null", _) => Err(wrong_number(engine, "no arguments")),
            ("Disk", [_, _]) => bail!(
                INVALID_CONFIG_PARAMETER,
                "The 'backups.allowed_disk' configuration parameter is not set, cannot use 'Disk' backup engine"
            ),
            ("Disk", _) => Err(wrong_number(engine, "2 arguments (disk_name, path)")),
            ("S3" | "AzureBlobStorage", _) => bail!(
                NOT_IMPLEMENTED,
                "Backup engine '{}' is not supported: there are File, Memory and Null",
                engine.name
            ),
            _ => bail!(BACKUP_ENGINE_NOT_FOUND, "Not found backup engine '{}'", engine.name),
        }
    }

    /// As `system.backups` names it.
    pub fn shown(&self) -> String {
        let quoted = |text: &str| chalet_syntax::print::string_literal(text);
        match self {
            Place::Folder(path) | Place::Archive(path) => {
                format!("File({})", quoted(&path.to_string_lossy()))
            }
            Place::Memory(name) => format!("Memory({})", quoted(name)),
            Place::Null => "Null".into(),
        }
    }

    fn short(&self) -> String {
        match self {
            Place::Memory(name) => name.clone(),
            other => other.shown(),
        }
    }

    /// A new backup here, still without tables. Fails where there is one.
    pub fn create(self, ctx: &QueryContext) -> Result<OpenBackup> {
        let is_there = match &self {
            Place::Folder(path) | Place::Archive(path) => path.exists(),
            Place::Memory(name) => backups(ctx).contains_key(name),
            Place::Null => false,
        };
        ensure!(!is_there, BACKUP_ALREADY_EXISTS, "Backup {} already exists", self.short());
        let (database, folder) = match &self {
            Place::Folder(path) | Place::Archive(path) => {
                let next = beside(path, ".new");
                remove(&next)?;
                let database = Database::open(&next.to_string_lossy())?;
                (database, Some(Scratch(next)))
            }
            Place::Memory(_) | Place::Null => (Database::default(), None),
        };
        Ok(OpenBackup { ctx: ctx.in_database(database), folder, place: self })
    }

    /// The backup that is here, for reading.
    pub fn open(self, ctx: &QueryContext) -> Result<OpenBackup> {
        let missing = || err!(BACKUP_NOT_FOUND, "Backup {} not found", self.short());
        let (database, folder) = match &self {
            Place::Folder(path) if path.is_dir() => {
                (Database::open_to_read(&path.to_string_lossy()).map_err(|e| damaged(&self, e))?, None)
            }
            Place::Archive(path) if path.is_file() => {
                let folder = Scratch::new()?;
                unpack(path, &folder.0)?;
                let database = Database::open_to_read(&folder.0.to_string_lossy());
                (database.map_err(|e| damaged(&self, e))?, Some(folder))
            }
            Place::Memory(name) => (backups(ctx).get(name).cloned().ok_or_else(missing)?, None),
            Place::Folder(_) | Place::Archive(_) | Place::Null => return Err(missing()),
        };
        Ok(OpenBackup { ctx: ctx.in_database(database), folder, place: self })
    }
}

fn backups(ctx: &QueryContext) -> std::sync::MutexGuard<'_, std::collections::BTreeMap<String, Database>> {
    ctx.database.shared.backups.in_memory.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wrong_number(engine: &ast::Engine, wants: &str) -> Error {
    err!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Backup engine '{}' requires {wants}", engine.name)
}

fn damaged(place: &Place, error: Error) -> Error {
    error.context(format!("while opening backup {}", place.short()))
}

/// A backup that is written or read: its tables are those of a context's database.
pub(crate) struct OpenBackup {
    /// A statement like the one that asks, in the database of the backup. Dropped before the folder.
    pub ctx: QueryContext,
    folder: Option<Scratch>,
    place: Place,
}

impl OpenBackup {
    /// Puts what was written in its place, as a whole; all of it is on disk when this returns. How many files and bytes it has.
    pub fn finish(self, ctx: &QueryContext) -> Result<(u64, u64)> {
        let OpenBackup { ctx: own, folder, place } = self;
        let check = || ctx.control.check_with_interrupt();
        let database = own.database.clone();
        drop(own);
        match (place, folder) {
            (Place::Folder(path), Some(folder)) => {
                drop(database);
                let size = size_of(&folder.0)?;
                std::fs::rename(&folder.0, &path).map_err(|e| cannot_write(&path, &e))?;
                sync_parent(&path)?;
                Ok(size)
            }
            (Place::Archive(path), Some(folder)) => {
                drop(database);
                let next = beside(&path, ".packed");
                remove(&next)?;
                let packed = pack(&folder.0, &path.to_string_lossy(), &next, &check);
                let moved =
                    packed.and_then(|()| std::fs::rename(&next, &path).map_err(|e| cannot_write(&path, &e)));
                moved.inspect_err(|_| _ = std::fs::remove_file(&next))?;
                sync_parent(&path)?;
                size_of(&folder.0)
            }
            (Place::Memory(name), _) => {
                let mut backups = backups(ctx);
                let is_there = backups.contains_key(&name);
                ensure!(!is_there, BACKUP_ALREADY_EXISTS, "Backup {name} already exists");
                backups.insert(name, database);
                Ok((0, 0))
            }
            _ => Ok((0, 0)),
        }
    }
}

/// A folder that goes when it is not needed any more.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("chalet-restore-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        remove(&path)?;
        std::fs::create_dir(&path).map_err(|e| cannot_write(&path, &e))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A path next to another.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(ending);
    path.with_file_name(name)
}

/// Removes what was left of an earlier attempt.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(cannot_write(path, &e)),
        _ => Ok(()),
    }
}

fn size_of(folder: &Path) -> Result<(u64, u64)> {
    let files = files_below(folder).map_err(|e| cannot_write(folder, &e))?;
    let bytes = files.iter().filter_map(|name| Some(std::fs::metadata(folder.join(name)).ok()?.len())).sum();
    Ok((files.len() as u64, bytes))
}

fn sync_parent(path: &Path) -> Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
        _ => sync_folder(Path::new(".")),
    }
}
