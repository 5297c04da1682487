//! Conditions, orders and limits over rows of servers: what can be said of them is sent, so that only rows travel that may be in the
//! answer. Orders and limits are kept here too, since each server knows its own rows alone.

use super::RemoteTable;
use super::expression::{Sayable, is_portable};
use super::sql::Narrowing;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_plan::{Distinct, Expr, LimitBy, Plan, ScanNode, Sort, SortKey};
use std::collections::HashSet;
use std::sync::Arc;

/// The setting that switches it off.
const SETTING: &str = "chalet_push_down_rows";

/// Lets servers leave out what they can. Behind the optimizer, which moves conditions to the scans and limits into sorts.
pub(crate) fn push_down(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    let is_off = |name| ctx.state.settings.flag(name) == Some(false);
    if is_off(SETTING) || is_off("query_plan_enable_optimizations") {
        return Ok(());
    }
    let mut all = |expr: Expr, more: Expr| chalet_binder::make_call(ctx, "and", vec![expr, more]);
    conditions(plan, &mut all)?;
    limits(plan);
    Ok(())
}

type And<'a> = &'a mut dyn FnMut(Expr, Expr) -> Result<Expr>;

/// The table of a scan that is one of servers.
fn of_servers(scan: &ScanNode) -> Option<&RemoteTable> {
    scan.table.as_any().downcast_ref::<RemoteTable>()
}

/// Sends of the filter of each scan what can be sent; the rest stays.
fn conditions(plan: &mut Plan, and: And<'_>) -> Result<()> {
    let Plan::Scan(scan) = plan else {
        return plan.inputs_mut().into_iter().try_for_each(|input| conditions(input, and));
    };
    let (Some(filter), Some(table)) = (scan.filter.clone(), of_servers(scan).cloned()) else { return Ok(()) };
    if table.made.is_some() {
        return Ok(());
    }
    let mut conjuncts = Vec::new();
    filter.conjuncts(&mut conjuncts);
    let mut narrowing = table.narrowing.clone();
    let mut rest: Option<Expr> = None;
    for conjunct in conjuncts {
        match (Sayable { table: &table, scan }).condition(&conjunct) {
            Some(said) => narrowing.conditions.push(said),
            None => {
                rest = Some(match rest {
                    None => conjunct,
                    Some(before) => and(before, conjunct)?,
                })
            }
        }
    }
    // Nobody reads now what only these conditions read.
    let still_read: HashSet<_> = rest.iter().flat_map(Expr::columns).collect();
    let unread = |id| scan.only_filtered.contains(&id) && !still_read.contains(&id);
    let columns = scan.columns.iter().filter(|(_, field)| !unread(field.id)).cloned().collect();
    scan.only_filtered = scan.only_filtered.iter().filter(|id| still_read.contains(id)).copied().collect();
    scan.columns = columns;
    scan.filter = rest;
    scan.table = Arc::new(RemoteTable { narrowing, ..table });
    Ok(())
}

/// Sends orders and limits that stand over scans.
fn limits(plan: &mut Plan) {
    let sent = match plan {
        Plan::Sort(sort) => of_sort(sort),
        Plan::LimitBy(node) => of_limit_by(node),
        Plan::Distinct(node) => of_distinct(node),
        _ => None,
    };
    match sent {
        Some(narrowing) => narrow(plan, narrowing),
        None => plan.inputs_mut().into_iter().for_each(limits),
    }
}

/// The expressions over the columns of the scan below; `None` where something else than projections stands between.
fn over_scan<'a>(plan: &'a Plan, exprs: &mut [Expr]) -> Option<&'a ScanNode> {
    match below_projections(plan, exprs)? {
        Plan::Scan(scan) => Some(scan),
        _ => None,
    }
}

/// What is no projection any more, and the expressions over its columns.
fn below_projections<'a>(mut plan: &'a Plan, exprs: &mut [Expr]) -> Option<&'a Plan> {
    while let Plan::Project(project) = plan {
        for expr in exprs.iter_mut() {
            let under = expr.replace(&mut |e| {
                let id = e.as_column();
                let found = project.exprs.iter().find(|(field, _)| Some(field.id) == id);
                Ok(found.map(|(_, expr)| expr.clone()))
            });
            *expr = under.ok()?;
        }
        plan = &project.input;
    }
    Some(plan)
}

/// A scan of rows of servers, all of whose filter was sent.
fn sayable(scan: &ScanNode) -> Option<Sayable<'_>> {
    let table = of_servers(scan)?;
    (scan.filter.is_none() && scan.limit.is_none() && table.made.is_none()).then_some(Sayable { table, scan })
}

