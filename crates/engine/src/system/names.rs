//! Which databases and tables of the system there are.

/// Databases that are always there.
pub(crate) const NAMES: &[&str] = &["system"];

/// Sorted by name.
pub(crate) const TABLES: &[&str] = &[
    "asynchronous_inserts",
    "backups",
    "clusters",
    "columns",
    "constraints",
    "data_skipping_indices",
    "data_type_families",
    "databases",
    "detached_parts",
    "detached_tables",
    "dictionaries",
    "distribution_queue",
    "dropped_tables",
    "events",
    "formats",
    "functions",
    "graphite_retentions",
    "kafka_consumers",
    "macros",
    "merge_tree_settings",
    "merges",
    "moves",
    "mutations",
    "named_collections",
    "numbers",
    "numbers_mt",
    "one",
    "part_moves_between_shards",
    "parts",
    "parts_columns",
    "primes",
    "projections",
    "query_cache",
    "remote_data_paths",
    "replicas",
    "replication_queue",
    "resources",
    "rocksdb",
    "server_settings",
    "settings",
    "table_functions",
    "tables",
    "user_defined_functions",
    "view_refreshes",
    "warnings",
    "workloads",
    "zeros",
    "zeros_mt",
];

pub(crate) fn is_system(database: &str) -> bool {
    NAMES.contains(&database)
}
