//! Where the code is known to break a house rule: `xtask/exceptions.toml`, one table per rule.

use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};

pub const FILE: &str = "xtask/exceptions.toml";

/// A table of `"file" = ["name", ...]`, as pairs.
pub fn by_file(project: &Project, rule: &str) -> Result<BTreeSet<(String, String)>, String> {
    let mut found = BTreeSet::new();
    for (file, names) in table(project, rule)? {
        let names = names.as_array().into_iter().flatten().filter_map(|n| n.as_str());
        found.extend(names.map(|name| (file.clone(), name.to_owned())));
    }
    Ok(found)
}

/// A table of `room = number`.
pub fn sizes(project: &Project, rule: &str) -> Result<BTreeMap<String, usize>, String> {
    let number = |value: &toml::Value| usize::try_from(value.as_integer()?).ok();
    Ok(table(project, rule)?.iter().filter_map(|(room, n)| Some((room.clone(), number(n)?))).collect())
}

fn table(project: &Project, rule: &str) -> Result<toml::Table, String> {
    let text = project.text(FILE).ok_or_else(|| format!("{FILE} is missing"))?;
    let mut all: toml::Table = text.parse().map_err(|e| format!("{FILE}: {e}"))?;
    match all.remove(rule) {
        Some(toml::Value::Table(table)) => Ok(table),
        Some(_) => Err(format!("{FILE}: {rule} is not a table")),
        None => Ok(toml::Table::new()),
    }
}