/// `ORDER BY ... LIMIT n`.
fn of_sort(sort: &Sort) -> Option<Narrowing> {
    let limit = sort.limit.filter(|_| !sort.with_ties)?;
    if let Some((table, order)) = order_of_distinct(sort) {
        return Some(Narrowing { order, limit: Some(limit), ..table.narrowing.clone() });
    }
    let (sayable, order) = order(sort)?;
    Some(Narrowing { order, limit: Some(limit), ..sayable.table.narrowing.clone() })
}

/// The keys of a sort of rows that servers make distinct, all of them columns of these: the first rows of all are among the first of
/// each. Groups are another matter, since a server may leave out one that another sends, whose state is then a part.
fn order_of_distinct(sort: &Sort) -> Option<(&RemoteTable, Vec<String>)> {
    let mut exprs: Vec<Expr> = sort.keys.iter().map(|key| key.expr.clone()).collect();
    let Plan::Distinct(distinct) = below_projections(&sort.input, &mut exprs)? else { return None };
    let Plan::Scan(scan) = below_projections(&distinct.input, &mut exprs)? else { return None };
    let table = of_servers(scan).filter(|_| scan.filter.is_none() && distinct.limit.is_none())?;
    let made = table.made.as_ref().filter(|made| made.is_distinct)?;
    let said = exprs.iter().zip(&sort.keys).map(|(expr, key)| {
        let id = expr.as_column()?;
        let (at, field) = scan.columns.iter().find(|(_, field)| field.id == id)?;
        // Of NaN and zeros there are several.
        let is_sorted_alike = is_portable(&field.ty) && !field.ty.bare().is_float();
        is_sorted_alike.then(|| directed(made.columns[*at].clone(), expr, key))
    });
    Some((table, said.collect::<Option<_>>()?))
}

/// The keys of a sort of rows of servers.
fn order(sort: &Sort) -> Option<(Sayable<'_>, Vec<String>)> {
    let mut exprs: Vec<Expr> = sort.keys.iter().map(|key| key.expr.clone()).collect();
    let sayable = sayable(over_scan(&sort.input, &mut exprs)?)?;
    let mut keys = Vec::with_capacity(exprs.len());
    for (expr, key) in exprs.iter().zip(&sort.keys) {
        keys.push(directed(sayable.value(expr)?, expr, key));
    }
    Some((sayable, keys))
}

/// A key with its direction.
fn directed(mut said: String, expr: &Expr, key: &SortKey) -> String {
    if key.order.descending {
        said.push_str(" DESC");
    }
    if expr.ty().is_nullable() || expr.ty().bare().is_float() {
        said.push_str(if key.order.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
    }
    said
}

/// `LIMIT n BY ...`, behind an ORDER BY where there is one.
fn of_limit_by(node: &LimitBy) -> Option<Narrowing> {
    if node.from_end.any() {
        return None;
    }
    let limit = node.limit.checked_add(node.offset)?;
    let mut exprs = node.columns.clone();
    let mut below = &*node.input;
    // Names of the projections above the sort are those of its rows.
    while let Plan::Project(project) = below {
        for expr in &mut exprs {
            *expr = expr
                .replace(&mut |e| {
                    let found = project.exprs.iter().find(|(field, _)| Some(field.id) == e.as_column());
                    Ok(found.map(|(_, expr)| expr.clone()))
                })
                .ok()?;
        }
        below = &project.input;
    }
    let keys = match below {
        Plan::Sort(sort) if sort.limit.is_none() && sort.offset == 0 => {
            below = &sort.input;
            order(sort)?.1
        }
        _ => Vec::new(),
    };
    let sayable = sayable(over_scan(below, &mut exprs)?)?;
    // Of NaN and zeros there are several.
    let said = |expr: &Expr| sayable.value(expr).filter(|_| !expr.ty().bare().is_float());
    let by = exprs.iter().map(said).collect::<Option<Vec<_>>>()?;
    Some(Narrowing { order: keys, limit_by: Some((limit, by)), ..sayable.table.narrowing.clone() })
}

/// `DISTINCT ... LIMIT n`, where the servers make the rows distinct.
fn of_distinct(node: &Distinct) -> Option<Narrowing> {
    let limit = node.limit?;
    let scan = over_scan(&node.input, &mut [])?;
    let table = of_servers(scan).filter(|_| scan.filter.is_none())?;
    let is_distinct = table.made.as_ref().is_some_and(|made| made.is_distinct);
    is_distinct.then(|| Narrowing { limit: Some(limit), ..table.narrowing.clone() })
}

/// Gives what is sent to the one scan below.
fn narrow(plan: &mut Plan, narrowing: Narrowing) {
    match plan {
        Plan::Scan(scan) => {
            if let Some(table) = of_servers(scan).cloned() {
                scan.table = Arc::new(RemoteTable { narrowing, ..table });
            }
        }
        other => {
            if let Some(input) = other.inputs_mut().into_iter().next() {
                narrow(input, narrowing);
            }
        }
    }
}
