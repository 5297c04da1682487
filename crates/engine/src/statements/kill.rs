//! KILL QUERY and KILL MUTATION.

use super::output::{Output, print_rows};
use super::query::collect;
use crate::query_context::QueryContext;
use crate::query_log::LOGS;
use chalet_base::{Result, bail};
use chalet_binder::{BoundQuery, bind_query};
use chalet_exec::QueryControl;
use chalet_syntax::ast::{self, KillMode, StatementKind};
use chalet_types::{DataType, Value};
use std::sync::Arc;
use std::time::Duration;

/// How often SYNC looks whether the statements have ended.
const WAIT: Duration = Duration::from_millis(5);

/// Cancels the statements of the process that meet a condition over `system.processes`, and lists them; SYNC waits for their end,
/// TEST lists them alone. Never the statement itself.
pub(super) fn query(
    condition: &ast::Expr,
    mode: KillMode,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let bound = select("query_id, user, query FROM system.processes", condition, ctx)?;
    let found = collect(bound, ctx)?;
    let mut rows = Vec::new();
    let mut cancelled: Vec<Arc<QueryControl>> = Vec::new();
    for block in &found.blocks {
        for row in 0..block.n_rows() {
            let mut values: Vec<Value> = block.columns().iter().map(|column| column.value(row)).collect();
            let (own, running) = running(&values, ctx);
            if own && running.is_empty() {
                continue;
            }
            let status = match (mode, running.is_empty()) {
                (KillMode::Test, _) => "unknown_status",
                (KillMode::Async, false) => "waiting",
                (KillMode::Sync, _) | (KillMode::Async, true) => "finished",
            };
            if !matches!(mode, KillMode::Test) {
                running.iter().for_each(|control| control.kill());
                cancelled.extend(running);
            }
            values.insert(0, Value::from(status));
            rows.push(values);
        }
    }
    while matches!(mode, KillMode::Sync) && still_running(&cancelled) {
        ctx.control.check_with_interrupt()?;
        std::thread::sleep(WAIT);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let header = ["kill_status", "query_id", "user", "query"].map(|name| (name, DataType::String));
    print_rows(&header, rows, statement, ctx, output)
}

/// Is the row with this id, user and text this very statement, and which others is it?
fn running(row: &[Value], ctx: &QueryContext) -> (bool, Vec<Arc<QueryControl>>) {
    let running = LOGS.running();
    let named = running.iter().filter(|one| {
        let own = [&*one.functions.query_id, &*one.functions.user, &*one.sql];
        row.iter().map(Value::as_str).eq(own.map(Some))
    });
    let (own, others): (Vec<_>, Vec<_>) = named.partition(|one| Arc::ptr_eq(&one.control, &ctx.control));
    (!own.is_empty(), others.into_iter().map(|one| one.control.clone()).collect())
}

fn still_running(cancelled: &[Arc<QueryControl>]) -> bool {
    let running = LOGS.running();
    running.iter().any(|one| cancelled.iter().any(|control| Arc::ptr_eq(control, &one.control)))
}

/// A mutation is done when its statement is: all that can be wrong is the condition.
pub(super) fn mutation(condition: &ast::Expr, ctx: &QueryContext) -> Result<()> {
    select("database, table, mutation_id, command FROM system.mutations", condition, ctx).map(drop)
}

/// Binds the query for what a KILL is about.
fn select(columns_and_table: &str, condition: &ast::Expr, ctx: &QueryContext) -> Result<BoundQuery> {
    let text = format!("SELECT {columns_and_table} WHERE {condition}");
    match chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind) {
        Some(StatementKind::Query(query)) => bind_query(&query, ctx, &ctx.ids),
        _ => bail!(LOGICAL_ERROR, "The condition of KILL is printed as {text}"),
    }
}
