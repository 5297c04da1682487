//! How rules rewrite the conditions of filters: each of those that AND, OR and NOT put together, for itself.

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_function_api::Lazy;
use chalet_plan::{Expr, Plan};

/// What a rule makes of an expression; none where it stays.
pub(crate) type Rewrite<'a> = &'a mut dyn FnMut(&Expr) -> Result<Option<Expr>>;

/// Applies a rule to all comparisons in filters. What it makes is NULL where the comparison was, but may be of another type.
pub(crate) fn of_filters(plan: Plan, with: &Rewriter, f: Rewrite) -> Result<Plan> {
    bottom_up(plan, &mut |mut node| {
        let condition = match &mut node {
            Plan::Filter(filter) => Some(&mut filter.condition),
            Plan::Scan(scan) => scan.filter.as_mut(),
            _ => None,
        };
        if let Some(condition) = condition {
            *condition = of_condition(condition, with, f)?;
        }
        Ok(node)
    })
}

/// Of a condition only the truth counts, so that parts of it may become Nullable or lose a dictionary.
pub(crate) fn of_condition(condition: &Expr, with: &Rewriter, f: Rewrite) -> Result<Expr> {
    match condition {
        Expr::Call { function, args } if is_made_of_conditions(condition) => {
            let parts: Vec<Expr> =
                args.iter().map(|arg| of_condition(arg, with, f)).collect::<Result<_>>()?;
            let same_types = parts.iter().zip(args).all(|(new, old)| new.ty() == old.ty());
            match same_types {
                true => Ok(Expr::Call { function: function.clone(), args: parts }),
                false => (with.call)(function.function.record().name, parts),
            }
        }
        other => match f(other)? {
            Some(new) => Ok(new),
            // Deeper in an expression types are those that functions were bound to.
            None => other.replace(&mut |inner| Ok(f(inner)?.filter(|new| new.ty() == inner.ty()))),
        },
    }
}

fn is_made_of_conditions(expr: &Expr) -> bool {
    let Expr::Call { function, .. } = expr else { return false };
    let is_not = expr.function_name() == Some("not");
    is_not || matches!(function.function.record().lazy, Lazy::And | Lazy::Or)
}
