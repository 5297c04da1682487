//! ARCHITECTURE.md against the tree: every room and every dependency stands in its tables, and nothing else.

use super::Finding;
use crate::project::Project;
use std::collections::BTreeSet;

const DOCUMENT: &str = "ARCHITECTURE.md";

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let text = project.text(DOCUMENT).ok_or("ARCHITECTURE.md is missing")?;
    let rooms: BTreeSet<String> = project
        .with_suffix("/Cargo.toml")
        .filter_map(|f| f.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"))
        .map(str::to_owned)
        .collect();
    let mut findings = compare(&rooms, &table_words(&text, "## The rooms"), "room");
    findings.extend(compare(&dependencies(project)?, &table_words(&text, "## Dependencies"), "dependency"));
    Ok(findings)
}

fn dependencies(project: &Project) -> Result<BTreeSet<String>, String> {
    let manifest: toml::Table =
        project.text("Cargo.toml").ok_or("no Cargo.toml")?.parse().map_err(|e| format!("Cargo.toml: {e}"))?;
    let named = manifest.get("workspace").and_then(|w| w.get("dependencies")).and_then(|d| d.as_table());
    let names = named.into_iter().flat_map(|d| d.keys());
    Ok(names.filter(|n| !n.starts_with("chalet-")).cloned().collect())
}

/// The words in backquotes of the first cells of the tables under a heading.
fn table_words(text: &str, heading: &str) -> BTreeSet<String> {
    let section = text.lines().skip_while(|l| *l != heading).skip(1).take_while(|l| !l.starts_with("## "));
    let cells = section.filter_map(|l| l.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn compare(there: &BTreeSet<String>, named: &BTreeSet<String>, kind: &str) -> Vec<Finding> {
    let missing = there
        .difference(named)
        .map(|n| Finding::new(DOCUMENT, format!("the {kind} {n} is not in its table")));
    let stale = named.difference(there).map(|n| Finding::new(DOCUMENT, format!("there is no {kind} {n}")));
    missing.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_first_cells_only() {
        let text = "## A\n\n| name | why |\n|---|---|\n| `b`, `c` | like `d` |\n\n## E\n| `f` | g |\n";
        assert_eq!(table_words(text, "## A").into_iter().collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn both_directions() {
        let set = |words: &[&str]| words.iter().map(|w| w.to_string()).collect();
        let found: Vec<String> =
            compare(&set(&["a", "b"]), &set(&["b", "c"]), "room").into_iter().map(|f| f.message).collect();
        assert_eq!(found, ["the room a is not in its table", "there is no room c"]);
    }
}
