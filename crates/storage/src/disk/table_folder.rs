//! The folder of one table. It is removed with the table: when the catalog has forgotten it and nobody reads it any more.

use super::durable::sync_folder;
use super::{Writer, fs};
use chalet_base::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The folder of one table, removed with the last of those who hold it once the catalog does not name it.
pub struct TableFolder {
    path: PathBuf,
    number: u64,
    /// Does the catalog on disk name it?
    is_kept: AtomicBool,
    /// `None` where the database is open for reading.
    writer: Option<Arc<Writer>>,
}

impl TableFolder {
    pub(super) fn new(path: PathBuf, number: u64, is_kept: bool, writer: Option<Arc<Writer>>) -> Self {
        TableFolder { path, number, is_kept: AtomicBool::new(is_kept), writer }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number that definitions name the folder by.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Does another process write it, if any? So it is in a forked child.
    pub fn is_read_only(&self) -> bool {
        self.writer.as_ref().is_none_or(|writer| writer.is_inherited())
    }

    /// Fails where nothing may be written.
    pub fn check_writable(&self) -> Result<()> {
        Writer::check_some(self.writer.as_ref())
    }

    /// Called when a table is opened for writing: the names of files that are found here are on disk when this returns.
    pub fn settle(&self) -> Result<()> {
        match &self.writer {
            Some(writer) if writer.follows_killed() => sync_folder(&self.path),
            _ => Ok(()),
        }
    }

    /// Ends all writing to the database, see [`Writer::lose`].
    pub fn lose(&self) {
        if let Some(writer) = &self.writer {
            writer.lose();
        }
    }

    /// Called after the catalog was written.
    pub(crate) fn set_kept(&self, is_kept: bool) {
        self.is_kept.store(is_kept, Relaxed);
    }
}

impl Drop for TableFolder {
    fn drop(&mut self) {
        if !self.is_kept.load(Relaxed) && self.check_writable().is_ok() {
            // What stays is removed when the database is opened again.
            let _ = fs::remove_folder(&self.path);
        }
    }
}
