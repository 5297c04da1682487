//! Running a whole plan.

use crate::ExecContext;
use crate::operators::collect::{Collect, Consumer};
use crate::physical_planner::plan_physical;
use crate::pipeline::Stage;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_memory::guarded;
use chalet_plan::Plan;
use std::sync::{Arc, Mutex, PoisonError};

/// What a plan leaves beside its rows.
#[derive(Default)]
pub struct Output {
    /// One row, of WITH TOTALS.
    pub totals: Option<Block>,
    /// How many rows there were before LIMIT cut them, at least; none when nothing did.
    pub rows_before_limit: Option<u64>,
}

/// Runs a plan; its rows go to the consumer block by block, in order, from one thread at a time.
pub fn execute(plan: &Plan, consumer: Consumer, ctx: &ExecContext) -> Result<Output> {
    guarded(|| {
        ctx.control.begin();
        let counts_all = ctx.settings.exact_rows_before_limit;
        let (physical, rows) = plan_physical(plan, counts_all, ctx)?;
        Stage::new(physical.stream, Arc::new(Collect::new(consumer, true, rows))).run(ctx)?;
        let totals = physical.totals.map(|path| path.take()).transpose()?.flatten();
        let limits = &physical.before_limits;
        let rows_before_limit = (!limits.is_empty()).then(|| limits.iter().map(|limit| limit.rows()).sum());
        Ok(Output { totals, rows_before_limit })
    })
}

/// Runs a plan of a sub-query: all its rows.
pub fn run_to_blocks(plan: &Plan, ctx: &ExecContext) -> Result<Vec<Block>> {
    let blocks = Arc::new(Mutex::new(Vec::new()));
    let target = blocks.clone();
    let mut memory = Reservation::new(ctx.control.memory.clone());
    let consumer = Box::new(move |block: Block| {
        memory.grow(block.memory())?;
        target.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(())
    });
    let (physical, rows) = plan_physical(plan, false, ctx)?;
    Stage::new(physical.stream, Arc::new(Collect::new(consumer, false, rows))).run(ctx)?;
    Ok(std::mem::take(&mut *blocks.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Like [`execute`], but the limits of the query's result do not apply: the rows go into a table.
pub fn execute_unlimited(plan: &Plan, consumer: Consumer, ctx: &ExecContext) -> Result<()> {
    guarded(|| {
        ctx.control.begin();
        let (physical, rows) = plan_physical(plan, false, ctx)?;
        Stage::new(physical.stream, Arc::new(Collect::new(consumer, false, rows))).run(ctx)?;
        Ok(())
    })
}
