//! Which INSERTs into tables with `non_replicated_deduplication_window` are dropped when they come a second time.

use crate::query_context::QueryContext;
use chalet_base::{Result, ensure};
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast;
use std::borrow::Cow;

/// What the user says that identifies the INSERT, in the place of its rows.
pub(super) fn token(ctx: &QueryContext) -> Option<String> {
    ctx.state.settings.get("insert_deduplication_token").filter(|token| !token.is_empty())
}

/// Are the INSERTs of a statement remembered?
pub(super) fn is_on(table: &MergeTree, ctx: &QueryContext) -> bool {
    let settings = &ctx.state.settings;
    table.definition().dedup_window > 0
        && match settings.get("deduplicate_insert").as_deref() {
            Some("disable") => false,
            Some("backward_compatible_choice") => settings.flag("insert_deduplicate") != Some(false),
            _ => true,
        }
}

fn is_ordered_by_all(body: &ast::SetExpr) -> bool {
    match body {
        ast::SetExpr::Select(select) => select.order_by_all,
        ast::SetExpr::Query(query) => is_ordered_by_all(&query.body),
        ast::SetExpr::SetOp { .. } => false,
    }
}

/// The context for an INSERT of the rows of a query. Rows that may come in any order identify nothing: without a token, and unless
/// the query says ORDER BY ALL, the INSERT is not remembered.
pub(crate) fn of_query<'a>(
    table: &dyn Table,
    query: &ast::Query,
    ctx: &'a QueryContext,
) -> Result<Cow<'a, QueryContext>> {
    let is_meant = table.as_any().downcast_ref::<MergeTree>().is_some_and(|table| is_on(table, ctx));
    if !is_meant {
        return Ok(Cow::Borrowed(ctx));
    }
    let identifies = token(ctx).is_some() || is_ordered_by_all(&query.body);
    let is_remembered = match ctx.state.settings.get("deduplicate_insert_select").as_deref() {
        Some("disable") => false,
        Some("enable_even_for_bad_queries") => true,
        Some("force_enable") => {
            ensure!(
                identifies,
                DEDUPLICATION_IS_NOT_POSSIBLE,
                "Deduplication for INSERT SELECT with non-stable SELECT is not possible (the SELECT part can return different results \
                 on each execution). Add ORDER BY ALL to the query, give an `insert_deduplication_token`, or set \
                 `deduplicate_insert_select` to 'enable_when_possible' or 'disable'"
            );
            true
        }
        _ => identifies,
    };
    if is_remembered {
        return Ok(Cow::Borrowed(ctx));
    }
    let mut settings = ctx.state.settings.clone();
    settings.set("deduplicate_insert", "disable")?;
    ctx.with_settings(settings).map(Cow::Owned)
}
