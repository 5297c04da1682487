//! The rows of one INSERT on their way to a table, and to the materialized views that read it. Queries of views run when all
//! rows are there, and the table has them; only when all of them have succeeded is anything to be seen of the views.

use super::{checked, insert};
use crate::inserted_rows::{InsertedRows, Key};
use crate::materialized::{Destination, Follower, followers};
use crate::query_context::QueryContext;
use chalet_base::{ErrorCode, Result, codes, ensure};
use chalet_binder::bind_query;
use chalet_columns::Block;
use chalet_storage::fixed::FixedTable;
use chalet_storage::{Inserter, TableSchema};
use std::sync::Arc;

/// What ends a statement whatever it ignores.
const STOPPED: [ErrorCode; 3] =
    [codes::QUERY_WAS_CANCELLED, codes::TIMEOUT_EXCEEDED, codes::MEMORY_LIMIT_EXCEEDED];

pub(super) struct Receiver {
    inner: Box<dyn Inserter>,
    schema: TableSchema,
    key: Option<Key>,
    views: Vec<(Follower, Receiver)>,
    /// The rows, where there are views.
    blocks: Vec<Block>,
}

impl Receiver {
    pub fn new(to: &Destination, ctx: &QueryContext) -> Result<Receiver> {
        Receiver::behind(to, &mut Vec::new(), ctx)
    }

    /// The same for a table that gets what the tables before it got.
    fn behind(to: &Destination, before: &mut Vec<Key>, ctx: &QueryContext) -> Result<Receiver> {
        let mut views = Vec::new();
        if let Some(key) = &to.key {
            before.push(key.clone());
            for follower in followers(key, ctx)? {
                if let Some(next) = &follower.to.key {
                    let ((database, table), (view_database, view)) = (key, &follower.name);
                    ensure!(
                        !before.contains(next),
                        TOO_DEEP_RECURSION,
                        "Dependencies of the table {database}.{table} are cyclic. Dependencies {database}.{table} -> \
                         {view_database}.{view} are pointing to {}.{}.",
                        next.0,
                        next.1
                    );
                }
                let receiver = Receiver::behind(&follower.to, before, ctx)?;
                views.push((follower, receiver));
            }
            before.pop();
        }
        let inner = checked::inserter(&*to.table, &to.name, ctx)?;
        Ok(Receiver { inner, schema: to.table.schema(), key: to.key.clone(), views, blocks: Vec::new() })
    }

    /// Blocks have the stored columns of the table, in schema order.
    pub fn write(&mut self, block: Block) -> Result<()> {
        if !self.views.is_empty() && block.n_rows() > 0 {
            self.blocks.push(block.clone());
        }
        self.inner.write(block)
    }

    pub fn finish(self, ctx: &QueryContext) -> Result<()> {
        self.inner.finish()?;
        let mut filled = Vec::new();
        run_views(self.key, self.schema, self.blocks, self.views, ctx, &mut filled)?;
        filled.into_iter().try_for_each(|inserter| inserter.finish())
    }
}

/// Runs the queries of the views of a table, and adds what is then to be finished.
fn run_views(
    key: Option<Key>,
    schema: TableSchema,
    blocks: Vec<Block>,
    views: Vec<(Follower, Receiver)>,
    ctx: &QueryContext,
    filled: &mut Vec<Box<dyn Inserter>>,
) -> Result<()> {
    let Some(key) = key.filter(|_| !blocks.is_empty()) else { return Ok(()) };
    // Blocks have the stored columns alone: others stand behind them.
    let computed = schema.columns.iter().filter(|c| !c.is_stored() && !c.is_virtual);
    let columns = schema.stored().chain(computed).cloned().collect();
    let rows = Arc::new(FixedTable::new("MergeTree", TableSchema::new(columns), blocks));
    let inserted = Some(Arc::new(InsertedRows { key, rows }));
    let mut inside = ctx.clone();
    (inside.inserted, inside.replacement_scan) = (inserted, None);
    let ignores_errors = ctx.state.settings.flag("materialized_views_ignore_errors") == Some(true);
    for (follower, receiver) in views {
        let (database, view) = &follower.name;
        let mut behind = Vec::new();
        let pushed = run_view(&follower, receiver, &inside)
            .map_err(|error| error.context(format!("while pushing to view {database}.{view}")))
            .and_then(|receiver| {
                behind.push(receiver.inner);
                run_views(receiver.key, receiver.schema, receiver.blocks, receiver.views, ctx, &mut behind)
            });
        match pushed {
            // A view that fails gets nothing, nor do those behind it.
            Err(error) if !ignores_errors || STOPPED.contains(&error.code()) => return Err(error),
            Err(_) => {}
            Ok(()) => filled.append(&mut behind),
        }
    }
    Ok(())
}

fn run_view(follower: &Follower, receiver: Receiver, ctx: &QueryContext) -> Result<Receiver> {
    let mut bound = bind_query(&follower.query, ctx, &ctx.ids)?;
    // What the table does not have, or no longer, is left out.
    let schema = follower.to.table.schema();
    let takes = |name: &str| schema.columns.iter().any(|column| column.in_star() && *column.name == *name);
    bound.fields.retain(|field| takes(&field.name));
    let listed = bound.fields.iter().map(|field| field.name.to_string()).collect();
    let plan = insert::plan_into(&follower.to, Some(listed), bound, ctx)?;
    Ok(insert::fill(plan, receiver, ctx)?.0)
}
