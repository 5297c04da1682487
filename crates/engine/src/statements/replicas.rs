//! Reading in parallel from replicas (`enable_parallel_replicas`): there are none, so that tables are read as ever, but a query that
//! would be sent to them needs a cluster that is known.

use crate::query_context::QueryContext;
use crate::remote::cluster;
use chalet_base::{Result, bail};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::view::View;
use chalet_syntax::ast::{Expr, ExprKind, Query, Select, SetExpr, StatementKind, TableKind};

/// Queries in views that are followed; deeper ones are not sent.
const DEEPEST: usize = 16;

/// Fails where the query would be sent to the replicas of an unknown cluster.
pub(crate) fn check(query: &Query, ctx: &QueryContext) -> Result<()> {
    let settings = &ctx.state.settings;
    let enabled =
        settings.number("allow_experimental_parallel_reading_from_replicas").is_some_and(|level| level > 0)
            && settings.number("max_parallel_replicas").is_none_or(|most| most > 1)
            && settings.flag("parallel_replicas_for_non_replicated_merge_tree") == Some(true);
    if !enabled || !reads_parts(&query.body, ctx, 0) {
        return Ok(());
    }
    match settings.get("cluster_for_parallel_replicas").filter(|name| !name.is_empty()) {
        None => bail!(
            CLUSTER_DOESNT_EXIST,
            "Reading in parallel from replicas is enabled but cluster to execute query is not provided. Please set \
             'cluster_for_parallel_replicas' setting"
        ),
        Some(name) => cluster::check(&name, ctx),
    }
}

/// Is the first table of the query, or of one of several, of the MergeTree family?
fn reads_parts(body: &SetExpr, ctx: &QueryContext, depth: usize) -> bool {
    match body {
        SetExpr::Select(select) => of_select(select, ctx, depth),
        SetExpr::SetOp { inputs, .. } => inputs.iter().any(|input| reads_parts(input, ctx, depth)),
        SetExpr::Query(query) => reads_parts(&query.body, ctx, depth),
    }
}

fn of_select(select: &Select, ctx: &QueryContext, depth: usize) -> bool {
    let Some(from) = select.from.as_ref().filter(|from| !from.final_ && depth < DEEPEST) else {
        return false;
    };
    match &from.kind {
        TableKind::Query(query) => reads_parts(&query.body, ctx, depth + 1),
        TableKind::Name(name) => {
            let database = name.database.as_ref().map(|database| database.name.as_str());
            let Some(entry) = ctx.entry(database, &name.name.name) else { return false };
            if let Some(view) = entry.table.as_any().downcast_ref::<View>() {
                return match chalet_syntax::parse_printed(&view.query).as_deref() {
                    Ok([statement]) => match &statement.kind {
                        StatementKind::Query(query) => reads_parts(&query.body, ctx, depth + 1),
                        _ => false,
                    },
                    _ => false,
                };
            }
            entry.table.as_any().is::<MergeTree>() && !counts_alone(select)
        }
        _ => false,
    }
}

/// Are the rows of the whole table counted? The number is known.
fn counts_alone(select: &Select) -> bool {
    let plain = select.where_.is_none()
        && select.prewhere.is_none()
        && select.group_by.is_none()
        && select.joins.is_empty();
    let without_arguments = |e: &Expr| matches!(&e.kind, ExprKind::Call(call) if call.args.is_empty());
    plain && matches!(&select.projection[..], [only] if without_arguments(only))
}
