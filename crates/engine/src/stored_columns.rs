//! The stored columns of a table as the expressions of its definition see them: constraints, keys.

use crate::query_context::QueryContext;
use chalet_base::{Error, Result, codes, err};
use chalet_binder::is_array_join;
use chalet_binder::table_columns::{bind_default, bind_over};
use chalet_plan::{Expr, Field};
use chalet_storage::{ColumnSchema, DefaultKind, TableSchema};
use chalet_syntax::ast;

/// The stored columns as fields, and expressions over them.
pub(crate) fn bind_stored<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<(Vec<Field>, Vec<Expr>)> {
    let fields: Vec<Field> = schema.stored().map(|c| ctx.ids.field(c.name.clone(), c.ty.clone())).collect();
    let named: Vec<(String, Expr)> =
        fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone()))).collect();
    let bind = |text| bind_over(&chalet_syntax::parse_expression(text)?, &named, ctx, &ctx.ids);
    let bound = texts.into_iter().map(bind).collect::<Result<Vec<_>>>()?;
    Ok((fields, bound))
}

/// As [`bind_stored`], of expressions that may use ALIAS columns too.
pub(crate) fn bind_with_aliases<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<(Vec<Field>, Vec<Expr>)> {
    let fields: Vec<Field> = schema.stored().map(|c| ctx.ids.field(c.name.clone(), c.ty.clone())).collect();
    let mut named: Vec<(String, Expr)> =
        fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone()))).collect();
    let is_alias = |c: &&ColumnSchema| c.default_kind() == Some(DefaultKind::Alias);
    let mut waiting: Vec<&ColumnSchema> = schema.columns.iter().filter(is_alias).collect();
    // They may use each other, those that come later included.
    loop {
        let before = waiting.len();
        waiting.retain(|column| {
            let Some((_, text)) = &column.default else { return false };
            match bind_default(text, &column.ty, &named, ctx, &ctx.ids) {
                Ok(expr) => {
                    named.push((column.name.to_string(), expr));
                    false
                }
                Err(_) => true,
            }
        });
        if waiting.is_empty() || waiting.len() == before {
            break;
        }
    }
    let bind = |text| bind_over(&chalet_syntax::parse_expression(text)?, &named, ctx, &ctx.ids);
    let bound = texts.into_iter().map(bind).collect::<Result<Vec<_>>>()?;
    Ok((fields, bound))
}

/// Fails where an expression makes several rows of one, which no definition of a table may.
pub(crate) fn check_rows_stay(written: &ast::Expr, error: impl FnOnce() -> Error) -> Result<()> {
    let mut is_multiplied = false;
    chalet_syntax::visit::walk(written, &mut |e| {
        is_multiplied |= matches!(&e.kind, ast::ExprKind::Call(call) if is_array_join(call));
        !is_multiplied
    });
    if is_multiplied { Err(error()) } else { Ok(()) }
}

/// Fails where a constraint, checked or assumed, reads what is no stored column. What else is wrong with one is told to who
/// inserts rows.
pub(crate) fn validate(schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    schema.constraints.iter().try_for_each(|c| {
        if let Err(error) = bind_stored([&*c.expr], schema, ctx)
            && error.code() == codes::UNKNOWN_IDENTIFIER
        {
            return Err(error);
        }
        check_rows_stay(&chalet_syntax::parse_expression(&c.expr)?, || {
            err!(
                INCORRECT_QUERY,
                "Constraint `{}` cannot contain arrayJoin, because it changes the number of rows",
                c.name
            )
        })
    })
}

/// `n` of `n.a`.
pub(crate) fn nested_prefix(column: &str) -> Option<&str> {
    column.split_once('.').map(|(prefix, _)| prefix)
}
