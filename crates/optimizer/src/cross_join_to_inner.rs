//! Conditions above a join without keys that say that columns of its sides are equal become its keys.
//!
//! ```text
//! Filter a = b and c > 1        Filter c > 1
//!   Join cross             =>     Join inner on a = b
//!     Scan                          Scan
//!     Scan                          Scan
//! ```
//!
//! Only between types whose equality is that of keys: floats have two zeros and NaN. Through joins of joins a condition
//! goes down to the one that has both of its sides.

use crate::push_down_filter::substitute;
use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Comparison;
use chalet_plan::{ColumnId, Expr, Field, Filter, Join, JoinKey, JoinKind, JoinStrictness, Plan};
use chalet_types::{DataType, supertype};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| match node {
        Plan::Filter(filter) if matches!(*filter.input, Plan::Join(_)) => above_join(filter, with),
        other => Ok(other),
    })
}

fn above_join(mut filter: Filter, with: &Rewriter) -> Result<Plan> {
    if !filter.condition.is_deterministic() {
        return Ok(Plan::Filter(filter));
    }
    let mut conjuncts = Vec::new();
    filter.condition.clone().conjuncts(&mut conjuncts);
    let Plan::Join(join) = &mut *filter.input else { return Ok(Plan::Filter(filter)) };
    let mut used = vec![false; conjuncts.len()];
    let numbered = conjuncts.iter().cloned().enumerate().collect();
    take_keys(join, numbered, &mut used, with)?;
    // One filter for each condition that is left, the first one lowest: a condition may guard those after it.
    let rest = conjuncts.into_iter().zip(used).filter(|(_, used)| !used).map(|(conjunct, _)| conjunct);
    Ok(rest
        .fold(*filter.input, |input, condition| Plan::Filter(Filter { input: Box::new(input), condition })))
}

/// Makes keys of the conditions (over the join's fields) that are equalities of its sides, or of joins below it.
fn take_keys(
    join: &mut Join,
    conditions: Vec<(usize, Expr)>,
    used: &mut [bool],
    with: &Rewriter,
) -> Result<()> {
    let plain =
        matches!(join.kind, JoinKind::Inner | JoinKind::Cross) && join.strictness == JoinStrictness::All;
    if !plain {
        return Ok(());
    }
    let (left, right) = (join.left.fields(), join.right.fields());
    let sources: Vec<(Field, Expr)> = join
        .fields
        .iter()
        .cloned()
        .zip(left.iter().chain(&right).map(|f| Expr::Column(f.id, f.ty.clone())))
        .collect();
    let ids = |fields: &[Field]| fields.iter().map(|f| f.id).collect::<HashSet<ColumnId>>();
    let (left, right) = (ids(&left), ids(&right));
    let (mut to_left, mut to_right) = (Vec::new(), Vec::new());
    for (number, condition) in conditions {
        let below = substitute(&condition, &sources)?;
        let columns = below.columns();
        if columns.is_subset(&left) {
            to_left.push((number, below));
        } else if columns.is_subset(&right) {
            to_right.push((number, below));
        } else if let Some(key) = key(&below, &left, &right, with)? {
            join.on.push(key);
            join.kind = JoinKind::Inner;
            used[number] = true;
        }
    }
    for (side, conditions) in [(&mut join.left, to_left), (&mut join.right, to_right)] {
        if let Plan::Join(inner) = side {
            take_keys(inner, conditions, used, with)?;
        }
    }
    Ok(())
}

/// The key that an equality of something of the left and something of the right is.
fn key(
    condition: &Expr,
    left: &HashSet<ColumnId>,
    right: &HashSet<ColumnId>,
    with: &Rewriter,
) -> Result<Option<JoinKey>> {
    let of = |expr: &Expr, side: &HashSet<ColumnId>| {
        let columns = expr.columns();
        !columns.is_empty() && columns.is_subset(side)
    };
    let Some((a, b)) = equality(condition, with)? else { return Ok(None) };
    Ok(match () {
        () if of(&a, left) && of(&b, right) => Some(JoinKey { left: a, right: b, null_safe: false }),
        () if of(&b, left) && of(&a, right) => Some(JoinKey { left: b, right: a, null_safe: false }),
        () => None,
    })
}

/// The sides of an equality that can be keys, in their common type.
pub(crate) fn equality(condition: &Expr, with: &Rewriter) -> Result<Option<(Expr, Expr)>> {
    let Expr::Call { function, args } = condition else { return Ok(None) };
    let [a, b] = &args[..] else { return Ok(None) };
    if function.function.record().comparison != Comparison::Equal {
        return Ok(None);
    }
    // The keys are computed for every row of a side.
    if !a.is_total() || !b.is_total() {
        return Ok(None);
    }
    let (x, y) = (a.ty().without_low_cardinality(), b.ty().without_low_cardinality());
    if !equal_as_keys(x.bare()) || !equal_as_keys(y.bare()) {
        return Ok(None);
    }
    let Some(common) = supertype::pair_of_keys(x, y).filter(|common| equal_as_keys(common.bare())) else {
        return Ok(None);
    };
    let common = common.bare().clone();
    let typed = |expr: &Expr| {
        let ty = expr.ty().without_low_cardinality();
        let target = if ty.is_nullable() { common.clone().nullable() } else { common.clone() };
        (with.cast)(expr.clone(), &target)
    };
    Ok(Some((typed(a)?, typed(b)?)))
}

/// Are values of the type equal exactly when they are the same key?
pub(crate) fn equal_as_keys(ty: &DataType) -> bool {
    ty.is_integer() || ty.is_date_or_time() || matches!(ty, DataType::String | DataType::Uuid)
}
