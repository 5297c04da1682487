//! Common table expressions that are used more than once run once, where that pays: common sub-plan elimination by name.
//!
//! ```text
//! Join                            Join
//!   Filter a > 1                    Filter a > 1
//!     CommonTable t                   SharedScan t [a]
//!       Aggregate (1)        =>         Aggregate a := x, s := sum(y)
//!   CommonTable t                   SharedScan t [a, s]
//!     Aggregate (2)
//! ```
//!
//! One that only reads and filters tables is cheaper to run twice, since conditions and limits go down to the tables then. Those that
//! are filtered in different ways run for themselves for the same reason; those that are filtered alike share the filtered rows.
//!
//! A sub-query that runs while the statement is bound does not know what the rest of it will read. What it shares keeps all of
//! its columns, and the rest finds it by its id.

use crate::fold_empty_inputs::has_totals;
use crate::push_down_filter;
use crate::rewriter::{Rewriter, bottom_up, placeholder};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::HashMap;
use chalet_plan::{
    ColumnId, CommonTable, CommonTableId, Expr, Filter, Plan, Project, SharedPlan, SharedScan,
};
use chalet_types::DataType;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) const NAME: &str = "share_common_tables";

/// Decides of each common table expression whether it is shared; none is left undecided.
pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if !has_common_table(&plan) {
        return Ok(plan);
    }
    let mut plan = plan;
    if (with.is_off)(NAME) {
        plan = bottom_up(plan, &mut |node| Ok(run_alone(node)))?;
    }
    // From the inside, so that what is shared is shared by all copies of what is around it.
    while let Some(id) = innermost(&plan) {
        plan = decide(plan, id, with)?;
    }
    // Conditions have not passed through the nodes that are gone now.
    if (with.is_off)("push_down_filter") { Ok(plan) } else { push_down_filter::apply(plan, with) }
}

fn has_common_table(plan: &Plan) -> bool {
    matches!(plan, Plan::CommonTable(_)) || plan.inputs().into_iter().any(has_common_table)
}

/// A place without its node, where its rows need not be those of another.
fn run_alone(node: Plan) -> Plan {
    match node {
        Plan::CommonTable(table) if !table.materialized => *table.input,
        other => other,
    }
}

/// One that has no other inside of it.
fn innermost(plan: &Plan) -> Option<CommonTableId> {
    match plan {
        Plan::CommonTable(table) => innermost(&table.input).or(Some(table.id)),
        other => other.inputs().into_iter().find_map(innermost),
    }
}

/// Where a common table expression is read.
struct Place {
    table: CommonTable,
    /// What its rows must meet, over the columns of `table`. Each place draws random numbers for itself: what depends on them is not
    /// among it.
    conditions: Vec<Expr>,
}

/// Decides how the places of one common table expression read it.
fn decide(mut plan: Plan, id: CommonTableId, with: &Rewriter) -> Result<Plan> {
    let mut places = Vec::new();
    collect(&plan, id, &[], &mut places);
    let Some(first) = places.first() else { return Ok(plan) };
    let pays =
        first.table.materialized || (is_computed(&first.table.input) && is_repeatable(&first.table.input));
    // The row of totals travels beside the rows, where none that are shared can take it.
    let may_be_shared = pays && !has_totals(&first.table.input);
    let sources: Vec<Option<Arc<SharedPlan>>> = match may_be_shared {
        true => sources(&places, with)?,
        false => vec![None; places.len()],
    };
    // Places are visited in the same order again.
    let mut sources = sources.into_iter();
    replace(&mut plan, id, &mut sources);
    Ok(plan)
}

/// `above`: the conditions directly above the plan, the uppermost first.
fn collect(plan: &Plan, id: CommonTableId, above: &[Expr], places: &mut Vec<Place>) {
    match plan {
        Plan::CommonTable(table) if table.id == id => {
            let conditions = above.iter().filter(|condition| condition.is_deterministic()).cloned().collect();
            places.push(Place { table: table.clone(), conditions });
        }
        Plan::Filter(filter) => {
            let mut conditions = above.to_vec();
            filter.condition.clone().conjuncts(&mut conditions);
            collect(&filter.input, id, &conditions, places);
        }
        other => other.inputs().into_iter().for_each(|input| collect(input, id, &[], places)),
    }
}

