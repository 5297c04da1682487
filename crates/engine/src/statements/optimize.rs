//! OPTIMIZE: the parts of each partition become one.

use crate::merge_tree::merge::merge_parts;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail, codes};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::Part;
use chalet_syntax::ast::Optimize;
use std::sync::Arc;

/// How often it begins anew where the table is altered meanwhile.
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
    for attempt in 1.. {
        match merge(optimize, ctx) {
            Err(error) if error.code() == codes::CANNOT_ASSIGN_OPTIMIZE && attempt < ATTEMPTS => {}
            done => return done,
        }
    }
    Ok(())
}

fn merge(optimize: &Optimize, ctx: &QueryContext) -> Result<()> {
    let (table, _) = existing(&optimize.table, ctx)?;
    let Some(table) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(NOT_IMPLEMENTED, "Method optimize is not supported by storage {}", table.engine())
    };
    table.parts().check_writable()?;
    let check = || ctx.control.check_with_interrupt();
    let (_claim, state) = table.parts().claim_all(|_| true, &check)?;
    let same = |a: &Arc<Part>, b: &Arc<Part>| a.info.partition.id == b.info.partition.id;
    // FINAL merges also a part that was never merged.
    let is_due = |parts: &&[Arc<Part>]| parts.len() > 1 || optimize.final_ && parts[0].info.level == 0;
    state.parts.chunk_by(same).filter(is_due).try_for_each(|parts| merge_parts(table, parts, ctx, &check))
}
