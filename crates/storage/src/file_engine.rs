//! The File engine: a table whose rows are a file, of a path that was given or in a folder of its own that goes with
//! the table.

use crate::disk::TableFolder;
use crate::file::{FileContext, FileTable};
use crate::file_defaults::FileDefaults;
use crate::merge_tree::Defaults;
use crate::samples::{Sample, SampleSize};
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, err};
use chalet_formats::{Format, Schema};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A table with ENGINE = File: its rows are those of one file.
pub struct FileEngine {
    /// The columns as declared; without any declared, as found in the file.
    schema: TableSchema,
    /// So many of them are of the file itself, the first ones; others are made up from its path.
    n_own: usize,
    path: String,
    format: &'static Format,
    compression: Option<String>,
    context: FileContext,
    defaults: Arc<dyn Defaults>,
    place: FilePlace,
    /// Removed with the table.
    _temporary: Option<Folder>,
}

/// Where the file is.
pub enum FilePlace {
    Path(String),
    /// In the folder of a table on disk.
    Folder(Arc<TableFolder>),
    /// In a folder that lives as long as the table.
    Temporary,
}

impl FileEngine {
    /// A table over a file, with the declared columns or those that the file has. Fails when these cannot be found out.
    pub fn create(
        schema: Option<TableSchema>,
        format: &'static Format,
        place: FilePlace,
        compression: Option<String>,
        context: FileContext,
        defaults: Arc<dyn Defaults>,
    ) -> Result<FileEngine> {
        let mut temporary = None;
        let in_folder = |folder: &Path| {
            let file = folder.join(format!("data.{}", format.name));
            file.to_string_lossy().into_owned()
        };
        let path = match &place {
            FilePlace::Path(path) => path.clone(),
            FilePlace::Folder(folder) => in_folder(folder.path()),
            FilePlace::Temporary => in_folder(&temporary.insert(Folder::create()?).0),
        };
        let mut table = FileEngine {
            schema: TableSchema::default(),
            n_own: 0,
            path,
            format,
            compression,
            context,
            defaults,
            place,
            _temporary: temporary,
        };
        table.schema = match schema {
            Some(schema) => {
                // What every file has beside its own columns follows them.
                (table.n_own, table.schema) = (schema.columns.len(), schema.clone());
                let others = table.file()?.schema().columns[table.n_own..].to_vec();
                let columns = schema.columns.iter().cloned().chain(others).collect();
                TableSchema { columns, ..schema }
            }
            None => {
                let found = table.open(None)?.schema();
                table.n_own = found.columns.iter().filter(|c| !c.is_virtual).count();
                found
            }
        };
        Ok(table)
    }

    fn check_writable(&self) -> Result<()> {
        self.folder().map_or(Ok(()), |folder| folder.check_writable())
    }

    fn open(&self, structure: Option<Schema>) -> Result<FileTable> {
        let (compression, context) = (self.compression.clone(), self.context.clone());
        FileTable::open(&self.path, self.format, structure, compression, context)
    }

    /// The file with the columns of the table.
    fn file(&self) -> Result<FileTable> {
        let own = &self.schema.columns[..self.n_own];
        let file = self.open(Some(own.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect()))?;
        let schema = TableSchema::new(own.to_vec());
        Ok(file.declared_as(FileDefaults { schema, defaults: self.defaults.clone() }))
    }
}

impl Table for FileEngine {
    fn engine(&self) -> &str {
        "File"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn identity(&self) -> Option<String> {
        self.file().ok()?.identity()
    }

    fn takes_prewhere(&self) -> bool {
        self.file().is_ok_and(|file| file.takes_prewhere())
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.file()?.scan(request)
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        self.file()?.sample(columns, size)
    }

    fn has_row_ids(&self) -> bool {
        self.file().is_ok_and(|file| file.has_row_ids())
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        self.check_writable()?;
        self.file()?.insert()
    }

    fn truncate(&self) -> Result<()> {
        self.check_writable()?;
        self.file()?.truncate()
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        match &self.place {
            FilePlace::Folder(folder) => Some(folder),
            FilePlace::Path(_) | FilePlace::Temporary => None,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A folder for one table.
struct Folder(PathBuf);

static NEXT_FOLDER: AtomicU64 = AtomicU64::new(1);

impl Folder {
    fn create() -> Result<Folder> {
        loop {
            let name = format!("chalet-{}-{}", std::process::id(), NEXT_FOLDER.fetch_add(1, Relaxed));
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Left behind by a process of the same number.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(err!(
                        CANNOT_CREATE_DIRECTORY,
                        "Cannot create folder {}: {e}",
                        path.display()
                    ));
                }
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
