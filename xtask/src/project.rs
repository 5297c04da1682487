//! The files of the project as git sees them: tracked ones and new ones that are not ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Project {
    pub root: PathBuf,
    /// Paths relative to `root`, sorted, `/` between folders.
    pub files: Vec<String>,
}

impl Project {
    pub fn open() -> Result<Project, String> {
        // Asked when it runs: clones share what they compile, so the folder it was compiled in may be another one.
        let own = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("run it as `cargo xtask`")?;
        let root = Path::new(&own).parent().ok_or("xtask has no parent folder")?.to_path_buf();
        let listed = git(&root, &["ls-files", "--cached", "--others", "--exclude-standard"])?;
        let mut files: Vec<String> =
            listed.lines().filter(|f| root.join(f).is_file()).map(str::to_owned).collect();
        files.sort();
        files.dedup();
        Ok(Project { root, files })
    }

    /// The text of a file, or nothing where it is not text.
    pub fn text(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(file)).ok()
    }

    pub fn with_suffix<'a>(&'a self, suffix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(String::as_str).filter(move |f| f.ends_with(suffix))
    }
}

/// What a git command prints.
pub fn git(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .map_err(|e| format!("git does not run: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
