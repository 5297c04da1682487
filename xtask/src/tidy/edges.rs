//! The edges between rooms against the checked-in table, and the length of the longest chain.

use super::Finding;
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};

const TABLE: &str = "xtask/edges.toml";
const PREFIX: &str = "chalet-";

type Edges = BTreeMap<String, BTreeSet<String>>;

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let table: toml::Table = parse(project, TABLE)?;
    let limit =
        table.get("longest-chain").and_then(|v| v.as_integer()).ok_or("edges.toml: no longest-chain")?;
    let rooms = table.get("rooms").and_then(|v| v.as_table()).ok_or("edges.toml: no [rooms]")?;
    let allowed: Edges = rooms.iter().map(|(room, uses)| (room.clone(), words(uses))).collect();
    let order: Vec<&String> = rooms.keys().collect();
    let mut findings = table_order(&order, &allowed);
    let actual = actual_edges(project, &order, &mut findings)?;
    findings.extend(compare(&allowed, &actual));
    let chain = longest_chain(&actual);
    let steps = chain.len().saturating_sub(1);
    if steps as i64 > limit {
        findings.push(Finding::new(TABLE, format!("a chain of {steps} steps: {}", chain.join(" -> "))));
    }
    Ok(findings)
}

fn parse(project: &Project, file: &str) -> Result<toml::Table, String> {
    let text = project.text(file).ok_or_else(|| format!("{file} is missing"))?;
    text.parse().map_err(|e| format!("{file}: {e}"))
}

fn words(value: &toml::Value) -> BTreeSet<String> {
    value.as_array().into_iter().flatten().filter_map(|v| v.as_str()).map(str::to_owned).collect()
}

/// The table itself may name only rooms above, which also makes a cycle impossible.
fn table_order(order: &[&String], allowed: &Edges) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (idx, room) in order.iter().enumerate() {
        for used in &allowed[*room] {
            if !order[..idx].contains(&used) {
                findings.push(Finding::new(TABLE, format!("{room} names {used}, which is not above it")));
            }
        }
    }
    findings
}

/// What the manifests say. Also checks that package and folder have one name.
fn actual_edges(project: &Project, order: &[&String], findings: &mut Vec<Finding>) -> Result<Edges, String> {
    let mut edges = Edges::new();
    for manifest in project.with_suffix("/Cargo.toml").filter(|f| f.starts_with("crates/")) {
        let Some(room) = manifest.strip_prefix("crates/").and_then(|f| f.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        let table = parse(project, manifest)?;
        let package = table.get("package").and_then(|p| p.get("name")).and_then(|n| n.as_str()).unwrap_or("");
        if package.strip_prefix(PREFIX) != Some(room) {
            findings.push(Finding::new(manifest, format!("the package should be called {PREFIX}{room}")));
        }
        edges.insert(room.to_owned(), used_rooms(&table));
        // Tests may use any room above.
        for used in dependencies(&table, &["dev-dependencies"]) {
            let place = |room: &str| order.iter().position(|r| *r == room);
            if place(&used) >= place(room) {
                findings.push(Finding::new(
                    manifest,
                    format!("tests of {room} may not use {used}, which is not above it"),
                ));
            }
        }
    }
    Ok(edges)
}

fn used_rooms(manifest: &toml::Table) -> BTreeSet<String> {
    dependencies(manifest, &["dependencies", "build-dependencies"])
}

fn dependencies(manifest: &toml::Table, kinds: &[&str]) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let targets = manifest.get("target").and_then(|t| t.as_table());
    let per_target = targets.into_iter().flat_map(|t| t.values()).filter_map(|t| t.as_table());
    for table in std::iter::once(manifest).chain(per_target) {
        for kind in kinds {
            let names = table.get(*kind).and_then(|d| d.as_table()).into_iter().flat_map(|d| d.keys());
            used.extend(names.filter_map(|n| n.strip_prefix(PREFIX)).map(str::to_owned));
        }
    }
    used
}

fn compare(allowed: &Edges, actual: &Edges) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (room, used) in actual {
        let place = format!("crates/{room}/Cargo.toml");
        let Some(may) = allowed.get(room) else {
            findings.push(Finding::new(place, format!("{room} is not in {TABLE}")));
            continue;
        };
        for used in used.difference(may) {
            findings.push(Finding::new(&place, format!("{room} may not use {used} ({TABLE})")));
        }
    }
    findings
}

fn longest_chain(edges: &Edges) -> Vec<&str> {
    fn below<'a>(
        room: &'a str,
        edges: &'a Edges,
        known: &mut BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Vec<&'a str> {
        if let Some(chain) = known.get(room) {
            return chain.clone();
        }
        // Marks the room as being walked: a cycle, which cargo reports itself, must not hang the check.
        known.insert(room, vec![room]);
        let used = edges.get(room).into_iter().flatten();
        let deepest = used.map(|u| below(u, edges, known)).max_by_key(Vec::len).unwrap_or_default();
        let mut chain = vec![room];
        chain.extend(deepest);
        known.insert(room, chain.clone());
        chain
    }
    let mut known = BTreeMap::new();
    edges.keys().map(|room| below(room, edges, &mut known)).max_by_key(Vec::len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(&str, &[&str])]) -> Edges {
        list.iter().map(|(r, used)| (r.to_string(), used.iter().map(|u| u.to_string()).collect())).collect()
    }

    #[test]
    fn an_edge_outside_the_table_is_found() {
        let allowed = edges(&[("base", &[]), ("types", &["base"]), ("plan", &["base"])]);
        let actual = edges(&[("plan", &["base", "types"]), ("new", &[])]);
        let found: Vec<String> = compare(&allowed, &actual).into_iter().map(|f| f.message).collect();
        assert_eq!(found, ["new is not in xtask/edges.toml", "plan may not use types (xtask/edges.toml)"]);
    }

    #[test]
    fn the_longest_chain_is_found() {
        let actual = edges(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"]), ("d", &["a"])]);
        assert_eq!(longest_chain(&actual), ["c", "b", "a"]);
    }

    #[test]
    fn every_kind_of_dependency_counts() {
        let manifest = "[dependencies]\nchalet-base.workspace = true\nregex = \"1\"\n[target.'cfg(unix)'.dependencies]\nchalet-plan = {}";
        let used = used_rooms(&manifest.parse().unwrap());
        assert_eq!(used.into_iter().collect::<Vec<_>>(), ["base", "plan"]);
    }
}
