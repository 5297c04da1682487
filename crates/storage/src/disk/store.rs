//! The folder of a database as a whole.

use super::definitions::{self, Definition};
use super::durable::{
    cannot_open, cannot_read, cannot_write, is_full, next_of, sync_folder, take_next, write_next,
};
use super::{TableFolder, Writer, fs};
use chalet_base::{Result, bail, ensure, err};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

const TABLES: &str = "tables";
/// What a folder may hold in which no database has been made yet: a process that was making one was killed.
const OURS: [&str; 6] = ["lock", "writer", "tables", "catalog.new", "functions.new", "entities.new"];

/// One of the files of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionFile {
    Catalog,
    Functions,
    /// Workloads, resources and named collections.
    Entities,
}

impl DefinitionFile {
    const ALL: [DefinitionFile; 3] =
        [DefinitionFile::Catalog, DefinitionFile::Functions, DefinitionFile::Entities];

    fn name(self) -> &'static str {
        match self {
            DefinitionFile::Catalog => "catalog",
            DefinitionFile::Functions => "functions",
            DefinitionFile::Entities => "entities",
        }
    }
}

/// A file as it was at one time: another content has another stamp.
type Stamp = Option<(SystemTime, u64, u64)>;

/// A database on disk that is open for reading or writing: its definitions and the folders of its tables.
pub struct Store {
    root: PathBuf,
    /// `None`: open for reading.
    writer: Option<Arc<Writer>>,
    next_folder: AtomicU64,
    /// Of these files, when they were read last.
    seen: Mutex<[Stamp; DefinitionFile::ALL.len()]>,
}

impl Store {
    /// Opens a folder for writing; makes it when it is not there.
    pub fn open_to_write(path: &Path) -> Result<Store> {
        if let Err(e) = create_folders(path) {
            let is_file = path.is_file();
            ensure!(
                !is_file,
                CANNOT_OPEN_FILE,
                "Cannot open database {}: it is a file, a database is a folder",
                path.display()
            );
            bail!(CANNOT_CREATE_DIRECTORY, "Cannot create folder {}: {e}", path.display());
        }
        let root = canonical(path)?;
        // Before anything is written: a folder of something else stays as it is.
        check_ours(&root)?;
        let writer = Writer::lock(&root)?;
        if !fs::exists(&catalog_of(&root)).map_err(|e| cannot_open(&root, &e))? {
            // Of a database that is new the folder has to last.
            match root.parent().map_or(Ok(()), fs::sync_folder) {
                // Who may not read the folder above has not made this one.
                Err(e) if e.kind() != ErrorKind::PermissionDenied => return Err(cannot_open(&root, &e)),
                _ => {}
            }
        } else if writer.follows_killed() {
            // What is removed below because the definitions do not name it is not to be named after a power cut.
            sync_folder(&root)?;
        }
        let writer = Some(Arc::new(writer));
        let store = Store { root, writer, next_folder: AtomicU64::new(1), seen: Mutex::default() };
        let tables = store.root.join(TABLES);
        create_folders(&tables)
            .map_err(|e| err!(CANNOT_CREATE_DIRECTORY, "Cannot create folder {}: {e}", tables.display()))?;
        for file in DefinitionFile::ALL {
            let next = next_of(&store.root.join(file.name()));
            match fs::remove_file(&next) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(cannot_open(&next, &e)),
                _ => {}
            }
        }
        Ok(store)
    }

    /// Opens a folder for reading; another process may be writing it.
    pub fn open_to_read(path: &Path) -> Result<Store> {
        let root = canonical(path)?;
        let catalog = catalog_of(&root);
        ensure!(
            fs::exists(&catalog).map_err(|e| cannot_open(&catalog, &e))?,
            FILE_DOESNT_EXIST,
            "There is no database in {}",
            root.display()
        );
        Ok(Store { root, writer: None, next_folder: AtomicU64::new(1), seen: Mutex::default() })
    }

    /// The folder of the database.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Does another process write it, if any? So it is in a forked child.
    pub fn is_read_only(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.is_inherited())
    }

    /// Fails where nothing may be written.
    pub fn check_writable(&self) -> Result<()> {
        Writer::check_some(self.writer.as_ref())
    }

    /// The definitions of a file; none where there is no file.
    pub fn read(&self, file: DefinitionFile) -> Result<Vec<Definition>> {
        let path = self.root.join(file.name());
        let stamp = stamp(&path);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)[file as usize] = stamp;
        match fs::read(&path) {
            Ok(content) => definitions::decode(&content, &path),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(cannot_read(&path, &e)),
        }
    }

    /// Has another process changed definitions since they were read?
    pub fn has_changed(&self) -> bool {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        DefinitionFile::ALL.into_iter().any(|file| stamp(&self.root.join(file.name())) != seen[file as usize])
    }

    /// Replaces the definitions of a file.
    pub fn write(&self, file: DefinitionFile, definitions: &[Definition]) -> Result<()> {
        self.check_writable()?;
        let Some(writer) = &self.writer else { return Ok(()) };
        let path = self.root.join(file.name());
        let content = definitions::encode(definitions);
        let written = match write_next(&path, content.as_bytes()) {
            // A table that is dropped makes room, but not before it is forgotten.
            Err(e) if is_full(&e) && writer.give_room() => write_next(&path, content.as_bytes()),
            other => other,
        };
        written.map_err(|e| cannot_write(&next_of(&path), &e))?;
        take_next(&path).inspect_err(|_| writer.lose())?;
        writer.keep_room(content.len() as u64);
        Ok(())
    }

    /// A folder for a new table. It goes again unless the catalog names it.
    pub fn new_folder(&self) -> Result<TableFolder> {
        self.check_writable()?;
        let number = self.next_folder.fetch_add(1, Relaxed);
        let path = self.folder_path(number);
        fs::create_folder(&path)
            .map_err(|e| err!(CANNOT_CREATE_DIRECTORY, "Cannot create folder {}: {e}", path.display()))?;
        let folder = TableFolder::new(path, number, false, self.writer.clone());
        sync_folder(&self.root.join(TABLES))?;
        Ok(folder)
    }

    /// The folder of a table that the catalog names.
    pub fn folder(&self, number: u64) -> TableFolder {
        TableFolder::new(self.folder_path(number), number, true, self.writer.clone())
    }

    /// Removes the folders of tables that the catalog does not name. Called once, before any table is made.
    pub fn remove_leftovers(&self, named: &BTreeSet<u64>) -> Result<()> {
        self.check_writable()?;
        let tables = self.root.join(TABLES);
        let mut last = named.last().copied().unwrap_or(0);
        for found in fs::read_folder(&tables).map_err(|e| cannot_open(&tables, &e))? {
            let Some(number) = found.name.to_str().and_then(|name| name.parse::<u64>().ok()) else {
                continue;
            };
            last = last.max(number);
            if !named.contains(&number) {
                let path = tables.join(&found.name);
                fs::remove_folder(&path)
                    .map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot remove folder {}: {e}", path.display()))?;
            }
        }
        self.next_folder.store(last + 1, Relaxed);
        Ok(())
    }

    fn folder_path(&self, number: u64) -> PathBuf {
        self.root.join(TABLES).join(number.to_string())
    }
}

