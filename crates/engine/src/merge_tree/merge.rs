//! Parts put together as one: a merge of sorted streams, which holds a block of each.

use super::distinct::DistinctRows;
use super::key_program::KeyProgram;
use super::row_rules::TableRule;
use super::ttl::TtlProgram;
use crate::projections::program::programs;
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use chalet_base::events::{self, Event};
use chalet_base::{Result, ensure};
use chalet_binder::row_rule::MergePurpose;
use chalet_columns::Block;
use chalet_exec::sorted_streams::{MergedSize, SortedStreams};
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{KeptBlocks, Lineage, MergeTree};
use chalet_storage::{ScanContext, ScanRequest, ScanWorker, Table};
use std::sync::Arc;

/// Rows that are put out at once.
const BLOCK_ROWS: usize = 8192 * 4;
/// And bytes, about.
const BLOCK_BYTES: usize = 16 << 20;
/// Rows that are read of all parts together, about.
const READ_ROWS: usize = BLOCK_ROWS * 4;
/// Rows that are read of one at least.
const LEAST_ROWS: usize = 256;

/// What a merge does beside putting rows together.
pub(crate) struct MergeOptions {
    pub purpose: MergePurpose,
    /// Of rows that are equal in these stored columns, by position, the first stays.
    pub distinct: Option<Vec<usize>>,
    /// The number of the mutation that it is; the part keeps its level then. It applies TTL though merges do not.
    pub mutation: Option<u64>,
}

impl MergeOptions {
    /// Those of a merge in the background.
    pub const PLAIN: MergeOptions =
        MergeOptions { purpose: MergePurpose::Store, distinct: None, mutation: None };
}

/// Merges parts of one partition, in their order. `check` is called between blocks and may end the work. The parts are
/// claimed by the caller.
pub(crate) fn merge_parts(
    table: &MergeTree,
    parts: &[Arc<Part>],
    options: &MergeOptions,
    ctx: &QueryContext,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
    ensure!(
        parts.iter().all(|part| part.info.columns <= table.definition().columns.number),
        CANNOT_ASSIGN_OPTIMIZE,
        "Cannot merge parts: the table was altered meanwhile"
    );
    events::count(Event::Merge);
    let keys = KeyProgram::new(&table.definition().keys, &table.schema(), ctx)?;
    let threads = ctx.exec.settings.max_threads;
    let kept = table.definition().keeps_blocks;
    let mut out = table
        .rewrite_part(first.info.partition.clone(), skip_indexes::programs(table, ctx)?)
        .with_threads(threads)
        .keeping_blocks(kept);
    let columns = table.kept_schema(kept);
    let of_block = |block: &Block| keys.sorting_keys(block);
    let streams =
        parts.iter().map(|part| open_kept(table, part, parts.len(), kept)).collect::<Result<_>>()?;
    let size = MergedSize { rows: BLOCK_ROWS, bytes: BLOCK_BYTES };
    let mut merge = SortedStreams::open(streams, &of_block, size)?;
    let rule = TableRule::of(table, &columns, options.purpose, ctx)?;
    let mut merger = rule.map(|rule| rule.merger(&ctx.control.memory)).transpose()?;
    let mut distinct = options.distinct.as_ref().map(|columns| DistinctRows::new(columns, ctx));
    let applies_ttl = options.mutation.is_some() || !table.parts().are_ttl_merges_stopped();
    let mut ttl = if applies_ttl { TtlProgram::of(table, &columns, ctx)? } else { None };
    let mut write = |block: Option<Block>| {
        let Some(block) = block else { return Ok(()) };
        let block = match &mut distinct {
            None => block,
            Some(distinct) => distinct.of(block)?,
        };
        match &mut ttl {
            None => out.write(block),
            Some(ttl) => ttl.push(block, &keys, ctx)?.map_or(Ok(()), |block| out.write(block)),
        }
    };
    while let Some(block) = merge.next(&of_block)? {
        check()?;
        events::add(Event::MergedRows, block.n_rows() as u64);
        write(match &mut merger {
            None => Some(block),
            Some(merger) => {
                let columns = keys.sorting_columns(&block)?;
                merger.push(block, &columns)?
            }
        })?;
    }
    write(merger.map(|mut merger| merger.finish()).transpose()?.flatten())?;
    if let Some(mut ttl) = ttl {
        ttl.finish(&keys, ctx)?.into_iter().try_for_each(|block| out.write(block))?;
    }
    let most = |of: fn(&Part) -> u64| parts.iter().map(|part| of(part)).max().unwrap_or(0);
    let made = out.finish(Lineage {
        min_block: first.info.min_block,
        max_block: last.info.max_block,
        level: most(|part| part.info.level.into()) as u32 + u32::from(options.mutation.is_none()),
        mutation: options.mutation.unwrap_or_else(|| most(|part| part.info.mutation)),
    })?;
    if let Some(part) = &made {
        write::complete(table, part, &programs(table, ctx)?, ctx)?;
    }
    let removed = parts.iter().map(|part| part.info.number).collect();
    table.parts().commit(Change { removed, added: made.into_iter().collect(), ..Change::default() })
}

/// The stored columns of a part, block by block, in its order; `of` parts are read at once.
pub(crate) fn open_part(table: &MergeTree, part: &Arc<Part>, of: usize) -> Result<Box<dyn ScanWorker>> {
    open_columns(table, part, of, table.schema().stored_positions())
}

/// As [`open_part`], with where the rows came from behind it, as a part that is written anew keeps it.
pub(crate) fn open_kept(
    table: &MergeTree,
    part: &Arc<Part>,
    of: usize,
    kept: KeptBlocks,
) -> Result<Box<dyn ScanWorker>> {
    open_columns(table, part, of, table.kept_positions(kept))
}

fn open_columns(
    table: &MergeTree,
    part: &Arc<Part>,
    of: usize,
    columns: Vec<usize>,
) -> Result<Box<dyn ScanWorker>> {
    let max_block_size = (READ_ROWS / of.max(1)).clamp(LEAST_ROWS, BLOCK_ROWS);
    let context = ScanContext { max_block_size, ..ScanContext::default() };
    table
        .scan_parts(vec![part.clone()], &ScanRequest { columns, context, ..ScanRequest::default() })?
        .worker()
}
