//! The calls of arrayJoin in a SELECT, as nodes of its plan.

use crate::clauses::KnownArrayJoin;
use chalet_base::{Result, ensure};
use chalet_plan::{ArrayJoin, Expr, Plan};

pub(crate) fn array_joins(mut plan: Plan, joins: Vec<KnownArrayJoin>) -> Plan {
    for join in joins {
        let columns = vec![(join.field, join.array)];
        let (input, unread) = (Box::new(plan), Vec::new());
        plan = Plan::ArrayJoin(ArrayJoin { input, columns, left: false, unaligned: false, unread });
    }
    plan
}

/// Those that HAVING reads, directly or through others, and the rest.
pub(crate) fn read_by(
    condition: Option<&Expr>,
    joins: Vec<KnownArrayJoin>,
    with_totals: bool,
) -> Result<(Vec<KnownArrayJoin>, Vec<KnownArrayJoin>)> {
    let mut needed = condition.map(Expr::columns).unwrap_or_default();
    // An array is made of the elements of those before it.
    for join in joins.iter().rev() {
        if needed.contains(&join.field.id) {
            needed.extend(join.array.columns());
        }
    }
    let (tested, late): (Vec<_>, Vec<_>) =
        joins.into_iter().partition(|join| needed.contains(&join.field.id));
    ensure!(tested.is_empty() || !with_totals, ILLEGAL_COLUMN, "Having clause cannot contain arrayJoin");
    Ok((tested, late))
}
