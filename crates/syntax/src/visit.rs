//! Walks over the tree: the direct child expressions of an expression, for reading and for rewriting.

use crate::ast::{
    Call, CallStyle, ColumnsMatcher, Expr, ExprKind, Fill, FrameBound, GroupBy, Ident, JoinConstraint,
    JoinStep, OrderItem, Query, Select, SetExpr, SettingValue, TableExpr, TableKind, Transformer, WindowRef,
    WindowSpec, WithItem,
};

/// Calls `f` with each direct child expression, in the order of the text. Sub-queries are not entered.
pub fn for_each_child<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Identifier(_)
        | ExprKind::Parameter { .. }
        | ExprKind::Subquery(_)
        | ExprKind::Exists(_) => {}
        ExprKind::Star(transformers) | ExprKind::QualifiedStar { transformers, .. } => {
            transformers.iter().for_each(|t| transformer_children(t, f));
        }
        ExprKind::Columns { matcher, transformers, .. } => {
            if let ColumnsMatcher::List(list) = matcher {
                list.iter().for_each(&mut *f);
            }
            transformers.iter().for_each(|t| transformer_children(t, f));
        }
        ExprKind::Call(call) => call_children(call, f),
        ExprKind::Lambda { body, .. } => f(body),
    }
}

/// [`for_each_child`] of the arguments, parameters, filter, order and window of a call.
pub fn call_children<'a>(call: &'a Call, f: &mut dyn FnMut(&'a Expr)) {
    call.params.iter().flatten().for_each(&mut *f);
    call.args.iter().for_each(&mut *f);
    call.order_by.iter().for_each(|item| order_item_children(item, f));
    for setting in &call.settings {
        if let SettingValue::Expr(value) = &setting.value {
            f(value);
        }
    }
    if let Some(filter) = &call.filter {
        f(filter);
    }
    if let Some(WindowRef::Spec(spec)) = &call.over {
        window_children(spec, f);
    }
}

pub fn window_children<'a>(spec: &'a WindowSpec, f: &mut dyn FnMut(&'a Expr)) {
    spec.partition_by.iter().for_each(&mut *f);
    spec.order_by.iter().for_each(|item| order_item_children(item, f));
    if let Some(frame) = &spec.frame {
        for bound in [&frame.start, &frame.end] {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                f(value);
            }
        }
    }
}

fn order_item_children<'a>(item: &'a OrderItem, f: &mut dyn FnMut(&'a Expr)) {
    f(&item.expr);
    if let Some(Fill { from, to, step, staleness }) = item.fill.as_deref() {
        [from, to, step, staleness].into_iter().flatten().for_each(&mut *f);
    }
}

fn transformer_children<'a>(transformer: &'a Transformer, f: &mut dyn FnMut(&'a Expr)) {
    match transformer {
        Transformer::Except { .. } | Transformer::ExceptRegex(_) => {}
        Transformer::Replace { items, .. } => items.iter().for_each(|(expr, _)| f(expr)),
        Transformer::Apply { params, .. } => params.iter().for_each(&mut *f),
        Transformer::ApplyLambda { body, .. } => f(body),
    }
}

/// [`for_each_child`] for rewriting in place.
pub fn for_each_child_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Identifier(_)
        | ExprKind::Parameter { .. }
        | ExprKind::Subquery(_)
        | ExprKind::Exists(_) => {}
        ExprKind::Star(transformers) | ExprKind::QualifiedStar { transformers, .. } => {
            transformers.iter_mut().for_each(|t| transformer_children_mut(t, f));
        }
        ExprKind::Columns { matcher, transformers, .. } => {
            if let ColumnsMatcher::List(list) = matcher {
                list.iter_mut().for_each(&mut *f);
            }
            transformers.iter_mut().for_each(|t| transformer_children_mut(t, f));
        }
        ExprKind::Call(call) => {
            call.params.iter_mut().flatten().for_each(&mut *f);
            call.args.iter_mut().for_each(&mut *f);
            call.order_by.iter_mut().for_each(|item| order_item_children_mut(item, f));
            for setting in &mut call.settings {
                if let SettingValue::Expr(value) = &mut setting.value {
                    f(value);
                }
            }
            if let Some(filter) = &mut call.filter {
                f(filter);
            }
            if let Some(WindowRef::Spec(spec)) = &mut call.over {
                window_children_mut(spec, f);
            }
        }
        ExprKind::Lambda { body, .. } => f(body),
    }
}

fn window_children_mut(spec: &mut WindowSpec, f: &mut dyn FnMut(&mut Expr)) {
    spec.partition_by.iter_mut().for_each(&mut *f);
    spec.order_by.iter_mut().for_each(|item| order_item_children_mut(item, f));
    if let Some(frame) = &mut spec.frame {
        for bound in [&mut frame.start, &mut frame.end] {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                f(value);
            }
        }
    }
}

