//! The buffer of a sort: rows to be sorted, with normalized keys whose bytes compare as the rows do; equal rows keep their order.

use crate::pipeline::Position;
use crate::spill::runs::RunWriter;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::RowKeys;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::cmp::Ordering;
use std::sync::Arc;

/// Blocks with the normalized keys of their rows; sorted by references, so that each row moves once.
#[derive(Default)]
pub struct SortBuffer {
    blocks: Vec<(Position, Block, RowKeys)>,
    n_rows: usize,
    /// Blocks that were pushed before those that are there.
    n_spilled_blocks: u32,
    /// Rows of the first blocks that are sorted already, in runs.
    sorted: Vec<Vec<RowRef>>,
    /// So many blocks are in these runs.
    n_sorted_blocks: usize,
    /// Bytes of the longest key.
    max_key: usize,
}

/// A row among the blocks, led by the first bytes of its key.
#[derive(Clone, Copy)]
pub struct RowRef {
    prefix: Prefix,
    pub block: u32,
    pub row: u32,
}

/// The first bytes of a key, big-endian: compares as they do. Most keys are no longer, so that rows are compared without
/// being looked up.
type Prefix = [u64; 2];
/// Bytes of a [`Prefix`].
const PREFIX: usize = 16;

impl SortBuffer {
    /// An empty buffer in place of this one.
    pub fn emptied(&self) -> SortBuffer {
        SortBuffer { n_spilled_blocks: self.n_spilled_blocks, ..SortBuffer::default() }
    }

    /// Adds a block and the keys of its rows.
    pub fn push(&mut self, position: Position, block: Block, keys: RowKeys) {
        self.n_rows += block.n_rows();
        let longest = keys.offsets.windows(2).map(|pair| pair[1] - pair[0]).max();
        self.max_key = self.max_key.max(longest.unwrap_or(0));
        self.blocks.push((position, block, keys));
    }

    /// Takes all rows of another buffer over. What is sorted of both stays so.
    pub fn append(&mut self, other: SortBuffer) {
        self.n_rows += other.n_rows;
        self.max_key = self.max_key.max(other.max_key);
        if self.n_sorted_blocks == self.blocks.len() {
            let first = self.blocks.len() as u32;
            self.n_sorted_blocks += other.n_sorted_blocks;
            self.sorted.extend(other.sorted.into_iter().map(|mut run| {
                run.iter_mut().for_each(|r| r.block += first);
                run
            }));
        }
        self.blocks.extend(other.blocks);
    }