fn replace(plan: &mut Plan, id: CommonTableId, sources: &mut dyn Iterator<Item = Option<Arc<SharedPlan>>>) {
    match plan {
        Plan::CommonTable(table) if table.id == id => {
            let columns = table.input.fields().into_iter().enumerate().collect();
            let scan = |source| Plan::SharedScan(SharedScan { source, name: table.name.clone(), columns });
            let replacement = match sources.next().flatten() {
                Some(source) => scan(source),
                None => std::mem::replace(&mut *table.input, placeholder()),
            };
            *plan = replacement;
        }
        other => other.inputs_mut().into_iter().for_each(|input| replace(input, id, sources)),
    }
}

/// What each place reads; `None` where it runs for itself.
fn sources(places: &[Place], with: &Rewriter) -> Result<Vec<Option<Arc<SharedPlan>>>> {
    let first = &places[0];
    if let Some(known) = with.common_tables.known(first.table.id) {
        return Ok(vec![Some(known); places.len()]);
    }
    let is_unfiltered = first.table.materialized || places.iter().any(|place| place.conditions.is_empty());
    // Each query that runs for itself draws random numbers for itself.
    let is_read_elsewhere =
        with.is_subquery && first.table.uses > places.len() && is_repeatable(&first.table.input);
    if is_unfiltered && (is_read_elsewhere || places.len() > 1) {
        events::count(Event::CommonTablesShared);
        let id = is_read_elsewhere.then_some(first.table.id);
        return Ok(vec![Some(shared(Plan::clone(&first.table.input), id)); places.len()]);
    }
    // By what filters them.
    let mut found: Vec<Option<Arc<SharedPlan>>> = vec![None; places.len()];
    for at in 0..places.len() {
        if found[at].is_some() {
            continue;
        }
        let alike: Vec<usize> =
            (at..places.len()).filter(|&other| filtered_alike(&places[at], &places[other])).collect();
        if alike.len() < 2 {
            continue;
        }
        let Some(condition) = with.all_of(places[at].conditions.clone())? else { continue };
        events::count(Event::CommonTablesShared);
        let input = places[at].table.input.clone();
        let source = shared(Plan::Filter(Filter { input, condition }), None);
        alike.into_iter().for_each(|other| found[other] = Some(source.clone()));
    }
    Ok(found)
}

pub(crate) fn shared(plan: Plan, common_table: Option<CommonTableId>) -> Arc<SharedPlan> {
    Arc::new(SharedPlan { plan, common_table, is_optimized: false })
}

/// Do the conditions of two places keep the same rows?
fn filtered_alike(one: &Place, other: &Place) -> bool {
    let fields = one.table.input.fields().into_iter().map(|f| (f.id, f.ty));
    let names: Vec<(ColumnId, (ColumnId, DataType))> =
        other.table.input.fields().into_iter().map(|f| f.id).zip(fields).collect();
    let renamed: Vec<Expr> = other.conditions.iter().map(|condition| condition.rename(&names)).collect();
    renamed.iter().all(|condition| one.conditions.contains(condition))
        && one.conditions.iter().all(|condition| renamed.contains(condition))
}

/// Are its rows made of many others, which is the work that sharing saves?
fn is_computed(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate(_) | Plan::Distinct(_) | Plan::Window(_) | Plan::LimitBy(_) | Plan::SetOp(_) => true,
        Plan::Sort(node) => node.limit.is_some() || is_computed(&node.input),
        Plan::Union(node) => node.inputs.iter().all(is_computed),
        Plan::Filter(_) | Plan::Project(_) | Plan::Limit(_) => plan.inputs().into_iter().all(is_computed),
        _ => false,
    }
}

/// Does it give the same rows whenever it runs?
fn is_repeatable(plan: &Plan) -> bool {
    plan.expressions().into_iter().all(Expr::is_deterministic) && plan.inputs().into_iter().all(is_repeatable)
}

