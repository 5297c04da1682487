//! The statements that are known to fail: one a line, file and statement, tab between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The list, and what this run saw of it.
#[derive(Default)]
pub struct Gaps {
    listed: BTreeSet<(String, String)>,
    /// Whether each statement that ran passed every time.
    seen: BTreeMap<(String, String), bool>,
}

/// Statements are listed on one line.
fn one_line(sql: &str) -> String {
    sql.trim().replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

impl Gaps {
    /// A file that is not there lists nothing.
    pub fn read(path: &Path) -> Result<Gaps, String> {
        if !path.exists() {
            return Ok(Gaps::default());
        }
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let listed = lines
            .map(|line| {
                let (file, sql) =
                    line.split_once('\t').ok_or_else(|| format!("no tab in the line: {line}"))?;
                Ok((file.to_string(), sql.to_string()))
            })
            .collect::<Result<_, String>>()?;
        Ok(Gaps { listed, seen: BTreeMap::new() })
    }

    pub fn contains(&self, file: &str, sql: &str) -> bool {
        self.listed.contains(&(file.to_string(), one_line(sql)))
    }

    /// Notes one run of a statement.
    pub fn saw(&mut self, file: &str, sql: &str, passed: bool) {
        let entry = self.seen.entry((file.to_string(), one_line(sql))).or_insert(true);
        *entry &= passed;
    }

    /// Listed statements that ran and passed every time.
    pub fn closed(&self) -> impl Iterator<Item = &(String, String)> {
        self.listed.iter().filter(|key| self.seen.get(*key) == Some(&true))
    }

    /// Writes the statements that failed now, and the listed ones that did not run; returns how many.
    pub fn write(&self, path: &Path) -> Result<usize, String> {
        let failed = self.seen.iter().filter(|(_, passed)| !**passed).map(|(key, _)| key);
        let unseen = self.listed.iter().filter(|key| !self.seen.contains_key(*key));
        let all: BTreeSet<_> = failed.chain(unseen).collect();
        let mut text = String::from(
            "# Statements of tests/sql that do not do yet what the kernel does, one a line: file, tab, statement.\n\
             # The runner fails when a statement that is not here fails, and when one that is here passes in every mode.\n\
             # Written by `chalet-testkit --write-gaps`. The list may only shrink.\n",
        );
        for (file, sql) in &all {
            text.push_str(&format!("{file}\t{sql}\n"));
        }
        std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(all.len())
    }
}
