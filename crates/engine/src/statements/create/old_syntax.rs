//! `ENGINE = MergeTree(date, key, granularity)`: the old way to write keys and granularity as arguments of the engine, in front of
//! its own. Taken where `allow_deprecated_syntax_for_merge_tree` says so.

use chalet_base::{Result, bail};
use chalet_syntax::ast::{self, Expr, ExprKind};

/// The same written with clauses; `None` where it is not the old way.
pub(super) fn with_clauses(written: &ast::Storage) -> Result<Option<ast::Storage>> {
    let has_clauses = written.partition_by.is_some()
        || written.primary_key.is_some()
        || written.order_by.is_some()
        || written.sample_by.is_some()
        || !written.ttl.is_empty()
        || !written.settings.is_empty();
    let Some(engine) = written.engine.as_ref().filter(|_| !has_clauses) else { return Ok(None) };
    let args = engine.args.as_deref().unwrap_or_default();
    if args.len() < 3 {
        return Ok(None);
    }
    let ExprKind::Identifier(date) = &args[0].kind else {
        bail!(BAD_ARGUMENTS, "Date column name must be an unquoted string")
    };
    let is_number = |arg: &Expr| arg.to_string().parse::<u64>().is_ok();
    let Some(at) = args.iter().position(is_number) else {
        bail!(BAD_ARGUMENTS, "Index granularity must be a positive integer")
    };
    let sampling = match at {
        2 => None,
        3 => Some(&args[1]),
        _ => bail!(BAD_ARGUMENTS, "Index granularity must be a positive integer"),
    };
    let date = Expr { kind: ExprKind::Identifier(date.clone()), alias: None, span: args[0].span }.to_string();
    let own: Vec<String> = args[at + 1..].iter().map(ToString::to_string).collect();
    let own = if own.is_empty() { String::new() } else { format!("({})", own.join(", ")) };
    let key = args[at - 1].to_string();
    let sampling = sampling.map_or(String::new(), |expr| format!(" SAMPLE BY {expr}"));
    let (name, granularity) = (&engine.name, &args[at]);
    let text = format!(
        "CREATE TABLE t (a UInt8) ENGINE = {name}{own} PARTITION BY toYYYYMM({date}) ORDER BY {key}{sampling} SETTINGS index_granularity = {granularity}"
    );
    match chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::CreateTable(create)) => Ok(Some(create.storage)),
        _ => bail!(LOGICAL_ERROR, "The clauses of an engine cannot be read: {text}"),
    }
}
