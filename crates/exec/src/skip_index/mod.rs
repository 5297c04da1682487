//! What data skipping indexes test of a filter: conditions over the granules of an index that hold wherever a row passes.
//!
//! - [`tree`]: a filter without what an index says nothing about
//! - [`minmax`], [`sets`], [`filters`]: conditions over granules of each kind
//! - [`points`]: constants as the hashes that filters hold

mod filters;
mod minmax;
mod points;
mod sets;
mod tree;

use crate::ExecContext;
use chalet_base::{Result, ensure};
use chalet_plan::{ColumnId, Expr, ScanIndex, ScanNode};
use chalet_storage::merge_tree::skip_index::{SkipCondition, SkipIndexKind};
use chalet_types::DataType;

/// The conditions that the indexes of a scan test. Fails where one that is asked for tests nothing.
pub fn conditions(node: &ScanNode, ctx: &ExecContext) -> Result<Vec<SkipCondition>> {
    let mut found = Vec::new();
    if let Some(filter) = &node.filter {
        for index in node.skip_indexes.iter() {
            found.extend(condition(filter, index, ctx)?);
        }
        for forced in node.forced_indexes.iter() {
            ensure!(
                found.iter().any(|condition| condition.name == *forced),
                INDEX_NOT_USED,
                "Index `{forced}` is not used and setting 'force_data_skipping_indices' contains it"
            );
        }
    }
    Ok(found)
}

/// The column that stands for an expression of an index.
fn stand_in(at: usize) -> ColumnId {
    // Ids are given from 0 on.
    ColumnId(u32::MAX - at as u32)
}

/// Which expression of the index a column stands for.
fn position(expr: &Expr, n_exprs: usize) -> Option<usize> {
    let id = expr.as_column()?;
    (0..n_exprs).find(|&at| stand_in(at) == id)
}

fn condition(filter: &Expr, index: &ScanIndex, ctx: &ExecContext) -> Result<Option<SkipCondition>> {
    let types: Vec<DataType> = index.exprs.iter().map(|expr| expr.ty().clone()).collect();
    // What an index is over is a column of it from here on.
    let filter = filter.replace(&mut |expr| {
        let at = index.exprs.iter().position(|own| own == expr);
        Ok(at.map(|at| Expr::Column(stand_in(at), types[at].clone())))
    })?;
    let may_match = match &index.kind {
        SkipIndexKind::MinMax => minmax::condition(&filter, &types),
        SkipIndexKind::Set { .. } => sets::condition(&filter, &types, ctx)?,
        kind => filters::condition(&filter, kind, index, &types),
    };
    Ok(may_match.map(|may_match| SkipCondition {
        name: index.name.clone(),
        identity: index.identity.clone(),
        kind: index.kind.clone(),
        types: types.into(),
        may_match,
    }))
}

type MayMatch = std::sync::Arc<
    dyn Fn(&chalet_storage::merge_tree::skip_index::Granules) -> Result<chalet_columns::BooleanBuffer>
        + Send
        + Sync,
>;