/// Optimizes what is shared, once it is known which columns are read of it: each once, what others read after them.
pub(crate) fn finish(
    mut plan: Plan,
    with: &Rewriter,
    optimize: &mut dyn FnMut(Plan) -> Result<Plan>,
) -> Result<Plan> {
    let mut done: Vec<Finished> = Vec::new();
    loop {
        let mut pending = Vec::new();
        unoptimized(&plan, &mut pending);
        done.iter().for_each(|finished| unoptimized(&finished.plan, &mut pending));
        pending.retain(|source| !done.iter().any(|finished| Arc::ptr_eq(&finished.source, source)));
        let is_last = |source: &&Arc<SharedPlan>| !pending.iter().any(|other| reads(&other.plan, source));
        let Some(source) = pending.iter().find(is_last).cloned() else { break };
        let mut read = BTreeSet::new();
        let plans = std::iter::once(&plan).chain(done.iter().map(|finished| &finished.plan));
        plans.for_each(|plan| columns_of(plan, &source, &mut read));
        let fields = source.plan.fields();
        if source.common_table.is_some() {
            read.extend(0..fields.len());
        } else if read.is_empty() {
            // Rows are counted by a column.
            read.insert(0);
        }
        let kept = read.iter().filter_map(|&at| fields.get(at).cloned());
        let exprs = kept
            .map(|field| (with.ids.field(field.name, field.ty.clone()), Expr::Column(field.id, field.ty)));
        let exprs = exprs.collect();
        let cut = Plan::Project(Project { input: Box::new(source.plan.clone()), exprs });
        done.push(Finished { source, read: read.into_iter().collect(), plan: optimize(cut)? });
    }
    while let Some(finished) = done.pop() {
        let common_table = finished.source.common_table;
        let source = Arc::new(SharedPlan { plan: finished.plan, common_table, is_optimized: true });
        if let Some(id) = common_table {
            with.common_tables.remember(id, source.clone());
        }
        let positions: HashMap<usize, usize> =
            finished.read.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        let others = std::iter::once(&mut plan).chain(done.iter_mut().map(|finished| &mut finished.plan));
        others.for_each(|plan| read_from(plan, &finished.source, &source, &positions));
    }
    Ok(plan)
}

/// A shared plan that is optimized, in place of one that was not.
struct Finished {
    source: Arc<SharedPlan>,
    /// Positions of the old fields that are kept.
    read: Vec<usize>,
    plan: Plan,
}

/// Adds the shared plans that a plan reads and that are still to be optimized.
fn unoptimized(plan: &Plan, found: &mut Vec<Arc<SharedPlan>>) {
    if let Plan::SharedScan(scan) = plan
        && !scan.source.is_optimized
        && !found.iter().any(|known| Arc::ptr_eq(known, &scan.source))
    {
        found.push(scan.source.clone());
    }
    plan.inputs().into_iter().for_each(|input| unoptimized(input, found));
}

/// Does a plan read a shared one, if only through others?
fn reads(plan: &Plan, source: &Arc<SharedPlan>) -> bool {
    let here = match plan {
        Plan::SharedScan(scan) => Arc::ptr_eq(&scan.source, source) || reads(&scan.source.plan, source),
        _ => false,
    };
    here || plan.inputs().into_iter().any(|input| reads(input, source))
}

fn columns_of(plan: &Plan, source: &Arc<SharedPlan>, read: &mut BTreeSet<usize>) {
    if let Plan::SharedScan(scan) = plan
        && Arc::ptr_eq(&scan.source, source)
    {
        read.extend(scan.columns.iter().map(|(at, _)| *at));
    }
    plan.inputs().into_iter().for_each(|input| columns_of(input, source, read));
}

fn read_from(
    plan: &mut Plan,
    old: &Arc<SharedPlan>,
    new: &Arc<SharedPlan>,
    positions: &HashMap<usize, usize>,
) {
    if let Plan::SharedScan(scan) = plan
        && Arc::ptr_eq(&scan.source, old)
    {
        scan.source = new.clone();
        for (at, _) in &mut scan.columns {
            *at = positions.get(at).copied().unwrap_or(*at);
        }
    }
    plan.inputs_mut().into_iter().for_each(|input| read_from(input, old, new, positions));
}
