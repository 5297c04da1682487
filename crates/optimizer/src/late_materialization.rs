//! Late materialization: columns that neither a filter nor a sort with a limit reads are read by row id, and only for the rows
//! that the limit leaves.
//!
//! ```text
//! Limit 10                             Project a, b := x + 1, c
//!   Sort by a limit 10                   Fetch x, c
//!     Project a, b := x + 1, c   =>        Limit 10
//!       Scan a, x, c, f where f > 0          Sort by a limit 10
//!                                              Project a, row
//!                                                Scan a, f, row where f > 0
//! ```
//!
//! Only of tables that have row ids. Equal rows stay in the order of the table, so the rows are the same ones; what is
//! different for each row (`rand()`) is still computed before the sort.

use crate::rewriter::{Rewriter, top_down};
use crate::{merge_projections, prune_columns};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_plan::{ColumnId, Expr, Fetch, Field, Filter, Limit, Plan, Project, ScanNode, Sort};
use chalet_types::DataType;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    let mut changed = false;
    let plan = top_down(plan, &mut |node| {
        let late = late(&node, with);
        changed |= late.is_some();
        Ok(late.unwrap_or(node))
    })?;
    if !changed {
        return Ok(plan);
    }
    // The nodes in between pass on more than anyone reads, and the last may only pick what the one above it picks.
    prune_columns::apply(merge_projections::apply(plan, with)?, with)
}

/// A node between the sort and the scan; of a projection what must be computed before the sort, and what need not.
enum Between<'a> {
    Filter(&'a Filter),
    Project { early: Vec<&'a (Field, Expr)>, late: Vec<&'a (Field, Expr)> },
}

/// The plan with late columns, if there are any that are worth it.
fn late(node: &Plan, with: &Rewriter) -> Option<Plan> {
    let (limit, sort) = match node {
        Plan::Sort(sort) => (None, sort),
        Plan::Limit(limit) if limit.ties.is_none() => match &*limit.input {
            Plan::Sort(sort) => (Some(limit), sort),
            _ => return None,
        },
        _ => return None,
    };
    if sort.with_ties || sort.limit.is_none_or(|rows| rows > with.most_fetched_rows) {
        return None;
    }
    let mut needed = HashSet::default();
    sort.keys.iter().for_each(|key| key.expr.collect_columns(&mut needed));
    let (between, scan) = take_apart(&sort.input, &mut needed)?;
    let is_early = |column: &&(usize, Field)| needed.contains(&column.1.id);
    let (early, late): (Vec<_>, Vec<_>) = scan.columns.iter().partition(is_early);
    // What only the filter reads goes no further under another name.
    let filtered = scan.filter.as_ref().map(Expr::columns).unwrap_or_default();
    let renamed: Vec<(ColumnId, (usize, Field))> = late
        .iter()
        .filter(|(_, field)| filtered.contains(&field.id))
        .map(|(column, field)| (field.id, (*column, with.ids.field(field.name.clone(), field.ty.clone()))))
        .collect();
    let names: Vec<_> = renamed.iter().map(|(id, (_, field))| (*id, (field.id, field.ty.clone()))).collect();
    if scan.limit.is_some() || scan.row_id.is_some() || !is_worth_it(scan, &late) {
        return None;
    }
    // Asked last: it may have to look for files.
    if !scan.table.has_row_ids() {
        return None;
    }
    let row_id = with.ids.field("_row", DataType::UInt64);
    let mut plan = Plan::Scan(ScanNode {
        columns: early.into_iter().cloned().chain(renamed.into_iter().map(|(_, column)| column)).collect(),
        filter: scan.filter.as_ref().map(|filter| filter.rename(&names)),
        row_id: Some(row_id.clone()),
        ..scan.clone()
    });
    for node in between.iter().rev() {
        plan = match node {
            Between::Filter(node) => {
                Plan::Filter(Filter { input: Box::new(plan), condition: node.condition.clone() })
            }
            Between::Project { early, .. } => extended(plan, early),
        };
    }
    plan = Plan::Sort(Sort {
        input: Box::new(plan),
        keys: sort.keys.clone(),
        limit: sort.limit,
        offset: sort.offset,
        with_ties: sort.with_ties,
        unread: Vec::new(),
    });
    if let Some(limit) = limit {
        plan = Plan::Limit(Limit { input: Box::new(plan), ties: None, ..*limit });
    }
    let columns = late.into_iter().cloned().collect();
    plan = Plan::Fetch(Fetch { input: Box::new(plan), row_id: row_id.id, columns });
    for node in between.iter().rev() {
        if let Between::Project { late, .. } = node {
            plan = extended(plan, late);
        }
    }
    // The columns that there were, in their order.
    let exprs = node.fields().into_iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty)));
    let exprs: Vec<(Field, Expr)> = exprs.collect();
    Some(match plan {
        Plan::Project(inner) => Plan::Project(Project { exprs: picked(exprs, &inner.exprs), ..inner }),
        plan => Plan::Project(Project { input: Box::new(plan), exprs }),
    })
}

/// The nodes down to the scan. Adds what they read before the sort to `needed`.
fn take_apart<'a>(
    plan: &'a Plan,
    needed: &mut HashSet<ColumnId>,
) -> Option<(Vec<Between<'a>>, &'a ScanNode)> {
    let mut between = Vec::new();
    let mut at = plan;
    loop {
        at = match at {
            Plan::Filter(node) => {
                node.condition.collect_columns(needed);
                between.push(Between::Filter(node));
                &node.input
            }
            Plan::Project(node) => {
                let is_early =
                    |made: &&(Field, Expr)| needed.contains(&made.0.id) || !made.1.is_deterministic();
                let (early, late): (Vec<_>, Vec<_>) = node.exprs.iter().partition(is_early);
                early.iter().for_each(|(_, expr)| expr.collect_columns(needed));
                between.push(Between::Project { early, late });
                &node.input
            }
            Plan::Scan(scan) => return Some((between, scan)),
            _ => return None,
        };
    }
}

/// Do these columns hold more, row by row, than the row id that is carried in their place?
fn is_worth_it(scan: &ScanNode, late: &[&(usize, Field)]) -> bool {
    let schema = scan.table.schema();
    // What the table makes up costs nothing to read.
    let stored = late.iter().filter(|(column, _)| !schema.columns[*column].is_virtual);
    let widths = stored.map(|(_, field)| field.ty.physical().width().unwrap_or(usize::MAX));
    widths.fold(0usize, usize::saturating_add) > size_of::<u64>()
}

/// A projection that adds columns to those of its input.
fn extended(input: Plan, made: &[&(Field, Expr)]) -> Plan {
    let is_made = |field: &Field| made.iter().any(|(f, _)| f.id == field.id);
    let passed = input.fields().into_iter().filter(|field| !is_made(field));
    let mut exprs: Vec<(Field, Expr)> = passed.map(|f| (f.clone(), Expr::Column(f.id, f.ty))).collect();
    exprs.extend(made.iter().map(|&made| made.clone()));
    Plan::Project(Project { input: Box::new(input), exprs })
}

/// Columns of a projection as the expressions that make them.
fn picked(exprs: Vec<(Field, Expr)>, made: &[(Field, Expr)]) -> Vec<(Field, Expr)> {
    let found = |field: &Field| made.iter().find(|(f, _)| f.id == field.id).map(|(_, expr)| expr.clone());
    let made = exprs.into_iter().map(|(field, expr)| {
        let expr = found(&field).unwrap_or(expr);
        (field, expr)
    });
    made.collect()
}
