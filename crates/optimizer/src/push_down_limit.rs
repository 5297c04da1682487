//! A limit over a sort makes it a top-N, and its offset becomes the sort's, which need not move rows that nobody sees; a limit
//! over what keeps rows one to one is passed on to the scan.
//!
//! ```text
//! Limit 10               Limit 10
//!   Project                Project
//!     Sort by a     =>       Sort by a limit 10
//!       Scan                   Scan
//! ```

use crate::rewriter::{Rewriter, top_down};
use chalet_base::Result;
use chalet_plan::{Limit, Plan, Sort};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if with.counts_before_limit {
        return top_down(plan, &mut |mut node| {
            if let Plan::Limit(limit) = &mut node
                && let Some(rows) = rows_of(limit)
            {
                push_to_made_rows(&mut limit.input, rows);
            }
            Ok(node)
        });
    }
    top_down(plan, &mut |mut node| {
        if let Plan::Limit(limit) = &mut node {
            let rows = rows_of(limit);
            if let Some(rows) = rows {
                push(&mut limit.input, rows);
            }
            let is_plain = rows.is_some() || (limit.limit.is_none() && counts_from_start(limit));
            if is_plain && let Some(sort) = sort_below(&mut limit.input) {
                sort.offset = sort.offset.saturating_add(std::mem::take(&mut limit.offset));
            }
        }
        Ok(node)
    })
}

/// How many rows of its input a limit needs, where that is known.
fn rows_of(limit: &Limit) -> Option<u64> {
    limit.limit.filter(|_| counts_from_start(limit)).and_then(|n| n.checked_add(limit.offset))
}

/// Are its rows told by numbers, counted from the first?
fn counts_from_start(limit: &Limit) -> bool {
    !limit.from_end.any() && limit.ties.is_none() && limit.parts.is_empty()
}

/// Tells a scan of rows that are made when they are asked for that no more are needed: nobody counts the others.
fn push_to_made_rows(plan: &mut Plan, rows: u64) {
    match plan {
        Plan::Scan(node) if node.table.makes_rows() => {
            node.limit = Some(node.limit.map_or(rows, |known| known.min(rows)))
        }
        Plan::Project(node) => push_to_made_rows(&mut node.input, rows),
        _ => {}
    }
}

/// Tells a node that no more than `rows` of its rows are needed.
fn push(plan: &mut Plan, rows: u64) {
    let least = |limit: &mut Option<u64>| *limit = Some(limit.map_or(rows, |known| known.min(rows)));
    match plan {
        Plan::Sort(node) => {
            let rows = rows.saturating_add(node.offset);
            node.limit = Some(node.limit.map_or(rows, |known| known.min(rows)));
        }
        Plan::Scan(node) => least(&mut node.limit),
        Plan::Distinct(node) => least(&mut node.limit),
        Plan::LimitBy(node) if !node.from_end.any() => least(&mut node.needed),
        // Totals are of all groups.
        Plan::Aggregate(node) if node.totals.is_none() => least(&mut node.limit),
        Plan::Project(node) => push(&mut node.input, rows),
        Plan::Union(node) => node.inputs.iter_mut().for_each(|input| push(input, rows)),
        _ => {}
    }
}

/// The sort whose rows these are, in its order.
fn sort_below(plan: &mut Plan) -> Option<&mut Sort> {
    match plan {
        Plan::Sort(node) if !node.with_ties => Some(node),
        Plan::Project(node) => sort_below(&mut node.input),
        _ => None,
    }
}