    /// Sorts the rows that are there, so that less is left to be done when they are asked for.
    pub fn sort(&mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<()> {
        let run = self.order(limit, check)?;
        self.sorted = vec![run];
        self.n_sorted_blocks = self.blocks.len();
        Ok(())
    }

    /// The number of rows of all blocks.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The block that a [`RowRef`] names, and the keys of its rows.
    pub fn block(&self, index: u32) -> (&Block, &RowKeys) {
        let (_, block, keys) = &self.blocks[index as usize];
        (block, keys)
    }

    /// Takes the blocks out, with the keys of their rows.
    pub fn into_blocks(self) -> impl Iterator<Item = (Position, Block, RowKeys)> {
        self.blocks.into_iter()
    }

    /// References to the first `limit` rows in order. `check` is called now and then and may end the work.
    pub fn order(&mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<Vec<RowRef>> {
        if self.n_sorted_blocks == self.blocks.len() && !self.sorted.is_empty() {
            return self.merge_sorted(limit, check);
        }
        (self.sorted, self.n_sorted_blocks) = (Vec::new(), 0);
        self.blocks.sort_by_key(|(position, ..)| *position);
        let mut refs: Vec<RowRef> = Vec::with_capacity(self.n_rows);
        for (index, (_, block, keys)) in self.blocks.iter().enumerate() {
            refs.extend((0..block.n_rows()).map(|row| RowRef {
                prefix: prefix_of(keys.get(row)),
                block: index as u32,
                row: row as u32,
            }));
        }
        let rest = |r: &RowRef| rest_of(self.blocks[r.block as usize].2.get(r.row as usize));
        // Position breaks ties, so that the order is the same however the rows came.
        let compare = |a: &RowRef, b: &RowRef| {
            let by_prefix = a.prefix.cmp(&b.prefix);
            let tie = || (a.block, a.row).cmp(&(b.block, b.row));
            match self.has_long_keys() {
                true => by_prefix.then_with(|| rest(a).cmp(rest(b))).then_with(tie),
                false => by_prefix.then_with(tie),
            }
        };
        if limit < refs.len() {
            if limit > 0 {
                refs.select_nth_unstable_by(limit - 1, compare);
            }
            refs.truncate(limit);
        }
        sort_in_steps(&mut refs, &compare, check)?;
        Ok(refs)
    }

    /// Is there a key that its prefix does not hold?
    fn has_long_keys(&self) -> bool {
        self.max_key > PREFIX
    }

    /// Merges the sorted runs, in pairs.
    fn merge_sorted(&mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<Vec<RowRef>> {
        let mut runs = std::mem::take(&mut self.sorted);
        self.n_sorted_blocks = 0;
        // Blocks of different runs are not in the order of their positions.
        let mut by_position: Vec<u32> = (0..self.blocks.len() as u32).collect();
        by_position.sort_by_key(|&block| self.blocks[block as usize].0);
        let mut ranks = vec![0u32; self.blocks.len()];
        by_position.iter().zip(0..).for_each(|(&block, rank)| ranks[block as usize] = rank);
        let rest = |r: &RowRef| rest_of(self.blocks[r.block as usize].2.get(r.row as usize));
        let compare = |a: &RowRef, b: &RowRef| {
            let place = |r: &RowRef| (ranks[r.block as usize], r.row);
            let by_key = match self.has_long_keys() {
                true => a.prefix.cmp(&b.prefix).then_with(|| rest(a).cmp(rest(b))),
                false => a.prefix.cmp(&b.prefix),
            };
            by_key.then_with(|| place(a).cmp(&place(b)))
        };
        while runs.len() > 1 {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
            for pair in runs.chunks(2) {
                let mut out = Vec::with_capacity(pair.iter().map(Vec::len).sum());
                match pair {
                    [left, right] => merge_pair(left, right, &mut out, &compare, check)?,
                    rest => out.extend(rest.iter().flatten()),
                }
                merged.push(out);
            }
            runs = merged;
        }
        let mut refs = runs.pop().unwrap_or_default();
        refs.truncate(limit);
        Ok(refs)
    }

    /// All rows, or the first `limit`, as one block; none where no block came.
    pub fn sorted(mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<Option<Block>> {
        let refs = self.order(limit, check)?;
        let blocks: Vec<&Block> = self.blocks.iter().map(|(_, block, _)| block).collect();
        Ok((!blocks.is_empty()).then(|| Block::interleave(&blocks, &block_rows(&refs))))
    }

    /// All rows, or the first `limit`, as a table that makes its blocks while it is read.
    pub fn into_scan(
        mut self,
        limit: usize,
        max_block_size: usize,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Arc<dyn Scan>> {
        let rows = self.order(limit, check)?;
        // The keys are not needed any more.
        let blocks = self.blocks.into_iter().map(|(_, block, _)| block).collect();
        Ok(Arc::new(SortedScan(Arc::new(Sorted {
            blocks,
            rows,
            max_block_size: max_block_size.max(1),
            tasks: TaskQueue::default(),
        }))))
    }

    /// Writes all rows, or the first `limit`, as a run. Afterwards the buffer is empty. Positions are appended to the keys, so
    /// that equal rows of different runs keep their order too.
    pub fn spill(
        &mut self,
        limit: usize,
        writer: &mut RunWriter,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        let refs = self.order(limit, check)?;
        let bytes: usize = self.blocks.iter().map(|(_, block, keys)| block.memory() + keys.memory()).sum();
        let n_rows = writer.sizes().rows(bytes, self.n_rows);
        let blocks: Vec<&Block> = self.blocks.iter().map(|(_, block, _)| block).collect();
        writer.begin();
        for some in refs.chunks(n_rows) {
            check()?;
            let mut keys = RowKeys { bytes: Vec::new(), offsets: vec![0] };
            for r in some {
                let (position, _, of_block) = &self.blocks[r.block as usize];
                keys.bytes.extend_from_slice(of_block.get(r.row as usize));
                let number = self.n_spilled_blocks + r.block;
                for part in [position.round, position.task, position.number, number, r.row] {
                    keys.bytes.extend_from_slice(&part.to_be_bytes());
                }
                keys.offsets.push(keys.bytes.len());
            }
            writer.write(&Block::interleave(&blocks, &block_rows(some)), &keys)?;
        }
        self.n_spilled_blocks += self.blocks.len() as u32;
        self.blocks.clear();
        (self.sorted, self.n_sorted_blocks) = (Vec::new(), 0);
        self.n_rows = 0;
        Ok(())
    }
}

fn block_rows(refs: &[RowRef]) -> Vec<BlockRow> {
    refs.iter().map(|r| BlockRow { block: r.block, row: r.row }).collect()
}

/// Sorted rows as a table.
struct SortedScan(Arc<Sorted>);

struct Sorted {
    blocks: Vec<Block>,
    rows: Vec<RowRef>,
    max_block_size: usize,
    tasks: TaskQueue,
}

impl Sorted {
    fn n_tasks(&self) -> usize {
        self.rows.len().div_ceil(self.max_block_size)
    }
}

impl Scan for SortedScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(SortedWorker(self.0.clone())))
    }

    fn parallelism(&self) -> usize {
        self.0.n_tasks()
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.0.rows.len() as u64)
    }
}

struct SortedWorker(Arc<Sorted>);

impl ScanWorker for SortedWorker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Sorted { blocks, rows, max_block_size, tasks } = &*self.0;
        let Some(task) = tasks.take(self.0.n_tasks()) else { return Ok(None) };
        let start = task * max_block_size;
        let rows = block_rows(&rows[start..rows.len().min(start + max_block_size)]);
        let block = Block::interleave(&blocks.iter().collect::<Vec<_>>(), &rows);
        Ok(Some(Morsel { block, task: task as u32, number: 0 }))
    }
}