fn catalog_of(root: &Path) -> PathBuf {
    root.join(DefinitionFile::Catalog.name())
}

/// A relative path may be without a folder.
fn folder_of(parent: &Path) -> &Path {
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// Makes a folder that lasts, with those that it is to be in.
fn create_folders(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !path.is_dir() => {
            create_folders(parent)?;
            match fs::create_folder(path) {
                // Somebody else has made it meanwhile.
                Err(_) if path.is_dir() => Ok(()),
                made => made.and_then(|()| fs::sync_folder(folder_of(parent))),
            }
        }
        _ => Ok(()),
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    let found = std::fs::canonicalize(path);
    found.map_err(|e| match e.kind() {
        ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "There is no database in {}", path.display()),
        _ => err!(CANNOT_OPEN_FILE, "Cannot open database {}: {e}", path.display()),
    })
}

/// Fails for a folder in which there is something, but no database.
fn check_ours(root: &Path) -> Result<()> {
    let catalog = catalog_of(root);
    if fs::exists(&catalog).map_err(|e| cannot_open(&catalog, &e))? {
        return Ok(());
    }
    for found in fs::read_folder(root).map_err(|e| cannot_open(root, &e))? {
        let name = found.name;
        // Rows without their definitions are nothing that may be taken for leftovers.
        let has_rows =
            name == TABLES && fs::read_folder(&root.join(&name)).is_ok_and(|rows| !rows.is_empty());
        ensure!(
            !has_rows,
            CANNOT_OPEN_FILE,
            "Cannot open database {}: its catalog is missing",
            root.display()
        );
        ensure!(
            name.to_str().is_some_and(|name| OURS.contains(&name)),
            CANNOT_OPEN_FILE,
            "Cannot open database {}: the folder holds {}, and no database. A database is made in a folder of its own",
            root.display(),
            name.display()
        );
    }
    Ok(())
}

fn stamp(path: &Path) -> Stamp {
    let known = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&known);
    #[cfg(not(unix))]
    let number = 0;
    Some((known.modified().ok()?, known.len(), number))
}
