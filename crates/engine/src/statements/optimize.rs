//! OPTIMIZE: the rows of a table that sorts them, which lie in parts, are sorted as one.

use super::sorted::{self, PartSize};
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail, codes};
use chalet_storage::{ScanRequest, Table};
use chalet_syntax::ast::Optimize;

/// How often it begins anew where rows are inserted meanwhile.
const ATTEMPTS: usize = 3;

pub(crate) fn run(optimize: &Optimize, ctx: &QueryContext) -> Result<()> {
    let unsupported = [
        (optimize.cluster.is_some(), "ON CLUSTER"),
        (optimize.dry_run, "DRY RUN"),
        (optimize.partition.is_some(), "PARTITION"),
        (optimize.deduplicate.is_some(), "DEDUPLICATE"),
        (optimize.cleanup, "CLEANUP"),
    ];
    if let Some((_, words)) = unsupported.iter().find(|(is_given, _)| *is_given) {
        bail!(NOT_IMPLEMENTED, "OPTIMIZE ... {words} is not supported");
    }
    let (table, _) = existing(&optimize.table, ctx)?;
    for _ in 1..ATTEMPTS {
        match merge(&*table, ctx) {
            Err(error) if error.code() == codes::CANNOT_ASSIGN_OPTIMIZE => {}
            done => return done,
        }
    }
    merge(&*table, ctx)
}

fn merge(table: &dyn Table, ctx: &QueryContext) -> Result<()> {
    let Some(keys) = table.keys() else {
        bail!(NOT_IMPLEMENTED, "Method optimize is not supported by storage {}", table.engine())
    };
    if keys.all().next().is_none() {
        return Ok(());
    }
    let schema = table.schema();
    // Before the rows are read: what comes later makes it fail.
    let mut merged = sorted::inserter(table.rewrite()?, keys, &schema, ctx, PartSize::WHOLE)?;
    let stored =
        schema.columns.iter().enumerate().filter(|(_, column)| column.is_stored() && !column.is_virtual);
    let columns = stored.map(|(at, _)| at).collect();
    let scan =
        table.scan(&ScanRequest { columns, context: ctx.exec.scan.clone(), ..ScanRequest::default() })?;
    let mut worker = scan.worker()?;
    while let Some(morsel) = worker.next()? {
        ctx.control.check_with_interrupt()?;
        merged.write(morsel.block)?;
    }
    merged.finish()
}
