//! The grouping sets of ROLLUP, CUBE and GROUPING SETS are made of groups by all of their keys, rather than each of all rows.
//!
//! ```text
//! Aggregate by sets (a, b), (a), (): sum(x)     Aggregate by sets (a, b), (a), (): sum(s)
//!   Scan                                     =>   Aggregate partially by a, b: sum(x) as s
//!                                                   Scan
//! ```
//!
//! Where groups by all keys are hardly fewer than rows, the partial aggregation finds out and passes the rows on.

use crate::rewriter::{Rewriter, bottom_up};
use crate::two_steps::TwoSteps;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_plan::{Aggregate, Expr, Plan};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| {
        Ok(match node {
            Plan::Aggregate(node) => Plan::Aggregate(over_groups(node, with)),
            other => other,
        })
    })
}

fn over_groups(node: Aggregate, with: &Rewriter) -> Aggregate {
    if node.sets.len() < 2 || node.keys.is_empty() || node.totals.is_some() {
        return node;
    }
    let Some(steps) = TwoSteps::of(&node.calls, with) else { return node };
    events::count(Event::GroupingSetsOverGroups);
    let (mut inner, mut outer) = (Vec::new(), Vec::new());
    for (field, key) in node.keys {
        let below = with.ids.field(field.name.clone(), field.ty.clone());
        outer.push((field, Expr::Column(below.id, below.ty.clone())));
        inner.push((below, key));
    }
    let groups = Aggregate { is_partial: true, ..Aggregate::plain(node.input, inner, steps.parts) };
    Aggregate { input: Box::new(Plan::Aggregate(groups)), keys: outer, calls: steps.totals, ..node }
}
