//! The text of the project names no machine it was written on and no list of work outside it.

use super::Finding;
use crate::project::Project;

/// Written in two halves, so that this file does not find itself.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("/wor", "k/"), "a path of one machine"),
    (concat!("/roo", "t/"), "a path of one machine"),
    (concat!("/tmp/bas", "h_jobs"), "a path of one machine"),
    (concat!("PROTOCOL", ".md"), "not a file of the project"),
    (concat!("issue ", "#"), "name the cause, not a number in a list elsewhere"),
];

/// In git for good, so it had better be source: data is made when a test runs.
const LARGEST_FILE_BYTES: u64 = 1 << 20;

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in &project.files {
        let bytes = std::fs::metadata(project.root.join(file)).map_or(0, |m| m.len());
        if bytes > LARGEST_FILE_BYTES {
            findings
                .push(Finding::new(file, format!("{bytes} bytes in git: make the data when a test runs")));
        }
        let Some(text) = project.text(file) else { continue };
        for (idx, line) in text.lines().enumerate() {
            for (word, why) in FORBIDDEN.iter().filter(|(word, _)| line.contains(word)) {
                findings.push(Finding::new(format!("{file}:{}", idx + 1), format!("{word}: {why}")));
            }
        }
    }
    Ok(findings)
}
