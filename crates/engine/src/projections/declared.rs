//! A projection as it is written.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_storage::Projection;
use chalet_syntax::ast::{ExprKind, ProjectionDef, StatementKind};

/// A projection that was declared.
pub(crate) fn parsed(projection: &Projection) -> Result<ProjectionDef> {
    let text = format!("CREATE TABLE t (PROJECTION {}) ENGINE = MergeTree", projection.shown);
    let statement = chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind);
    match statement {
        Some(StatementKind::CreateTable(mut create)) if create.definition.projections.len() == 1 => {
            Ok(create.definition.projections.swap_remove(0))
        }
        _ => bail!(LOGICAL_ERROR, "A projection cannot be printed: {}", projection.shown),
    }
}

/// Does the query of a projection aggregate?
pub(crate) fn aggregates(written: &ProjectionDef, ctx: &QueryContext) -> bool {
    let mut found = written.query.group_by.is_some();
    for expr in &written.query.projection {
        chalet_syntax::visit::walk(expr, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                found |= call.over.is_none() && ctx.registry.called(&call.name).is_none();
            }
            !found
        });
    }
    found
}
