//! The buffer of a sort: rows to be sorted, with normalized keys whose bytes compare as the rows do; equal rows keep their order.

use crate::pipeline::Position;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::keys::RowKeys;
use std::cmp::Ordering;

/// Blocks with the normalized keys of their rows; sorted by references, so that each row moves once.
#[derive(Default)]
pub struct SortBuffer {
    blocks: Vec<(Position, Block, RowKeys)>,
    n_rows: usize,
}

/// A row among the blocks, led by the first bytes of its key.
#[derive(Clone, Copy)]
pub struct RowRef {
    prefix: u64,
    pub block: u32,
    pub row: u32,
}

impl SortBuffer {
    /// Adds a block and the keys of its rows.
    pub fn push(&mut self, position: Position, block: Block, keys: RowKeys) {
        self.n_rows += block.n_rows();
        self.blocks.push((position, block, keys));
    }

    /// Takes all rows of another buffer over.
    pub fn append(&mut self, other: SortBuffer) {
        self.n_rows += other.n_rows;
        self.blocks.extend(other.blocks);
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
        self.blocks.sort_by_key(|(position, ..)| *position);
        let mut refs: Vec<RowRef> = Vec::with_capacity(self.n_rows);
        for (index, (_, block, keys)) in self.blocks.iter().enumerate() {
            refs.extend((0..block.n_rows()).map(|row| RowRef {
                prefix: prefix_of(keys.get(row)),
                block: index as u32,
                row: row as u32,
            }));
        }
        let key = |r: &RowRef| self.blocks[r.block as usize].2.get(r.row as usize);
        // Position breaks ties, so that the order is the same however the rows came.
        let compare = |a: &RowRef, b: &RowRef| {
            let by_key = a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b)));
            by_key.then_with(|| (a.block, a.row).cmp(&(b.block, b.row)))
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

    /// All rows, or the first `limit`, as one block; none where no block came.
    pub fn sorted(mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<Option<Block>> {
        let refs = self.order(limit, check)?;
        let mut starts = Vec::with_capacity(self.blocks.len());
        let mut n_rows = 0u32;
        for (_, block, _) in &self.blocks {
            starts.push(n_rows);
            n_rows += block.n_rows() as u32;
        }
        let rows: Vec<u32> = refs.iter().map(|r| starts[r.block as usize] + r.row).collect();
        let blocks: Vec<Block> = self.blocks.into_iter().map(|(_, block, _)| block).collect();
        Ok((!blocks.is_empty()).then(|| Block::concat(&blocks).gather(&rows)))
    }
}

/// Rows sorted at once; a few milliseconds of work.
const STEP: usize = 1 << 16;

/// Sorts runs, then merges them in pairs, looking up between the steps: a long sort must not keep a query from being
/// stopped.
fn sort_in_steps(
    refs: &mut Vec<RowRef>,
    compare: &dyn Fn(&RowRef, &RowRef) -> Ordering,
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
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                if compare(a, b).is_le() {
                    merged.push(*a);
                    left = &left[1..];
                } else {
                    merged.push(*b);
                    right = &right[1..];
                }
                if merged.len().is_multiple_of(STEP) {
                    check()?;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(refs, &mut merged);
        width *= 2;
    }
    Ok(())
}

/// The first 8 bytes, big-endian: compares as the bytes do.
fn prefix_of(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let n = key.len().min(8);
    bytes[..n].copy_from_slice(&key[..n]);
    u64::from_be_bytes(bytes)
}