fn order_item_children_mut(item: &mut OrderItem, f: &mut dyn FnMut(&mut Expr)) {
    f(&mut item.expr);
    if let Some(Fill { from, to, step, staleness }) = item.fill.as_deref_mut() {
        [from, to, step, staleness].into_iter().flatten().for_each(&mut *f);
    }
}

fn transformer_children_mut(transformer: &mut Transformer, f: &mut dyn FnMut(&mut Expr)) {
    match transformer {
        Transformer::Except { .. } | Transformer::ExceptRegex(_) => {}
        Transformer::Replace { items, .. } => items.iter_mut().for_each(|(expr, _)| f(expr)),
        Transformer::Apply { params, .. } => params.iter_mut().for_each(&mut *f),
        Transformer::ApplyLambda { body, .. } => f(body),
    }
}

/// Calls `f` with the expression and everything below it, outermost first; `f` says whether to go deeper.
pub fn walk<'a>(expr: &'a Expr, f: &mut dyn FnMut(&'a Expr) -> bool) {
    if f(expr) {
        for_each_child(expr, &mut |child| walk(child, f));
    }
}

/// Calls `f` with the expression and everything below it, innermost first.
pub fn walk_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    for_each_child_mut(expr, &mut |child| walk_mut(child, f));
    f(expr);
}

pub fn count_nodes(expr: &Expr) -> usize {
    let mut count = 0;
    walk(expr, &mut |_| {
        count += 1;
        true
    });
    count
}

/// Calls `f` with each expression that stands directly in a clause of a SELECT, in the order of the text.
/// Sub-queries in WITH and FROM are not entered.
pub fn for_each_clause<'a>(select: &'a Select, f: &mut dyn FnMut(&'a Expr)) {
    for item in &select.with {
        if let WithItem::Expr(expr) = item {
            f(expr);
        }
    }
    select.distinct_on.iter().for_each(&mut *f);
    select.projection.iter().for_each(&mut *f);
    for step in &select.joins {
        match step {
            JoinStep::ArrayJoin { exprs, .. } => exprs.iter().for_each(&mut *f),
            JoinStep::Join(join) => match &join.constraint {
                JoinConstraint::None => {}
                JoinConstraint::On(condition) => f(condition),
                JoinConstraint::Using(list) => list.iter().for_each(&mut *f),
            },
        }
    }
    [&select.prewhere, &select.where_].into_iter().flatten().for_each(&mut *f);
    match &select.group_by {
        None | Some(GroupBy::All | GroupBy::AllRollup | GroupBy::AllCube) => {}
        Some(GroupBy::Exprs(list) | GroupBy::Rollup(list) | GroupBy::Cube(list)) => {
            list.iter().for_each(&mut *f)
        }
        Some(GroupBy::GroupingSets(sets)) => sets.iter().flatten().for_each(&mut *f),
    }
    select.having.iter().for_each(&mut *f);
    select.windows.iter().for_each(|w| window_children(&w.spec, f));
    select.qualify.iter().for_each(&mut *f);
    select.order_by.iter().for_each(|item| order_item_children(item, f));
    select.interpolate.iter().flatten().filter_map(|item| item.expr.as_ref()).for_each(&mut *f);
    if let Some(by) = &select.limit_by {
        [&by.limit, &by.offset].into_iter().flatten().for_each(&mut *f);
        by.exprs.iter().for_each(&mut *f);
    }
    [&select.limit, &select.offset].into_iter().flatten().for_each(&mut *f);
}

/// The tables of a SELECT, from the left.
pub fn tables(select: &Select) -> impl Iterator<Item = &TableExpr> {
    let joined = select.joins.iter().filter_map(|step| match step {
        JoinStep::Join(join) => Some(&join.table),
        JoinStep::ArrayJoin { .. } => None,
    });
    select.from.iter().chain(joined)
}

/// Calls `f` with each SELECT of a query, not entering the sub-queries inside them.
pub fn for_each_select<'a>(query: &'a Query, f: &mut dyn FnMut(&'a Select)) {
    fn visit<'a>(body: &'a SetExpr, f: &mut dyn FnMut(&'a Select)) {
        match body {
            SetExpr::Select(select) => f(select),
            SetExpr::SetOp { inputs, .. } => inputs.iter().for_each(|input| visit(input, f)),
            SetExpr::Query(query) => visit(&query.body, f),
        }
    }
    visit(&query.body, f);
}

/// The same for rewriting.
pub fn for_each_select_mut(query: &mut Query, f: &mut dyn FnMut(&mut Select)) {
    fn visit(body: &mut SetExpr, f: &mut dyn FnMut(&mut Select)) {
        match body {
            SetExpr::Select(select) => f(select),
            SetExpr::SetOp { inputs, .. } => inputs.iter_mut().for_each(|input| visit(input, f)),
            SetExpr::Query(query) => visit(&mut query.body, f),
        }
    }
    visit(&mut query.body, f);
}

