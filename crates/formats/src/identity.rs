//! What tells one state of a file from another, so that what was found in it may be remembered.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A state of a file. Whoever changes the file gives it another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
    /// Which file of the disk it is.
    device: u64,
    inode: u64,
    /// When its inode changed, in seconds and nanoseconds: whoever sets back the time of modification sets this forward.
    changed: (i64, i64),
}

/// Times of files tick this coarsely where they have nanoseconds at all (a jiffy of the kernel, with a margin).
const TICK: Duration = Duration::from_millis(50);
/// The same where they have none.
const COARSE_TICK: Duration = Duration::from_secs(3);

impl FileIdentity {
    /// `None` for what was changed just now: another change within the tick of its clock would not show.
    pub fn of(path: &Path, metadata: &Metadata) -> Option<FileIdentity> {
        let modified = metadata.modified().ok()?;
        #[cfg(unix)]
        let (device, inode, changed) = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (device, inode, changed) = (0, 0, (0, 0));
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let tick = if since.subsec_nanos() == 0 { COARSE_TICK } else { TICK };
        let latest = modified
            .max(SystemTime::UNIX_EPOCH + Duration::new(changed.0.max(0) as u64, changed.1.max(0) as u32));
        if SystemTime::now().duration_since(latest).ok()? < tick {
            return None;
        }
        Some(FileIdentity { path: path.to_owned(), size: metadata.len(), modified, device, inode, changed })
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        size_of::<FileIdentity>() + self.path.as_os_str().len()
    }
}
