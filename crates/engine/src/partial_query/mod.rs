//! Queries that another server sends while it runs one over several: it wants what is there in the middle, and goes on by itself. Such a query
//! is rewritten into one whose rows are that: keys and states of aggregates, or expressions before they get their names. The server finds
//! columns by the names that its planner has for expressions ([`names`]).

mod names;

use crate::query_context::QueryContext;
use chalet_aggregates::resolve::{exists, has_own_states};
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_syntax::ast::{
    Call, CallStyle, Expr, ExprKind, GroupBy, Ident, Literal, Query, Select, SetExpr, Span, StatementKind,
    WindowRef,
};
use chalet_syntax::visit::{walk, walk_mut};
use names::name_of;

/// How far a query is to be run, as the native protocol numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Up to groups whose aggregates are states.
    MergeableState,
    /// Up to groups that are whole, sorted and limited if it says so.
    AfterAggregation,
}

/// The part of a query that a server is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub stage: Stage,
    /// What `shardNum()` and `shardCount()` are.
    pub shard: (u64, u64),
}

/// The statement that gives the part; the statement itself where that is the same.
pub(crate) fn rewritten(sql: &str, part: Part, ctx: &QueryContext) -> Result<String> {
    let mut parsed = chalet_syntax::parse_statements(sql)?;
    let [statement] = &mut parsed[..] else { return Ok(sql.into()) };
    let StatementKind::Query(query) = &mut statement.kind else { return Ok(sql.into()) };
    let Some(select) = only_select(query) else { return Ok(sql.into()) };
    ensure!(
        part.stage != Stage::MergeableState || !matches!(select.group_by, Some(GroupBy::GroupingSets(_))),
        NOT_IMPLEMENTED,
        "Parts of GROUP BY GROUPING SETS are not made for other servers"
    );
    each_expression(select, &mut |expr| days(expr, ctx));
    let groups = match &select.group_by {
        None => Some(&[][..]),
        // What is made of groups is made of them by who merges.
        Some(GroupBy::Exprs(keys) | GroupBy::Rollup(keys) | GroupBy::Cube(keys)) => Some(&keys[..]),
        Some(_) => None,
    };
    let Some(keys) = groups else { return Ok(sql.into()) };
    let mut calls = Vec::new();
    outputs(select).for_each(|expr| aggregates(expr, &mut calls, ctx));
    let has_groups = select.group_by.is_some() || !calls.is_empty();
    if part.stage == Stage::MergeableState
        && let Some(call) = calls.iter().find(|call| has_own_states(&ctx.registry, &call.name))
    {
        bail!(NOT_IMPLEMENTED, "States of {} are not those of other servers", call.name);
    }
    let exprs = match part.stage {
        Stage::MergeableState if has_groups => {
            keys.iter().cloned().map(Named::of).chain(calls.iter().map(Named::state)).collect()
        }
        _ => computed(select, has_groups),
    };
    if exprs.is_empty() {
        return Ok(sql.into());
    }
    let mut projection: Vec<Expr> = Vec::new();
    for Named { name, expr } in exprs {
        if !projection.iter().any(|known| known.alias.as_ref().is_some_and(|alias| alias.name == name)) {
            projection.push(Expr { alias: Some(Ident::new(name)), ..expr });
        }
    }
    narrow(select, part.stage, has_groups);
    select.projection = projection;
    each_expression(select, &mut |expr| {
        shard(expr, part.shard);
        subcolumn(expr);
    });
    Ok(statement.to_string())
}

fn only_select(query: &mut Query) -> Option<&mut Select> {
    match &mut query.body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => only_select(query),
        SetExpr::SetOp { .. } => None,
    }
}

/// An expression without the names that stand in it, and its own.
struct Named {
    name: String,
    expr: Expr,
}

impl Named {
    fn of(mut expr: Expr) -> Named {
        let name = name_of(&expr);
        walk_mut(&mut expr, &mut |e| e.alias = None);
        Named { name, expr }
    }

    fn state(call: &Call) -> Named {
        let named = Named::of(of_call(call.clone()));
        let with_state = Call { name: format!("{}State", call.name), ..call.clone() };
        Named { expr: Named::of(of_call(with_state)).expr, ..named }
    }
}

fn of_call(call: Call) -> Expr {
    Expr { kind: ExprKind::Call(Box::new(call)), alias: None, span: Span::default() }
}

/// The expressions that are computed behind the groups.
fn outputs(select: &Select) -> impl Iterator<Item = &Expr> {
    let sorted = select.order_by.iter().map(|item| &item.expr);
    let limited = select.limit_by.iter().flat_map(|limit| &limit.exprs);
    select.projection.iter().chain(&select.having).chain(&select.qualify).chain(sorted).chain(limited)
}

/// Appends the aggregates of an expression.
fn aggregates(expr: &Expr, found: &mut Vec<Call>, ctx: &QueryContext) {
    walk(expr, &mut |e| {
        let ExprKind::Call(call) = &e.kind else { return true };
        let is_aggregate = call.over.is_none()
            && ctx.registry.called(&call.name).is_none()
            && exists(&ctx.registry, &call.name);
        if is_aggregate {
            found.push((**call).clone());
        }
        !is_aggregate
    });
}