/// Does the query read the table function `input`, which is the data behind the statement?
pub fn reads_input(query: &mut Query) -> bool {
    let mut found = false;
    for_each_table_mut(query, &mut |table| {
        found |= matches!(&table.kind, TableKind::Function(call) if call.name == "input");
    });
    found
}

/// The query of a table expression that is one.
pub fn subquery_of(table: &TableExpr) -> Option<&Query> {
    match &table.kind {
        TableKind::Query(query) => Some(query),
        _ => None,
    }
}

/// Where a query names a table.
pub enum Place<'a> {
    /// In FROM.
    Table(&'a mut TableExpr),
    /// Behind IN: an identifier.
    Set(&'a mut Expr),
    /// In WITH, where the name begins to stand for a query.
    Cte(&'a mut Ident),
}

/// Calls `f` with every table of FROM, of the query and of all queries inside it, for rewriting in place.
pub fn for_each_table_mut(query: &mut Query, f: &mut dyn FnMut(&mut TableExpr)) {
    for_each_place_mut(query, &mut |place| {
        if let Place::Table(table) = place {
            f(table);
        }
    });
}

/// Calls `f` with every place where the query, or one inside it, names a table.
pub fn for_each_place_mut(query: &mut Query, f: &mut dyn FnMut(Place<'_>)) {
    set_expr_places_mut(&mut query.body, f);
}

fn set_expr_places_mut(body: &mut SetExpr, f: &mut dyn FnMut(Place<'_>)) {
    match body {
        SetExpr::Select(select) => select_places_mut(select, f),
        SetExpr::SetOp { inputs, .. } => inputs.iter_mut().for_each(|i| set_expr_places_mut(i, f)),
        SetExpr::Query(query) => for_each_place_mut(query, f),
    }
}

fn select_places_mut(select: &mut Select, f: &mut dyn FnMut(Place<'_>)) {
    for item in &mut select.with {
        match item {
            WithItem::Expr(e) => expr_places_mut(e, f),
            WithItem::Cte { name, query, .. } => {
                f(Place::Cte(name));
                for_each_place_mut(query, f);
            }
        }
    }
    if let Some(table) = &mut select.from {
        table_places_mut(table, f);
    }
    for step in &mut select.joins {
        if let JoinStep::Join(join) = step {
            table_places_mut(&mut join.table, f);
        }
    }
    for_each_clause_mut(select, &mut |e| expr_places_mut(e, f));
}

/// Calls `f` with each expression of a SELECT that columns may stand in, for rewriting in place. Those of WITH are not among
/// them.
pub(crate) fn for_each_clause_mut(select: &mut Select, f: &mut dyn FnMut(&mut Expr)) {
    for step in &mut select.joins {
        match step {
            JoinStep::Join(join) => {
                if let JoinConstraint::On(on) = &mut join.constraint {
                    f(on);
                }
            }
            JoinStep::ArrayJoin { exprs, .. } => exprs.iter_mut().for_each(&mut *f),
        }
    }
    let grouped: Vec<&mut Expr> = match &mut select.group_by {
        Some(GroupBy::Exprs(exprs) | GroupBy::Rollup(exprs) | GroupBy::Cube(exprs)) => {
            exprs.iter_mut().collect()
        }
        Some(GroupBy::GroupingSets(sets)) => sets.iter_mut().flatten().collect(),
        Some(GroupBy::All | GroupBy::AllRollup | GroupBy::AllCube) | None => Vec::new(),
    };
    let clauses = select
        .projection
        .iter_mut()
        .chain(&mut select.distinct_on)
        .chain(&mut select.prewhere)
        .chain(&mut select.where_)
        .chain(grouped)
        .chain(&mut select.having)
        .chain(&mut select.qualify)
        .chain(select.order_by.iter_mut().map(|o| &mut o.expr))
        .chain(select.limit_by.iter_mut().flat_map(|l| &mut l.exprs));
    clauses.for_each(f);
}

fn table_places_mut(table: &mut TableExpr, f: &mut dyn FnMut(Place<'_>)) {
    f(Place::Table(table));
    match &mut table.kind {
        TableKind::Query(query) => for_each_place_mut(query, f),
        TableKind::Function(call) => call.args.iter_mut().for_each(|a| expr_places_mut(a, f)),
        TableKind::Name(_) | TableKind::File(_) => {}
    }
}

fn expr_places_mut(e: &mut Expr, f: &mut dyn FnMut(Place<'_>)) {
    walk_mut(e, &mut |e| match &mut e.kind {
        ExprKind::Subquery(query) | ExprKind::Exists(query) => for_each_place_mut(query, f),
        ExprKind::Call(call) if call.style == CallStyle::Operator && is_in(&call.name) => {
            if let [_, set] = &mut call.args[..]
                && let ExprKind::Identifier(_) = set.kind
            {
                f(Place::Set(set));
            }
        }
        _ => {}
    });
}

/// Is it the function of an operator that has a set on its right?
pub fn is_in(name: &str) -> bool {
    matches!(name, "in" | "notIn" | "globalIn" | "globalNotIn")
}
