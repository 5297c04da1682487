//! Which files statements may name: those of programs that embed the engine all, those of users from the network few.

use chalet_base::{Result, bail, ensure};
use chalet_storage::paths::climbs;
use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Whose paths are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Any path, relative ones from the working directory.
    #[default]
    All,
    /// Paths inside of this folder; relative ones begin there.
    Within(Arc<Path>),
    /// None.
    Nothing,
}

impl FileAccess {
    /// The path that is meant, where it may be used. Links inside of the folder are followed: who made them may read what they
    /// point at.
    pub(crate) fn path<'a>(&self, written: &'a str, user: &str) -> Result<Cow<'a, str>> {
        let folder = match self {
            FileAccess::All => return Ok(Cow::Borrowed(written)),
            FileAccess::Within(folder) => folder,
            FileAccess::Nothing => bail!(
                ACCESS_DENIED,
                "{user}: Not enough privileges. To execute this query, it's necessary to have the grant READ, WRITE ON FILE"
            ),
        };
        let path = folder.join(written.strip_prefix("file://").unwrap_or(written));
        // A slash inside of braces divides no path.
        let path = if written.contains('{') { path } else { normal(&path) };
        ensure!(
            path.starts_with(folder) && !climbs(&path.to_string_lossy())?,
            DATABASE_ACCESS_DENIED,
            "File `{}` is not inside `{}`",
            path.display(),
            folder.display()
        );
        Ok(Cow::Owned(path.to_string_lossy().into_owned()))
    }

    /// Fails where a statement writes its result to a file of the machine.
    pub(crate) fn check_outfile(&self) -> Result<()> {
        ensure!(*self == FileAccess::All, INTO_OUTFILE_NOT_ALLOWED, "INTO OUTFILE is not allowed");
        Ok(())
    }
}

/// Without `.` and `..`, whatever is on disk.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let within = FileAccess::Within(Path::new("/data/files").into());
        assert_eq!(within.path("a.csv", "u").unwrap(), "/data/files/a.csv");
        assert_eq!(within.path("x/../*.csv", "u").unwrap(), "/data/files/*.csv");
        assert_eq!(within.path("{x,y}/*.csv", "u").unwrap(), "/data/files/{x,y}/*.csv");
        assert_eq!(within.path("/data/files/b", "u").unwrap(), "/data/files/b");
        for outside in [
            "../secret",
            "/etc/passwd",
            "/data/files2/a",
            "{a,../../b}/../../../c",
            "file:///etc/passwd",
            "{..,a}/c",
            ".*/c",
        ] {
            assert_eq!(within.path(outside, "u").unwrap_err().code().number, 291, "{outside}");
        }
        assert_eq!(FileAccess::Nothing.path("a", "u").unwrap_err().code().number, 497);
        assert_eq!(FileAccess::All.path("../a", "u").unwrap(), "../a");
    }
}
