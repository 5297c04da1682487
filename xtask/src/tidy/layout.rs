//! Every crate looks alike: shared lints, a first line that says what a file is, modules listed in `lib.rs`.

use super::Finding;
use crate::project::Project;
use crate::rust_source::{self, Token};

/// Names that say nothing about what is inside.
const VAGUE: &[&str] = &["utils.rs", "util.rs", "helpers.rs", "misc.rs"];

/// Rooms whose modules are one function each: their list is the folder's.
const FAMILIES: &[&str] = &["crates/aggregates/src/lib.rs"];

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for manifest in project.with_suffix("Cargo.toml") {
        let text = project.text(manifest).unwrap_or_default();
        let table: toml::Table = text.parse().map_err(|e| format!("{manifest}: {e}"))?;
        let shared = table.get("lints").and_then(|l| l.get("workspace")).and_then(|w| w.as_bool());
        let outside = table.contains_key("workspace");
        if table.contains_key("package") && !outside && shared != Some(true) {
            findings.push(Finding::new(manifest, "add [lints] workspace = true"));
        }
    }
    for file in project.with_suffix(".rs") {
        let source = project.text(file).unwrap_or_default();
        let name = file.rsplit('/').next().unwrap_or(file);
        if VAGUE.contains(&name) {
            findings.push(Finding::new(file, "name the file after the thing in it"));
        }
        if !source.starts_with("//! ") {
            findings.push(Finding::new(file, "the first line should be //! and say what and why"));
        }
        if file.ends_with("src/lib.rs") && !FAMILIES.contains(&file) {
            findings.extend(unlisted_modules(file, &source));
        }
        if let Some((parent, module)) = parent_module(project, file) {
            let parent_source = project.text(&parent).unwrap_or_default();
            if !rust_source::tokens(&parent_source).iter().any(|t| t.is(module)) {
                findings
                    .push(Finding::new(file, format!("{parent} does not declare it, so it is not compiled")));
            }
        }
    }
    Ok(findings)
}

/// The public modules that `lib.rs` declares but does not name in its heading.
fn unlisted_modules(file: &str, source: &str) -> Vec<Finding> {
    let heading: String = source.lines().take_while(|l| l.starts_with("//!")).collect();
    let tokens = rust_source::code_tokens(source);
    let mut findings = Vec::new();
    for window in tokens.windows(4) {
        let [public, first, second, third] = window else { continue };
        let Token::Word(module) = &second.token else { continue };
        if public.is("pub") && first.is("mod") && third.is(";") && !heading.contains(&format!("`{module}`")) {
            findings.push(Finding::new(
                format!("{file}:{}", second.line),
                format!("list the module in the heading: //! - [`{module}`]: what it is"),
            ));
        }
    }
    findings
}

/// The file that must declare this one, and the module's name; nothing for roots of targets.
fn parent_module<'a>(project: &Project, file: &'a str) -> Option<(String, &'a str)> {
    let src = file.find("/src/")? + "/src/".len();
    let inner = file[src..].strip_suffix(".rs")?;
    if matches!(inner, "lib" | "main") || inner.starts_with("bin/") {
        return None;
    }
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    let (folder, module) = match inner.rsplit_once('/') {
        Some((folder, module)) => (Some(folder), module),
        None => (None, inner),
    };
    let root = &file[..src];
    let candidates = match folder {
        Some(folder) => vec![format!("{root}{folder}.rs"), format!("{root}{folder}/mod.rs")],
        None => vec![format!("{root}lib.rs"), format!("{root}main.rs")],
    };
    let parent = candidates.into_iter().find(|c| project.files.binary_search(c).is_ok())?;
    Some((parent, module))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unlisted_module_is_found() {
        let found = unlisted_modules(
            "lib.rs",
            "//! Head.\n//! - [`a`]: one\n\npub mod a;\npub mod b;\nmod d;\nuse a::c;\n",
        );
        let places: Vec<&str> = found.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["lib.rs:5"]);
    }

    #[test]
    fn the_parent_of_a_module() {
        let files =
            ["c/x/src/a.rs", "c/x/src/a/b.rs", "c/x/src/lib.rs", "c/x/src/m/mod.rs", "c/x/src/m/n.rs"];
        let project = Project { root: "".into(), files: files.map(String::from).to_vec() };
        let parent = |file| parent_module(&project, file);
        assert_eq!(parent("c/x/src/a/b.rs"), Some(("c/x/src/a.rs".into(), "b")));
        assert_eq!(parent("c/x/src/m/n.rs"), Some(("c/x/src/m/mod.rs".into(), "n")));
        assert_eq!(parent("c/x/src/m/mod.rs"), Some(("c/x/src/lib.rs".into(), "m")));
        assert_eq!(parent("c/x/src/lib.rs"), None);
    }
}
