//! Parts put together as one: a merge of sorted streams, which holds a block of each.

use super::distinct::DistinctRows;
use super::key_program::KeyProgram;
use super::row_rules::TableRule;
use super::ttl::TtlProgram;
use crate::projections::program::programs;
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use chalet_base::bisect::partition_point;
use chalet_base::events::{self, Event};
use chalet_base::{Result, bail, ensure};
use chalet_binder::row_rule::MergePurpose;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::RowKeys;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{Lineage, MergeTree};
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
    let mut out = table
        .rewrite_part(first.info.partition.clone(), skip_indexes::programs(table, ctx)?)
        .with_threads(threads);
    let mut merge = SortedStreams::open(table, parts, &keys)?;
    let rule = TableRule::of(table, options.purpose, ctx)?;
    let mut merger = rule.map(|rule| rule.merger(&ctx.control.memory)).transpose()?;
    let mut distinct = options.distinct.as_ref().map(|columns| DistinctRows::new(columns, ctx));
    let applies_ttl = options.mutation.is_some() || !table.parts().are_ttl_merges_stopped();
    let mut ttl = if applies_ttl { TtlProgram::of(table, ctx)? } else { None };
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
    while let Some(block) = merge.next(&keys)? {
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
    let columns = table.schema().stored_positions();
    let max_block_size = (READ_ROWS / of.max(1)).clamp(LEAST_ROWS, BLOCK_ROWS);
    let context = ScanContext { max_block_size, ..ScanContext::default() };
    table
        .scan_parts(vec![part.clone()], &ScanRequest { columns, context, ..ScanRequest::default() })?
        .worker()
}

struct Stream {
    rows: Box<dyn ScanWorker>,
    keys: RowKeys,
    row: usize,
    /// Its block among those of the merge.
    block: u32,
}

/// Sorted streams as one; equal rows come in the order of the streams.
struct SortedStreams {
    /// Those that have rows.
    streams: Vec<Stream>,
    /// The blocks that rows of the next output are of.
    blocks: Vec<Block>,
    rows: Vec<BlockRow>,
}

impl SortedStreams {
    fn open(table: &MergeTree, parts: &[Arc<Part>], keys: &KeyProgram) -> Result<SortedStreams> {
        let mut merge = SortedStreams { streams: Vec::new(), blocks: Vec::new(), rows: Vec::new() };
        for part in parts {
            let mut rows = open_part(table, part, parts.len())?;
            if let Some(morsel) = rows.next()? {
                let keys = keys.sorting_keys(&morsel.block)?;
                let block = merge.blocks.len() as u32;
                merge.blocks.push(morsel.block);
                merge.streams.push(Stream { rows, keys, row: 0, block });
            }
        }
        Ok(merge)
    }

    /// The next rows; none at the end.
    fn next(&mut self, keys: &KeyProgram) -> Result<Option<Block>> {
        let mut bytes = 0;
        while self.rows.len() < BLOCK_ROWS && bytes < BLOCK_BYTES && !self.streams.is_empty() {
            let (least, end) = self.least_run();
            let stream = &mut self.streams[least];
            let block = &self.blocks[stream.block as usize];
            let end = end.min(stream.row + BLOCK_ROWS - self.rows.len());
            let n = end - stream.row;
            bytes += block.memory() / block.n_rows().max(1) * n;
            self.rows.extend((stream.row..end).map(|row| BlockRow { block: stream.block, row: row as u32 }));
            stream.row = end;
            if end == block.n_rows() {
                match stream.rows.next()? {
                    Some(morsel) => {
                        stream.keys = keys.sorting_keys(&morsel.block)?;
                        stream.row = 0;
                        stream.block = self.blocks.len() as u32;
                        self.blocks.push(morsel.block);
                    }
                    // In order: equal rows go by the streams.
                    None => _ = self.streams.remove(least),
                }
            }
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        let out = Block::interleave(&self.blocks.iter().collect::<Vec<_>>(), &std::mem::take(&mut self.rows));
        self.drop_read()?;
        Ok(Some(out))
    }

    /// The stream with the least row, and the row up to which no other stream has a lesser one.
    fn least_run(&self) -> (usize, usize) {
        let key = |at: usize| self.streams[at].keys.get(self.streams[at].row);
        let (mut least, mut second) = (0, None);
        for at in 1..self.streams.len() {
            if key(at) < key(least) {
                second = Some(least);
                least = at;
            } else if second.is_none_or(|second| key(at) < key(second)) {
                second = Some(at);
            }
        }
        let stream = &self.streams[least];
        let n_rows = self.blocks[stream.block as usize].n_rows();
        let Some(second) = second else { return (least, n_rows) };
        let bound = key(second);
        let precedes = |row: usize| match stream.keys.get(row).cmp(bound) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => least < second,
            std::cmp::Ordering::Greater => false,
        };
        // Steps that double, then bisection: runs are long where parts hardly overlap, and short where they do.
        let (mut low, mut step) = (stream.row + 1, 1);
        while low + step < n_rows && precedes(low + step - 1) {
            low += step;
            step *= 2;
        }
        (least, partition_point(low..(low + step).min(n_rows), precedes))
    }

    /// Lets go of blocks of which all rows are out.
    fn drop_read(&mut self) -> Result<()> {
        let mut blocks: Vec<Option<Block>> = std::mem::take(&mut self.blocks).into_iter().map(Some).collect();
        for stream in &mut self.streams {
            let Some(block) = blocks[stream.block as usize].take() else {
                bail!(LOGICAL_ERROR, "Two streams have one block")
            };
            stream.block = self.blocks.len() as u32;
            self.blocks.push(block);
        }
        Ok(())
    }
}
