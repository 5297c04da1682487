//! Files as memory.

use crate::disk::fs::File;
use chalet_base::{Error, Result, err};
use chalet_formats::{Buffer, FileIdentity, Input};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// Maps an open file into memory, so that the system reads pages of it as they are needed.
pub(crate) fn mapped(path: &Path, file: &File) -> Result<Input> {
    let known = file.metadata().map_err(|e| cannot_open(path, &e))?;
    if known.len() == 0 {
        return Ok(Input::from(Vec::new()));
    }
    // SAFETY: the map is private and read-only. A file that another process shortens meanwhile would end this one with
    // SIGBUS, which is the known price of mapping; the kernel's own readers pay it too. Files of parts are never shortened.
    let map = file.map(|file| unsafe { memmap2::Mmap::map(file) }).map_err(|e| cannot_open(path, &e))?;
    let map = Arc::new(map);
    let bytes: &[u8] = &map;
    let (start, len) = (std::ptr::NonNull::from(bytes).cast::<u8>(), bytes.len());
    // SAFETY: the range is the map, which the `Arc` given as the owner keeps alive and unchanged.
    let bytes = unsafe { Buffer::from_custom_allocation(start, len, map) };
    Ok(match FileIdentity::of(path, &known) {
        Some(identity) => Input::Known(bytes, identity.into()),
        None => Input::Bytes(bytes),
    })
}

/// The error for a file that cannot be opened or mapped.
#[cold]
pub(crate) fn cannot_open(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "File {} doesn't exist", path.display()),
        // There is no address space for the file.
        ErrorKind::OutOfMemory => {
            err!(MEMORY_LIMIT_EXCEEDED, "Cannot map file {}: {error}", path.display())
        }
        _ => err!(CANNOT_OPEN_FILE, "Cannot open file {}: {error}", path.display()),
    }
}
