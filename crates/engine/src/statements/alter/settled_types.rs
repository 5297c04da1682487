//! Parts whose columns have a type of an earlier version are written anew before it changes once more: values become what each
//! change in turn has made of them, and not what the last makes of the first.

use crate::merge_tree::merge::open_kept;
use crate::projections::program::programs;
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use chalet_base::Result;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{Lineage, MergeTree};
use std::collections::HashSet;

/// Writes parts as they are read now, where one of these columns, by their numbers, has another type in them. Those that lack columns
/// stay: what these are by default may change too, until the parts are written for another reason.
pub(super) fn settle(table: &MergeTree, columns: &[u32], ctx: &QueryContext) -> Result<()> {
    let version = table.definition().columns.clone();
    let is_behind = |part: &Part| {
        let has_all = version.columns.iter().all(|column| part.columns.position(column.id).is_some());
        has_all
            && columns.iter().any(|&id| match (version.position(id), part.columns.position(id)) {
                (Some(now), Some(then)) => version.columns[now].ty != part.columns.columns[then].ty,
                _ => false,
            })
    };
    let parts = table.parts().snapshot()?;
    let behind = parts.parts.iter().filter(|part| is_behind(part));
    let behind: HashSet<u64> = behind.map(|part| part.info.number).collect();
    if behind.is_empty() {
        return Ok(());
    }
    let check = || ctx.control.check_with_interrupt();
    let (_claim, parts) = table.parts().claim_all(|info| behind.contains(&info.number), &check)?;
    let (indexes, projections) = (skip_indexes::programs(table, ctx)?, programs(table, ctx)?);
    let mut change = Change::default();
    for part in &parts {
        let info = &part.info;
        let kept = table.definition().keeps_blocks.or(info.blocks);
        let mut out = table.rewrite_part(info.partition.clone(), indexes.clone()).keeping_blocks(kept);
        let mut rows = open_kept(table, part, 1, kept)?;
        while let Some(morsel) = rows.next()? {
            check()?;
            out.write(morsel.block)?;
        }
        let (min_block, max_block) = (info.min_block, info.max_block);
        let lineage = Lineage { min_block, max_block, level: info.level, mutation: info.mutation };
        change.removed.push(info.number);
        if let Some(made) = out.finish(lineage)? {
            write::complete(table, &made, &projections, ctx)?;
            change.added.push(made);
        }
    }
    if change.removed.is_empty() { Ok(()) } else { table.parts().commit(change) }
}
