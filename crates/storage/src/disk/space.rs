//! How large a file system is, and how much of it is free.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    pub capacity: u64,
    /// Free for users without privileges.
    pub available: u64,
}

/// The file system that a path is on.
pub fn space(path: &Path) -> io::Result<Space> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path ends with a zero byte and the structure is large enough for what is written to it.
    if unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all its fields are integers, for which zeros are values too.
    let found = unsafe { found.assume_init() };
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space { capacity: bytes(found.f_blocks), available: bytes(found.f_bavail) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one() {
        let space = space(Path::new("/")).expect("the root is on a file system");
        assert!(space.capacity > 0 && space.available <= space.capacity);
        assert!(super::space(Path::new("/no such folder")).is_err());
    }
}
