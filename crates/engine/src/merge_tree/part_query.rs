//! Queries over parts, whose rows are written as parts or what belongs to them.

use crate::plan_optimizer;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_columns::Block;
use chalet_storage::{Entry, Table};
use chalet_syntax::ast;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the rows that such a query reads.
pub(crate) const SOURCE: &str = "__rows_to_mutate";

/// Runs a query, which reads `SOURCE`, over a table, and hands its rows to `target` in their order.
pub(crate) fn run<T: Send + 'static>(
    source: Arc<dyn Table>,
    query: &str,
    ctx: &QueryContext,
    target: T,
    write: impl Fn(&mut T, Block) -> Result<()> + Send + 'static,
) -> Result<T> {
    let mut settings = ctx.state.settings.clone();
    settings.set("max_threads", "1")?;
    let mut ctx = ctx.with_settings(settings)?;
    let entry = Entry { table: source, kind: "TABLE", definition: "".into(), comment: "".into() };
    ctx.state.temporary.insert(SOURCE.into(), entry);
    let bound = bind_query(&parsed(query)?, &ctx, &ctx.ids)?;
    let plan = plan_optimizer::optimized(bound.plan, &ctx)?;
    let target = Arc::new(Mutex::new(target));
    let shared = target.clone();
    let consumer = Box::new(move |block: Block| {
        write(&mut shared.lock().unwrap_or_else(PoisonError::into_inner), block)
    });
    chalet_exec::result::execute_unlimited(&plan, consumer, &ctx.exec)?;
    let Some(target) = Arc::into_inner(target) else {
        bail!(LOGICAL_ERROR, "The rows of a part are still being written")
    };
    Ok(target.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn parsed(text: &str) -> Result<ast::Query> {
    match chalet_syntax::parse_printed(text)?.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::Query(query)) => Ok(*query),
        _ => bail!(LOGICAL_ERROR, "No rows of a part are read: {text}"),
    }
}
