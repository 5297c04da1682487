//! `Block`: a run of rows as columns of equal length. What pipelines pass on.

use crate::{BooleanBuffer, Column, RowMask};

/// A run of rows as columns of equal length; cloning shares the buffers.
#[derive(Clone, Debug, Default)]
pub struct Block {
    columns: Vec<Column>,
    n_rows: usize,
}

impl Block {
    /// `n_rows` is given, because a block without columns has rows too.
    pub fn new(columns: Vec<Column>, n_rows: usize) -> Block {
        debug_assert!(columns.iter().all(|c| c.len() == n_rows));
        Block { columns, n_rows }
    }

    /// The length of every column.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// All columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Takes the columns out.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The column at this position. Panics beyond the last.
    pub fn column(&self, index: usize) -> &Column {
        &self.columns[index]
    }

    /// The rows `offset..offset + len`, which share the buffers. Panics where there are not as many.
    pub fn slice(&self, offset: usize, len: usize) -> Block {
        Block { columns: self.columns.iter().map(|c| c.slice(offset, len)).collect(), n_rows: len }
    }

    /// The rows whose bit is set.
    pub fn filter(&self, mask: &BooleanBuffer) -> Block {
        self.select(&RowMask::new(mask))
    }

    /// The rows of the given numbers, in that order.
    pub fn gather(&self, rows: &[u32]) -> Block {
        Block { columns: self.columns.iter().map(|c| c.gather(rows)).collect(), n_rows: rows.len() }
    }

    /// The same, but nobody reads the columns at `unread`: each of them has one of its values throughout.
    pub fn gather_read(&self, rows: &[u32], unread: &[usize]) -> Block {
        let columns = self.columns.iter().enumerate().map(|(at, column)| {
            if unread.contains(&at) && self.n_rows > 0 {
                return Column::constant(column.slice(0, 1).into_flat(), rows.len());
            }
            column.gather(rows)
        });
        Block { columns: columns.collect(), n_rows: rows.len() }
    }

    /// One after the other; all have the same columns.
    pub fn concat(blocks: &[Block]) -> Block {
        match blocks {
            [] => Block::default(),
            [one] => one.clone(),
            [first, ..] => {
                let columns = (0..first.columns.len()).map(|i| {
                    let parts: Vec<&Column> = blocks.iter().map(|b| &b.columns[i]).collect();
                    Column::concat(&parts)
                });
                Block { columns: columns.collect(), n_rows: blocks.iter().map(|b| b.n_rows).sum() }
            }
        }
    }

    /// Bytes of memory that the columns occupy; shared memory counts in full.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(Column::memory).sum()
    }
}
