//! `min` and `max` are pushed through monotonic casts: `min(toDate(n))` is `toDate(min(n))`, so that one value is converted, and
//! the table's statistics may answer.
//!
//! ```text
//! Aggregate: min(d)              Project toDate(m)
//!   Project d := toDate(n)   =>    Aggregate: min(n) as m
//!     Scan                           Project n
//!                                      Scan
//! ```

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_function_api::Argument;
use chalet_function_api::aggregate::OfAllRows;
use chalet_function_api::call::BoundFunction;
use chalet_plan::{Aggregate, Expr, Plan, Project};
use std::sync::Arc;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if with.overflow_throws() {
        return Ok(plan);
    }
    bottom_up(plan, &mut |node| match node {
        Plan::Aggregate(node) if node.totals.is_none() => rewrite(node, with),
        other => Ok(other),
    })
}

fn rewrite(mut node: Aggregate, with: &Rewriter) -> Result<Plan> {
    let outputs = Plan::Aggregate(node.clone()).fields();
    let mut converted = Vec::new();
    for call in &mut node.calls {
        let smallest = match call.aggregate.of_all_rows() {
            Some(OfAllRows::Min) => true,
            Some(OfAllRows::Max) => false,
            _ => continue,
        };
        let [arg] = &call.args[..] else { continue };
        let Some((function, args)) = conversion(&mut node.input, arg, with) else { continue };
        let from = args[0].ty().without_low_cardinality().clone();
        let mut args = args;
        let field = with.ids.field(call.name.clone(), from.clone());
        let inner = std::mem::replace(&mut args[0], Expr::Column(field.id, from.clone()));
        let Some(function) = of_result(&function, &args, with)? else { continue };
        if function.result != call.field.ty {
            continue;
        }
        converted.push((call.field.id, Expr::call(function, args)));
        call.aggregate = chalet_aggregates::extremes::of_any_type(smallest, &from);
        call.args = vec![inner];
        call.field = field;
    }
    if converted.is_empty() {
        return Ok(Plan::Aggregate(node));
    }
    let exprs = outputs.into_iter().map(|field| {
        let found = converted.iter().find(|(id, _)| *id == field.id);
        let expr = found.map_or_else(|| Expr::Column(field.id, field.ty.clone()), |(_, e)| e.clone());
        (field, expr)
    });
    let exprs = exprs.collect();
    Ok(Plan::Project(Project { exprs, input: Box::new(Plan::Aggregate(node)) }))
}

/// The conversion of a result, which is no dictionary.
fn of_result(function: &BoundFunction, args: &[Expr], with: &Rewriter) -> Result<Option<BoundFunction>> {
    let arguments: Vec<Argument> = args
        .iter()
        .map(|arg| Argument {
            constant: arg.as_literal().map(|literal| literal.value()),
            ..Argument::of_type(arg.ty().clone())
        })
        .collect();
    let bound = BoundFunction::bind(function.function.clone(), &arguments, with.context)?;
    // The least of no rows is NULL for Nullable values alone.
    Ok((bound.result.is_nullable() == args[0].ty().is_nullable()).then_some(bound))
}

/// The conversion that makes an argument, with what it converts as the aggregation sees it: a projection between them
/// hands that on, too.
fn conversion(input: &mut Plan, arg: &Expr, with: &Rewriter) -> Option<(Arc<BoundFunction>, Vec<Expr>)> {
    let order_kept = |expr: &Expr| match expr {
        Expr::Call { function, args } => {
            let others_constant = args.iter().skip(1).all(Expr::is_literal);
            (function.monotonic_range().is_some() && others_constant)
                .then(|| (function.clone(), args.clone()))
        }
        _ => None,
    };
    if let Some(found) = order_kept(arg) {
        return Some(found);
    }
    let Plan::Project(project) = input else { return None };
    let id = arg.as_column()?;
    let (_, expr) = project.exprs.iter().find(|(field, _)| field.id == id)?;
    let (function, mut args) = order_kept(expr)?;
    let inner = &mut args[0];
    inner.as_column()?;
    let known = project.exprs.iter().find(|(_, e)| e == inner).map(|(field, _)| field.clone());
    let field = known.unwrap_or_else(|| {
        let field = with.ids.field("", inner.ty().clone());
        project.exprs.push((field.clone(), inner.clone()));
        field
    });
    *inner = Expr::Column(field.id, field.ty);
    Some((function, args))
}
