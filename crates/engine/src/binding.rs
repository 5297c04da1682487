//! Queries as they are bound by statements, with the types of the caller's objects.

use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_binder::{BoundQuery, bind_query};
use chalet_syntax::ast;

/// Binds a query. Until it is known which columns it names, those of the caller's objects may have types that only a sample
/// of their values told; where one of them is wrong the query is bound once more, with the types of all values.
pub(crate) fn bind(query: &ast::Query, ctx: &QueryContext) -> Result<BoundQuery> {
    let bind = || bind_query(query, ctx, &ctx.ids);
    let Some(replacement_scan) = &ctx.replacement_scan else { return bind() };
    replacement_scan.assume(true);
    let bound = bind();
    replacement_scan.assume(false);
    let was_wrong = match bound {
        Ok(_) => replacement_scan.settle()?,
        Err(_) => replacement_scan.has_assumed(),
    };
    if was_wrong { bind() } else { bound }
}
