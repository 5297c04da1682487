//! CREATE FUNCTION.

use crate::query_context::QueryContext;
use crate::sql_functions::SqlFunction;
use chalet_base::{Result, ensure};
use chalet_syntax::ast;

pub(crate) fn function(create: &ast::CreateFunction, ctx: &QueryContext) -> Result<()> {
    let name = &create.name.name;
    let made = SqlFunction::of(create)?;
    let registry = &ctx.registry;
    ensure!(
        registry.scalars.get(name).is_none() && registry.aggregates.get(name).is_none(),
        FUNCTION_ALREADY_EXISTS,
        "The function '{name}' already exists"
    );
    super::stored::check_function(&made, name, ctx)?;
    ctx.database.shared.functions.create(name, made, create.if_not_exists, create.or_replace)
}
