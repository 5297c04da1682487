//! What all alternatives of an OR say is taken out of it, and what they say of one side of a join alone is said of that side.
//!
//! ```text
//! Filter (a = b and c = 1 and d > 2) or (a = b and c = 3)
//!   =>
//! Filter a = b and ((c = 1 and d > 2) or c = 3) and (c = 1 or c = 3)
//! ```
//!
//! The first becomes a key of the join below, the last goes down to the table of `c`. Both hold wherever the OR does; they are
//! evaluated before it, so only parts that cannot fail are taken.

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Lazy;
use chalet_plan::{ColumnId, Expr, Field, Filter, Join, JoinKind, JoinStrictness, Plan};

/// Longer alternations are lists of rows rather than conditions of joins.
const MOST_ALTERNATIVES: usize = 64;

/// The rule's name, under which it is switched off.
pub(crate) const NAME: &str = "factor_disjunctions";

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| match node {
        Plan::Filter(filter) if filter.condition.any(&is_or) => factored(filter, with).map(Plan::Filter),
        other => Ok(other),
    })
}

/// The conditions that an OR without a join below it is: what its alternatives have in common, then the rest.
pub(crate) fn common_parts(condition: &Expr, with: &Rewriter) -> Result<Vec<Expr>> {
    let alternatives = alternatives(condition);
    if !(2..=MOST_ALTERNATIVES).contains(&alternatives.len()) {
        return Ok(vec![condition.clone()]);
    }
    let (mut parts, rest) = split_common(alternatives);
    if parts.is_empty() {
        return Ok(vec![condition.clone()]);
    }
    if let Some(rest) = rest {
        parts.push(any_of(rest, with)?);
    }
    Ok(parts)
}

fn is_or(expr: &Expr) -> bool {
    matches!(expr, Expr::Call { function, .. } if function.function.record().lazy == Lazy::Or)
}

fn factored(mut filter: Filter, with: &Rewriter) -> Result<Filter> {
    let mut sides = Vec::new();
    if let Plan::Join(join) = &*filter.input {
        add_sides(join, &join.fields, &mut sides);
    }
    let mut conjuncts = Vec::new();
    filter.condition.clone().conjuncts(&mut conjuncts);
    let mut all: Vec<Expr> = Vec::new();
    let mut is_changed = false;
    for conjunct in conjuncts {
        let alternatives = alternatives(&conjunct);
        if !(2..=MOST_ALTERNATIVES).contains(&alternatives.len()) {
            all.push(conjunct);
            continue;
        }
        let (common, rest) = split_common(alternatives);
        let implied = match &rest {
            Some(rest) => implied_by(rest, &sides, with)?,
            None => Vec::new(),
        };
        is_changed |= !common.is_empty() || !implied.is_empty();
        all.extend(common);
        all.extend(implied);
        if let Some(rest) = rest {
            all.push(any_of(rest, with)?);
        }
    }
    if is_changed && let Some(condition) = with.all_of(all)? {
        filter.condition = condition;
    }
    Ok(filter)
}

/// The parts of each alternative of an OR; one alternative where it is none.
fn alternatives(expr: &Expr) -> Vec<Vec<Expr>> {
    fn collect(expr: &Expr, out: &mut Vec<Vec<Expr>>) {
        match expr {
            Expr::Call { args, .. } if is_or(expr) => args.iter().for_each(|arg| collect(arg, out)),
            other => {
                let mut parts = Vec::new();
                other.clone().conjuncts(&mut parts);
                out.push(parts);
            }
        }
    }
    let mut out = Vec::new();
    collect(expr, &mut out);
    out
}

/// May the part be evaluated where it was guarded by others before?
fn is_free(part: &Expr) -> bool {
    part.is_total() && part.is_deterministic()
}

/// What all alternatives have in common, and what is left of them: nothing, where one has no more to say.
fn split_common(mut alternatives: Vec<Vec<Expr>>) -> (Vec<Expr>, Option<Vec<Vec<Expr>>>) {
    let (first, others) = alternatives.split_at(1);
    let mut common: Vec<Expr> = Vec::new();
    for part in &first[0] {
        if is_free(part) && !common.contains(part) && others.iter().all(|parts| parts.contains(part)) {
            common.push(part.clone());
        }
    }
    for parts in &mut alternatives {
        parts.retain(|part| !common.contains(part));
    }
    let rest = alternatives.iter().all(|parts| !parts.is_empty()).then_some(alternatives);
    (common, rest)
}

/// For each side that all alternatives say something of: that one of these holds.
fn implied_by(alternatives: &[Vec<Expr>], sides: &[HashSet<ColumnId>], with: &Rewriter) -> Result<Vec<Expr>> {
    let mut implied = Vec::new();
    for side in sides {
        let of_side = |parts: &Vec<Expr>| -> Vec<Expr> {
            let is_own = |part: &&Expr| {
                let columns = part.columns();
                is_free(part) && !columns.is_empty() && columns.is_subset(side)
            };
            parts.iter().filter(is_own).cloned().collect()
        };
        let alternatives_of_side: Vec<Vec<Expr>> = alternatives.iter().map(of_side).collect();
        let says_more = alternatives_of_side.iter().zip(alternatives).any(|(own, all)| own.len() < all.len());
        if says_more && alternatives_of_side.iter().all(|parts| !parts.is_empty()) {
            implied.push(any_of(alternatives_of_side, with)?);
        }
    }
    Ok(implied)
}

fn any_of(alternatives: Vec<Vec<Expr>>, with: &Rewriter) -> Result<Expr> {
    let mut all = Vec::with_capacity(alternatives.len());
    for parts in alternatives {
        all.extend(with.all_of(parts)?);
    }
    (with.call)("or", all)
}

/// The columns, by their ids above the join, of each side of a join of joins that are all inner.
fn add_sides(join: &Join, fields: &[Field], sides: &mut Vec<HashSet<ColumnId>>) {
    let (left, right) = fields.split_at(join.left.fields().len());
    for (side, fields) in [(&join.left, left), (&join.right, right)] {
        match side {
            Plan::Join(inner) if is_inner(inner) => add_sides(inner, fields, sides),
            _ => sides.push(fields.iter().map(|field| field.id).collect()),
        }
    }
}

fn is_inner(join: &Join) -> bool {
    matches!(join.kind, JoinKind::Inner | JoinKind::Cross) && join.strictness == JoinStrictness::All
}
