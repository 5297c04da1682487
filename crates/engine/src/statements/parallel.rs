//! `... PARALLEL WITH ...`: statements without rows of their own, of which none may count on the order.

use super::output::Output;
use super::readonly::gives_rows;
use super::run_kind;
use crate::query_context::QueryContext;
use crate::session_state::SessionState;
use crate::written_settings;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_syntax::ast::{InsertSource, Statement, StatementKind};
use chalet_syntax::print;

/// Runs them one after the other: each uses all workers itself. Rows are written when all the rest is done and every INSERT
/// is known to make sense, so that a mistake in one writes nothing.
pub(crate) fn run(
    list: &[Statement],
    ctx: &QueryContext,
    own: &SessionState,
    output: &mut Output,
) -> Result<()> {
    let mut inserts = Vec::new();
    for statement in list {
        if gives_rows(&statement.kind) {
            let hint = match statement.kind {
                StatementKind::Query(_) => " (Use UNION to combine select queries)",
                _ => "",
            };
            bail!(
                INCORRECT_QUERY,
                "Query {} can't be combined with other queries using PARALLEL WITH clause because this query has output{hint}",
                print::without_data(statement, false)
            );
        }
        let ctx = written_settings::of_statement(statement, ctx)?;
        if let StatementKind::Insert(insert) = &statement.kind {
            if let InsertSource::Query(query) = &insert.source {
                bind_query(query, &*ctx, &ctx.ids)?;
            }
            inserts.push((statement, ctx));
        } else {
            run_kind(statement, &ctx, own, output)?;
        }
    }
    inserts.into_iter().try_for_each(|(statement, ctx)| run_kind(statement, &ctx, own, output))
}
