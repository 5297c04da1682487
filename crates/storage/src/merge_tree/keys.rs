//! By what the rows of a table are sorted, and what keeps them apart.

use crate::RowMerging;
use std::sync::Arc;

/// By what the rows of a table are sorted, as SQL text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableKeys {
    /// Empty where there is none.
    pub partition: Arc<str>,
    pub sorting: Vec<SortingKey>,
    /// So many of the first sorting keys are the primary one.
    pub n_primary: usize,
    /// Of whose values SAMPLE takes a range, as SQL text. Empty where there is none.
    pub sampling: Arc<str>,
    /// When rows go, as SQL text. Empty where they stay.
    pub ttl: Arc<str>,
    /// What becomes of rows whose sorting keys are equal.
    pub merging: RowMerging,
}

/// One expression of ORDER BY in the definition of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct SortingKey {
    pub expr: Arc<str>,
    pub descending: bool,
}

impl TableKeys {
    /// The sorting key as `system.tables` shows it.
    pub fn sorting_key(&self) -> String {
        listed(&self.sorting)
    }

    /// The primary key as SQL text: the first sorting keys, separated by commas.
    pub fn primary_key(&self) -> String {
        listed(&self.sorting[..self.n_primary])
    }

    /// Is an expression one of the primary key, but for parentheses around it?
    pub fn is_in_primary(&self, expr: &str) -> bool {
        self.sorting[..self.n_primary].iter().any(|key| bare(&key.expr) == bare(expr))
    }

    /// What rows are sorted by: the partition first, since partitions are kept apart.
    pub fn all(&self) -> impl Iterator<Item = (&str, bool)> {
        let partition = (!self.partition.is_empty()).then_some((&*self.partition, false));
        partition.into_iter().chain(self.sorting.iter().map(|key| (&*key.expr, key.descending)))
    }
}

fn listed(keys: &[SortingKey]) -> String {
    keys.iter().map(|key| &*key.expr).collect::<Vec<_>>().join(", ")
}

/// An expression without parentheses around the whole of it.
fn bare(expr: &str) -> &str {
    let inner = expr.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    inner.filter(|inner| !inner.contains(['(', ')'])).unwrap_or(expr)
}
