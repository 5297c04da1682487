//! The File engine: a table whose rows are a file, of a path that was given or in a folder of its own that goes with
//! the table.

use crate::file::{FileContext, FileTable};
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, err};
use chalet_formats::{Format, Schema};
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub struct FileEngine {
    /// The columns as declared; without any declared, as found in the file.
    schema: TableSchema,
    /// So many of them are of the file itself, the first ones; others are made up from its path.
    n_own: usize,
    path: String,
    format: &'static Format,
    compression: Option<String>,
    context: FileContext,
    /// Removed with the table.
    _folder: Option<Folder>,
}

impl FileEngine {
    /// `path` is `None` for a table that keeps its own file.
    pub fn create(
        schema: Option<TableSchema>,
        format: &'static Format,
        path: Option<String>,
        compression: Option<String>,
        context: FileContext,
    ) -> Result<FileEngine> {
        let (path, folder) = match path {
            Some(path) => (path, None),
            None => {
                let folder = Folder::create()?;
                (folder.0.join(format!("data.{}", format.name)).to_string_lossy().into_owned(), Some(folder))
            }
        };
        let mut table = FileEngine {
            schema: TableSchema::default(),
            n_own: 0,
            path,
            format,
            compression,
            context,
            _folder: folder,
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

    fn open(&self, structure: Option<Schema>) -> Result<FileTable> {
        let (compression, context) = (self.compression.clone(), self.context.clone());
        FileTable::open(&self.path, self.format, structure, compression, context)
    }

    /// The file with the columns of the table.
    fn file(&self) -> Result<FileTable> {
        let own = self.schema.columns.iter().take(self.n_own);
        self.open(Some(own.map(|c| (c.name.to_string(), c.ty.clone())).collect()))
    }
}

impl Table for FileEngine {
    fn engine(&self) -> &str {
        "File"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.file()?.scan(request)
    }

    fn locates_rows(&self) -> bool {
        self.file().is_ok_and(|file| file.locates_rows())
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        self.file()?.insert()
    }

    fn truncate(&self) -> Result<()> {
        self.file()?.truncate()
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
