//! CREATE FUNCTION.

use crate::scope::Scope;
use crate::sql_functions::SqlFunction;
use chalet_base::{Result, ensure};
use chalet_binder::Environment;
use chalet_syntax::ast;
use std::sync::Arc;

pub(crate) fn function(create: &ast::CreateFunction, scope: &Arc<Scope>) -> Result<()> {
    let name = &create.name.name;
    let made = SqlFunction::of(create)?;
    let registry = scope.registry();
    ensure!(
        registry.scalars.get(name).is_none() && registry.aggregates.get(name).is_none(),
        FUNCTION_ALREADY_EXISTS,
        "The function '{name}' already exists"
    );
    super::stored::check_function(&made, name, scope)?;
    scope.database.shared.functions.create(name, made, create.if_not_exists, create.or_replace)
}
