//! A single DISTINCT count becomes a GROUP BY over its argument, which has the partitioned tables of all aggregation: the
//! groups of the first step are the different values, and the second counts them.
//!
//! ```text
//! Aggregate by k: uniqExact(x), sum(y)
//!   Scan
//! =>
//! Aggregate by k: count(), sum(s)
//!   Aggregate by k, x: sum(y) as s
//!     Scan
//! ```

use crate::rewriter::{Rewriter, bottom_up};
use crate::two_steps::with_parts;
use chalet_base::Result;
use chalet_function_api::aggregate::RowOrder;
use chalet_plan::{Aggregate, AggregateCall, Expr, GroupingKind, Plan};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| {
        let Plan::Aggregate(node) = node else { return Ok(node) };
        Ok(Plan::Aggregate(if is_candidate(&node) { split(node, with) } else { node }))
    })
}

fn is_candidate(node: &Aggregate) -> bool {
    let distinct = node.calls.iter().filter(|call| call.aggregate.counts_distinct()).count();
    node.grouping == GroupingKind::Plain
        && node.sets.is_empty()
        && node.totals.is_none()
        && !node.is_partial
        && distinct == 1
        && node.calls.iter().all(|call| {
            call.row_order == RowOrder::Free
                && (call.aggregate.counts_distinct() || call.aggregate.split().is_some())
        })
}

fn split(node: Aggregate, with: &Rewriter) -> Aggregate {
    let mut keys: Vec<_> = node.keys.clone();
    let mut parts = Vec::new();
    let mut calls = Vec::with_capacity(node.calls.len());
    for call in node.calls {
        if let Some(split) = call.aggregate.split() {
            calls.push(with_parts(call, split, &mut parts, with));
            continue;
        }
        // The group of NULL is there for the other aggregates.
        let mut nullable = Vec::new();
        for arg in &call.args {
            let field = with.ids.field(arg.to_string(), arg.ty().clone());
            if field.ty.is_nullable() {
                nullable.push(Expr::Column(field.id, field.ty.clone()));
            }
            keys.push((field, arg.clone()));
        }
        let (aggregate, args) = match nullable.is_empty() {
            true => (chalet_aggregates::count::all(), Vec::new()),
            false => (chalet_aggregates::count::without_null(), nullable),
        };
        calls.push(AggregateCall { aggregate, args, function: None, ..call });
    }
    let outer = node.keys.iter().map(|(field, _)| {
        let inner = with.ids.field(field.name.clone(), field.ty.clone());
        (field.clone(), inner)
    });
    let outer: Vec<_> = outer.collect();
    for ((field, _), (_, inner)) in keys.iter_mut().zip(&outer) {
        *field = inner.clone();
    }
    let inner = Aggregate::plain(node.input, keys, parts);
    Aggregate {
        input: Box::new(Plan::Aggregate(inner)),
        keys: outer.into_iter().map(|(field, inner)| (field, Expr::Column(inner.id, inner.ty))).collect(),
        calls,
        grouping: node.grouping,
        sets: node.sets,
        set_number: node.set_number,
        empty_if_no_rows: node.empty_if_no_rows,
        limit: node.limit,
        totals: node.totals,
        is_partial: false,
    }
}
