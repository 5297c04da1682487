//! Files that are on disk when a call returns, whatever happens to the machine afterwards.

use super::fs::{self, Access, File};
use chalet_base::{Error, Result, err};
use std::io;
use std::path::{Path, PathBuf};

/// The name under which the next content of a file is written.
pub fn next_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    path.with_file_name(name)
}

/// Gives a file new content: whoever opens it finds the old or the new one, never a part. When the second step fails it is not
/// known which one it will be.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    write_next(path, content).map_err(|e| cannot_write(&next_of(path), &e))?;
    take_next(path)
}

/// The first step of [`replace`], which changes nothing that anybody looks at.
pub fn write_next(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = File::open(&next_of(path), Access::Create)?;
    file.write_all_at(content, 0)?;
    file.sync_all()
}

/// Did it fail because there is no room on the disk?
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The second step of [`replace`].
pub fn take_next(path: &Path) -> Result<()> {
    fs::rename(&next_of(path), path).map_err(|e| cannot_write(path, &e))?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Makes the names in a folder last.
pub fn sync_folder(folder: &Path) -> Result<()> {
    fs::sync_folder(folder).map_err(|e| err!(CANNOT_FSYNC, "Cannot fsync {}: {e}", folder.display()))
}

/// The error for a file that cannot be written.
#[cold]
pub fn cannot_write(path: &Path, error: &io::Error) -> Error {
    err!(CANNOT_WRITE_TO_FILE_DESCRIPTOR, "Cannot write to file {}: {error}", path.display())
}

/// The error for a file that cannot be read.
#[cold]
pub fn cannot_read(path: &Path, error: &io::Error) -> Error {
    err!(CANNOT_READ_FROM_FILE_DESCRIPTOR, "Cannot read from file {}: {error}", path.display())
}

/// The error for a file that is missing or cannot be opened.
#[cold]
pub fn cannot_open(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "File {} does not exist", path.display()),
        _ => err!(CANNOT_OPEN_FILE, "Cannot open file {}: {error}", path.display()),
    }
}
