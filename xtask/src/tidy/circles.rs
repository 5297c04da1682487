//! Circles of files inside of a crate: files that use one another, directly or not, can only be understood together.

use super::Finding;
use crate::exceptions;
use crate::module_graph;
use crate::project::Project;
use std::collections::{BTreeMap, BTreeSet};

/// So many files may form a circle: as many as fit into one head.
const LIMIT: usize = 8;

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let mut excepted = exceptions::sizes(project, "circles")?;
    let mut findings = Vec::new();
    for (room, files) in rooms(project) {
        let place = format!("crates/{room}/src");
        let circle = largest(&module_graph::uses(&files));
        let names: Vec<&str> = circle.iter().map(|file| files[*file].0.as_str()).collect();
        findings.extend(judge(&place, &names, excepted.remove(&room)));
    }
    findings.extend(
        excepted.keys().map(|room| Finding::new(exceptions::FILE, format!("there is no room {room}"))),
    );
    Ok(findings)
}

/// `circles ROOM`: the uses that make the circles of a room.
pub fn print(room: &str) -> Result<(), String> {
    let mut rooms = rooms(&Project::open()?);
    let files = rooms.remove(room).ok_or_else(|| format!("no room {room}"))?;
    let uses = module_graph::uses(&files);
    for circle in circles(&uses) {
        println!("a circle of {} files", circle.len());
        for file in &circle {
            let inside: Vec<&str> = uses[*file]
                .iter()
                .filter(|used| circle.contains(used))
                .map(|used| &*files[*used].0)
                .collect();
            println!("  {} -> {}", files[*file].0, inside.join(" "));
        }
    }
    Ok(())
}

/// The files of each room below its `src/`, with their sources.
fn rooms(project: &Project) -> BTreeMap<String, Vec<(String, String)>> {
    let mut rooms: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in project.with_suffix(".rs") {
        let Some((room, inner)) = file.strip_prefix("crates/").and_then(|f| f.split_once("/src/")) else {
            continue;
        };
        let source = project.text(file).unwrap_or_default();
        rooms.entry(room.to_owned()).or_default().push((inner.to_owned(), source));
    }
    rooms
}

/// What is to be said of a room with this largest circle. An exception may only shrink.
fn judge(place: &str, circle: &[&str], excepted: Option<usize>) -> Option<Finding> {
    let n = circle.len();
    if n > excepted.unwrap_or(LIMIT).max(LIMIT) {
        let message =
            format!("a circle of {n} files, over {}: {}", excepted.unwrap_or(LIMIT), circle.join(" "));
        return Some(Finding::new(place, message));
    }
    let excepted = excepted.filter(|excepted| n < *excepted || *excepted <= LIMIT)?;
    let instead = if n > LIMIT { format!("write {n}") } else { "take the line off".into() };
    let message = format!("the largest circle of {place} has {n} files and no longer {excepted}: {instead}");
    Some(Finding::new(exceptions::FILE, message))
}

fn largest(uses: &[BTreeSet<usize>]) -> Vec<usize> {
    circles(uses).into_iter().max_by_key(Vec::len).unwrap_or_default()
}

/// The strongly connected components of more than one file, each in the files' order.
fn circles(uses: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let n = uses.len();
    let mut walk =
        Walk { uses, next: 0, number: vec![None; n], low: vec![0; n], open: Vec::new(), found: Vec::new() };
    for file in 0..n {
        if walk.number[file].is_none() {
            walk.visit(file);
        }
    }
    let mut circles = walk.found;
    circles.retain(|circle| circle.len() > 1);
    circles.iter_mut().for_each(|circle| circle.sort_unstable());
    circles
}

/// Tarjan's algorithm.
struct Walk<'a> {
    uses: &'a [BTreeSet<usize>],
    next: usize,
    /// In which order files were met.
    number: Vec<Option<usize>>,
    /// The earliest open file that is known to be reached from each.
    low: Vec<usize>,
    open: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Walk<'_> {
    fn visit(&mut self, file: usize) {
        let own = self.next;
        self.next += 1;
        self.number[file] = Some(own);
        self.low[file] = own;
        self.open.push(file);
        for &used in &self.uses[file] {
            match self.number[used] {
                None => {
                    self.visit(used);
                    self.low[file] = self.low[file].min(self.low[used]);
                }
                Some(number) if self.open.contains(&used) => self.low[file] = self.low[file].min(number),
                Some(_) => {}
            }
        }
        if self.low[file] == own {
            let start = self.open.iter().position(|open| *open == file).unwrap_or(0);
            self.found.push(self.open.split_off(start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(uses: &[&[usize]]) -> Vec<usize> {
        largest(&uses.iter().map(|used| used.iter().copied().collect()).collect::<Vec<_>>())
    }

    #[test]
    fn the_largest_circle_is_found() {
        assert_eq!(circle(&[&[1, 2], &[3], &[3], &[]]), [0; 0]);
        assert_eq!(circle(&[&[1], &[0, 2], &[3], &[4], &[2], &[0]]), [2, 3, 4]);
        // Two rings that share a file are one circle.
        assert_eq!(circle(&[&[1], &[2], &[0, 3], &[4], &[2]]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn exceptions_only_shrink() {
        let files = ["f"; 20];
        let said = |n: usize, excepted| judge("crates/x/src", &files[..n], excepted).map(|f| f.message);
        assert_eq!(said(LIMIT, None), None);
        assert_eq!(said(9, None).unwrap(), format!("a circle of 9 files, over 8: {}", ["f"; 9].join(" ")));
        assert_eq!(said(12, Some(12)), None);
        assert!(said(13, Some(12)).unwrap().starts_with("a circle of 13 files, over 12"));
        assert!(said(11, Some(12)).unwrap().ends_with("write 11"));
        assert!(said(3, Some(12)).unwrap().ends_with("take the line off"));
    }
}
