//! The inequalities among the conditions of a join that its right side is sorted by.

use crate::operators::join::range_index::{Bound, RangeSpec};
use chalet_base::hash::HashSet;
use chalet_function_api::Comparison;
use chalet_plan::{ColumnId, Expr, Join};
use chalet_types::DataType;

/// The inequalities, and their expressions over each side: the bound below first.
pub(crate) struct JoinBounds {
    pub spec: RangeSpec,
    pub left: Vec<Expr>,
    pub right: Vec<Expr>,
}

/// One inequality: how the right value lies to the left one.
struct Inequality {
    left: Expr,
    right: Expr,
    is_below: bool,
    bound: Bound,
}

/// The inequalities of a join, if there are any.
pub(crate) fn join_bounds(join: &Join) -> Option<JoinBounds> {
    if join.asof.is_some() {
        return None;
    }
    let ids = |fields: Vec<chalet_plan::Field>| fields.iter().map(|f| f.id).collect::<HashSet<_>>();
    let (left, right) = (ids(join.left.fields()), ids(join.right.fields()));
    let mut conditions = Vec::new();
    join.residual.clone()?.conjuncts(&mut conditions);
    let n_conditions = conditions.len();
    let (mut below, mut above) = (None, None);
    for condition in conditions {
        let Some(found) = inequality(&condition, &left, &right) else { continue };
        let place = if found.is_below { &mut below } else { &mut above };
        place.get_or_insert(found);
    }
    let found: Vec<&Inequality> = below.iter().chain(&above).collect();
    if found.is_empty() {
        return None;
    }
    let bound = |side: &Option<Inequality>| side.as_ref().map(|found| found.bound.clone());
    Some(JoinBounds {
        spec: RangeSpec { below: bound(&below), above: bound(&above), is_all: found.len() == n_conditions },
        left: found.iter().map(|found| found.left.clone()).collect(),
        right: found.iter().map(|found| found.right.clone()).collect(),
    })
}

fn inequality(condition: &Expr, left: &HashSet<ColumnId>, right: &HashSet<ColumnId>) -> Option<Inequality> {
    let Expr::Call { function, args } = condition else { return None };
    let [a, b] = &args[..] else { return None };
    let is_of = |expr: &Expr, side: &HashSet<ColumnId>| {
        let columns = expr.columns();
        !columns.is_empty() && columns.is_subset(side) && expr.is_total() && expr.is_deterministic()
    };
    let comparison = function.function.record().comparison;
    let (a, comparison, b) = match () {
        () if is_of(a, left) && is_of(b, right) => (a, comparison, b),
        () if is_of(b, left) && is_of(a, right) => (b, comparison.mirrored(), a),
        () => return None,
    };
    let ty = a.ty().bare().clone();
    if ty != *b.ty().bare() || !has_order(&ty) {
        return None;
    }
    let (is_below, strict) = match comparison {
        Comparison::Greater => (true, true),
        Comparison::GreaterOrEqual => (true, false),
        Comparison::Less => (false, true),
        Comparison::LessOrEqual => (false, false),
        _ => return None,
    };
    Some(Inequality { left: a.clone(), right: b.clone(), is_below, bound: Bound { ty, strict } })
}

/// Do values of the type compare in SQL as they sort, NaN aside?
fn has_order(ty: &DataType) -> bool {
    ty.is_integer()
        || ty.is_float()
        || ty.is_date_or_time()
        || matches!(ty, DataType::String | DataType::Decimal { .. })
}
