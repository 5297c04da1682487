//! Conditions move towards the tables, split at AND.
//!
//! ```text
//! Filter a > 1 and s > 2             Filter s > 2
//!   Aggregate a := x, s := sum(y)  =>  Aggregate a := x, s := sum(y)
//!     Scan                               Scan where x > 1
//! ```
//!
//! A condition does not pass: another column's `rand()`, numbers of rows (`rowNumberInAllBlocks()`), LIMIT, windows (unless it reads only their partition), the side
//! of an outer join that may be filled with defaults.

use crate::rewriter::Rewriter;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_plan::{ColumnId, Expr, Field, Filter, Join, JoinKey, JoinKind, JoinStrictness, MergeRows, Plan};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    Pusher { with }.push(plan, Vec::new())
}

struct Pusher<'a> {
    with: &'a Rewriter<'a>,
}

impl Pusher<'_> {
    /// The plan with the conditions applied as deep as they can be.
    fn push(&self, plan: Plan, mut conditions: Vec<Expr>) -> Result<Plan> {
        match plan {
            Plan::Filter(node) => {
                if node.condition.is_deterministic() {
                    node.condition.conjuncts(&mut conditions);
                    return self.push(*node.input, conditions);
                }
                let input = self.push(*node.input, Vec::new())?;
                Ok(self.above(Plan::Filter(Filter { input: Box::new(input), ..node }), conditions))
            }
            Plan::Scan(mut node) if node.limit.is_none() => {
                // A scan that has a filter already keeps it before the others.
                conditions.splice(0..0, node.filter.take());
                match self.with.all_of(conditions.clone()) {
                    Ok(filter) => {
                        node.filter = filter;
                        Ok(Plan::Scan(node))
                    }
                    // A type that only a filter takes for a condition.
                    Err(_) => Ok(self.above(Plan::Scan(node), conditions)),
                }
            }
            Plan::Project(mut node) => {
                let counts_rows = node.exprs.iter().any(|(_, e)| e.counts_rows());
                let (through, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                    let columns = condition.columns();
                    let made = node.exprs.iter().filter(|(f, _)| columns.contains(&f.id));
                    !counts_rows && made.into_iter().all(|(_, e)| e.is_deterministic())
                });
                let through = through.iter().map(|c| substitute(c, &node.exprs)).collect::<Result<_>>()?;
                node.input = Box::new(self.push(*node.input, through)?);
                Ok(self.above(Plan::Project(node), stay))
            }
            Plan::Aggregate(mut node) => {
                // With grouping sets a key may hold a default that the condition would wrongly refuse below.
                let keys: HashSet<ColumnId> = node.keys.iter().map(|k| k.0.id).collect();
                let passes = node.sets.is_empty() && node.totals.is_none() && !keys.is_empty();
                let (through, stay): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                    let columns = condition.columns();
                    passes && !columns.is_empty() && columns.iter().all(|c| keys.contains(c))
                });
                let through = through.iter().map(|c| substitute(c, &node.keys)).collect::<Result<_>>()?;
                node.input = Box::new(self.push(*node.input, through)?);
                Ok(self.above(Plan::Aggregate(node), stay))
            }
            Plan::Sort(mut node) if node.limit.is_none() => {
                node.input = Box::new(self.push(*node.input, conditions)?);
                Ok(Plan::Sort(node))
            }
            Plan::MergeRows(node) => self.merge_rows(node, conditions),
            Plan::Distinct(mut node) if node.limit.is_none() => {
                let on: HashSet<ColumnId> = node.on.iter().copied().collect();
                let (through, stay) =
                    conditions.into_iter().partition(|c| c.columns().iter().all(|id| on.contains(id)));
                node.input = Box::new(self.push(*node.input, through)?);
                Ok(self.above(Plan::Distinct(node), stay))
            }
            Plan::Union(mut node) => {
                let inputs = std::mem::take(&mut node.inputs);
                for input in inputs {
                    let pairs: Vec<(Field, Expr)> = node
                        .fields
                        .iter()
                        .cloned()
                        .zip(input.fields().into_iter().map(|f| Expr::Column(f.id, f.ty)))
                        .collect();
                    let through = conditions.iter().map(|c| substitute(c, &pairs)).collect::<Result<_>>()?;
                    node.inputs.push(self.push(input, through)?);
                }
                Ok(Plan::Union(node))
            }
            Plan::ArrayJoin(mut node) => {
                let made: HashSet<ColumnId> = node.columns.iter().map(|c| c.0.id).collect();
                let (stay, through) =
                    conditions.into_iter().partition(|c| c.columns().iter().any(|id| made.contains(id)));
                node.input = Box::new(self.push(*node.input, through)?);
                Ok(self.above(Plan::ArrayJoin(node), stay))
            }
            Plan::Window(mut node) => {
                let partition: HashSet<ColumnId> =
                    node.partition_by.iter().filter_map(Expr::as_column).collect();
                let (through, stay) = conditions.into_iter().partition(|c| {
                    !c.columns().is_empty() && c.columns().iter().all(|id| partition.contains(id))
                });
                node.input = Box::new(self.push(*node.input, through)?);
                Ok(self.above(Plan::Window(node), stay))
            }
            Plan::Join(node) => self.join_node(*node, conditions),
            mut other => {
                for input in other.inputs_mut() {
                    let taken = std::mem::replace(input, crate::rewriter::placeholder());
                    *input = self.push(taken, Vec::new())?;
                }
                Ok(self.above(other, conditions))
            }
        }
    }

    /// Rows of other keys have no say in what becomes of those that pass.
    fn merge_rows(&self, mut node: MergeRows, conditions: Vec<Expr>) -> Result<Plan> {
        let keys: HashSet<ColumnId> = node.keys.iter().filter_map(|key| key.expr.as_column()).collect();
        let (through, stay) = conditions.into_iter().partition(|c| {
            !c.columns().is_empty() && c.is_total() && c.columns().iter().all(|id| keys.contains(id))
        });
        node.input = Box::new(self.push(*node.input, through)?);
        Ok(self.above(Plan::MergeRows(node), stay))
    }

    fn join_node(&self, mut node: Join, conditions: Vec<Expr>) -> Result<Plan> {
        let (left, right) = (node.left.fields(), node.right.fields());
        let renamed: Vec<(Field, Expr)> = node
            .fields
            .iter()
            .cloned()
            .zip(left.iter().chain(&right).map(|f| Expr::Column(f.id, f.ty.clone())))
            .collect();
        // A side may be filtered below when each of its rows decides alone whether it is in the result.
        let plain =
            matches!(node.strictness, JoinStrictness::All | JoinStrictness::Asof | JoinStrictness::Any);
        let left_open = matches!(node.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Cross)
            && (plain || matches!(node.strictness, JoinStrictness::Semi | JoinStrictness::Anti));
        // Which partner ANY finds is free: the kernel's is one that passes, too.
        let right_open = match node.strictness {
            JoinStrictness::All => {
                matches!(node.kind, JoinKind::Inner | JoinKind::Right | JoinKind::Cross)
            }
            JoinStrictness::Any => node.kind == JoinKind::Inner,
            _ => false,
        };
        let of = |fields: &[Field]| fields.iter().map(|f| f.id).collect::<HashSet<_>>();
        let (left_ids, right_ids) = (of(&left), of(&right));
        let (mut to_left, mut to_right, mut stay) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            let below = substitute(&condition, &renamed)?;
            let columns = below.columns();
            let same_types = condition
                .columns()
                .iter()
                .all(|id| renamed.iter().any(|(f, source)| f.id == *id && f.ty == *source.ty()));
            let inside = |ids: &HashSet<ColumnId>| {
                same_types && !columns.is_empty() && columns.iter().all(|c| ids.contains(c))
            };
            // What holds of a key on one side holds of its partner on the other. Rows of the other side of which it does not hold
            // equal only rows that are taken out, and of a side that may be filtered no row without a partner is put out.
            let partner = across_keys(&below, &node.on);
            if left_open && inside(&left_ids) {
                to_left.push(below);
                to_right.extend(partner);
            } else if right_open && inside(&right_ids) {
                to_right.push(below);
                to_left.extend(partner);
            } else {
                stay.push(condition);
            }
        }
        node.left = self.push(node.left, to_left)?;
        node.right = self.push(node.right, to_right)?;
        Ok(self.above(Plan::Join(Box::new(node)), stay))
    }

    /// A filter over the plan, when there are conditions.
    fn above(&self, plan: Plan, conditions: Vec<Expr>) -> Plan {
        // In order: a condition may guard the ones after it.
        conditions
            .into_iter()
            .fold(plan, |input, condition| Plan::Filter(Filter { input: Box::new(input), condition }))
    }
}

/// A condition on one column, which is a key of a join, as a condition on the key of the other side.
fn across_keys(condition: &Expr, keys: &[JoinKey]) -> Option<Expr> {
    let columns = condition.columns();
    let mut columns = columns.iter();
    let (Some(id), None) = (columns.next(), columns.next()) else { return None };
    let partner = keys.iter().find_map(|key| match (&key.left, &key.right) {
        (Expr::Column(left, a), Expr::Column(_, b)) if a == b && left == id => Some(&key.right),
        (Expr::Column(_, a), Expr::Column(right, b)) if a == b && right == id => Some(&key.left),
        _ => None,
    })?;
    let Expr::Column(to, ty) = partner else { return None };
    // It runs on rows that have no partner, too.
    condition.is_total().then(|| condition.rename(&[(*id, (*to, ty.clone()))]))
}

pub(crate) fn substitute(condition: &Expr, made: &[(Field, Expr)]) -> Result<Expr> {
    condition.replace(&mut |e| {
        let found = e.as_column().and_then(|id| made.iter().find(|(f, _)| f.id == id));
        Ok(found.map(|(_, source)| source.clone()))
    })
}
