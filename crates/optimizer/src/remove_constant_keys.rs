//! Keys that are the same in every row neither sort nor tell rows apart.
//!
//! ```text
//! Limit 5                        Limit 5
//!   Sort by s                      Project s := 'q'
//!     Project s := 'q'       =>      Scan numbers
//!       Scan numbers
//! ```
//!
//! So a sort by constants is none, and DISTINCT and LIMIT BY of constants are limits.

use crate::rewriter::{Rewriter, bottom_up, placeholder};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_plan::{ColumnId, Expr, FromEnd, GroupingKind, JoinKind, Limit, Plan, RowParts};

pub(crate) fn apply(plan: Plan, _: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| Ok(reduced(node)))
}

fn reduced(mut node: Plan) -> Plan {
    match &mut node {
        Plan::Sort(sort) if sort.limit.is_none() && sort.offset == 0 && !sort.with_ties => {
            let constants = constants(&sort.input);
            sort.keys.retain(|key| !is_constant(&key.expr, &constants));
            if sort.keys.is_empty() {
                return std::mem::replace(&mut *sort.input, placeholder());
            }
        }
        Plan::LimitBy(by) if !by.from_end.any() => {
            let constants = constants(&by.input);
            by.columns.retain(|column| !is_constant(column, &constants));
            if by.columns.is_empty() {
                let input = std::mem::replace(&mut *by.input, placeholder());
                return limited(input, by.limit, by.offset);
            }
        }
        Plan::Distinct(distinct) => {
            let constants = constants(&distinct.input);
            distinct.on.retain(|id| !constants.contains(id));
            if distinct.on.is_empty() {
                let input = std::mem::replace(&mut *distinct.input, placeholder());
                return limited(input, distinct.limit.unwrap_or(1).min(1), 0);
            }
        }
        _ => {}
    }
    node
}

fn limited(input: Plan, limit: u64, offset: u64) -> Plan {
    Plan::Limit(Limit {
        input: Box::new(input),
        limit: Some(limit),
        offset,
        ties: None,
        from_end: FromEnd::default(),
        parts: RowParts::default(),
    })
}

/// The columns of a plan that have the same value in all of its rows.
fn constants(plan: &Plan) -> HashSet<ColumnId> {
    match plan {
        Plan::Values(values) if values.block.n_rows() <= 1 => values.fields.iter().map(|f| f.id).collect(),
        Plan::Project(project) => {
            let below = constants(&project.input);
            let constant = project.exprs.iter().filter(|(_, expr)| is_constant(expr, &below));
            constant.map(|(field, _)| field.id).collect()
        }
        Plan::Aggregate(aggregate)
            if aggregate.grouping == GroupingKind::Plain
                && aggregate.sets.is_empty()
                && aggregate.totals.is_none() =>
        {
            let below = constants(&aggregate.input);
            let keys = aggregate.keys.iter().filter(|(_, expr)| is_constant(expr, &below));
            keys.map(|(field, _)| field.id).collect()
        }
        Plan::Join(join) if matches!(join.kind, JoinKind::Inner | JoinKind::Cross) => {
            let mut below = constants(&join.left);
            below.extend(constants(&join.right));
            let sources = join.left.fields().into_iter().chain(join.right.fields());
            let constant = join.fields.iter().zip(sources).filter(|(_, source)| below.contains(&source.id));
            constant.map(|(field, _)| field.id).collect()
        }
        Plan::Filter(_)
        | Plan::Sort(_)
        | Plan::Limit(_)
        | Plan::LimitBy(_)
        | Plan::Distinct(_)
        | Plan::ArrayJoin(_)
        | Plan::Window(_)
        | Plan::Fetch(_) => plan.inputs().into_iter().flat_map(constants).collect(),
        _ => HashSet::default(),
    }
}

fn is_constant(expr: &Expr, constants: &HashSet<ColumnId>) -> bool {
    expr.is_deterministic()
        && !expr.any(&|e| matches!(e, Expr::In(_)))
        && expr.columns().iter().all(|id| constants.contains(id))
}
