//! Folders that tests may write into, removed when done.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A new empty folder.
pub struct Scratch(PathBuf);

impl Scratch {
    /// With a copy of `data` as `data/`.
    pub fn new(data: Option<&Path>) -> std::io::Result<Scratch> {
        let number = NEXT.fetch_add(1, Relaxed);
        let path = std::env::temp_dir().join(format!("chalet-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        if let Some(data) = data {
            copy(data, &path.join("data"))?;
        }
        Ok(Scratch(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Best effort: a folder in the temporary directory may stay.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        return std::fs::copy(from, to).map(drop);
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
