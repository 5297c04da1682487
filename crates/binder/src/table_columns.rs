//! Defaults and other expressions in table definitions: over the table's own columns.

use crate::environment::Environment;
use crate::query::QueryBinder;
use crate::scope::{ScopeColumn, TableScope};
use crate::select::SelectBinder;
use chalet_base::Result;
use chalet_plan::{Expr, Field, IdSource};
use chalet_syntax::ast;
use chalet_types::DataType;

fn scope_of(columns: &[(String, Expr)]) -> TableScope {
    let columns = columns.iter().map(|(name, expr)| ScopeColumn {
        name: name.as_str().into(),
        expr: expr.clone(),
        in_star: true,
        mark: None,
    });
    TableScope { columns: columns.collect(), ..TableScope::default() }
}

/// Binds an expression over named columns.
pub fn bind_over(
    written: &ast::Expr,
    columns: &[(String, Expr)],
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<Expr> {
    let query = QueryBinder::new(env, ids, 0);
    let mut binder = SelectBinder::without_tables(&query);
    binder.tables.list.push(scope_of(columns));
    binder.expr(written)
}

/// Binds the text of a default over named columns, as the declared type.
pub fn bind_default(
    text: &str,
    ty: &DataType,
    columns: &[(String, Expr)],
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<Expr> {
    let query = QueryBinder::new(env, ids, 0);
    query.over_table(&scope_of(columns), text, ty)
}

/// An expression of VALUES, which is computed for the row that it stands in.
pub fn bind_value(
    written: &ast::Expr,
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<chalet_plan::Literal> {
    let query = QueryBinder::new(env, ids, 0);
    SelectBinder::without_tables(&query).computed_once(written, "Value")
}

/// A constant expression: of SET, of a table function.
pub fn bind_constant(
    written: &ast::Expr,
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<chalet_plan::Literal> {
    let query = QueryBinder::new(env, ids, 0);
    SelectBinder::without_tables(&query).constant(written, "Value")
}

/// Arguments of a table function that stands outside of a query (`INSERT INTO FUNCTION`, `DESCRIBE`).
pub fn bind_table_arguments(
    args: &[ast::Expr],
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<Vec<crate::TableArgument>> {
    let query = QueryBinder::new(env, ids, 0);
    SelectBinder::without_tables(&query).table_arguments(args)
}

/// As [`bind_table_arguments`], of the call of a table function.
pub fn bind_call_arguments(
    call: &ast::Call,
    env: &dyn Environment,
    ids: &IdSource,
) -> Result<Vec<crate::TableArgument>> {
    let query = QueryBinder::new(env, ids, 0);
    SelectBinder::without_tables(&query).call_arguments(call)
}

/// A cast of a column to a type.
pub fn cast_column(field: &Field, ty: &DataType, env: &dyn Environment) -> Result<Expr> {
    crate::call::cast(env, Expr::Column(field.id, field.ty.clone()), ty)
}
