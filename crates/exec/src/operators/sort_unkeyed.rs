//! Rows of a sort that came in order so far, as those of logs do: their keys are not made before one is out of order.

use super::sort_buffer::SortBuffer;
use crate::ExecContext;
use crate::pipeline::Position;
use crate::tasks::collect_all;
use chalet_base::Result;
use chalet_columns::in_order::is_in_order;
use chalet_columns::keys::{Order, RowKeys, sort_keys, whole_sort_keys};
use chalet_columns::{Block, Column};

/// A block with what its rows are sorted by, which are in order.
pub struct Unkeyed {
    pub position: Position,
    pub block: Block,
    pub keys: Vec<(Column, Order)>,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Columns and their orders as the functions that make keys take them.
pub fn borrowed(keys: &[(Column, Order)]) -> Vec<(&Column, Order)> {
    keys.iter().map(|(column, order)| (column, *order)).collect()
}

impl Unkeyed {
    /// A block that is not empty, if its rows are in order and none of them before the last of the block before it.
    pub fn new(
        position: Position,
        block: &Block,
        keys: &[(Column, Order)],
        before: Option<&Unkeyed>,
    ) -> Option<Unkeyed> {
        let n_rows = block.n_rows();
        let key = |row: usize| {
            let columns: Vec<(Column, Order)> =
                keys.iter().map(|(column, order)| (column.slice(row, 1), *order)).collect();
            sort_keys(&borrowed(&columns), 1).bytes
        };
        let first = key(0);
        if before.is_some_and(|before| before.last > first) || !is_in_order(&borrowed(keys), n_rows) {
            return None;
        }
        Some(Unkeyed { position, block: block.clone(), keys: keys.to_vec(), first, last: key(n_rows - 1) })
    }

    fn sort_keys(&self) -> RowKeys {
        whole_sort_keys(&borrowed(&self.keys), self.block.n_rows())
    }
}

/// The rows of all workers, and whether all of them are in order; if they are not, with their keys.
pub fn joined(mut blocks: Vec<Unkeyed>, least_rows: usize, ctx: &ExecContext) -> Result<(SortBuffer, bool)> {
    blocks.sort_by_key(|block| block.position);
    let n_rows: usize = blocks.iter().map(|block| block.block.n_rows()).sum();
    let mut buffer = SortBuffer::default();
    if n_rows >= blocks.len() * least_rows && blocks.is_sorted_by(|a, b| a.last <= b.first) {
        blocks.into_iter().for_each(|block| buffer.push_without_keys(block.position, block.block));
        return Ok((buffer, true));
    }
    let n_blocks = blocks.len();
    let blocks = std::sync::Arc::new(blocks);
    let of_block = blocks.clone();
    let keys = collect_all(n_blocks, ctx, move |number| Ok(of_block[number].sort_keys()))?;
    for (block, keys) in blocks.iter().zip(keys) {
        buffer.push(block.position, block.block.clone(), keys);
    }
    Ok((buffer, false))
}
