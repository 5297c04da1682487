//! Calls that rules put together: conditions of several, and equalities.

use chalet_base::Result;
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Argument, Context, ScalarFunction};
use chalet_functions::comparison::equals;
use chalet_functions::logical::and::AND_FUNCTION;
use chalet_plan::Expr;
use std::sync::Arc;

/// `a AND b AND c`; the condition itself where it is one, `None` where there is none.
pub(crate) fn all_of(conditions: Vec<Expr>, ctx: &Context) -> Result<Option<Expr>> {
    junction(AND_FUNCTION, conditions, ctx)
}

fn junction(
    function: impl ScalarFunction + 'static,
    mut args: Vec<Expr>,
    ctx: &Context,
) -> Result<Option<Expr>> {
    if args.len() < 2 {
        return Ok(args.pop());
    }
    call(Arc::new(function), args, ctx).map(Some)
}

/// `a = b`.
pub(crate) fn equal(a: Expr, b: Expr, ctx: &Context) -> Result<Expr> {
    call(Arc::new(equals::FUNCTION), vec![a, b], ctx)
}

fn call(function: Arc<dyn ScalarFunction>, args: Vec<Expr>, ctx: &Context) -> Result<Expr> {
    let arguments: Vec<Argument> = args.iter().map(|arg| Argument::of_type(arg.ty().clone())).collect();
    Ok(Expr::call(BoundFunction::bind(function, &arguments, ctx)?, args))
}
