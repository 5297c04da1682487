//! Expressions in place of names: the arguments of an SQL function in its body.

use crate::ast::{Expr, ExprKind, JoinStep, Query, Select, SetExpr, TableExpr, TableKind, WithItem};
use crate::visit::{for_each_child_mut, for_each_clause_mut};

/// Puts what `value` gives for a name in place of the identifiers of this name, in sub-queries too. Parameters of lambdas
/// hide names; an alias on an identifier stays.
pub fn substitute(e: &mut Expr, value: &dyn Fn(&str) -> Option<Expr>) {
    match &mut e.kind {
        ExprKind::Identifier(parts) if parts.len() == 1 => {
            if let Some(found) = value(&parts[0].name) {
                e.kind = found.kind;
            }
        }
        ExprKind::Lambda { params, body } => {
            substitute(body, &|name| if params.iter().any(|p| p.name == name) { None } else { value(name) });
        }
        ExprKind::Subquery(query) | ExprKind::Exists(query) => in_query(query, value),
        _ => for_each_child_mut(e, &mut |child| substitute(child, value)),
    }
}

fn in_query(query: &mut Query, value: &dyn Fn(&str) -> Option<Expr>) {
    in_set(&mut query.body, value);
}

fn in_set(body: &mut SetExpr, value: &dyn Fn(&str) -> Option<Expr>) {
    match body {
        SetExpr::Select(select) => in_select(select, value),
        SetExpr::SetOp { inputs, .. } => inputs.iter_mut().for_each(|input| in_set(input, value)),
        SetExpr::Query(query) => in_query(query, value),
    }
}

fn in_select(select: &mut Select, value: &dyn Fn(&str) -> Option<Expr>) {
    for item in &mut select.with {
        match item {
            WithItem::Expr(e) => substitute(e, value),
            WithItem::Cte { query, .. } => in_query(query, value),
        }
    }
    if let Some(table) = &mut select.from {
        in_table(table, value);
    }
    for step in &mut select.joins {
        if let JoinStep::Join(join) = step {
            in_table(&mut join.table, value);
        }
    }
    for_each_clause_mut(select, &mut |e| substitute(e, value));
}

fn in_table(table: &mut TableExpr, value: &dyn Fn(&str) -> Option<Expr>) {
    match &mut table.kind {
        TableKind::Query(query) => in_query(query, value),
        TableKind::Function(call) => call.args.iter_mut().for_each(|arg| substitute(arg, value)),
        TableKind::Name(_) | TableKind::File(_) => {}
    }
}
