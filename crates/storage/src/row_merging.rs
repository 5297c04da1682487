//! What the engines of the MergeTree family do to rows of equal sorting keys when parts are merged, and when a query says
//! FINAL: plain data, the columns by name.

use crate::merge_tree::MERGE_TREE;
use std::sync::Arc;

/// The rule of a table for rows whose sorting keys are equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowMerging {
    /// All rows stay: plain MergeTree.
    #[default]
    None,
    /// The row with the greatest version stays, of several the last one.
    Replacing {
        version: Option<Arc<str>>,
        is_deleted: Option<Arc<str>>,
        /// May OPTIMIZE drop rows that say that they are deleted?
        allows_cleanup: bool,
    },
    /// Numbers are added up: those of these columns, or of all where none is named.
    Summing { columns: Arc<[Arc<str>]> },
    /// Aggregates of columns that are declared as such are merged.
    Aggregating,
    /// Rows with sign 1 and -1 cancel out.
    Collapsing { sign: Arc<str> },
    /// As above, among rows of one version.
    VersionedCollapsing { sign: Arc<str>, version: Arc<str> },
    /// The last value that is not NULL stays: of these columns, or of all where none is named.
    Coalescing { columns: Arc<[Arc<str>]> },
}

impl RowMerging {
    /// The name of the engine.
    pub fn engine(&self) -> &'static str {
        match self {
            RowMerging::None => MERGE_TREE,
            RowMerging::Replacing { .. } => "ReplacingMergeTree",
            RowMerging::Summing { .. } => "SummingMergeTree",
            RowMerging::Aggregating => "AggregatingMergeTree",
            RowMerging::Collapsing { .. } => "CollapsingMergeTree",
            RowMerging::VersionedCollapsing { .. } => "VersionedCollapsingMergeTree",
            RowMerging::Coalescing { .. } => "CoalescingMergeTree",
        }
    }

    /// The columns that the rule names.
    pub fn columns(&self) -> Vec<&Arc<str>> {
        match self {
            RowMerging::None | RowMerging::Aggregating => Vec::new(),
            RowMerging::Replacing { version, is_deleted, .. } => version.iter().chain(is_deleted).collect(),
            RowMerging::Summing { columns } | RowMerging::Coalescing { columns } => columns.iter().collect(),
            RowMerging::Collapsing { sign } => vec![sign],
            RowMerging::VersionedCollapsing { sign, version } => vec![sign, version],
        }
    }

    /// Does the engine keep all rows?
    pub fn is_none(&self) -> bool {
        *self == RowMerging::None
    }
}
