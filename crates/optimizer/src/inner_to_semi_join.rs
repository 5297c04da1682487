//! Inner joins become semi joins where nobody asks how often a row comes: below DISTINCT and INTERSECT, on the right side of semi and
//! anti joins, and in the sets of IN. A semi join stops at the first partner of a row.
//!
//! ```text
//! Distinct a                      Distinct a
//!   Project a                       Project a
//!     Join inner on k = l     =>      Join left semi on k = l
//!       Scan t [a, k]                   Scan t [a, k]
//!       Scan u [l]                      Scan u [l]
//! ```
//!
//! Joins on both sides of such a join follow in the same way: of their rows only those matter that differ.

use crate::rewriter::{Rewriter, placeholder};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::HashSet;
use chalet_plan::{ColumnId, Expr, Field, Join, JoinKind, JoinStrictness, Plan, SetOp, SetOpKind};

pub(crate) const NAME: &str = "inner_to_semi_join";

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if !with.is_set {
        return Ok(counted(plan));
    }
    let all = ids(&plan.fields());
    Ok(uncounted(plan, &all))
}

fn ids(fields: &[Field]) -> HashSet<ColumnId> {
    fields.iter().map(|field| field.id).collect()
}

/// A plan whose rows are counted by who reads them.
fn counted(mut plan: Plan) -> Plan {
    match &mut plan {
        Plan::Distinct(node) => {
            let fields = ids(&node.input.fields());
            if fields.len() == node.on.len() && node.on.iter().all(|id| fields.contains(id)) {
                replace(&mut node.input, |input| uncounted(input, &fields));
                return plan;
            }
        }
        Plan::SetOp(node) if node.distinct => {
            uncounted_sides(node);
            return plan;
        }
        Plan::Join(join) if matches!(join.strictness, JoinStrictness::Semi | JoinStrictness::Anti) => {
            let (kept, sought) = match join.kind {
                JoinKind::Right => (&mut join.right, &mut join.left),
                _ => (&mut join.left, &mut join.right),
            };
            replace(kept, counted);
            let fields = ids(&sought.fields());
            replace(sought, |sought| uncounted(sought, &fields));
            return plan;
        }
        _ => {}
    }
    plan.inputs_mut().into_iter().for_each(|input| replace(input, counted));
    plan
}

fn replace(plan: &mut Plan, f: impl FnOnce(Plan) -> Plan) {
    *plan = f(std::mem::replace(plan, placeholder()));
}

/// Neither how often a row is on the left nor on the right matters.
fn uncounted_sides(node: &mut SetOp) {
    for input in [&mut node.left, &mut node.right] {
        let fields = ids(&input.fields());
        replace(input, |input| uncounted(input, &fields));
    }
}

/// A plan of whose rows, cut to the columns that are read, only those matter that differ.
fn uncounted(mut plan: Plan, read: &HashSet<ColumnId>) -> Plan {
    match &mut plan {
        Plan::Project(node) if node.exprs.iter().all(|(_, expr)| expr.is_deterministic()) => {
            let read = columns(node.exprs.iter().map(|(_, expr)| expr));
            replace(&mut node.input, |input| uncounted(input, &read));
            plan
        }
        Plan::Filter(node) if node.condition.is_deterministic() => {
            let read = read.union(&node.condition.columns()).copied().collect();
            replace(&mut node.input, |input| uncounted(input, &read));
            plan
        }
        Plan::Union(node) => {
            for input in &mut node.inputs {
                let pairs = node.fields.iter().zip(input.fields());
                let read =
                    pairs.filter(|(field, _)| read.contains(&field.id)).map(|(_, own)| own.id).collect();
                replace(input, |input| uncounted(input, &read));
            }
            plan
        }
        // What is in both is so as often as it may be. Of EXCEPT ALL a row stays that is on the left more often.
        Plan::SetOp(node) if node.kind == SetOpKind::Intersect || node.distinct => {
            node.distinct = true;
            uncounted_sides(node);
            plan
        }
        Plan::Join(join) if is_plain(join) => {
            uncounted_join(join, read);
            plan
        }
        _ => counted(plan),
    }
}

fn columns<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> HashSet<ColumnId> {
    exprs.into_iter().flat_map(Expr::columns).collect()
}

/// An inner or outer join of equal keys.
fn is_plain(join: &Join) -> bool {
    join.strictness == JoinStrictness::All
        && matches!(join.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full)
        && !join.on.is_empty()
        && join.residual.as_ref().is_none_or(Expr::is_deterministic)
        && join.on.iter().all(|key| key.left.is_deterministic() && key.right.is_deterministic())
}

fn uncounted_join(join: &mut Join, read: &HashSet<ColumnId>) {
    let (left, right) = (join.left.fields(), join.right.fields());
    let read_of = |side: &[Field], outputs: &[Field]| -> HashSet<ColumnId> {
        let pairs = side.iter().zip(outputs);
        pairs.filter(|(_, output)| read.contains(&output.id)).map(|(own, _)| own.id).collect()
    };
    let mut of_left = read_of(&left, &join.fields[..left.len()]);
    let mut of_right = read_of(&right, &join.fields[left.len()..]);
    if join.kind == JoinKind::Inner && (of_left.is_empty() || of_right.is_empty()) {
        events::count(Event::JoinsToSemiJoins);
        join.strictness = JoinStrictness::Semi;
        join.kind = if of_right.is_empty() { JoinKind::Left } else { JoinKind::Right };
    }
    of_left.extend(columns(join.on.iter().map(|key| &key.left)));
    of_right.extend(columns(join.on.iter().map(|key| &key.right)));
    if let Some(residual) = &join.residual {
        let both = residual.columns();
        of_left.extend(left.iter().map(|field| field.id).filter(|id| both.contains(id)));
        of_right.extend(right.iter().map(|field| field.id).filter(|id| both.contains(id)));
    }
    replace(&mut join.left, |left| uncounted(left, &of_left));
    replace(&mut join.right, |right| uncounted(right, &of_right));
}
