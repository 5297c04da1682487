//! TTL of tables and columns: what the kernel takes, and what it refuses.

use super::merge_tree::{changing_part, reads};
use crate::merge_tree::ttl;
use crate::query_context::QueryContext;
use crate::stored_columns::{bind_stored, check_rows_stay};
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::TableSchema;
use chalet_storage::merge_tree::TableKeys;
use chalet_syntax::ast::{self, ExprKind, TtlAction};
use chalet_syntax::print::bare_expr;
use chalet_types::DataType;

/// The one disk and the one volume.
const ONLY: &[u8] = b"default";

/// Fails where a table with these columns and keys cannot have its TTL, or a column its own.
pub(crate) fn check(keys: &TableKeys, schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    let rules = ttl::parsed(&keys.ttl)?;
    let mut deletes_all = 0;
    for rule in &rules {
        check_expression(&rule.expr.to_string(), schema, ctx)?;
        if let Some(wanted) = &rule.where_ {
            check_subqueries(wanted)?;
            bind_stored([&*wanted.to_string()], schema, ctx)?;
            check_rows("TTL WHERE", wanted)?;
        }
        match &rule.action {
            TtlAction::Delete => deletes_all += usize::from(rule.where_.is_none()),
            TtlAction::ToDisk(_) | TtlAction::ToVolume(_) => {}
            TtlAction::Recompress(codecs) => codecs.iter().try_for_each(crate::column_codecs::check_name)?,
            TtlAction::GroupBy { keys: by, set } => check_groups(by, set, keys, schema, ctx)?,
        }
    }
    ensure!(
        deletes_all <= 1,
        BAD_TTL_EXPRESSION,
        "More than one DELETE TTL expression without WHERE expression is not allowed"
    );
    schema
        .columns
        .iter()
        .filter_map(|column| column.ttl.as_ref())
        .try_for_each(|expr| check_expression(expr, schema, ctx))
}

/// Fails where a column of a key has a TTL.
pub(crate) fn check_columns(keys: &TableKeys, schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    let mut with_ttl = schema.columns.iter().filter(|column| column.ttl.is_some()).peekable();
    if with_ttl.peek().is_none() {
        return Ok(());
    }
    let in_keys = reads(keys.all().map(|(text, _)| text), schema, ctx)?;
    for column in with_ttl {
        let name = &column.name;
        ensure!(!in_keys.contains(name), ILLEGAL_COLUMN, "Trying to set TTL for key column {name}");
    }
    Ok(())
}

/// Fails where rows are to be moved to where nothing is.
pub(crate) fn check_places(keys: &TableKeys) -> Result<()> {
    for rule in ttl::parsed(&keys.ttl)? {
        let (what, name) = match &rule.action {
            TtlAction::ToDisk(name) => ("disk", name),
            TtlAction::ToVolume(name) => ("volume", name),
            TtlAction::Delete | TtlAction::Recompress(_) | TtlAction::GroupBy { .. } => continue,
        };
        ensure!(
            name == ONLY,
            BAD_TTL_EXPRESSION,
            "No such {what} `{}` for given storage policy",
            String::from_utf8_lossy(name)
        );
    }
    Ok(())
}

fn check_expression(text: &str, schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    let written = chalet_syntax::parse_expression(text)?;
    check_subqueries(&written)?;
    let bound = bind_stored([text], schema, ctx)?.1.swap_remove(0);
    check_rows("TTL", &written)?;
    let is_allowed = ctx.state.settings.flag("allow_suspicious_ttl_expressions") == Some(true);
    if !is_allowed {
        ensure!(
            !bound.columns().is_empty(),
            BAD_ARGUMENTS,
            "TTL expression {text} does not depend on any of the columns of the table"
        );
        if let Some(part) = changing_part(text, ctx)? {
            bail!(
                BAD_ARGUMENTS,
                "TTL expression cannot contain non-deterministic functions, but contains function {part}"
            );
        }
    }
    let is_time = matches!(
        bound.ty(),
        DataType::Date | DataType::Date32 | DataType::DateTime(..) | DataType::DateTime64(..)
    );
    ensure!(
        is_time,
        BAD_TTL_EXPRESSION,
        "TTL expression result column should have Date, Date32, DateTime or DateTime64 type, but has {}",
        bound.ty()
    );
    Ok(())
}

fn check_rows(what: &str, written: &ast::Expr) -> Result<()> {
    check_rows_stay(written, || {
        err!(
            BAD_TTL_EXPRESSION,
            "{what} expression cannot contain arrayJoin, because it changes the number of rows"
        )
    })
}

/// A merge has no session, and so no tables to read.
fn check_subqueries(written: &ast::Expr) -> Result<()> {
    let mut has_one = false;
    chalet_syntax::visit::walk(written, &mut |e| {
        has_one |= matches!(e.kind, ExprKind::Subquery(_));
        !has_one
    });
    ensure!(!has_one, NOT_IMPLEMENTED, "A sub-query in TTL is not supported: {written}");
    Ok(())
}

fn check_groups(
    by: &[ast::Expr],
    set: &[(ast::Ident, ast::Expr)],
    keys: &TableKeys,
    schema: &TableSchema,
    ctx: &QueryContext,
) -> Result<()> {
    let primary = &keys.sorting[..keys.n_primary];
    let is_prefix =
        by.len() <= primary.len() && by.iter().zip(primary).all(|(by, key)| bare_expr(by) == *key.expr);
    ensure!(is_prefix, BAD_TTL_EXPRESSION, "TTL Expression GROUP BY key should be a prefix of primary key");
    for (at, (name, value)) in set.iter().enumerate() {
        let name = &name.name;
        let is_stored = schema.stored().any(|column| *column.name == **name);
        ensure!(is_stored, NO_SUCH_COLUMN_IN_TABLE, "There is no physical column {name} in table");
        let is_first = set[..at].iter().all(|(before, _)| before.name != *name);
        ensure!(is_first, BAD_TTL_EXPRESSION, "Multiple aggregations set for one column in TTL Expression");
        let mut has_aggregate = false;
        chalet_syntax::visit::walk(value, &mut |e| {
            if let ExprKind::Call(call) = &e.kind {
                has_aggregate |= ctx.registry.called(&call.name).is_none();
            }
            !has_aggregate
        });
        ensure!(
            has_aggregate,
            BAD_TTL_EXPRESSION,
            "Invalid expression for assignment of column {name}. Should contain an aggregate function"
        );
        check_subqueries(value)?;
    }
    ttl::check_assignments(set, schema, ctx)
}
