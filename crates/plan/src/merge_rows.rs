//! MergeRows: the node of FINAL, and the rules for rows whose keys are equal, which merges of parts apply too.

use crate::{ColumnId, Plan, SortKey};
use chalet_function_api::Aggregate as AggregateImpl;
use chalet_types::DataType;
use std::sync::Arc;

/// FINAL: the input's rows in the order of the keys, where a rule says what becomes of rows whose keys are equal, which come in
/// the input's order. Puts out
/// the input's columns.
#[derive(Clone, Debug)]
pub struct MergeRows {
    pub input: Box<Plan>,
    pub keys: Vec<SortKey>,
    pub rule: RowRule,
}

/// What becomes of rows whose keys are equal. Nobody but the rule reads the columns that it names.
#[derive(Clone, Debug)]
pub enum RowRule {
    /// One row stays: the one with the greatest version, of several the last.
    Replacing {
        version: Option<ColumnId>,
        is_deleted: Option<ColumnId>,
        /// Without a row that says that it is deleted.
        drops_deleted: bool,
    },
    /// Of the rows with sign -1 the first stays, of those with sign 1 the last, unless they cancel out.
    Collapsing {
        sign: ColumnId,
        /// Without those of sign -1.
        only_positive: bool,
    },
    /// Neighbouring rows of opposite signs cancel out.
    VersionedCollapsing { sign: ColumnId },
    /// Columns are aggregated; of others the first value stays. Without keys each row is on its own.
    Folding {
        folds: Vec<Fold>,
        /// Without rows in which every [`Fold`] that can be zero is.
        drops_zeros: bool,
    },
}

/// An aggregate over columns that takes their place.
#[derive(Clone)]
pub struct Fold {
    /// Of several columns the result is a tuple of as many.
    pub columns: Vec<(ColumnId, DataType)>,
    pub aggregate: Arc<dyn AggregateImpl>,
    /// Does a result that is its type's default count as zero?
    pub can_be_zero: bool,
}

impl std::fmt::Debug for Fold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fold({:?})", self.columns)
    }
}

impl RowRule {
    /// The columns that the rule must see to decide which rows stay.
    pub fn columns(&self) -> Vec<ColumnId> {
        match self {
            RowRule::Replacing { version, is_deleted, .. } => {
                version.iter().chain(is_deleted).copied().collect()
            }
            RowRule::Collapsing { sign, .. } | RowRule::VersionedCollapsing { sign } => vec![*sign],
            RowRule::Folding { folds, drops_zeros: true, .. } => {
                folds.iter().flat_map(|fold| fold.columns.iter().map(|(id, _)| *id)).collect()
            }
            // Without a column of several that are folded together, the others cannot be.
            RowRule::Folding { folds, .. } => {
                let several = folds.iter().filter(|fold| fold.columns.len() > 1);
                several.flat_map(|fold| fold.columns.iter().map(|(id, _)| *id)).collect()
            }
        }
    }

    /// `Replacing`: the name for EXPLAIN.
    pub fn name(&self) -> &'static str {
        match self {
            RowRule::Replacing { .. } => "Replacing",
            RowRule::Collapsing { .. } => "Collapsing",
            RowRule::VersionedCollapsing { .. } => "VersionedCollapsing",
            RowRule::Folding { .. } => "Folding",
        }
    }
}
