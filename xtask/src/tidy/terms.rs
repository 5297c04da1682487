//! Names speak the language of the field: words of our own that a known term has replaced do not come back.

use super::Finding;
use crate::project::Project;
use crate::rust_source::{self, Token};

/// Identifiers, also as names of files, and the term that replaced each.
const IDENTIFIERS: &[(&str, &str)] = &[
    ("Lent", "BorrowedMemory"),
    ("lent", "borrowed"),
    ("is_lent", "is_borrowed"),
    ("Pace", "InterruptThrottle"),
    ("Texts", "the thing that holds the strings: StringArg, StringColumn"),
    ("OutsideTable", "ReplacementTable"),
    ("OutsideScan", "ReplacementTableScan"),
    ("OutsideQuery", "ReplacementQuery"),
    ("outside_query", "replacement_query"),
    ("TopBound", "TopKThreshold"),
    ("top_bound", "top_k_threshold"),
    ("scan_bound", "scan_threshold"),
    ("fetch_late", "late_materialization"),
    ("locator", "row_id"),
    ("locators", "row_ids"),
    ("LocatedRows", "RowsById"),
    ("located_rows", "rows_by_id"),
    ("locates_rows", "has_row_ids"),
    ("compare_unconverted", "unwrap_cast_in_comparison"),
    ("extremes_unconverted", "min_max_through_cast"),
    ("split_distinct", "single_distinct_to_group_by"),
    ("from_statistics", "aggregate_from_statistics"),
    ("Lowerer", "PhysicalPlanner"),
    ("Lowered", "PhysicalPlan"),
    ("Unsorted", "SortBuffer"),
    ("PutAside", "PartitionedGroups"),
    ("put_aside", "partition, spill or materialize"),
    ("Chosen", "the noun: GroupLimit, LimitedCollector"),
    ("Way", "a strategy, named for what it decides"),
    ("KeyForm", "KeyLayout"),
    ("clamps", "monotonic_range"),
    ("text_read", "parsed_literal"),
    ("Moment", "Timestamp"),
    ("is_moment", "is_timestamp"),
    ("check_moment", "check_timestamp"),
    ("to_moment", "to_timestamp"),
    ("of_moment", "of_timestamp"),
    ("parsed_moment", "parsed_timestamp"),
    ("CountedScan", "ProgressScan"),
    ("came", "rows_in"),
];

/// Names of files alone, whose words are fine elsewhere.
const FILES: &[(&str, &str)] = &[
    ("told", "arrow_types"),
    ("pace", "interrupt_throttle"),
    ("texts", "what the file holds: string_args, string_column, byte_array"),
    ("outside", "replacement_scan"),
    ("lower", "physical_planner"),
    ("unsorted", "sort_buffer"),
    ("form", "key_layout"),
    ("refusal", "cast_check"),
    ("uses", "fork_guard"),
    ("wide", "simd_dispatch"),
    ("truth", "ternary_logic"),
    ("tail", "unmatched_rows"),
    ("paste", "paste_join"),
    ("gather", "materialize"),
    ("counted", "progress_scan, statement_events"),
];

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in project.with_suffix(".rs") {
        if let Some((word, term)) = retired_file(file) {
            findings.push(Finding::new(file, format!("a file named {word}: the term is {term}")));
        }
        for (line, word, term) in retired_identifiers(&project.text(file).unwrap_or_default()) {
            findings.push(Finding::new(format!("{file}:{line}"), format!("{word}: the term is {term}")));
        }
    }
    Ok(findings)
}

type Retired = (&'static str, &'static str);

fn retired_file(path: &str) -> Option<Retired> {
    let stem = path.rsplit('/').next()?.strip_suffix(".rs")?;
    IDENTIFIERS.iter().chain(FILES).find(|(word, _)| *word == stem).copied()
}

/// Line, word and term. Comments and strings may use the words: English has them, and users may see them.
fn retired_identifiers(source: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for placed in rust_source::tokens(source) {
        if let Token::Word(word) = &placed.token
            && let Some((word, term)) = IDENTIFIERS.iter().find(|(retired, _)| retired == word)
        {
            found.push((placed.line, *word, *term));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_found_but_not_their_mention() {
        let source = "// a TopBound\nstruct TopBound;\nlet x = \"Lowerer\";\nfn topBound(locator: u64) {}";
        let found: Vec<(usize, &str)> =
            retired_identifiers(source).into_iter().map(|(line, word, _)| (line, word)).collect();
        assert_eq!(found, [(2, "TopBound"), (4, "locator")]);
    }

    #[test]
    fn files_are_found_by_their_whole_name() {
        assert_eq!(retired_file("crates/exec/src/lower.rs"), Some(("lower", "physical_planner")));
        assert_eq!(retired_file("crates/exec/src/top_bound.rs"), Some(("top_bound", "top_k_threshold")));
        assert_eq!(retired_file("crates/exec/src/lower_case.rs"), None);
        assert_eq!(retired_file("docs/lower.md"), None);
    }
}
