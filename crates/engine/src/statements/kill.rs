//! KILL MUTATION.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_syntax::ast::{self, StatementKind};

/// A mutation is done when its statement is: all that can be wrong is the condition.
pub(super) fn mutation(condition: &ast::Expr, ctx: &QueryContext) -> Result<()> {
    let text =
        format!("SELECT database, table, mutation_id, command FROM system.mutations WHERE {condition}");
    match chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind) {
        Some(StatementKind::Query(query)) => bind_query(&query, ctx, &ctx.ids).map(drop),
        _ => bail!(LOGICAL_ERROR, "The condition of KILL is printed as {text}"),
    }
}
