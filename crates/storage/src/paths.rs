//! Paths with `*`, `**`, `?`, `{a,b}` and `{1..9}` as lists of files.

use chalet_base::{Result, ensure, err};
use std::path::PathBuf;

/// More alternatives than this in one path are refused.
const MAX_ALTERNATIVES: usize = 1_000_000;

/// Has the path anything to expand?
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '{'])
}

/// The files that a path means, sorted; a path without wildcards means itself, whether it is there or not.
pub fn expand(path: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for alternative in alternatives(path)? {
        if !alternative.contains(['*', '?']) {
            if alternative == path || std::path::Path::new(&alternative).exists() {
                files.push(PathBuf::from(alternative));
            }
            continue;
        }
        let options = glob::MatchOptions {
            require_literal_separator: true,
            require_literal_leading_dot: false,
            case_sensitive: true,
        };
        let found = glob::glob_with(&alternative, options)
            .map_err(|e| err!(BAD_ARGUMENTS, "Path {path} is not a valid pattern: {e}"))?;
        files.extend(found.filter_map(|entry| entry.ok()).filter(|f| f.is_file()));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Could a pattern mean a folder above one that it names? Files are looked for by what is between two slashes, and a pattern that begins
/// with a dot finds the folder above, too.
pub fn climbs(path: &str) -> Result<bool> {
    let climbs = |part: &str| part == ".." || part.starts_with('.') && part.contains(['*', '?', '[']);
    Ok(alternatives(path)?.iter().any(|path| path.split('/').any(climbs)))
}

/// Braces resolved, from the left.
fn alternatives(path: &str) -> Result<Vec<String>> {
    let mut done: Vec<String> = Vec::new();
    let mut open = vec![path.to_string()];
    while let Some(current) = open.pop() {
        let braces = current.find('{').and_then(|start| Some((start, start + current[start..].find('}')?)));
        let Some((start, end)) = braces else {
            done.push(current);
            continue;
        };
        let (before, after) = (&current[..start], &current[end + 1..]);
        for choice in choices(&current[start + 1..end]) {
            open.push(format!("{before}{choice}{after}"));
        }
        ensure!(
            open.len() + done.len() <= MAX_ALTERNATIVES,
            BAD_ARGUMENTS,
            "Path {path} has more than {MAX_ALTERNATIVES} alternatives"
        );
    }
    Ok(done)
}

/// `1..9`, `01..12` (numbers keep their width) or `a,b`.
fn choices(inside: &str) -> Vec<String> {
    let range = inside.split_once("..").and_then(|(low, high)| {
        let numbers = (low.parse::<u64>().ok()?, high.parse::<u64>().ok()?);
        let width = if low.starts_with('0') || high.starts_with('0') { low.len().max(high.len()) } else { 0 };
        Some((numbers, width))
    });
    match range {
        Some(((low, high), width)) => {
            let numbers: Vec<u64> = (low.min(high)..=low.max(high)).take(MAX_ALTERNATIVES).collect();
            numbers.into_iter().map(|n| format!("{n:0width$}")).collect()
        }
        None => inside.split(',').map(String::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn braces_multiply() {
        let mut all = super::alternatives("a{1..3}/{x,y}.csv").unwrap();
        all.sort();
        assert_eq!(all, ["a1/x.csv", "a1/y.csv", "a2/x.csv", "a2/y.csv", "a3/x.csv", "a3/y.csv"]);
        assert_eq!(super::choices("08..10"), ["08", "09", "10"]);
    }

    #[test]
    fn patterns_that_climb() {
        for path in ["{..,a}/x", "{a,b/..}/x", "a/.*/x", "a/.?", "{.,a}{.,b}/x", ".[.]/x"] {
            assert!(super::climbs(path).unwrap(), "{path}");
        }
        for path in ["a/*.csv", "{1..3}/x", "a..b/x", ".hidden/x", "**/x", "x.?"] {
            assert!(!super::climbs(path).unwrap(), "{path}");
        }
    }
}
