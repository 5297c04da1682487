//! The names of the table engines, for listings. How tables are made of them stands in `statements::create::engines`, whose test
//! compares the two.

/// Sorted by name.
pub(crate) const TABLE_ENGINES: &[&str] = &[
    "AggregatingMergeTree",
    "Alias",
    "Buffer",
    "CoalescingMergeTree",
    "CollapsingMergeTree",
    "Dictionary",
    "Distributed",
    "EmbeddedRocksDB",
    "File",
    "GraphiteMergeTree",
    "GenerateRandom",
    "Join",
    "Log",
    "Memory",
    "Merge",
    "MergeTree",
    "Null",
    "ReplacingMergeTree",
    "Set",
    "StripeLog",
    "SummingMergeTree",
    "TinyLog",
    "VersionedCollapsingMergeTree",
];
