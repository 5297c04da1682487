//! Inner joins in the order that is estimated to be cheapest, the smaller side of each join being built.
//!
//! ```text
//! Join on l_orderkey = o_orderkey              Join on l_orderkey = o_orderkey
//!   Join on p_partkey = l_partkey                Join on l_partkey = p_partkey
//!     Join cross                          =>       Scan lineitem
//!       Scan part where p_type = 'x'               Scan part where p_type = 'x'
//!       Scan orders                              Scan orders
//!     Scan lineitem
//! ```
//!
//! A group of joins is a graph of relations (whatever is below: tables, aggregations, outer joins) and of what connects
//! them. All orders of it, bushy ones too, are compared up to `query_plan_optimize_join_order_limit` relations; beyond that
//! the pair that has the fewest rows is joined next. Sides without a condition between them are paired last.
//!
//! Rows come in another order then, so that what is small keeps the order in which it is written: nothing is gained there.
//!
//! - [`graph`]: relations, classes of equal keys, conditions
//! - [`cost`]: rows of a set of relations, and the cost of a tree of joins
//! - [`frequent`]: values of keys that several relations have many rows of
//! - [`enumerate`]: the search for the cheapest tree
//! - [`repeated`]: aggregates over rows that the group has itself become windows
//! - [`build`]: a tree as a plan

mod build;
mod cost;
mod enumerate;
mod frequent;
mod graph;
mod repeated;

use crate::estimate::estimate;
use crate::rewriter::{JoinSides, Rewriter, placeholder};
use crate::sample_filters;
use chalet_base::Result;
use chalet_plan::{Expr, Join, JoinKey, JoinKind, JoinStrictness, Plan, Project};
use cost::{Costs, Tree};
use graph::Graph;

/// A side that is to be built in place of the other has fewer rows by this factor, and the other has this many rows.
const SWAP_FACTOR: f64 = 2.0;
const SWAP_ROWS: f64 = 100_000.0;
/// Another order than the written one costs less by this factor, and by this much: about as many rows hashed.
const GAIN_FACTOR: f64 = 0.85;
const GAIN: f64 = 100_000.0;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if graph::is_group(&plan) {
        return reordered(plan, with);
    }
    let mut plan = plan;
    for input in plan.inputs_mut() {
        let taken = std::mem::replace(input, placeholder());
        *input = apply(taken, with)?;
    }
    match plan {
        Plan::Join(join) if with.join_sides == JoinSides::BySize => Ok(built_by_size(*join)),
        other => Ok(other),
    }
}

/// A join that keeps the rows of one side, or asks which of them have partners, builds the left side where it is clearly the
/// smaller one.
fn built_by_size(join: Join) -> Plan {
    let kind = match (join.kind, join.strictness) {
        (JoinKind::Left, JoinStrictness::Semi | JoinStrictness::Anti | JoinStrictness::All) => {
            JoinKind::Right
        }
        (JoinKind::Right, JoinStrictness::All) => JoinKind::Left,
        (JoinKind::Full, JoinStrictness::All) => JoinKind::Full,
        _ => return Plan::Join(Box::new(join)),
    };
    if join.on.is_empty() {
        return Plan::Join(Box::new(join));
    }
    let (left, right) = (estimate(&join.left).rows, estimate(&join.right).rows);
    if right <= SWAP_ROWS || right <= SWAP_FACTOR * left {
        return Plan::Join(Box::new(join));
    }
    let outputs = join.fields.iter().map(|field| (field.clone(), Expr::Column(field.id, field.ty.clone())));
    let outputs = outputs.collect();
    let (left, right) = join.fields.split_at(join.left.fields().len());
    let fields = [right, left].concat();
    let on = join.on.into_iter().map(|key| JoinKey { left: key.right, right: key.left, ..key }).collect();
    let swapped = Join { left: join.right, right: join.left, kind, on, fields, ..join };
    Plan::Project(Project { input: Box::new(Plan::Join(Box::new(swapped))), exprs: outputs })
}

fn reordered(plan: Plan, with: &Rewriter) -> Result<Plan> {
    let Some((graph, written, outputs)) = Graph::of(&plan, with)? else { return each_input(plan, with) };
    let (mut graph, written) = repeated::over_windows(graph, written, with)?;
    for relation in &mut graph.relations {
        let taken = std::mem::replace(&mut relation.plan, placeholder());
        relation.plan = apply(taken, with)?;
    }
    let tree = {
        if let Some(seed) = with.join_order_seed {
            graph.draw_rows(seed);
        }
        let mut costs = Costs::new(&graph, with.join_sides);
        if graph.relations.len() > 2 && with.join_order_seed.is_none() && !(with.is_off)(sample_filters::NAME)
        {
            costs = costs.with_frequent_values();
        }
        choose(&mut costs, written, with)
    };
    build::plan(graph, &tree, outputs, with)
}

/// For a group that cannot be taken apart: only what is below it is looked at.
fn each_input(mut plan: Plan, with: &Rewriter) -> Result<Plan> {
    for input in plan.inputs_mut() {
        let taken = std::mem::replace(input, placeholder());
        *input = if graph::is_group(&taken) { each_input(taken, with)? } else { apply(taken, with)? };
    }
    Ok(plan)
}

/// The tree as it is written, or a better one.
fn choose(costs: &mut Costs, written: Tree, with: &Rewriter) -> Tree {
    if with.join_order_seed.is_some() {
        return enumerate::best(costs, with.join_order_limit);
    }
    if let Tree::Join(left, right) = &written
        && let (Tree::Relation(_), Tree::Relation(_)) = (&**left, &**right)
    {
        let (m, n) = (costs.rows(left.set()), costs.rows(right.set()));
        let is_smaller = n > SWAP_ROWS && n > SWAP_FACTOR * m;
        let swaps = match with.join_sides {
            JoinSides::Written => false,
            JoinSides::Swapped => true,
            // What groups rows groups fewer of them behind a run-time filter, if it is not the one that makes it.
            JoinSides::BySize if costs.groups_rows(left.set() | right.set()) => {
                let written = costs.of_join(left.set(), right.set());
                gains(written, costs.of_join(right.set(), left.set()))
            }
            JoinSides::BySize => is_smaller,
        };
        return if swaps { Tree::Join(right.clone(), left.clone()) } else { written };
    }
    let best = enumerate::best(costs, with.join_order_limit);
    if costs.has_avoidable_product(&written) {
        return best;
    }
    let (before, after) = (costs.of_tree(&written), costs.of_tree(&best));
    if gains(before, after) { best } else { written }
}

/// Is one cost worth another order of the rows?
fn gains(before: f64, after: f64) -> bool {
    after < GAIN_FACTOR * before && before - after > GAIN
}
