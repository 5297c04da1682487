//! Keys of GROUP BY that follow from others do not group: constants, and what is computed from keys that are plain
//! columns. They are computed once per group afterwards.
//!
//! ```text
//! Aggregate by 1, x, x - 1       Project 1, x, x - 1, count
//!   Scan                    =>     Aggregate by x: count
//!                                    Scan
//! ```

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Volatility;
use chalet_plan::{Aggregate, ColumnId, Expr, Field, GroupingKind, Plan, Project};

pub(crate) fn apply(plan: Plan, _: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| {
        Ok(match node {
            Plan::Aggregate(node)
                if node.grouping == GroupingKind::Plain && node.sets.is_empty() && node.totals.is_none() =>
            {
                reduce(node)
            }
            other => other,
        })
    })
}

fn reduce(mut node: Aggregate) -> Plan {
    let columns: HashSet<ColumnId> = node.keys.iter().filter_map(|(_, key)| key.as_column()).collect();
    let follows = |key: &Expr| {
        key.as_column().is_none() && is_immutable(key) && key.columns().iter().all(|id| columns.contains(id))
    };
    let mut kept: Vec<bool> = node.keys.iter().map(|(_, key)| !follows(key)).collect();
    // Without keys there would be a group without rows.
    if !kept.is_empty() && !kept.contains(&true) {
        kept[0] = true;
    }
    if !kept.contains(&false) {
        return Plan::Aggregate(node);
    }
    let outputs: Vec<Field> =
        node.keys.iter().map(|k| &k.0).chain(node.calls.iter().map(|c| &c.field)).cloned().collect();
    // The columns of the input, as the keys name them.
    let names: Vec<_> = node
        .keys
        .iter()
        .filter_map(|(field, key)| Some((key.as_column()?, (field.id, field.ty.clone()))))
        .collect();
    let computed: Vec<Option<Expr>> =
        node.keys.iter().zip(&kept).map(|((_, key), kept)| (!kept).then(|| key.rename(&names))).collect();
    let mut kept = kept.into_iter();
    node.keys.retain(|_| kept.next() == Some(true));
    let exprs = outputs.into_iter().enumerate().map(|(i, field)| {
        let computed = computed.get(i).and_then(Option::clone);
        let expr = computed.unwrap_or_else(|| Expr::Column(field.id, field.ty.clone()));
        (field, expr)
    });
    Plan::Project(Project { exprs: exprs.collect(), input: Box::new(Plan::Aggregate(node)) })
}

fn is_immutable(expr: &Expr) -> bool {
    let mut immutable = true;
    expr.visit(&mut |e| match e {
        Expr::Call { function, .. } => {
            immutable &= function.function.record().volatility != Volatility::PerRow;
        }
        Expr::In(_) | Expr::Subquery(_) | Expr::Lambda { .. } => immutable = false,
        Expr::Column(..) | Expr::Literal(_) => {}
    });
    immutable
}
