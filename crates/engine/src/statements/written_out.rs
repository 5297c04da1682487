//! Functions made by SQL in definitions: they are written out when something is defined, as in the kernel, so that tables do not
//! change with them, and go on when they are dropped.

use crate::query_context::QueryContext;
use crate::sql_functions::ByName;
use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast::{CallStyle, Expr, ExprKind, StatementKind};
use chalet_syntax::visit::{count_nodes, walk, walk_mut};
use chalet_syntax::{for_each_kept_expr_mut, substitute};

/// How deep functions may call each other.
const MOST_DEEP: usize = 100;

/// The statement with the bodies of functions in place of their calls; none where it defines nothing that calls one.
pub(super) fn definition(statement: &StatementKind, ctx: &QueryContext) -> Result<Option<StatementKind>> {
    let defines = matches!(
        statement,
        StatementKind::CreateTable(_) | StatementKind::CreateView(_) | StatementKind::AlterTable(_)
    );
    let functions = ctx.database.shared.functions.all();
    if !defines || functions.is_empty() {
        return Ok(None);
    }
    let mut written = statement.clone();
    let mut result = Ok(false);
    for_each_kept_expr_mut(&mut written, &mut |expr| {
        if let Ok(is_changed) = &result {
            result = write_out(expr, &functions, 0).map(|changes| *is_changed || changes);
        }
    });
    Ok(result?.then_some(written))
}

/// So many nodes an expression has at most, as by default in the kernel (`max_expanded_ast_elements`).
const MOST_NODES: usize = 500_000;

/// Puts the body in place of a call; whether it is one.
fn write_out(expr: &mut Expr, functions: &ByName, depth: usize) -> Result<bool> {
    let ExprKind::Call(call) = &expr.kind else { return Ok(false) };
    if call.style == CallStyle::Operator {
        return Ok(false);
    }
    let Some(function) = functions.get(&call.name) else { return Ok(false) };
    ensure!(depth < MOST_DEEP, TOO_DEEP_RECURSION, "Functions call each other too deep: {}", call.name);
    let n_params = function.params.len();
    if n_params != call.args.len() {
        let n = call.args.len();
        bail!(UNSUPPORTED_METHOD, "Function {} expects {n_params} arguments actual arguments {n}", call.name);
    }
    let mut body = function.body.clone()?;
    rename_hiding(&mut body, &call.args);
    let mut result = Ok(());
    walk_mut(&mut body, &mut |inner| {
        if result.is_ok() {
            result = write_out(inner, functions, depth + 1).map(drop);
        }
    });
    result?;
    substitute(&mut body, &|name| {
        let position = function.params.iter().position(|param| param == name)?;
        Some(Expr { alias: None, ..call.args[position].clone() })
    });
    let n = count_nodes(&body);
    ensure!(
        n <= MOST_NODES,
        TOO_BIG_AST,
        "AST of {} is too big after it was written out. Maximum: {MOST_NODES}",
        call.name
    );
    expr.kind = body.kind;
    Ok(true)
}

/// Gives other names to parameters of lambdas that would hide what the arguments name.
fn rename_hiding(body: &mut Expr, args: &[Expr]) {
    let mut named = Vec::new();
    for arg in args {
        walk(arg, &mut |e| {
            if let ExprKind::Identifier(parts) = &e.kind {
                named.extend(parts.first().map(|part| part.name.clone()));
            }
            true
        });
    }
    walk_mut(body, &mut |e| {
        let ExprKind::Lambda { params, body } = &mut e.kind else { return };
        for param in params {
            if !named.contains(&param.name) {
                continue;
            }
            let before = std::mem::take(&mut param.name);
            param.name = format!("{before}_");
            while named.contains(&param.name) {
                param.name.push('_');
            }
            let ident = param.clone();
            let span = body.span;
            substitute(body, &|name| {
                let kind = ExprKind::Identifier(vec![ident.clone()]);
                (name == before).then_some(Expr { kind, alias: None, span })
            });
        }
    });
}
