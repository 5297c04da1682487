//! Which databases and tables of the system there are.

/// Databases that are always there.
pub(crate) const NAMES: &[&str] = &["system"];

/// Sorted by name.
pub(crate) const TABLES: &[&str] = &[
    "columns",
    "data_skipping_indices",
    "data_type_families",
    "databases",
    "detached_tables",
    "dictionaries",
    "dropped_tables",
    "events",
    "formats",
    "functions",
    "merge_tree_settings",
    "numbers",
    "numbers_mt",
    "one",
    "parts",
    "primes",
    "server_settings",
    "settings",
    "table_functions",
    "tables",
    "warnings",
    "zeros",
    "zeros_mt",
];

pub(crate) fn is_system(database: &str) -> bool {
    NAMES.contains(&database)
}