/// Rows sorted at once; a few milliseconds of work.
const STEP: usize = 1 << 16;

/// Sorts runs, then merges them in pairs, looking up between the steps: a long sort must not keep a query from being
/// stopped.
fn sort_in_steps(
    refs: &mut Vec<RowRef>,
    compare: &impl Fn(&RowRef, &RowRef) -> Ordering,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    for run in refs.chunks_mut(STEP) {
        run.sort_unstable_by(compare);
        check()?;
    }
    let mut width = STEP;
    let mut merged: Vec<RowRef> = Vec::new();
    while width < refs.len() {
        merged.clear();
        merged.reserve(refs.len());
        for pair in refs.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge_pair(left, right, &mut merged, compare, check)?;
        }
        std::mem::swap(refs, &mut merged);
        width *= 2;
    }
    Ok(())
}

/// Appends the rows of two sorted runs in order.
fn merge_pair(
    mut left: &[RowRef],
    mut right: &[RowRef],
    out: &mut Vec<RowRef>,
    compare: &impl Fn(&RowRef, &RowRef) -> Ordering,
    check: &dyn Fn() -> Result<()>,
) -> Result<()> {
    // Runs of neighbours that are in order already cost nothing.
    if let (Some(last), Some(first)) = (left.last(), right.first())
        && compare(last, first).is_le()
    {
        out.extend_from_slice(left);
        left = &[];
    }
    while let (Some(a), Some(b)) = (left.first(), right.first()) {
        let is_left = compare(a, b).is_le();
        out.push(if is_left { *a } else { *b });
        left = &left[usize::from(is_left)..];
        right = &right[usize::from(!is_left)..];
        if out.len().is_multiple_of(STEP) {
            check()?;
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
    Ok(())
}

fn prefix_of(key: &[u8]) -> Prefix {
    let mut bytes = [0; PREFIX];
    let n = key.len().min(PREFIX);
    bytes[..n].copy_from_slice(&key[..n]);
    let whole = u128::from_be_bytes(bytes);
    [(whole >> 64) as u64, whole as u64]
}

/// What the prefix does not hold.
fn rest_of(key: &[u8]) -> &[u8] {
    key.get(PREFIX..).unwrap_or_default()
}
