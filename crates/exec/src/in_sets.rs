//! The sets of IN: rows that are hashed once for a statement, before the first block is asked for them.

use crate::row_set::RowSet;
use chalet_plan::{Expr, InSet, SetSource};
use std::sync::Arc;

/// Those of an expression.
pub(crate) fn of(expr: &Expr) -> Vec<Arc<InSet>> {
    let mut sets = Vec::new();
    expr.visit(&mut |e| {
        if let Expr::In(e) = e {
            sets.push(e.set.clone());
        }
    });
    sets
}

/// The rows, where they are hashed.
pub(crate) fn built(set: &InSet) -> Option<&RowSet> {
    set.built.get().and_then(|set| set.downcast_ref::<RowSet>())
}

/// Whoever comes first builds a set; all others find it.
pub(crate) fn keep(set: &InSet, rows: RowSet) {
    let _ = set.built.set(Arc::new(rows));
}

/// Hashes the constants of a set, if it is one of constants. Says whether it is built.
pub(crate) fn build_constants(set: &InSet) -> bool {
    if let (None, SetSource::Block(block)) = (built(set), &set.source) {
        let mut rows = RowSet::default();
        rows.insert_block(block);
        keep(set, rows);
    }
    built(set).is_some()
}