/// What is computed before columns get their names. Without groups also the columns themselves, of which more may be made.
fn computed(select: &Select, has_groups: bool) -> Vec<Named> {
    let mut found = Vec::new();
    for expr in outputs(select).filter(|expr| select.having.as_ref() != Some(*expr)) {
        let before = found.len();
        windows(expr, &mut found);
        if found.len() == before {
            found.push(Named::of(expr.clone()));
        }
        if !has_groups && !select.distinct {
            columns(expr, &mut found);
        }
    }
    found
}

/// What the window functions of an expression read: they are computed over the rows of all servers.
fn windows(expr: &Expr, found: &mut Vec<Named>) {
    walk(expr, &mut |e| {
        let ExprKind::Call(call) = &e.kind else { return true };
        let Some(over) = &call.over else { return true };
        found.extend(call.args.iter().cloned().map(Named::of));
        if let WindowRef::Spec(spec) = over {
            let read = spec.partition_by.iter().chain(spec.order_by.iter().map(|item| &item.expr));
            found.extend(read.cloned().map(Named::of));
        }
        columns(e, found);
        false
    });
}

fn columns(expr: &Expr, found: &mut Vec<Named>) {
    walk(expr, &mut |e| {
        if let ExprKind::Identifier(parts) = &e.kind
            && parts.len() > 1
        {
            found.push(Named::of(e.clone()));
        }
        !matches!(e.kind, ExprKind::Lambda { .. })
    });
}

/// Takes off what is done once the rows of all servers are together.
fn narrow(select: &mut Select, stage: Stage, has_groups: bool) {
    let has_windows = outputs(select).any(|expr| {
        let mut found = Vec::new();
        windows(expr, &mut found);
        !found.is_empty()
    });
    if stage == Stage::MergeableState {
        if let Some(GroupBy::Rollup(keys) | GroupBy::Cube(keys)) = &mut select.group_by {
            select.group_by = Some(GroupBy::Exprs(std::mem::take(keys)));
        }
        if has_groups {
            (select.having, select.distinct) = (None, false);
            select.order_by.clear();
            select.distinct_on.clear();
        }
        select.with_totals = false;
        (select.limit_by, select.limit, select.offset, select.limit_with_ties) = (None, None, None, false);
    }
    if has_windows {
        (select.limit_by, select.limit, select.offset, select.limit_with_ties) = (None, None, None, false);
        select.order_by.clear();
        select.distinct = false;
    }
    select.qualify = None;
    select.interpolate = None;
    select.windows.clear();
    // Rows are left out where all are together.
    if let Some(offset) = select.offset.take() {
        let both = |limit| Call::new("plus", vec![limit, offset], CallStyle::Function);
        select.limit = select.limit.take().map(|limit| of_call(both(limit)));
    }
}

fn each_expression(select: &mut Select, f: &mut dyn FnMut(&mut Expr)) {
    let sorted = select.order_by.iter_mut().map(|item| &mut item.expr);
    let grouped = match &mut select.group_by {
        Some(GroupBy::Exprs(keys)) => &mut keys[..],
        _ => &mut [],
    };
    let clauses = [&mut select.where_, &mut select.prewhere, &mut select.having].into_iter().flatten();
    let limited = select.limit_by.iter_mut().flat_map(|limit| &mut limit.exprs);
    select
        .projection
        .iter_mut()
        .chain(sorted)
        .chain(grouped)
        .chain(clauses)
        .chain(limited)
        .for_each(|expr| walk_mut(expr, f));
}

/// Dates are numbers in the names of constants, and text in the query.
fn days(expr: &mut Expr, ctx: &QueryContext) {
    let ExprKind::Call(call) = &mut expr.kind else { return };
    let [
        Expr { kind: ExprKind::Literal(Literal::String(_)), .. },
        Expr { kind: ExprKind::Literal(Literal::String(ty)), .. },
    ] = &call.args[..]
    else {
        return;
    };
    let is_date = ty == b"Date" || ty.starts_with(b"DateTime") && !ty.starts_with(b"DateTime64");
    if call.name == "_CAST" && is_date {
        let value = bind_constant(&of_call((**call).clone()), ctx, &ctx.ids)
            .ok()
            .and_then(|bound| bound.value().as_u64());
        if let Some(value) = value {
            call.args[0].kind = ExprKind::Literal(Literal::UInt(value));
        }
    }
}

/// Subcolumns are written as one name behind the table's.
fn subcolumn(expr: &mut Expr) {
    if let ExprKind::Identifier(parts) = &mut expr.kind
        && let [table, column] = &parts[..]
        && column.name.contains('.')
    {
        let steps = column.name.split('.').map(Ident::new);
        *parts = std::iter::once(table.clone()).chain(steps).collect();
    }
}

fn shard(expr: &mut Expr, (number, count): (u64, u64)) {
    let ExprKind::Call(call) = &expr.kind else { return };
    let value = match (&*call.name, &call.args[..]) {
        ("shardNum", []) => number,
        ("shardCount", []) => count,
        _ => return,
    };
    let literal = |kind| Expr { kind: ExprKind::Literal(kind), alias: None, span: Span::default() };
    let args = vec![literal(Literal::UInt(value)), literal(Literal::String(b"UInt32".to_vec()))];
    expr.kind = ExprKind::Call(Box::new(Call { name: "_CAST".into(), args, ..(**call).clone() }));
}
