//! The names of the table engines, for listings. How tables are made of them stands in `statements::create::engines`, whose test
//! compares the two.

/// An engine, and whether it takes keys; those that do take settings, indexes and TTL too.
pub(crate) const TABLE_ENGINES: &[(&str, bool)] = &[
    ("AggregatingMergeTree", true),
    ("Alias", false),
    ("Buffer", false),
    ("CoalescingMergeTree", true),
    ("CollapsingMergeTree", true),
    ("Dictionary", false),
    ("Distributed", false),
    ("EmbeddedRocksDB", false),
    ("File", false),
    ("GraphiteMergeTree", true),
    ("Join", false),
    ("Log", false),
    ("Memory", false),
    ("Merge", false),
    ("MergeTree", true),
    ("Null", false),
    ("ReplacingMergeTree", true),
    ("Set", false),
    ("StripeLog", false),
    ("SummingMergeTree", true),
    ("TinyLog", false),
    ("VersionedCollapsingMergeTree", true),
];
