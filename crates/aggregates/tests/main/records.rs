//! Every record says what a user needs, and no name is taken twice.

use chalet_aggregates::{combinators, register};
use chalet_function_api::{AggregateRecord, Registry};
use std::collections::HashSet;

fn check(record: &AggregateRecord) {
    let name = record.name;
    assert!(!record.summary.is_empty() && record.summary.ends_with('.'), "{name}: summary");
    assert!(
        record.syntax.contains(name) || record.any_case_aliases.iter().any(|a| record.syntax.contains(a)),
        "{name}: syntax"
    );
    assert!(!record.examples.is_empty(), "{name}: example");
    for example in record.examples {
        let known = std::iter::once(&name).chain(record.aliases).chain(record.any_case_aliases);
        assert!(
            known.into_iter().any(|n| example.sql.contains(*n)),
            "{name}: the example is of another function"
        );
    }
}

#[test]
fn records_are_complete_and_names_are_unique() {
    let mut registry = Registry::default();
    register(&mut registry);
    let aggregates = registry.aggregates.all().iter().map(|f| f.record());
    let windows = registry.windows.all().iter().map(|f| f.record());
    let mut names = HashSet::new();
    for record in aggregates.chain(windows) {
        check(record);
        for name in std::iter::once(&record.name).chain(record.aliases).chain(record.any_case_aliases) {
            assert!(names.insert(name.to_string()), "{name} is taken twice");
        }
    }
    assert!(combinators::suffixes().count() > 10);
}

/// The names in backquotes of the first cells of the table of missing functions.
fn missing(page: &str) -> HashSet<&str> {
    let cells = page.lines().filter(|line| line.starts_with("| `")).filter_map(|row| row.split('|').nth(1));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn the_page_of_missing_functions_lists_none_that_is_there() {
    let page = std::fs::read_to_string("../../docs/functions.md").unwrap();
    let missing = missing(&page);
    assert!(missing.len() > 20, "the table of docs/functions.md was not found");
    let mut registry = Registry::default();
    register(&mut registry);
    let names = registry.aggregates.names().chain(registry.windows.names()).chain(registry.scalars.names());
    let written: Vec<&str> = names.filter(|name| missing.contains(name)).collect();
    assert!(written.is_empty(), "take off docs/functions.md: {written:?}");
}
